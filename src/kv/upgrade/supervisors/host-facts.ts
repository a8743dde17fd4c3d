import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import { FILE_VARIABLE, findServerFile } from '../../../api-specs/etcd/server-settings.ts';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { messageOf } from '../../../core/problem.ts';
import { sh, shellLines, type ShellScript, argvOf } from '../../../core/shell.ts';
import type { Files as AllFiles, FileInfo, Files } from '../../../platform/host.ts';
import type { ChangedFile, HostFacts, MemberSpec, OtherDirectory, PathStatus } from '../../engine/model.ts';
import { connectionsFrom, portHex } from '../cluster/listening-sockets.ts';
import { flagsOf, parseConfig } from '../configuration/configuration.ts';
import {
  goInText,
  hasProcess,
  type ProcessState,
  type Service,
  valuesIn,
  versionInText,
  type Which,
  placeFrom,
  type ScriptRunner,
  placeScript,
  seePlace,
} from './driver.ts';
import { type ProcessInfo, serverVariables, wordsIn } from './process-record.ts';
import { configPath, isTrustRefusal, trustFunctions, trustScript } from './member-process.ts';
import { listDataDirectories, walFacts } from './wal-directory.ts';

/** Returns the total size. Follows links and counts each directory once. */
const sizeOf = async (files: Files, directory: string, counted = new Set<string>()): Promise<number> => {
  const real = (await files.realPath(directory).catch(() => undefined)) ?? directory;
  if (counted.has(real)) return 0;
  counted.add(real);
  let total = 0;
  for (const name of await files.list(real).catch(() => [])) {
    const info = await infoOf(files, childPath(real, pathPart(name)));
    if (info?.kind === 'directory') total += await sizeOf(files, childPath(real, pathPart(name)), counted);
    else total += info?.sizeBytes ?? 0;
  }
  return total;
};
/** Facts of the target of a link. */
const infoOf = async (files: Files, path: string): Promise<FileInfo | undefined> => {
  const info = await files.info(path);
  if (info?.kind !== 'link') return info;
  const real = await files.realPath(path).catch(() => undefined);
  return real === undefined ? undefined : files.info(real);
};
/**
 * Size of the largest v2 snapshot file: each file contains all v2 data of its time. spec/store#limits: v2
 * data over 50 MB needs waits.
 */
const v2Bytes = async (files: Files, snapDirectory: string): Promise<number> => {
  const names = (await files.list(snapDirectory).catch(() => [])).filter((name) => name.endsWith('.snap'));
  const sizes = await Promise.all(
    names.map(
      async (name) => (await infoOf(files, childPath(snapDirectory, pathPart(name))))?.sizeBytes ?? 0,
    ),
  );
  return Math.max(0, ...sizes);
};
const isWritable = async (files: Files, dataDir: string, walDir: string): Promise<boolean> => {
  for (const path of [
    dataDir,
    join(dataDir, 'member'),
    join(dataDir, 'member', 'snap'),
    walDir,
    join(dataDir, 'member', 'snap', 'db'),
  ]) {
    const info = await infoOf(files, path);
    // Root may write to every directory. A directory without any write bit still shows that a user closed it.
    if (info !== undefined && ((info.mode & 0o222) === 0 || !(await files.isWritable(path)))) return false;
  }
  return true;
};
const sizeFacts = async (files: Files, data: PathStatus, { wal_place }: HostFacts): Promise<HostFacts> => {
  const counted = new Set<string>();
  const log = wal_place === undefined ? 0 : await sizeOf(files, wal_place.real, counted);
  return { data_dir_bytes: log + (await sizeOf(files, data.real, counted)) };
};
/** Facts about a data directory on this machine, and about a write-ahead log outside of it. */
export const directoryFacts = async (
  files: Files,
  dataDir: string | undefined,
  wantsSizes: boolean,
  walDir?: string,
): Promise<HostFacts> => {
  if (dataDir === undefined) return {};
  const [data, log] = await Promise.all([
    seePlace(files, dataDir),
    walDir === undefined ? undefined : seePlace(files, walDir),
  ]);
  if (!data.exists) return { data_dir_exists: false, data_place: data };
  const snap = join(data.real, 'member', 'snap');
  const ownLog = join(data.real, 'member', 'wal');
  const [db, writable, v2, hasOwnWal] = await Promise.all([
    infoOf(files, join(snap, 'db')),
    isWritable(files, data.real, log?.real ?? ownLog),
    v2Bytes(files, snap),
    infoOf(files, ownLog),
  ]);
  const wal = walFacts(data, log, hasOwnWal !== undefined);
  return {
    data_dir_exists: true,
    data_dir_writable: writable,
    data_place: data,
    ...wal,
    has_db_file: db !== undefined,
    ...(db === undefined ? {} : { db_file_bytes: db.sizeBytes }),
    v2_bytes: v2,
    ...(data.free_bytes === undefined ? {} : { free_bytes: data.free_bytes }),
    ...(data.disk === undefined ? {} : { disk: data.disk }),
    ...(wantsSizes ? await sizeFacts(files, data, wal) : {}),
  };
};
/**
 * The file of ETCD_CONFIG_FILE, which the successor of a process inherits; `env` of the cluster file overrides
 * it. Undefined if the cluster file names a configuration file.
 */
export const findVariableFile = (
  member: MemberSpec,
  server: Pick<ProcessInfo, 'env' | 'cwd'> | undefined,
): string | undefined => {
  const named = member.env?.[FILE_VARIABLE] ?? server?.env.get(FILE_VARIABLE);
  const path = configPath(member) === undefined ? findServerFile(new Map(), named, undefined) : undefined;
  return path === undefined ? undefined : resolve(server?.cwd ?? '/', path);
};
const readConfig = async (files: Pick<Files, 'read'>, path: string): Promise<HostFacts> => {
  const text = await files.read(path).catch((error: unknown) => ({ unreadable: messageOf(error) }));
  if (typeof text === 'object')
    return { config_error: `cannot read the configuration file ${path}: ${text.unreadable}` };
  if (text === undefined) return { config_error: `configuration file not found: ${path}` };
  const read = await parseConfig(text);
  return 'broken' in read
    ? { config_error: `${path} is not a configuration file: ${read.broken}` }
    : { config: read.file, ...(read.repeats === undefined ? {} : { config_repeats: true }) };
};
export const configFacts = async (
  files: Pick<Files, 'read'>,
  path: string | undefined,
  isOfVariable = false,
): Promise<HostFacts> =>
  path === undefined
    ? {}
    : { ...(await readConfig(files, path)), ...(isOfVariable ? { is_config_of_variable: true } : {}) };

/**
 * The configuration file of a process: whether it changed since the process read it, and its content if the next
 * start reads another file. The process may have a separate file system. Empty if the file cannot be read.
 */
export const runningConfigFacts = async (
  files: Pick<Files, 'read'>,
  member: MemberSpec,
  server: Pick<ProcessInfo, 'pid' | 'words' | 'env' | 'cwd'> | undefined,
  ask: ScriptRunner,
): Promise<HostFacts> => {
  const named =
    server === undefined
      ? undefined
      : findServerFile(flagsOf(server.words), server.env.get(FILE_VARIABLE), undefined);
  if (server === undefined || named === undefined) return {};
  const path = resolve(server.cwd ?? '/', named);
  if (server.cwd === undefined && !isAbsolute(named)) return {};
  const age = configAgeFrom(await ask(configAgeScript(server.pid, path)));
  if (path === configPath(member)) return age;
  const { config } = await readConfig(files, `/proc/${server.pid}/root${path}`);
  return { ...age, ...(config === undefined ? {} : { running_config: config }) };
};

const directoryScript = (path: string, wantsSizes: boolean): ShellScript => sh`${placeScript(path)}
D=$R
if [ -d "$D" ]; then
  echo data_dir_exists=true
  w=true; for p in "$D" "$D/member" "$D/member/snap" "$D/member/wal" "$D/member/snap/db"; do [ ! -e "$p" ] || [ -w "$p" ] || w=false; done; echo data_dir_writable=$w
  if [ -f "$D/member/snap/db" ]; then echo has_db_file=true; echo "db_file_bytes=$(wc -c < "$D/member/snap/db" | tr -d ' ')"; else echo has_db_file=false; fi
  v=0; for f in "$D"/member/snap/*.snap; do [ -f "$f" ] && s=$(wc -c < "$f" | tr -d ' ') && [ "$s" -gt "$v" ] && v=$s; done; echo v2_bytes=$v
  echo "disk=$(stat -c %d "$D" 2>/dev/null)"
  echo "free_kib=$(df -Pk "$D" | awk 'NR==2 {print $4}')"
  [ ! -d "$D/member/wal" ] || echo has_wal=true
  ${wantsSizes ? sh`echo "data_dir_kib=$(du -skL "$D" | cut -f1)"` : sh`:`}
else echo data_dir_exists=false; fi`;
/** Returns the names of a server's program on this host. */
const programPattern = (member: MemberSpec): ShellScript =>
  [member.old_binary, member.new_binary, member.binary_path]
    .flatMap((path) => (path === undefined ? [] : [basename(path)]))
    .reduce((pattern, name) => sh`${pattern}|${name}*`, sh`etcd*`);
/**
 * Prints, in base64, the command line and the variables of the running server, and the configuration file
 * that they name. The main process of the service may be a shell that started the server. A container has a
 * separate file system: /proc/PID/root.
 */
/**
 * `newest FILE` prints the time of the last change of a file and of the links in its path: the time of its content,
 * or of its permissions and its name, because a package or a copy may give new content an old time. `$t` is the
 * start of the server `$p`. Both have whole seconds.
 */
const changeFunctions = sh`newest() { n=$(stat -Lc '%Y %Z' -- "$1" 2>/dev/null) || return 1; l=$1
while case "$l" in ''|/proc/*/root|/proc/*/cwd) false;; */*) true;; *) false;; esac; do [ ! -L "$l" ] || n="$n $(stat -c '%Y %Z' -- "$l" 2>/dev/null)"; l=\${l%/*}; done
printf '%s\\n' "$n" | tr ' ' '\\n' | sort -n | tail -n 1; }
b=$(awk '/^btime/ {print $2}' /proc/stat); s=$(awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*[)] /, ""); print int($20 / hz) }' "/proc/$p/stat" 2>/dev/null); t=$((b + s))
later() { [ "$1" -gt $((t + 1)) ] && echo "$2=$1 $t $3"; }`;
/**
 * Prints the files of the service manager that changed after the server (`$p`) started: its next start uses settings
 * that the process does not have. A path may contain wildcards, and spaces.
 */
const changedScript = (service: Service, member: MemberSpec): ShellScript => {
  const files = service.startFiles?.(member);
  return files === undefined
    ? sh`:`
    : sh`{ ${files}; } 2>/dev/null | { IFS=; while read -r g; do for c in $g; do m=$(stat -Lc %Y -- "$c" 2>/dev/null) && later "$m" changed "$c"; done; done; }`;
};
/**
 * Prints whether the configuration file `$r` changed after the server (`$p`) read it, and if so, the directories in
 * which the server has opened its database and its write-ahead log.
 */
const configChangeScript = sh`if [ -n "$f" ] && m=$(newest "$r") && later "$m" changed_config "$f"; then
  for d in "/proc/$p/fd"/*; do d=$(readlink "$d" 2>/dev/null); case "$d" in */member/snap/db) echo "open_data_dir=\${d%/member/snap/db}";; *.wal) echo "open_wal_dir=\${d%/*}";; esac; done
fi`;
/** Prints the change of a configuration file that a process reads. `path` is the path as the process sees it. */
const configAgeScript = (pid: number, path: string): ShellScript => sh`p=${pid}; f=${path}; r=/proc/$p/root$f
${changeFunctions}
${configChangeScript}
exit 0`;
/**
 * Prints the places in the definition of a stopped member, and in its configuration file, that name force-new-cluster.
 * The definition may contain secrets, so the script prints nothing else.
 */
const definitionScript = (service: Service, member: MemberSpec): ShellScript => {
  const [text, file] = [service.definition?.(member), service.definitionFile?.(member)];
  if (text === undefined || file === undefined) return sh`:`;
  return sh`T=$( ( ${text} ) 2>/dev/null ) && [ -n "$T" ] && T=$(printf '%s\\n' "$T" | grep -v '^[[:space:]]*[#;]') && {
C=$(printf '%s\\n' "$T" | tr -d "\\"'" | sed -n 's/.*config-file[,= ]*\\([^, ]*\\).*/=\\1/p; s/.*ETCD_CONFIG_FILE[:= ]*\\([^, ]*\\).*/=\\1/p')
for c in $C; do c=\${c#=}; case "$c" in /*) ;; *) false;; esac && F=$( ( ${file} ) 2>/dev/null ) && [ -n "$F" ] && T="$T
$F" || { echo "definition_error=the configuration file of its next start was not read"; break; }; done
echo "definition=$(printf '%s\\n' "$T" | grep -v '^[[:space:]]*[#;]' | tr -d "\\"'" | grep -oiE 'force[-_]new[-_]cluster([[:space:]]*[:=][[:space:]]*[a-z0-9]*)?' | tr '\\n' ',')"
} || echo "definition_error=the definition of its service was not read"`;
};
const processScript = (service: Service, member: MemberSpec): ShellScript => {
  const pid = service.pid?.(member);
  if (pid === undefined) return sh``;
  const isOwn = configPath(member) !== undefined;
  const config = isOwn
    ? sh`:`
    : sh`if [ -n "$f" ]; then if [ -r "$r" ]; then echo "config=$(base64 < "$r" | tr -d '\\n')"; else echo "config_unread=$f"; fi; fi`;
  return sh`known=
isserver() { n=$(tr '\\0' '\\n' < "/proc/$1/cmdline" 2>/dev/null | head -n 1); case "\${n##*/}" in ${programPattern(member)}) ;; *) return 1;; esac; }
p=$( { ${pid}; } 2>/dev/null | head -n 1 | tr -cd 0-9); first=$p
if [ "\${p:-0}" -gt 1 ]; then
  while ! isserver "$p"; do
    next=; for c in $(cat "/proc/$p/task"/*/children 2>/dev/null); do [ -n "$next" ] && ! isserver "$c" || next=$c; done
    [ -n "$next" ] || break; p=$next
  done
  if [ "$p" != "$first" ] && ! isserver "$p"; then echo "command_error=no server was found below process $first"
  elif [ ! -r "/proc/$p/cmdline" ]; then echo "command_error=the command line of process $p cannot be read"
  elif ! e=$(tr '\\0' '\\n' < "/proc/$p/environ" 2>/dev/null); then echo "command_error=the environment of process $p cannot be read"
  else
  echo "command=$(base64 < "/proc/$p/cmdline" | tr -d '\\n')"
  [ "/proc/$p/root/." -ef / ] || echo has_other_root=true
  echo "environment=$(printf '%s\\n' "$e" | grep '^ETCD_' | base64 | tr -d '\\n')"
  f=$(tr '\\0' '\\n' < "/proc/$p/cmdline" | sed -n 's/^--\\{0,1\\}config-file=//p; /^--\\{0,1\\}config-file$/{n;p;}' | tail -n 1)
  if [ -z "$f" ]; then f=$(printf '%s\\n' "$e" | sed -n 's/^ETCD_CONFIG_FILE=//p' | tail -n 1); [ -z "$f" ] || ${isOwn ? sh`:` : sh`echo is_config_of_variable=true`}; fi
  case "$f" in '') r=;; /*) r=/proc/$p/root$f;; *) r=/proc/$p/cwd/$f;; esac
  ${config}
  ${changeFunctions}
  ${configChangeScript}
  ${changedScript(service, member)}
  known=true
  fi
else echo 'command_error=its process was not found'; fi
[ -n "$known" ] || { ${definitionScript(service, member)}
}`;
};
/** Prints the connections of other addresses to the client port, in the network of the server's process. */
const connectedScript = ({ client_url }: MemberSpec): ShellScript => {
  const port = portHex(client_url);
  return port === undefined
    ? sh``
    : sh`t=/proc/net; [ "\${p:-0}" -gt 1 ] && [ -r "/proc/$p/net/tcp" ] && t=/proc/$p/net
[ ! -r $t/tcp ] || echo "connected=$(cat $t/tcp $t/tcp6 2>/dev/null | awk -v port=${port} '$4 == "01" { split($2, to, ":"); split($3, from, ":"); if (to[2] == port && from[1] != to[1]) n[from[1]]++ } END { for (a in n) printf "%s*%d,", a, n[a] }')"`;
};
const connectedFacts = (found: ReadonlyMap<string, string>): HostFacts => {
  const text = found.get('connected');
  if (text === undefined) return {};
  const counts = [...text.matchAll(/([0-9A-Fa-f]+)\*(\d+),/g)].map(
    ([, hex = '', count]): readonly [string, number] => [hex, Number(count)],
  );
  return { connected: connectionsFrom(counts) };
};
export const factsScript = (service: Service, member: MemberSpec, wantsSizes: boolean): ShellScript => {
  const version = (which: Which): ShellScript => {
    const command = service.version(member, which);
    return command === undefined
      ? sh``
      : sh`echo "${which}_version=$( { ${command}; } 2>&1 | head -n 3 | tr '\\n' ' ')"`;
  };
  const config = configPath(member);
  return shellLines([
    trustFunctions,
    sh`echo "now_s=$(date +%s)"`,
    trustScript(member),
    member.data_dir === undefined ? sh`` : directoryScript(member.data_dir, wantsSizes),
    version('new'),
    version('old'),
    config === undefined
      ? sh``
      : sh`if [ -r ${config} ]; then echo "config=$(base64 < ${config} | tr -d '\\n')"; else echo config_missing=true; fi`,
    processScript(service, member),
    connectedScript(member),
    sh`exit 0`,
  ]);
};
/** When the request was sent and when the response arrived, in milliseconds since 1970. */
export type QueryPeriod = { readonly fromMs: number; readonly untilMs: number };
/**
 * How far a clock differs from the period in which it was read. The clock has whole seconds, so a time within
 * that second is not a difference.
 */
const skewOf = (clockMs: number, { fromMs, untilMs }: QueryPeriod): number => {
  const skew = clockMs - Math.min(Math.max(clockMs, fromMs), untilMs);
  return Math.abs(skew) <= 1500 ? 0 : skew;
};
/** Facts of a host from the state of a process. */
const processFacts = (state: ProcessState): HostFacts => {
  const is_running = hasProcess(state);
  return {
    ...(is_running === undefined ? {} : { is_running }),
    ...('pid' in state && state.pid !== undefined && state.pid > 1 ? { pid: state.pid } : {}),
    ...(state.state === 'starting' ? { starting: state.awaits } : {}),
  };
};
const decodeBase64 = (text: string): string => Buffer.from(text, 'base64').toString();
/** The start of the new version, if the service keeps the start of the running version. */
const commandFacts = (found: ReadonlyMap<string, string>): HostFacts => {
  const [command, environment, error] = ['command', 'environment', 'command_error'].map((key) =>
    found.get(key),
  );
  return {
    ...(command === undefined ? {} : { command: wordsIn(decodeBase64(command)) }),
    ...(environment === undefined
      ? {}
      : { environment: Object.fromEntries(serverVariables(decodeBase64(environment).split('\n'))) }),
    ...(error === undefined ? {} : { command_error: error }),
    ...(found.has('has_other_root') ? { has_other_root: true } : {}),
  };
};
/** A setting without a value is on, as a flag of the servers is. */
const definitionFacts = (found: ReadonlyMap<string, string>): Pick<HostFacts, 'stopped_start'> => {
  const [text, problem] = [found.get('definition'), found.get('definition_error')];
  const isForced =
    text?.split(',').some((one) => one !== '' && !/[:=]\s*(?:false|f|0)?$/i.test(one)) === true;
  if (isForced) return { stopped_start: { is_forced: true } };
  if (problem !== undefined) return { stopped_start: { problem } };
  return text === undefined ? {} : { stopped_start: { is_forced: false } };
};
const contentFrom = async (
  found: ReadonlyMap<string, string>,
  path: string | undefined,
): Promise<HostFacts> => {
  if (found.has('config_missing')) return { config_error: `configuration file not found: ${path}` };
  if (found.has('config_unread'))
    return { config_error: `cannot read the configuration file ${found.get('config_unread')}` };
  const text = found.get('config');
  if (text === undefined) return {};
  const read = await parseConfig(decodeBase64(text));
  return 'broken' in read
    ? {
        config_error: `${path ?? 'the file in its command line'} is not a configuration file: ${read.broken}`,
      }
    : { config: read.file, ...(read.repeats === undefined ? {} : { config_repeats: true }) };
};
const configFrom = async (
  found: ReadonlyMap<string, string>,
  path: string | undefined,
): Promise<HostFacts> => ({
  ...(await contentFrom(found, path)),
  ...(found.has('is_config_of_variable') ? { is_config_of_variable: true } : {}),
});
/** The script prints the line of a version only if it calls a program, and a call that was cut prints no text. */
const programError = (
  { new_binary, new_command, new_image }: MemberSpec,
  found: ReadonlyMap<string, string>,
): string => {
  const printed = found.get('new_version')?.trim();
  if (printed !== undefined && printed !== '') return printed;
  const program =
    new_binary ?? argvOf(new_command, undefined)?.[0] ?? (new_image === undefined ? undefined : 'etcd');
  if (program !== undefined) return `${program} --version printed nothing`;
  return printed === undefined ? 'the cluster file has no new_binary' : 'its version call printed nothing';
};
/** The path in a refusal may contain a version. */
const versionOf = (text = ''): string | undefined => (isTrustRefusal(text) ? undefined : versionInText(text));
/** Lines with the same key: `valuesIn` keeps only the last of them. */
const listIn = (text: string, key: 'untrusted' | 'changed' | 'changed_config'): string[] =>
  text.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []));
const timeText = (seconds: string): string => new Date(Number(seconds) * 1000).toISOString();
const changesIn = (text: string, key: 'changed' | 'changed_config'): ChangedFile[] =>
  listIn(text, key).flatMap((line) => {
    const [, changed, started, path] = /^(\d+) (\d+) (.+)$/.exec(line) ?? [];
    if (changed === undefined || started === undefined || path === undefined) return [];
    const times = { changed_at: timeText(changed), started_at: timeText(started) };
    return [{ path, ...times, ...(key === 'changed_config' ? ({ is_config: true } as const) : {}) }];
  });
/** Facts from the output of `configAgeScript`. Pure. */
const configAgeFrom = (text: string): HostFacts => {
  const found = valuesIn(text);
  const changed_files = changesIn(text, 'changed_config');
  const [open_data_dir, open_wal_dir] = [found.get('open_data_dir'), found.get('open_wal_dir')];
  return {
    ...(changed_files.length === 0 ? {} : { changed_files }),
    ...(open_data_dir === undefined ? {} : { open_data_dir }),
    ...(open_wal_dir === undefined ? {} : { open_wal_dir }),
  };
};
const listFacts = (text: string): HostFacts => {
  const [problems, age] = [listIn(text, 'untrusted'), configAgeFrom(text)];
  const changed_files = [...(age.changed_files ?? []), ...changesIn(text, 'changed')];
  return {
    ...(problems.length === 0 ? {} : { problems }),
    ...age,
    ...(changed_files.length === 0 ? {} : { changed_files }),
  };
};
/** Converts the lines of the script to facts. Pure except for the YAML reader. */
export const factsFrom = async (
  text: string,
  member: MemberSpec,
  asked: QueryPeriod,
  state: ProcessState,
): Promise<HostFacts> => {
  const found = valuesIn(text);
  const flag = (key: string) => (found.has(key) ? { [key]: found.get(key) === 'true' } : {});
  const count = (key: string, to = key, times = 1) =>
    /^\d+$/.test(found.get(key) ?? '') ? { [to]: Number(found.get(key)) * times } : {};
  const [fresh, old] = [versionOf(found.get('new_version')), versionOf(found.get('old_version'))];
  const go = goInText(found.get('new_version') ?? '');
  const data = member.data_dir === undefined ? undefined : placeFrom(text, member.data_dir, member);
  const skew = skewOf(Number(found.get('now_s')) * 1000, asked);
  return {
    ...processFacts(state),
    ...flag('data_dir_exists'),
    ...flag('data_dir_writable'),
    ...flag('has_db_file'),
    ...count('db_file_bytes'),
    ...count('v2_bytes'),
    ...(data === undefined ? {} : { data_place: data }),
    ...count('free_kib', 'free_bytes', 1024),
    ...(/^\d+$/.test(found.get('disk') ?? '')
      ? { disk: `${member.host ?? 'here'} ${found.get('disk')}` }
      : {}),
    ...(found.has('has_wal') ? {} : walFacts(data, undefined, false)),
    ...count('data_dir_kib', 'data_dir_bytes', 1024),
    ...(fresh === undefined
      ? { new_binary_error: programError(member, found) }
      : { new_binary_version: fresh, ...(go === undefined ? {} : { new_binary_go: go }) }),
    ...(old === undefined ? {} : { old_binary_version: old }),
    ...commandFacts(found),
    ...definitionFacts(found),
    ...connectedFacts(found),
    ...(await configFrom(found, configPath(member))),
    ...listFacts(text),
    ...(Number.isFinite(skew) ? { clock_skew_ms: skew } : {}),
  };
};

/** Operations on the files of a host, local or over ssh. */
export type FileProbes = Pick<AllFiles, 'info' | 'isWritable' | 'realPath'>;
type HostFiles = FileProbes;
const realOf = async (files: HostFiles, path: string): Promise<string> =>
  (await files.realPath(path).catch(() => undefined)) ?? path;
/** A file that the start writes: if it is not writable, the member stays down on both versions. */
const unwritable = async (
  files: HostFiles,
  key: 'pid_file' | 'log_file',
  named: string | undefined,
): Promise<string | undefined> => {
  if (named === undefined) return undefined;
  const path = await realOf(files, named);
  const info = await files.info(path).catch(() => undefined);
  if (info?.kind === 'directory') return `${key} ${named} is a directory`;
  if (info !== undefined)
    return (await files.isWritable(path)) ? undefined : `${key} ${named} cannot be written`;
  const directory = await realOf(files, dirname(named));
  if ((await files.info(directory).catch(() => undefined))?.kind !== 'directory')
    return `${key} ${named}: directory not found: ${dirname(named)}`;
  return (await files.isWritable(directory)) ? undefined : `${key} ${named}: its directory is not writable`;
};
const wrongCommand = async (
  files: HostFiles,
  member: MemberSpec,
  which: 'old' | 'new',
): Promise<string | undefined> => {
  const argv = argvOf(member[`${which}_command`], member[`${which}_binary`]);
  if (argv === undefined) return undefined;
  const [program] = argv;
  // A missing binary is reported by a separate guard.
  const isNamedTwice = program !== member[`${which}_binary`] && member[`${which}_binary`] !== undefined;
  if (
    isNamedTwice &&
    isAbsolute(program) &&
    (await files.info(await realOf(files, program)).catch(() => undefined)) === undefined
  )
    return `${which}_command starts ${program}, which does not exist`;
  return undefined;
};
/**
 * The data directories of the process and of the starts that are not `data_dir`. A relative directory is a different,
 * empty directory unless `cwd` is the working directory of the process.
 */
export const findOtherDirectories = async (
  files: HostFiles,
  member: MemberSpec,
  cwd: string,
  facts: HostFacts,
): Promise<OtherDirectory[]> => {
  const { data_dir } = member;
  if (data_dir === undefined) return [];
  const own = await realOf(files, resolve(data_dir));
  const all = await Promise.all(
    listDataDirectories(member, { ...facts, working_directory: cwd }).map(async (one) => ({
      ...one,
      path: await realOf(files, resolve(cwd, one.directory)),
    })),
  );
  return all.filter(({ path }) => path !== own);
};
const otherText = ({ where, directory }: OtherDirectory, { data_dir }: MemberSpec, cwd: string): string => {
  const from = isAbsolute(directory) ? '' : `, which is ${resolve(cwd, directory)} from here`;
  return `${where} runs on the data directory ${directory}${from}; data_dir is ${data_dir}`;
};
/**
 * Problems that would occur between stop and start, found before any change. `cwd`: the working directory of
 * the next start.
 */
export const placeProblems = async (
  files: HostFiles,
  member: MemberSpec,
  cwd: string,
  facts: HostFacts = {},
): Promise<string[]> => {
  const [others, ...found] = await Promise.all([
    findOtherDirectories(files, member, cwd, facts),
    unwritable(files, 'pid_file', member.pid_file),
    unwritable(files, 'log_file', member.log_file),
    wrongCommand(files, member, 'new'),
    wrongCommand(files, member, 'old'),
  ]);
  const directories = others.map((one) => otherText(one, member, cwd));
  return [...found.filter((problem) => problem !== undefined), ...directories];
};
/**
 * The program that a command starts, if its file differs from the binary but has the same name. opsctl does
 * not run a wrapper, because it may not support --version.
 */
export const startedProgram = (member: MemberSpec, which: 'old' | 'new'): string | undefined => {
  const [named, started] = [
    member[`${which}_binary`],
    argvOf(member[`${which}_command`], member[`${which}_binary`])?.[0],
  ];
  if (named === undefined || started === undefined) return named ?? started;
  return basename(named) === basename(started) ? started : named;
};
