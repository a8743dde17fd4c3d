import { sh, shellLines } from '../../core/shell.ts';
import type { ShellScript } from '../../core/shell.ts';
import { parseConfig } from '../configuration/configuration.ts';
import type { HostFacts, MemberSpec } from '../types.ts';
import { hasProcess, versionInText } from './driver.ts';
import type { ProcessState, Which } from './driver.ts';
import { configPath } from './data-dir-stats.ts';
import { valuesIn } from './service.ts';
import type { Service } from './service.ts';

const directoryScript = (path: string, wantsSizes: boolean): ShellScript => sh`D=${path}
if [ -d "$D" ]; then
  echo data_dir_exists=true
  w=true; for p in "$D" "$D/member" "$D/member/snap" "$D/member/wal" "$D/member/snap/db"; do [ ! -e "$p" ] || [ -w "$p" ] || w=false; done; echo data_dir_writable=$w
  if [ -f "$D/member/snap/db" ]; then echo has_db_file=true; echo "db_file_bytes=$(wc -c < "$D/member/snap/db" | tr -d ' ')"; else echo has_db_file=false; fi
  v=0; for f in "$D"/member/snap/*.snap; do [ -f "$f" ] && s=$(wc -c < "$f" | tr -d ' ') && [ "$s" -gt "$v" ] && v=$s; done; echo v2_bytes=$v
  echo "disk=$(stat -c %d "$D" 2>/dev/null)"
  echo "free_kib=$(df -Pk "$D" | awk 'NR==2 {print $4}')"
  ${wantsSizes ? sh`echo "data_dir_kib=$(du -sk "$D" | cut -f1)"` : sh`:`}
else echo data_dir_exists=false; fi`;

export const factsScript = (service: Service, member: MemberSpec, wantsSizes: boolean): ShellScript => {
  const version = (which: Which): ShellScript => {
    const command = service.version(member, which);
    return command === undefined
      ? sh``
      : sh`echo "${which}_version=$( { ${command}; } 2>&1 | head -n 3 | tr '\\n' ' ')"`;
  };
  const config = configPath(member);
  return shellLines([
    sh`echo "now_s=$(date +%s)"`,
    member.data_dir === undefined ? sh`` : directoryScript(member.data_dir, wantsSizes),
    version('new'),
    version('old'),
    config === undefined
      ? sh``
      : sh`if [ -r ${config} ]; then echo "config=$(base64 < ${config} | tr -d '\\n')"; else echo config_missing=true; fi`,
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

const configFrom = async (
  found: ReadonlyMap<string, string>,
  path: string | undefined,
): Promise<HostFacts> => {
  if (found.has('config_missing')) return { config_error: `there is no configuration file ${path}` };
  const text = found.get('config');
  if (text === undefined) return {};
  const read = await parseConfig(Buffer.from(text, 'base64').toString());
  return 'broken' in read
    ? { config_error: `${path} is not a configuration file: ${read.broken}` }
    : { config: read.file };
};

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
  const [fresh, old] = [
    versionInText(found.get('new_version') ?? ''),
    versionInText(found.get('old_version') ?? ''),
  ];
  const skew = skewOf(Number(found.get('now_s')) * 1000, asked);
  return {
    ...processFacts(state),
    ...flag('data_dir_exists'),
    ...flag('data_dir_writable'),
    ...flag('has_db_file'),
    ...count('db_file_bytes'),
    ...count('v2_bytes'),
    ...count('free_kib', 'free_bytes', 1024),
    ...(/^\d+$/.test(found.get('disk') ?? '')
      ? { disk: `${member.host ?? 'here'} ${found.get('disk')}` }
      : {}),
    ...count('data_dir_kib', 'data_dir_bytes', 1024),
    ...(fresh === undefined
      ? { new_binary_error: found.get('new_version')?.trim() || 'no new_binary is named' }
      : { new_binary_version: fresh }),
    ...(old === undefined ? {} : { old_binary_version: old }),
    ...(await configFrom(found, configPath(member))),
    ...(Number.isFinite(skew) ? { clock_skew_ms: skew } : {}),
  };
};
