import { basename, isAbsolute, resolve } from 'node:path';
import { FILE_VARIABLE, findServerFile } from '../../../api-specs/etcd/server-settings.ts';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { AppError } from '../../../core/problem.ts';
import { sh, type ShellScript, argvOf } from '../../../core/shell.ts';
import type { HostFacts, MemberSpec, DataDirectory, PathStatus } from '../../engine/model.ts';
import { fileOfStart, findChangedConfig, flagsOf, isServer } from '../configuration/configuration.ts';
import { emptyEnvironment, findServers } from '../configuration/server-command.ts';
import {
  type DataCopy,
  type FactsRequest,
  isPartOf,
  placeFrom,
  placeFunctions,
  placeScript,
  type ScriptRunner,
  valuesIn,
} from './driver.ts';
import { commandOf, configPath, findMinor, ownerFacts } from './member-process.ts';
import { wordsIn } from './process-record.ts';

/** The settings of a running server that name directories. */
export type StartedWith = {
  readonly words: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly cwd?: string | undefined;
};
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
/**
 * The directory of the write-ahead log from the first source that contains it: the cluster file, the running
 * process, the command, the environment of the cluster file, or the configuration file. Undefined: the log is
 * part of the data directory. `minor` is the version that runs. Pure.
 */
export const walDirectoryOf = (
  member: MemberSpec,
  config: HostFacts['config'],
  running: StartedWith | undefined,
  minor: Minor | undefined,
): string | undefined => {
  const flags = [
    flagsOf(running?.words.slice(1) ?? []),
    flagsOf(argvOf(member.old_command, member.old_binary) ?? []),
  ];
  const variable = running?.env.get(FILE_VARIABLE) ?? member.env?.[FILE_VARIABLE];
  const given = flags.some((one) => findServerFile(one, variable, minor) !== undefined)
    ? []
    : [
        ...flags.map((one) => one.get('wal-dir')),
        running?.env.get('ETCD_WAL_DIR'),
        member.env?.['ETCD_WAL_DIR'],
      ];
  // This version ignores the variable and therefore the settings of its file.
  const isIgnored = given.length > 0 && (variable ?? '') !== '';
  const content = isIgnored ? undefined : config?.['wal-dir'];
  const named = [member.wal_dir, ...given, content].map(text).find((one) => one !== undefined);
  if (named === undefined || named.startsWith('/') || running?.cwd === undefined) return named;
  return resolve(running.cwd, named);
};
/**
 * The directory of a member's log from the facts of its host; undefined if the log is part of the data
 * directory.
 */
export const walDirOf = (
  member: MemberSpec,
  host: HostFacts | undefined,
  minor: Minor | undefined,
): string | undefined => {
  const named = walDirectoryOf(member, host?.config, undefined, minor);
  // A relative path was resolved in the working directory of the process.
  const seen = host?.wal_place?.path;
  if (seen !== undefined && (named === undefined || !named.startsWith('/'))) return seen;
  return named;
};
type StartOfData = {
  readonly where: string;
  readonly words: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The `data-dir` of a configuration file, if opsctl read that file. */
  readonly inFile: (path: string) => string | undefined;
};
/** A server that reads a configuration file ignores its flags and variables. */
const directoryOfStart = (
  { where, words, env, inFile }: StartOfData,
  config_file: string | undefined,
  minor: Minor | undefined,
): DataDirectory | undefined => {
  const [server] = findServers(words, { ...emptyEnvironment, env });
  // A container has its own file system.
  if (server?.isContained === true) return undefined;
  const start = server ?? { words, env };
  // A script of the operator may name the configuration file.
  const isScript = server === undefined && !isServer(words[0] ?? '');
  const file = fileOfStart({ ...start, minor }) ?? (isScript ? config_file : undefined);
  const flag = flagsOf(start.words).get('data-dir');
  const directory = text(file === undefined ? (flag ?? start.env['ETCD_DATA_DIR']) : inFile(file));
  if (directory === undefined) return undefined;
  if (where === 'its process') return { where, directory };
  if (file !== undefined) return { where: `a start with ${file}`, directory };
  return { where: flag === undefined ? 'ETCD_DATA_DIR in env' : where, directory };
};
/**
 * The data directories that the process and the commands of a member use, as they name them. The paths of containers
 * are those of another file system and left out. `minor` is the version that runs. Pure.
 */
export const listDataDirectories = (member: MemberSpec, host: HostFacts, minor?: Minor): DataDirectory[] => {
  if (member.container !== undefined || member.manifest !== undefined) return [];
  const { command, environment = {}, working_directory: cwd = '/', replaced_config, config } = host;
  const named = configPath(member);
  // A relative path of a stopped member proves no difference.
  const isOpen = (path: string): boolean => host.working_directory === undefined && !isAbsolute(path);
  const isRead = (path: string): boolean =>
    named === undefined ||
    resolve(cwd, named) === resolve(cwd, path) ||
    (isOpen(path) && basename(path) === basename(named));
  const next = (path: string) => (isRead(path) ? text((replaced_config ?? config)?.['data-dir']) : undefined);
  const current = (path: string): string | undefined => {
    if (findChangedConfig(host) !== undefined) return host.open_data_dir;
    return host.running_config === undefined ? next(path) : text(host.running_config['data-dir']);
  };
  const inherited = environment[FILE_VARIABLE];
  const env = { ...(inherited === undefined ? {} : { [FILE_VARIABLE]: inherited }), ...member.env };
  const isSeen = command !== undefined && host.has_other_root !== true;
  const starts: StartOfData[] = [
    ...(isSeen ? [{ where: 'its process', words: command, env: environment, inFile: current }] : []),
    ...(['new', 'old'] as const).flatMap((which) => {
      const words = commandOf(member, which);
      return words === undefined ? [] : [{ where: `${which}_command`, words, env, inFile: next }];
    }),
  ];
  const known =
    starts.length === 0 && command === undefined ? [{ where: '', words: [], env: {}, inFile: next }] : starts;
  const found = known.flatMap((one) => directoryOfStart(one, member.config_file, minor) ?? []);
  return found.filter(
    ({ where, directory }, i) =>
      found.findIndex(
        (one) => one.directory === directory && (one.where === where || one.where === 'its process'),
      ) === i,
  );
};
/** A log inside the data directory, after resolving all links, needs no separate location. Pure. */
export const walFacts = (
  data: PathStatus | undefined,
  wal: PathStatus | undefined,
  hasOwnWal: boolean,
): HostFacts => {
  const isSeparate = wal !== undefined && (data === undefined || !isPartOf(wal, data));
  return {
    ...(isSeparate ? { wal_place: wal } : {}),
    ...(data?.exists === true && wal === undefined && !hasOwnWal ? { is_wal_missing: true } : {}),
  };
};
/** The start of the process and its user. Reads only these variables, because others may be secrets. */
const startedScript = (pid: number): ShellScript => sh`cd /proc/${pid} 2>/dev/null || exit 0
encode() { base64 | tr -d '\\n'; }
echo "words=$(encode < cmdline)"; echo "cwd=$(readlink cwd | encode)"
echo "env=$(tr '\\0' '\\n' < environ 2>/dev/null | grep -E '^ETCD_(WAL_DIR|CONFIG_FILE)=' | encode)"
echo "uid=$(awk '/^Uid:/ { print $3 }' status)"
exit 0`;
const plain = (coded = ''): string => Buffer.from(coded, 'base64').toString();
const startedFrom = (output: string): { readonly started: StartedWith; readonly uid?: number } => {
  const values = valuesIn(output);
  const uid = values.get('uid');
  const cwd = plain(values.get('cwd')).trim();
  const env = plain(values.get('env'))
    .split('\n')
    .filter((line) => line.includes('='))
    .map((line): [string, string] => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]);
  return {
    started: {
      words: wordsIn(plain(values.get('words'))),
      env: new Map(env),
      ...(cwd === '' ? {} : { cwd }),
    },
    ...(/^\d+$/.test(uid ?? '') ? { uid: Number(uid) } : {}),
  };
};
/** A path of a process with a separate file system counts only if it is the same directory on the host. */
const sharedScript = (
  path: string,
  pid: number | undefined,
  wantsSizes: boolean,
): ShellScript => sh`${placeScript(path)}
${pid === undefined ? sh`` : sh`[ "$(readlink /proc/${pid}/ns/mnt)" = "$(readlink /proc/self/ns/mnt)" ] || [ "$R" -ef "/proc/${pid}/root"${path} ] || echo is_elsewhere=true`}
${wantsSizes ? sh`[ ! -d "$R" ] || echo "wal_kib=$(du -skL "$R" | cut -f1)"` : sh`:`}
exit 0`;
/**
 * Facts about the owner of the process and the write-ahead log of a member on another host or under a service
 * manager.
 */
export const startedFacts = async (
  member: MemberSpec,
  facts: HostFacts,
  { sizes: wantsSizes, minor }: FactsRequest,
  ask: ScriptRunner,
): Promise<HostFacts> => {
  const { pid, data_place: data, config } = facts;
  const seen = pid === undefined ? undefined : startedFrom(await ask(startedScript(pid)));
  const owner = facts.owner_mismatch === undefined ? ownerFacts(seen?.uid, data) : {};
  const named = walDirectoryOf(member, config, seen?.started, await findMinor(member, seen?.started, minor));
  if (named === undefined || !named.startsWith('/')) return owner;
  const isGiven = member.wal_dir !== undefined;
  const output = await ask(sharedScript(named, isGiven ? undefined : pid, wantsSizes));
  const values = valuesIn(output);
  if (values.has('is_elsewhere')) return owner;
  const found = walFacts(data, placeFrom(output, named, member), true);
  const kib = values.get('wal_kib');
  const isCounted = found.wal_place !== undefined && /^\d+$/.test(kib ?? '');
  return {
    ...owner,
    ...found,
    is_wal_missing: false,
    ...(isCounted ? { data_dir_bytes: (facts.data_dir_bytes ?? 0) + Number(kib) * 1024 } : {}),
  };
};

export const copyMs = 3_600_000;
/**
 * `count DIRECTORY` prints the number and total size of the files below it, including directories behind
 * links. `tree FROM TO` copies a directory with owner, mode and times, follows every link, and fails unless
 * both sides have equal counts. lost+found belongs to the file system.
 */
const treeFunctions = sh`count() { find -L "$1" -name lost+found -prune -o -type f -exec ls -ln {} + | awk '{ n++; s += $5 } END { printf "%d %.0f\\n", n, s }'; }
tree() { mkdir -p "$2" || return 1
for f in "$1"/* "$1"/.[!.]*; do
  [ -e "$f" ] || [ -L "$f" ] || continue
  [ "\${f##*/}" = lost+found ] || cp -aL "$f" "$2/" || return 1
done
o=$(stat -c %u:%g "$1") && m=$(stat -c %a "$1") || return 1
[ "$(id -u)" != 0 ] || chown "$o" "$2" || return 1
chmod "$m" "$2"; touch -r "$1" "$2"
a=$(count "$1"); b=$(count "$2")
[ "$a" = "$b" ] || { echo "the copy has $b files and bytes, $1 has $a" >&2; return 1; }; }`;
/**
 * Copies everything or fails: a partial copy would use the free space of the member, and could be mistaken
 * for a copy. A separate write-ahead log becomes member/wal of the copy, because a server finds it there
 * without --wal-dir.
 */
export const copyScript = (
  from: string,
  ending: string,
  wal: string | undefined,
): ShellScript => sh`${placeFunctions}
${treeFunctions}
N=${from}; R=$(real "$N"); [ -d "$R" ] || { echo "$N does not exist or is not a directory" >&2; exit 1; }
T="$(beside "$N")"${ending}; P="$T.partial"; rm -rf "$P"
W=${wal}
whole() {
  tree "$R" "$P" || return 1
  [ -n "$W" ] || return 0
  L=$(real "$W"); [ -d "$L" ] || { echo "the directory $W of the write-ahead log does not exist" >&2; return 1; }
  case "$L/" in "$R"/*) return 0;; esac
  [ ! -e "$P/member/wal" ] || mv "$P/member/wal" "$(unused "$P/member/wal.not-in-use")" || return 1
  mkdir -p "$P/member" && tree "$L" "$P/member/wal"
}
if whole && rm -rf "$T" && mv "$P" "$T"; then
  echo "copy.path=$(printf %s "$T" | base64 | tr -d '\\n')"; echo "copy.count=$(count "$T")"
else c=$?; rm -rf "$P"; [ $c = 0 ] && c=1; exit $c; fi`;
/** Parses the output of `copyScript`. */
export const copyFrom = (text: string, { name }: MemberSpec): DataCopy => {
  const values = valuesIn(text);
  const [files, bytes] = (values.get('copy.count') ?? '').split(' ').map(Number);
  const path = Buffer.from(values.get('copy.path') ?? '', 'base64').toString();
  if (path === '' || files === undefined || bytes === undefined || !(files > 0))
    throw new AppError('stopped', `${name}: the copy of its data directory contains no files`, {
      code: 'COPY_EMPTY',
    });
  return { path, files, bytes };
};
