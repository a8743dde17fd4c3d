import { basename, resolve } from 'node:path';
import { FILE_VARIABLE, findServerFile, isPathVariable } from '../../../api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import type { HostFacts, Identity, MemberSpec, Move, PathStatus } from '../../engine/model.ts';
import { argvOf, sh, shellLines, type ShellScript } from '../../../core/shell.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { type FactsRequest, placeText, type Which } from './driver.ts';
import type { ProcessInfo, ProcessTable } from './process-record.ts';

/** `problem`: a process exists, but it is not this member. */
export type ProcessMatch = { readonly process?: ProcessInfo; readonly problem?: string };
const programsOf = (member: MemberSpec): Set<string> => {
  const paths = [member.old_binary, member.new_binary];
  for (const which of ['old', 'new'] as const)
    paths.push(argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0]);
  return new Set(paths.flatMap((path) => (path === undefined ? [] : [basename(path)])));
};
const isProgram = (member: MemberSpec, { words }: ProcessInfo): boolean =>
  programsOf(member).has(basename(words[0] ?? ''));
/** Settings in the environment count only for a server: a shell that exports them is not a server. */
const settingOf = (
  member: MemberSpec,
  running: ProcessInfo,
  flag: string,
  variable: string,
): string | undefined =>
  flagsOf(running.words.slice(1)).get(flag) ??
  (isProgram(member, running) ? running.env.get(variable) : undefined);
/** Resolves a path from the start of a process, as that process sees it. */
const pathOf = async (
  table: ProcessTable,
  running: ProcessInfo,
  named: string | undefined,
): Promise<string | undefined> => {
  if (named === undefined) return undefined;
  const path = resolve(running.cwd ?? '/', named);
  return (await table.realPath(path)) ?? path;
};
const ownPath = async (table: ProcessTable, path: string | undefined): Promise<string | undefined> =>
  path === undefined ? undefined : ((await table.realPath(path)) ?? resolve(path));
const directoryOf = (
  table: ProcessTable,
  member: MemberSpec,
  running: ProcessInfo,
): Promise<string | undefined> =>
  pathOf(table, running, settingOf(member, running, 'data-dir', 'ETCD_DATA_DIR'));
/** The configuration file for the new version: from the cluster file, otherwise from the new command. */
export const configPath = (member: MemberSpec): string | undefined =>
  member.config_file ?? flagsOf(argvOf(member.new_command, member.new_binary) ?? []).get('config-file');
/** Its configuration file, or the configuration file in its command line. */
const configOf = ({ config_file, old_command, old_binary }: MemberSpec): string | undefined =>
  config_file ?? flagsOf(argvOf(old_command, old_binary) ?? []).get('config-file');
/** The file that the process may read. Its version is unknown here, so the file of the variable counts. */
const findFileOf = (member: MemberSpec, running: ProcessInfo): string | undefined => {
  const variable = isProgram(member, running) ? running.env.get(FILE_VARIABLE) : undefined;
  return findServerFile(flagsOf(running.words.slice(1)), variable, undefined);
};
const hasOwnConfig = async (
  table: ProcessTable,
  member: MemberSpec,
  running: ProcessInfo,
): Promise<boolean> => {
  const own = await ownPath(table, configOf(member));
  const named = findFileOf(member, running);
  return own !== undefined && own === (await pathOf(table, running, named));
};
/**
 * The file that a server reads, if it is not one of the files that the cluster file names for this member. A
 * relative path of a command depends on the directory of its start, so it proves no difference.
 */
const otherFile = async (
  table: ProcessTable,
  member: MemberSpec,
  running: ProcessInfo,
): Promise<string | undefined> => {
  const named = isProgram(member, running) ? findFileOf(member, running) : undefined;
  const flags = (['old', 'new'] as const).map((which) =>
    flagsOf(argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []).get('config-file'),
  );
  const own = [member.config_file, ...flags].filter((path) => path !== undefined);
  if (named === undefined || own.length === 0 || !own.every((path) => path.startsWith('/'))) return undefined;
  const path = await pathOf(table, running, named);
  const real = await Promise.all(own.map((one) => ownPath(table, one)));
  return real.includes(path) ? undefined : path;
};
const isNamedLike = (words: readonly string[], member: MemberSpec): boolean => {
  const marks = [member.data_dir, member.client_url, member.config_file].filter((mark) => mark !== undefined);
  const names = programsOf(member);
  return words.some((word) => marks.some((mark) => word.includes(mark)) || names.has(basename(word)));
};
/**
 * Why this process is not the member; undefined if it appears to be the member. opsctl must never send a
 * signal to another program that has reused the pid.
 */
const otherwise = async (
  table: ProcessTable,
  member: MemberSpec,
  running: ProcessInfo,
): Promise<string | undefined> => {
  const [directory, own] = await Promise.all([
    directoryOf(table, member, running),
    ownPath(table, member.data_dir),
  ]);
  if (directory !== undefined && own !== undefined) {
    if (directory === own) return undefined;
    // With a configuration file, the server ignores its flags and variables, such as the ETCD_DATA_DIR of a package.
    if (findFileOf(member, running) === undefined) return `which runs on the data directory ${directory}`;
  }
  const file = await otherFile(table, member, running);
  if (file !== undefined) return `which reads the configuration file ${file}`;
  // A script of the operator does not identify the member, but the server below it does.
  const isOurs =
    isNamedLike(running.words, member) ||
    (await hasOwnConfig(table, member, running)) ||
    (await serversBelow(table, member, running)).length > 0;
  return isOurs ? undefined : `which is ${basename(running.words[0] ?? '?')}`;
};
/** The process in the pid file, if it runs and is this member. */
export const memberProcess = async (table: ProcessTable, member: MemberSpec): Promise<ProcessMatch> => {
  const pid = member.pid_file === undefined ? undefined : await table.pidIn(member.pid_file);
  const running = pid === undefined ? undefined : await table.get(pid);
  if (running === undefined || running.state === 'Z') return {};
  // Empty for the moment in which a process changes its program: the shell that starts a member, its wrapper,
  // the server.
  if (running.words.join('') === '') return { process: running };
  const why = await otherwise(table, member, running);
  return why === undefined
    ? { process: running }
    : { problem: `${member.pid_file} contains process ${pid}, ${why} and not this member` };
};
const isServer = async (table: ProcessTable, member: MemberSpec, running: ProcessInfo): Promise<boolean> => {
  if (!isProgram(member, running) || running.state === 'Z') return false;
  const [directory, own] = await Promise.all([
    directoryOf(table, member, running),
    ownPath(table, member.data_dir),
  ]);
  if (directory !== undefined && directory === own) return true;
  if (directory !== undefined && findFileOf(member, running) === undefined) return false;
  return (
    (await hasOwnConfig(table, member, running)) ||
    (member.config_file !== undefined &&
      running.words.some((word) => word.includes(member.config_file as string)))
  );
};
/** A server of this member without a pid file entry: its start command put it into the background. */
export const unnamedServer = async (
  table: ProcessTable,
  member: MemberSpec,
): Promise<ProcessInfo | undefined> => {
  const servers = await table.all(programsOf(member));
  const isOwn = await Promise.all(servers.map((running) => isServer(table, member, running)));
  return servers.find((_, at) => isOwn[at]);
};
const descendsFrom = async (table: ProcessTable, child: ProcessInfo, pid: number): Promise<boolean> => {
  let at = child.parent;
  for (let steps = 0; at > 1 && steps < 100; steps += 1) {
    if (at === pid) return true;
    at = (await table.get(at))?.parent ?? 0;
  }
  return false;
};
/**
 * Servers of this member below one of its processes: a shell that started a server does not forward the stop
 * signal.
 */
const serversBelow = async (
  table: ProcessTable,
  member: MemberSpec,
  running: ProcessInfo,
): Promise<ProcessInfo[]> => {
  if (isProgram(member, running)) return [];
  const found: ProcessInfo[] = [];
  for (const one of await table.all(programsOf(member)))
    if ((await descendsFrom(table, one, running.pid)) && (await isServer(table, member, one)))
      found.push(one);
  return found;
};
/**
 * The process of the pid file, otherwise a server that its start command put into the background, with its
 * children.
 */
export const processesOf = async (
  table: ProcessTable,
  member: MemberSpec,
  found?: ProcessMatch,
): Promise<readonly ProcessInfo[]> => {
  const named = found ?? (await memberProcess(table, member));
  const first = named.process ?? (await unnamedServer(table, member));
  return first === undefined ? [] : [first, ...(await serversBelow(table, member, first))];
};

/** Settings that a member's successor inherits from its process. */
export const identityOf = (running: ProcessInfo | undefined): Identity | undefined =>
  running === undefined
    ? undefined
    : {
        ...(running.uid === undefined ? {} : { uid: running.uid }),
        ...(running.gid === undefined ? {} : { gid: running.gid }),
        ...(running.groups === undefined ? {} : { groups: running.groups }),
        ...(running.cwd === undefined ? {} : { cwd: running.cwd }),
      };
/** Variables of the operator that would be settings of the server, of its ctl, or of this program. */
export const isOperatorVariable = (name: string): boolean => /^(ETCD|ETCDCTL|OPSCTL)_/.test(name);
/** Why a process like this process could not be started again; undefined if it can. */
export const identityProblem = (running: ProcessInfo | undefined, ownUid: number): string | undefined =>
  running?.uid === undefined || running.uid === ownUid || ownUid === 0
    ? undefined
    : `its process runs as uid ${running.uid}; opsctl runs as uid ${ownUid} and could not start it with that uid`;
const ownVariable = 'ETCD_INITIAL_ELECTION_TICK_ADVANCE';
/** Requests the running version only if a variable names a file, because only then it decides what the process read. */
export const findMinor = async (
  { env }: MemberSpec,
  running: Pick<ProcessInfo, 'env'> | undefined,
  request: FactsRequest['minor'],
): Promise<Minor | undefined> => {
  const variable = running?.env.get(FILE_VARIABLE) ?? env?.[FILE_VARIABLE] ?? '';
  return variable === '' ? undefined : request?.();
};
/**
 * Settings from the environment of the running process that its successor would lose. With a configuration
 * file a server reads neither flags nor environment.
 */
export const environmentProblems = (
  member: MemberSpec,
  running: ProcessInfo | undefined,
  minor: Minor | undefined,
): string[] => {
  if (running === undefined || running.words.length === 0) return [];
  const variable = running.env.get(FILE_VARIABLE);
  if (findServerFile(flagsOf(running.words.slice(1)), variable, minor) !== undefined) return [];
  const flags = (['old', 'new'] as const).map((which) =>
    flagsOf(argvOf(member[`${which}_command`], member[`${which}_binary`]) ?? []),
  );
  return [...running.env].flatMap(([name, value]) => {
    const flag = name.slice('ETCD_'.length).toLowerCase().replaceAll('_', '-');
    const isFlag = flags.every((one) => one.has(flag));
    const whole = (text: string | undefined): string | undefined =>
      text !== undefined && isPathVariable(name) ? resolve(running.cwd ?? '/', text) : text;
    // Either empty or not read by this version; configuration-fits compares it with the new version.
    if (
      name === ownVariable ||
      name === FILE_VARIABLE ||
      isFlag ||
      whole(member.env?.[name]) === whole(value)
    )
      return [];
    // The value may be a secret or the path of a secret, so the message does not contain it.
    return [
      `its process has ${name} in its environment; env in the cluster file has ${member.env?.[name] === undefined ? 'no such name' : 'another value'}`,
    ];
  });
};
export const commandOf = (member: MemberSpec, which: Which): [string, ...string[]] | undefined =>
  argvOf(member[`${which}_command`], member[`${which}_binary`]);

/**
 * Problems of successors that running processes reveal, local or over ssh: the started process, and the
 * server, which a wrapper may have started.
 */
export const processProblems = (
  member: MemberSpec,
  first: ProcessInfo | undefined,
  server: ProcessInfo | undefined,
  ownUid: number,
  minor: Minor | undefined,
): string[] => {
  const identity = identityProblem(first, ownUid);
  return [...(identity === undefined ? [] : [identity]), ...environmentProblems(member, server, minor)];
};
/** The start of the running server, as facts for the start of its successor. */
export const commandFacts = (server: ProcessInfo | undefined): HostFacts =>
  server === undefined || server.words.length === 0
    ? {}
    : { command: server.words, environment: Object.fromEntries(server.env) };
/** The base of relative paths in the configuration file, and the directory that they must resolve to. */
export const placeFacts = async (
  { realPath }: Pick<ProcessTable, 'realPath'>,
  { data_dir }: MemberSpec,
  first: ProcessInfo | undefined,
): Promise<HostFacts> => {
  const real_data_dir = data_dir === undefined ? undefined : await realPath(data_dir);
  return {
    ...(first?.cwd === undefined ? {} : { working_directory: first.cwd }),
    ...(real_data_dir === undefined ? {} : { real_data_dir }),
  };
};
/** Facts about the owner of the real directory: the owner of a link to it does not matter. */
export const ownerFacts = (uid: number | undefined, data: PathStatus | undefined): HostFacts => {
  if (uid === undefined || data?.uid === undefined || uid === data.uid) return {};
  const what = data.path === data.real ? 'the directory' : placeText(data);
  return { owner_mismatch: `${what} belongs to uid ${data.uid}, but the process runs as uid ${uid}` };
};

/**
 * Path of the previous version's configuration while the new configuration is active: next to the file, on
 * the member's host. The name contains the run: a later run, for example after an interruption, finds the
 * rewritten file and must not replace the only copy of the original.
 */
export const keptConfig = (
  { config_file }: MemberSpec,
  { from, run }: Pick<Move, 'from' | 'run'>,
): string | undefined => (config_file === undefined ? undefined : `${config_file}.opsctl-${from}-${run}`);

/**
 * Applies the rule of platform/trust.ts to the host of a member. `untrusted PATH [UID] [write]` prints why
 * another user could replace the object at the path, and prints no output if only root, this user and UID
 * can. `trusted PATH` returns 1 and prints the reason if opsctl must not run it. POSIX requires the format of
 * `ls -ldn`.
 */
export const trustFunctions = sh`untrusted_at() {
u_line=$(LC_ALL=C ls -ldn -- "$1" 2>/dev/null) || return 0
set -f; set -- "$1" $u_line; set +f
case "$2" in l*) u_may=$u_users;; *) u_may="$u_users$u_more ";; esac
u_who=$(id -un "$4" 2>/dev/null) && u_who="$u_who (uid $4)" || u_who="uid $4"
case "$u_may" in *" $4 "*) ;; *) echo "$1 belongs to $u_who, mode $2; if you trust its content: chown root '$1'"; return 1;; esac
case "$2" in
l*|d????????[tT]*) return 0;;
????????w*) u_by='other users'; u_fix=go-w;;
?????w*)
  [ "$u_use" != write ] || return 0
  [ "$4" = 0 ] || [ "$4" != "$5" ] || return 0
  case "$4 $5 $1/" in "0 50 /usr/local/"*) return 0;; esac
  u_by='its group'; u_fix=g-w;;
*) return 0;;
esac
if [ "$(id -u)" = 0 ] || [ "$u_by" = 'other users' ]; then [ -w "$1" ] || return 0; fi
echo "$1 belongs to $u_who and $u_by can write to it, mode $2; if you trust its content: chmod $u_fix '$1'"
return 1
}
untrusted() {
u_users=" 0 $(id -u) $(LC_ALL=C ls -ldn / | awk '{ print $3 }') "; u_more=$2; u_use=$3
[ "$(id -u)" != 0 ] || u_users="$u_users\${SUDO_UID:-0} "
u_left=$1
case "$u_left" in /*) ;; *) u_left=$(command -v "$1"); case "$u_left" in /*) ;; *) return 0;; esac;; esac
u_at=; u_links=0
untrusted_at / || return 0
while [ -n "$u_left" ]; do
  u_left=\${u_left#/}; u_name=\${u_left%%/*}
  case "$u_left" in */*) u_left=\${u_left#*/};; *) u_left=;; esac
  case "$u_name" in ''|.) continue;; ..) u_at=\${u_at%/*}; continue;; esac
  untrusted_at "$u_at/$u_name" || return 0
  if [ -h "$u_at/$u_name" ]; then
    u_links=$((u_links+1)); [ $u_links -le 40 ] || return 0
    u_to=$(readlink "$u_at/$u_name"); u_left=$u_to/$u_left
    case "$u_to" in /*) u_at=;; esac
  else
    u_at=$u_at/$u_name
  fi
done
}
trusted() {
u_why=$(untrusted "$1")
[ -n "$u_why" ] || return 0
echo "opsctl did not run $1: $u_why" >&2
return 1
}`;

/** The output of a host that refuses to run a program for its version. */
export const isTrustRefusal = (text: string): boolean => text.startsWith('opsctl did not run ');

type Named = readonly [key: string, path: string | undefined];
/**
 * Prints `untrusted=KEY: REASON` for each program and file of a member that another user of its host could
 * replace. The owner of the data directory may own the programs that run as that user, and the files of the
 * data.
 */
export const trustScript = (member: MemberSpec): ShellScript => {
  const ran: Named[] = (['old_binary', 'new_binary', 'binary_path', 'manifest'] as const).map((key) => [
    ...([key, member[key]] as const),
  ]);
  const started: Named[] = (['old', 'new'] as const).map((which) => [
    `${which}_command`,
    commandOf(member, which)?.[0],
  ]);
  const written: Named[] = (['pid_file', 'log_file'] as const).map((key) => [key, member[key]]);
  const isPath = ([, path]: Named): boolean => path?.startsWith('/') === true;
  return sh`u_service=$(LC_ALL=C ls -ldnL -- ${member.data_dir} 2>/dev/null | awk '{ print $3 }')
report() { u_why=$(untrusted "$2" "$3" "$4"); [ -z "$u_why" ] || echo "untrusted=$1: $u_why"; }
${shellLines([
  ...ran.filter(isPath).map(([key, path]) => sh`report ${key} ${path} '' run`),
  ...started.filter(isPath).map(([key, path]) => sh`report ${key} ${path} "$u_service" run`),
  ...written.filter(isPath).map(([key, path]) => sh`report ${key} ${path} "$u_service" write`),
])}`;
};
