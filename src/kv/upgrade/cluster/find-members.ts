import { childPath, pathPart } from '../../../core/file-name.ts';
import { basename, dirname, resolve } from 'node:path';
import type { Host } from '../../../platform/host.ts';
import { isPathVariable, isServerVariable } from '../../../api-specs/etcd/server-variables.ts';
import { flagsOf, parseConfig } from '../configuration/configuration.ts';
import { servesUrl } from './listening-sockets.ts';
import type { ListedMember } from '../../engine/types.ts';

/** A member's process on this machine, with everything that is needed to start it again from any directory. */
export type FoundProcess = {
  readonly pid: number;
  /** The effective user of the process. */
  readonly uid?: number;
  readonly binary: string;
  /** Without the program; paths are absolute. */
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly data_dir: string;
  readonly config_file?: string;
  readonly log_file?: string;
  readonly pid_file?: string;
  /** The systemd unit whose main process it is. */
  readonly unit?: string;
  /** Settings of its configuration file that only hold in the directory it was started from. */
  readonly relative: readonly string[];
};
type Running = { readonly pid: number; readonly uid?: number | undefined; readonly argv: readonly string[] };

const wordsAt = (host: Host, path: string): string[] => {
  let text: string | undefined;
  try {
    text = host.files.readNow(path);
  } catch {
    // The environment of another user's process is not ours to read.
  }
  return text === undefined || text === '' ? [] : text.replace(/\0$/, '').split('\0');
};

const effectiveUser = (status: string): number | undefined => {
  const uid = /^Uid:\t\d+\t(\d+)/m.exec(status)?.[1];
  return uid === undefined ? undefined : Number(uid);
};
const running = async (host: Host): Promise<Running[]> => {
  const names = await host.files.list('/proc').catch(() => []);
  return names
    .filter((name) => /^\d+$/.test(name))
    .map((name) => ({
      pid: Number(name),
      uid: effectiveUser(wordsAt(host, `/proc/${name}/status`).join('')),
      argv: wordsAt(host, `/proc/${name}/cmdline`),
    }))
    .filter(({ argv }) => argv.length > 0);
};

/**
 * Settings in the environment count only for a server: the shell of somebody who exported them is none. Paths in them are made whole: the successor may be started elsewhere. Names that no server reads stay away: images keep passwords
 * beside them.
 */
const environmentOf = (host: Host, { pid, argv }: Running, cwd: string): Record<string, string> =>
  /etcd/.test(basename(argv[0] as string))
    ? Object.fromEntries(
        wordsAt(host, `/proc/${pid}/environ`)
          .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const)
          .filter(([name]) => isServerVariable(name))
          .map(([name, value]) => [name, isPathVariable(name) ? resolve(cwd, value) : value]),
      )
    : {};

type Settings = { readonly config_file?: string; get(key: string): string | undefined };
/** As the server reads them: a configuration file alone, else flags before the environment. */
const settingsOf = async (
  host: Host,
  argv: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd: string,
): Promise<Settings> => {
  const flags = flagsOf(argv.slice(1));
  const given = flags.get('config-file') ?? env['ETCD_CONFIG_FILE'];
  if (given === undefined)
    return { get: (key) => flags.get(key) ?? env[`ETCD_${key.toUpperCase().replaceAll('-', '_')}`] };
  const config_file = resolve(cwd, given);
  const text = await host.files.read(config_file).catch(() => undefined);
  const read = text === undefined ? { broken: 'not there' } : await parseConfig(text);
  return {
    config_file,
    get: (key) => ('broken' in read || read.file[key] === undefined ? undefined : String(read.file[key])),
  };
};

const isPathFlag = (name: string): boolean => /^(data-dir|wal-dir|config-file)$|-file$/.test(name);
/** The driver starts members in a directory of its own. */
const withAbsolutePaths = (words: readonly string[], cwd: string): string[] =>
  words.map((word, i) => {
    const [, dashes, name, value] = /^(--?)([a-z][a-z0-9-]*)=([\s\S]+)$/.exec(word) ?? [];
    if (name !== undefined)
      return isPathFlag(name) ? `${dashes}${name}=${resolve(cwd, value as string)}` : word;
    const before = /^--?([a-z][a-z0-9-]*)$/.exec(words[i - 1] ?? '')?.[1];
    return before !== undefined && isPathFlag(before) ? resolve(cwd, word) : word;
  });

/** The file that its output goes to. */
const logOf = async (host: Host, pid: number): Promise<string | undefined> => {
  for (const fd of [2, 1]) {
    const path = await host.files.realPath(`/proc/${pid}/fd/${fd}`).catch(() => undefined);
    if (path !== undefined && (await host.files.info(path))?.kind === 'file') return path;
  }
  return undefined;
};

/** A file near the member, or where such files are, that names its process: whoever started it keeps one there. */
const pidFileOf = async (host: Host, pid: number, near: readonly string[]): Promise<string | undefined> => {
  for (const directory of new Set([...near, '/run', '/var/run'])) {
    const names = (await host.files.list(directory).catch(() => [])).filter((name) => /pid$/i.test(name));
    const found = names
      .map((name) => childPath(directory, pathPart(name)))
      .find((path) => wordsAt(host, path)[0]?.trim() === String(pid));
    if (found !== undefined) return found;
  }
  return undefined;
};

/**
 * The service that it is the main process of. What a shell or a job starts is in the group of a service too, and to stop that one would end the
 * job: the service manager itself has to name this process.
 */
const unitOf = async (host: Host, pid: number): Promise<string | undefined> => {
  const group = wordsAt(host, `/proc/${pid}/cgroup`).join('').split('\n');
  const unit = group
    .map((line) => /^(?:0:|\d+:name=systemd):.*\/([^/]+\.service)$/.exec(line)?.[1])
    .find((name) => name !== undefined);
  if (unit === undefined) return undefined;
  const { code, stdout } = await host.processes.run(
    'systemctl',
    ['show', '--property=MainPID', '--value', '--', unit],
    { timeoutMs: 2000 },
  );
  return code === 0 && stdout.trim() === String(pid) ? unit : undefined;
};

const isMember = ({ get }: Settings, { client_urls, name }: ListedMember): boolean => {
  const urls = `${get('advertise-client-urls') ?? ''},${get('listen-client-urls') ?? ''}`
    .split(',')
    .map((url) => url.trim());
  return client_urls.some((url) => urls.includes(url)) && (get('name') ?? name) === name;
};

const described = async (
  host: Host,
  { pid, uid, argv }: Running,
  settings: Settings,
  env: Record<string, string>,
  cwd: string,
  name: string,
): Promise<FoundProcess> => {
  const { config_file, get } = settings;
  const given = get('data-dir');
  const data_dir = resolve(cwd, given ?? `${get('name') ?? name}.etcd`);
  const log_file = await logOf(host, pid);
  const pid_file = await pidFileOf(host, pid, [
    ...(log_file === undefined ? [] : [dirname(log_file)]),
    data_dir,
    dirname(data_dir),
    cwd,
  ]);
  const unit = await unitOf(host, pid);
  const flags = withAbsolutePaths(argv.slice(1), cwd);
  // Without one the server makes its directory where it was started.
  const isImplied = given === undefined && config_file === undefined;
  const relative = ['data-dir', 'wal-dir'].filter(
    (key) => config_file !== undefined && get(key) !== undefined && !(get(key) as string).startsWith('/'),
  );
  return {
    pid,
    ...(uid === undefined ? {} : { uid }),
    binary: (await host.files.realPath(`/proc/${pid}/exe`).catch(() => undefined)) ?? (argv[0] as string),
    flags: isImplied ? [...flags, '--data-dir', data_dir] : flags,
    env,
    data_dir,
    relative,
    ...(config_file === undefined ? {} : { config_file }),
    ...(log_file === undefined ? {} : { log_file }),
    ...(pid_file === undefined ? {} : { pid_file }),
    ...(unit === undefined ? {} : { unit }),
  };
};

/**
 * Any user can start a process whose arguments name a client URL. A process of root or of this user counts. A process of another user
 * counts only if it owns the socket of the URL. The kernel always shows the user of a process whose arguments it shows.
 */
const isBelievable = async (host: Host, { pid, uid }: Running, urls: readonly string[]): Promise<boolean> =>
  uid === undefined || uid === 0 || uid === host.uid || servesUrl(host, { pid, uid }, urls);

/** The process of a member on this machine: the one whose flags, environment or configuration file name its client URL. */
export const findProcess = async (host: Host, listed: ListedMember): Promise<FoundProcess | undefined> => {
  for (const one of await running(host)) {
    if (!(await isBelievable(host, one, listed.client_urls))) continue;
    const cwd = (await host.files.realPath(`/proc/${one.pid}/cwd`).catch(() => undefined)) ?? '/';
    const env = environmentOf(host, one, cwd);
    const settings = await settingsOf(host, one.argv, env, cwd);
    if (isMember(settings, listed)) return described(host, one, settings, env, cwd, listed.name);
  }
  return undefined;
};
