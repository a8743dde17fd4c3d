import { dirname, join, resolve, sep } from 'node:path';
import { childPath, type FileName, pathParts } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import { shellLine } from '../core/shell.ts';
import {
  type RunnableWord,
  inheritedPrograms,
  nameOf,
  runnableWords,
  scriptInterpreters,
  variablePrograms,
} from '../core/runnable-words.ts';
import type { FileInfo, Files, Host, Incoming } from './host.ts';

/**
 * Determines whether this user may run a program or rely on a file or directory. Only root, this user and the
 * users that the caller names may be able to replace it. sudo and sshd apply the same rule to their files.
 * `path` is the object that another user can replace. `variable`: the variable that leads to it, which `fix` changes instead of
 * the object.
 */
export type TrustProblem = {
  readonly path: string;
  readonly reason: string;
  readonly fix: string;
  readonly variable?: string;
};
/** What the user can do about a problem, for messages. */
export const trustFix = ({ fix, variable }: TrustProblem): string =>
  variable === undefined ? `if you trust its content: ${fix}` : fix;
type Looking = Pick<Host, 'files' | 'uid' | 'env' | 'platform'>;
/**
 * The owner of the root directory can replace everything. Like git, opsctl run with sudo trusts files of the
 * user who ran sudo.
 */
const trustedUsers = async ({ files, uid, env }: Looking): Promise<readonly number[]> => {
  const root = await files.info('/');
  const caller = uid === 0 ? Number(env['SUDO_UID'] ?? Number.NaN) : Number.NaN;
  return [0, uid, ...(root === undefined ? [] : [root.uid]), ...(Number.isInteger(caller) ? [caller] : [])];
};
/** The name of a user, for messages: `etcd (uid 112)`. */
export const userText = ({ files }: Pick<Host, 'files'>, uid: number): string => {
  let users = '';
  try {
    users = files.readNow('/etc/passwd') ?? '';
  } catch {
    // Without the list of users the number is enough.
  }
  const name = users
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , id]) => id === String(uid))?.[0];
  return name === undefined ? `uid ${uid}` : `${name} (uid ${uid})`;
};
const modeText = ({ mode }: FileInfo): string => mode.toString(8).padStart(4, '0');
const stickyBit = 0o1000;
/** A user's private group has the number of that user and no other members. */
const hasPrivateGroup = ({ uid, gid }: FileInfo): boolean => gid === uid && uid !== 0;
/** Debian gives /usr/local to the group staff, whose members count as administrators. */
const isLocal = (path: string, { uid, gid }: FileInfo): boolean =>
  uid === 0 && gid === 50 && /^\/usr\/local(?:\/|$)/.test(path);
const writersOf = (path: string, info: FileInfo): 'other users' | 'its group' | undefined => {
  if (info.kind === 'link' || (info.kind === 'directory' && (info.mode & stickyBit) !== 0)) return undefined;
  if ((info.mode & 0o002) !== 0) return 'other users';
  return (info.mode & 0o020) !== 0 && !hasPrivateGroup(info) && !isLocal(path, info)
    ? 'its group'
    : undefined;
};
/** A read-only file system refuses what the mode allows. */
const isReadOnly = async ({ files, uid }: Looking, path: string, by: string): Promise<boolean> =>
  (uid === 0 || by === 'other users') && !(await files.isWritable(path));
type Rule = {
  readonly users: readonly number[];
  readonly more: readonly number[];
  readonly use: 'run' | 'write';
};
const judge = async (
  host: Looking,
  { users, more, use }: Rule,
  path: string,
  info: FileInfo,
): Promise<TrustProblem | undefined> => {
  // Through a link of the other user this user would write to a file of this user.
  if (!users.includes(info.uid) && (info.kind === 'link' || !more.includes(info.uid)))
    return {
      path,
      reason: `${path} belongs to ${userText(host, info.uid)}, mode ${modeText(info)}`,
      fix: shellLine(['chown', ...(info.kind === 'link' ? ['-h'] : []), 'root', path]),
    };
  const by = writersOf(path, info);
  if (by === undefined || (use === 'write' && by === 'its group') || (await isReadOnly(host, path, by)))
    return undefined;
  return {
    path,
    reason: `${path} belongs to ${userText(host, info.uid)} and ${by} can write to it, mode ${modeText(info)}`,
    fix: shellLine(['chmod', by === 'its group' ? 'g-w' : 'go-w', path]),
  };
};
/**
 * Returns why other users could replace the object at this path, or undefined. A path that does not exist is judged by its directories.
 * `more`: users who may own it too. `write`: this user only writes to it, so a group may (Ubuntu gives /var/log to the group syslog).
 */
export const findTrustProblem = async (
  host: Looking,
  path: string,
  more: readonly number[] = [],
  use: Rule['use'] = 'run',
): Promise<TrustProblem | undefined> => {
  if (host.platform === 'win32') return undefined;
  const rule = { users: await trustedUsers(host), more, use };
  for await (const [part, info] of pathParts(host.files, path)) {
    const found = await judge(host, rule, part, info);
    if (found !== undefined) return found;
  }
  return undefined;
};
const openProblem = async (host: Looking, at: string, info: FileInfo): Promise<TrustProblem | undefined> =>
  info.kind !== 'directory' || (info.mode & 0o002) === 0 || (await isReadOnly(host, at, 'other users'))
    ? undefined
    : {
        path: at,
        reason: `other users can create files in ${at}, mode ${modeText(info)}`,
        fix: shellLine(['chmod', 'go-w', at]),
      };
/**
 * Returns why every user could create this file or an object on its path, or undefined. The owner and the group of a directory
 * are no problem: administrators share `/usr/local/bin` and `/opt/homebrew/bin`. A directory stands for the files in it.
 */
const findOpenProblem = (
  host: Looking,
  path: string,
  more: readonly number[],
): Promise<TrustProblem | undefined> => unlessDenied(searchOpenProblem(host, path, more));
/** A program cannot start from a path that this user may not enter. */
const unlessDenied = (search: Promise<TrustProblem | undefined>): Promise<TrustProblem | undefined> =>
  search.catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'EACCES') return undefined;
    throw error;
  });
const searchOpenProblem = async (
  host: Looking,
  path: string,
  more: readonly number[],
): Promise<TrustProblem | undefined> => {
  const users = [...(await trustedUsers(host)), ...more];
  let open: TrustProblem | undefined;
  for await (const [at, info] of pathParts(host.files, path)) {
    // In a directory with the sticky bit, other users can create an object but not replace it.
    if (open !== undefined && !users.includes(info.uid)) return open;
    if (info.kind === 'link') {
      open = info.target?.startsWith('/') ? undefined : open;
      continue;
    }
    open = await openProblem(host, at, info);
    if (open !== undefined && (info.mode & stickyBit) === 0) return open;
  }
  return open;
};
/** Every user can write to a device such as `/dev/null`, and only root can create one. */
const isDevice = async ({ files }: Looking, path: string): Promise<boolean> =>
  dirname(path) === '/dev' && (await files.info(path))?.kind === 'other';
/** Like `findTrustProblem`, and a file that does not exist is a problem if other users can create it. */
const findCodeProblem = async (
  host: Looking,
  path: string,
  more: readonly number[],
): Promise<TrustProblem | undefined> => {
  if (await isDevice(host, path)) return undefined;
  const found = await unlessDenied(findTrustProblem(host, path, more));
  return found ?? (await findOpenProblem(host, path, more));
};
/** Returns whether only this user can own, enter and replace the directory, or whether only this user could create it there. */
export const isPrivateOrMissing = async (host: Looking, path: string): Promise<boolean> => {
  if ((await findTrustProblem(host, path)) !== undefined) return false;
  const real = await host.files.realPath(path).catch(() => undefined);
  const info = real === undefined ? undefined : await host.files.info(real);
  if (info === undefined) return true;
  return info.kind === 'directory' && info.uid === host.uid && (info.mode & 0o077) === 0;
};
/** Returns whether this user may run the file: 'unknown' if that depends on the groups of the user. */
const mayRun = ({ mode, uid }: FileInfo, user: number): boolean | 'unknown' => {
  if (user === 0) return (mode & 0o111) !== 0;
  if (uid === user) return (mode & 0o100) !== 0;
  const [byGroup, byOthers] = [(mode & 0o010) !== 0, (mode & 0o001) !== 0];
  return byGroup === byOthers ? byGroup : 'unknown';
};
const isDirectory = async (files: Host['files'], path: string): Promise<boolean> => {
  const real = await files.realPath(path).catch(() => undefined);
  const info = real === undefined ? undefined : await files.info(real).catch(() => undefined);
  return info?.kind === 'directory';
};
/**
 * Returns the file that a command name starts: the first one on PATH that this user may run, as the system looks it up. If the
 * groups of the user decide, it returns the files before that one too. `inside`: the path below a new root directory.
 * `planted` are the paths before it, which would start if another user created them in an existing directory.
 */
const findPrograms = async (
  { files, env, cwd, uid }: Pick<Host, 'files' | 'env' | 'cwd' | 'uid'>,
  program: string,
  inside: (path: string) => string,
): Promise<{ readonly found: string[]; readonly planted: string[] }> => {
  if (program.includes('/')) return { found: [inside(resolve(cwd, program))], planted: [] };
  const [found, planted]: [string[], string[]] = [[], []];
  for (const directory of (env['PATH'] ?? '').split(':')) {
    const path = inside(join(resolve(cwd, directory), program));
    const real = await files.realPath(path).catch(() => undefined);
    const info = real === undefined ? undefined : await files.info(real);
    const isRunnable = info?.kind === 'file' && mayRun(info, uid);
    if (isRunnable !== false) found.push(path);
    // npm adds node_modules/.bin of every directory above the current one, and most of these do not exist.
    else if (await isDirectory(files, dirname(path))) planted.push(path);
    if (isRunnable === true) break;
  }
  return { found, planted };
};
const distrustError = (what: string, problem: TrustProblem): AppError =>
  new AppError('unsafe', `refused to use ${what}: ${problem.reason}`, {
    code: 'UNTRUSTED',
    tryThis: [
      ...(problem.variable === undefined
        ? ['use a copy that root or you own, in a directory that only root or you can write to']
        : []),
      trustFix(problem),
    ],
  });
/** Throws if other users could replace this file or directory. `what` names its role: `the cluster file`. */
export const assertTrusted = async (host: Looking, what: string, path: string): Promise<void> => {
  const found = await findTrustProblem(host, path);
  if (found !== undefined) throw distrustError(what, found);
};
/** Files that a word runs, and paths that it would run if they existed. */
type ProgramFiles = { readonly found: readonly string[]; readonly planted: readonly string[] };
/** The files that a word of a command line runs. A wrapper may change the root, the directory and the search path. */
const filesOf = async (
  host: Host,
  { word, kind, root, directory, path }: RunnableWord,
): Promise<ProgramFiles> => {
  if (kind === 'unlisted') return { found: [], planted: [] };
  const cwd = resolve(root === undefined ? host.cwd : '/', directory ?? '.');
  const env = path === undefined ? host.env : { ...host.env, PATH: path };
  const inside = (at: string): string => (root === undefined ? at : join(resolve(host.cwd, root), at));
  const { files, uid } = host;
  if (kind === 'code') return { found: [], planted: [inside(resolve(cwd, word))] };
  const programs =
    kind === 'script'
      ? { found: [inside(resolve(cwd, word))], planted: [] }
      : await findPrograms({ files, env, cwd, uid }, word, inside);
  if (kind === 'program') return programs;
  const paths = programs.found;
  const exists = await Promise.all(
    paths.map(async (at) => {
      const real = await host.files.realPath(at).catch(() => undefined);
      if (real === undefined) return false;
      // A script that cannot be inspected stays in the list, so that its check fails. A guess may be any path of a command.
      const info = await host.files.info(real).catch(() => undefined);
      if (info === undefined) return kind === 'script';
      return info.kind === 'file' && (kind === 'script' || mayRun(info, host.uid) !== false);
    }),
  );
  return { found: paths.filter((_, i) => exists[i]), planted: [] };
};
/** A program may be executable but not readable, as sudo is on some systems. Then it is not a script. */
const openIfReadable = (files: Host['files'], path: string): ReturnType<Host['files']['openParts']> => {
  try {
    return files.openParts(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return undefined;
    throw error;
  }
};
/** The names of the programs that a word starts, with the interpreter of a script. */
const startedNames = async (
  { files }: Host,
  { word, kind }: RunnableWord,
  found: readonly string[],
): Promise<string[]> => {
  const names = kind === 'program' || found.length > 0 ? [nameOf(word)] : [];
  for (const path of found) {
    if ((await files.info((await files.realPath(path)) ?? path))?.kind !== 'file') continue;
    const parts = openIfReadable(files, path);
    if (parts === undefined) continue;
    try {
      names.push(...scriptInterpreters(Buffer.from(parts.read(0, 256)).toString('latin1')));
    } finally {
      parts.close();
    }
  }
  return names;
};
/** The words of the variables of opsctl that the programs of these words inherit and read. */
const inheritedWords = async (host: Host, words: readonly RunnableWord[]): Promise<RunnableWord[]> => {
  const variables = Object.entries(host.env).filter(([name]) => variablePrograms(name, '/').length > 0);
  if (variables.length === 0) return [];
  const names: string[] = [];
  // A file that this user cannot read is not a script that this user can run.
  for (const word of words)
    names.push(...(await startedNames(host, word, (await filesOf(host, word)).found).catch(() => [])));
  return variables.flatMap(([name, value = '']) => inheritedPrograms(name, value, names));
};
/** Names the variable in the reason. Its value is the part to change: a directory such as /tmp must stay open. */
const variableProblem = (
  problem: TrustProblem,
  { word, variable = 'PATH' }: RunnableWord,
  path: string,
  isInherited: boolean,
): TrustProblem =>
  variable === 'PATH'
    ? {
        ...problem,
        reason: `PATH contains ${dirname(path)} before ${word}, and ${problem.reason}`,
        fix: `remove ${dirname(path)} from PATH`,
        variable,
      }
    : {
        ...problem,
        reason: `the variable ${variable} contains ${word}, and ${problem.reason}`,
        fix: isInherited ? `unset ${variable}` : `remove ${variable} from the command line`,
        variable,
      };
export const findProgramTrustProblem = async (
  host: Host,
  words: readonly string[],
  more: readonly number[] = [],
): Promise<TrustProblem | undefined> => {
  if (host.platform === 'win32') return undefined;
  const named = runnableWords(words);
  const inherited = await inheritedWords(host, named);
  for (const word of [...named, ...inherited]) {
    const { found, planted } = await filesOf(host, word);
    for (const path of found) {
      const problem = await findTrustProblem(host, path, more);
      if (problem !== undefined) return problem;
    }
    const find = word.kind === 'code' ? findCodeProblem : findOpenProblem;
    for (const path of planted) {
      const problem = await find(host, path, more);
      if (problem !== undefined) return variableProblem(problem, word, path, inherited.includes(word));
    }
  }
  return undefined;
};
/** Throws if other users could replace a program of this command line. */
export const assertTrustedProgram = async (
  host: Host,
  what: string,
  words: readonly string[],
): Promise<void> => {
  const found = await findProgramTrustProblem(host, words);
  if (found !== undefined) throw distrustError(what, found);
};

/** The path of a file in a directory, for writing. Throws when a symbolic link of that name leads out of the directory: `Files.replace` follows links. */
export const containedPath = async (
  files: Pick<Files, 'info' | 'realPath'>,
  directory: string,
  name: FileName,
): Promise<string> => {
  const path = childPath(directory, name);
  if ((await files.info(path))?.kind !== 'link') return path;
  const [real, home] = await Promise.all([files.realPath(path), files.realPath(directory)]);
  if (real !== undefined && home !== undefined && `${dirname(real)}${sep}`.startsWith(`${home}${sep}`))
    return path;
  throw new AppError('unsafe', `${path} is a symbolic link that leads out of ${directory}`, {
    code: 'LINK_OUTSIDE',
    tryThis: [`remove the link ${path}`, 'or name the directory of its target instead'],
  });
};

/**
 * The owner of a connection to a loopback listener. `unknown`: the system does not report the owner, or the
 * other end is outside this network namespace (WSL forwards ports in this way). `gone`: the client closed its
 * end and does not wait for a response.
 */
export type SocketOwner = { readonly uid: number } | 'unknown' | 'gone';

type Row = { readonly local: number; readonly remote: number; readonly uid: number; readonly inode: string };
const portIn = (address: string): number => Number.parseInt(address.slice(address.indexOf(':') + 1), 16);
const isLoopbackAddress = (hex: string): boolean =>
  // The kernel prints words of four bytes in the byte order of the machine; both orders of 127.x.x.x and ::1 are loopback.
  /^(?:[\dA-F]{6}7F|7F[\dA-F]{6})(?::|$)/i.test(hex) ||
  /^0{16}(?:F{4}0{4}|0{4}F{4})(?:[\dA-F]{6}7F|7F[\dA-F]{6})(?::|$)/i.test(hex) ||
  /^0{24}0[01]0{4}0[01](?::|$)/.test(hex);
/** Connections between two loopback addresses in the text of `/proc/net/tcp` or `/proc/net/tcp6`. */
const rowsIn = (text: string): Row[] =>
  text
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local = '', remote = '']) => isLoopbackAddress(local) && isLoopbackAddress(remote))
    .map(([, local = '', remote = '', , , , , uid, , inode = '0']) => ({
      local: portIn(local),
      remote: portIn(remote),
      uid: Number(uid),
      inode,
    }));
/** The client's end has the ports the other way round. A socket without an inode belongs to no process any more, and its user is not shown. */
export const findSocketOwner = (
  tables: readonly string[],
  ports: { readonly client: number; readonly server: number },
): SocketOwner => {
  const rows = tables.flatMap(rowsIn);
  const client = rows.find(({ local, remote }) => local === ports.client && remote === ports.server);
  if (client !== undefined) return client.inode === '0' ? 'gone' : { uid: client.uid };
  const isOpenHere = rows.some(
    ({ local, remote, inode }) => local === ports.server && remote === ports.client && inode !== '0',
  );
  return rows.length === 0 || isOpenHere ? 'unknown' : 'gone';
};
const textAt = ({ files }: Pick<Host, 'files'>, path: string): string => {
  try {
    return files.readNow(path) ?? '';
  } catch {
    return '';
  }
};
export const socketOwner = (host: Host, request: Incoming, serverPort: number): SocketOwner => {
  if (host.platform !== 'linux' || request.remotePort === undefined) return 'unknown';
  const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((path) => textAt(host, path));
  return findSocketOwner(tables, { client: request.remotePort, server: serverPort });
};
/** The kernel keeps the login user, even after `su`; 4294967295 means that it is not set. */
const loginUser = (host: Host): number | undefined => {
  const uid = Number(textAt(host, '/proc/self/loginuid') || Number.NaN);
  return Number.isInteger(uid) && uid !== 4_294_967_295 ? uid : undefined;
};
/** Root can do everything; for a process of root, the user who became root with sudo or su is the same person. */
const isSameUser = (host: Host, uid: number): boolean => {
  if (uid === 0 || uid === host.uid) return true;
  return host.uid === 0 && [Number(host.env.SUDO_UID || Number.NaN), loginUser(host)].includes(uid);
};
/** The other user's name, if the connection is of another user of this machine. */
export const strangerAt = (host: Host, request: Incoming, serverPort: number): string | undefined => {
  const owner = socketOwner(host, request, serverPort);
  return typeof owner === 'object' && !isSameUser(host, owner.uid) ? userText(host, owner.uid) : undefined;
};

/** Only browsers send these headers: a page, and not a program, sent the request. Pure. */
export const isFromPage = (headers: Incoming['headers']): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] === 'cross-site';
