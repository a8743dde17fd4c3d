import { basename } from 'node:path';
import { sh, shellLines } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import { parseConfig } from '../configuration/configuration.ts';
import type { HostFacts, MemberSpec } from '../../engine/types.ts';
import { hasProcess, versionInText } from './driver.ts';
import type { ProcessState, Which } from './driver.ts';
import { configPath } from './data-dir-stats.ts';
import { placeFrom, placeScript } from './places.ts';
import { serverVariables, wordsIn } from './process-table.ts';
import { walFacts } from './wal-directory.ts';
import { isDistrust, trustFunctions, trustScript } from './trust-script.ts';
import { valuesIn } from './service.ts';
import type { Service } from './service.ts';

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

/** Names that a server's program has on this host. */
const programPattern = (member: MemberSpec): ShellScript =>
  [member.old_binary, member.new_binary, member.binary_path]
    .flatMap((path) => (path === undefined ? [] : [basename(path)]))
    .reduce((pattern, name) => sh`${pattern}|${name}*`, sh`etcd*`);

/**
 * The command line and the variables of the server as it runs, and the configuration file that they name, in base64. The service's own process
 * may be a shell that started the server. A container has its own files: /proc/PID/root.
 */
const processScript = (service: Service, member: MemberSpec): ShellScript => {
  const pid = service.pid?.(member);
  if (pid === undefined) return sh``;
  const config =
    configPath(member) !== undefined
      ? sh`:`
      : sh`if [ -n "$f" ]; then case "$f" in /*) r=/proc/$p/root$f;; *) r=/proc/$p/cwd/$f;; esac
  if [ -r "$r" ]; then echo "config=$(base64 < "$r" | tr -d '\\n')"; else echo "config_unread=$f"; fi; fi`;
  return sh`isserver() { n=$(tr '\\0' '\\n' < "/proc/$1/cmdline" 2>/dev/null | head -n 1); case "\${n##*/}" in ${programPattern(member)}) ;; *) return 1;; esac; }
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
  echo "environment=$(printf '%s\\n' "$e" | grep '^ETCD_' | base64 | tr -d '\\n')"
  f=$({ printf '%s\\n' "$e" | sed -n 's/^ETCD_CONFIG_FILE=/--config-file=/p'; tr '\\0' '\\n' < "/proc/$p/cmdline"; } | sed -n 's/^--\\{0,1\\}config-file=//p; /^--\\{0,1\\}config-file$/{n;p;}' | tail -n 1)
  ${config}
  fi
else echo 'command_error=its process was not found'; fi`;
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
    sh`exit 0`,
  ]);
};

/** When the question went out and when the answer was there, in milliseconds since 1970. */
export type Asked = { readonly fromMs: number; readonly untilMs: number };
/** How far a clock is outside of the time in which it was read. It says whole seconds, and what is within that is no difference. */
const skewOf = (clockMs: number, { fromMs, untilMs }: Asked): number => {
  const skew = clockMs - Math.min(Math.max(clockMs, fromMs), untilMs);
  return Math.abs(skew) <= 1500 ? 0 : skew;
};

/** What a process's state is among the facts of its host. */
const processFacts = (state: ProcessState): HostFacts => {
  const is_running = hasProcess(state);
  return {
    ...(is_running === undefined ? {} : { is_running }),
    ...('pid' in state && state.pid !== undefined && state.pid > 1 ? { pid: state.pid } : {}),
    ...(state.state === 'starting' ? { starting: state.awaits } : {}),
  };
};

const decoded = (text: string): string => Buffer.from(text, 'base64').toString();
/** What the new version will be started with, as far as the service starts it like the one that runs. */
const commandFacts = (found: ReadonlyMap<string, string>): HostFacts => {
  const [command, environment, error] = ['command', 'environment', 'command_error'].map((key) =>
    found.get(key),
  );
  return {
    ...(command === undefined ? {} : { command: wordsIn(decoded(command)) }),
    ...(environment === undefined
      ? {}
      : { environment: Object.fromEntries(serverVariables(decoded(environment).split('\n'))) }),
    ...(error === undefined ? {} : { command_error: error }),
  };
};

const configFrom = async (
  found: ReadonlyMap<string, string>,
  path: string | undefined,
): Promise<HostFacts> => {
  if (found.has('config_missing')) return { config_error: `there is no configuration file ${path}` };
  if (found.has('config_unread'))
    return { config_error: `the configuration file ${found.get('config_unread')} cannot be read` };
  const text = found.get('config');
  if (text === undefined) return {};
  const read = await parseConfig(decoded(text));
  return 'broken' in read
    ? {
        config_error: `${path ?? 'the file that its command line names'} is not a configuration file: ${read.broken}`,
      }
    : { config: read.file };
};

/** A path in a refusal may contain a version. */
const versionOf = (text = ''): string | undefined => (isDistrust(text) ? undefined : versionInText(text));
/** Lines with the same key: `valuesIn` keeps the last. */
const distrustIn = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) => (line.startsWith('untrusted=') ? [line.slice('untrusted='.length)] : []));

/** The lines of the script as facts. Pure but for the YAML reader. */
export const factsFrom = async (
  text: string,
  member: MemberSpec,
  asked: Asked,
  state: ProcessState,
): Promise<HostFacts> => {
  const found = valuesIn(text);
  const flag = (key: string) => (found.has(key) ? { [key]: found.get(key) === 'true' } : {});
  const count = (key: string, to = key, times = 1) =>
    /^\d+$/.test(found.get(key) ?? '') ? { [to]: Number(found.get(key)) * times } : {};
  const [fresh, old] = [versionOf(found.get('new_version')), versionOf(found.get('old_version'))];
  const problems = distrustIn(text);
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
      ? { new_binary_error: found.get('new_version')?.trim() || 'no new_binary is named' }
      : { new_binary_version: fresh }),
    ...(old === undefined ? {} : { old_binary_version: old }),
    ...commandFacts(found),
    ...(await configFrom(found, configPath(member))),
    ...(problems.length === 0 ? {} : { problems }),
    ...(Number.isFinite(skew) ? { clock_skew_ms: skew } : {}),
  };
};
