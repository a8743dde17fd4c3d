import { AppError } from '../../core/problem.ts';
import type { Finished, Host } from '../../platform/host.ts';
import { parseConfig } from '../configuration/configuration.ts';
import type { ClusterFile, HostFacts, MemberSpec } from '../types.ts';
import { versionInText } from './driver.ts';
import type { Driver, Which } from './driver.ts';
import { configPath } from './data-dir-stats.ts';
import { quoted } from './service-commands.ts';
import type { Steering } from './service-commands.ts';
import type { Shell } from './shell.ts';

/** Exit code by which a hook says that it cannot tell. */
const UNKNOWN = 77;

const directoryScript = (path: string, wantsSizes: boolean): string => `D=${quoted(path)}
if [ -d "$D" ]; then
  echo data_dir_exists=true
  w=true; for p in "$D" "$D/member" "$D/member/snap" "$D/member/wal" "$D/member/snap/db"; do [ ! -e "$p" ] || [ -w "$p" ] || w=false; done; echo data_dir_writable=$w
  if [ -f "$D/member/snap/db" ]; then echo has_db_file=true; echo "db_file_bytes=$(wc -c < "$D/member/snap/db" | tr -d ' ')"; else echo has_db_file=false; fi
  v=0; for f in "$D"/member/snap/*.snap; do [ -f "$f" ] && s=$(wc -c < "$f" | tr -d ' ') && [ "$s" -gt "$v" ] && v=$s; done; echo v2_bytes=$v
  echo "disk=$(stat -c %d "$D" 2>/dev/null)"
  echo "free_kib=$(df -Pk "$D" | awk 'NR==2 {print $4}')"
  ${wantsSizes ? 'echo "data_dir_kib=$(du -sk "$D" | cut -f1)"' : ':'}
else echo data_dir_exists=false; fi`;

const factsScript = (steering: Steering, member: MemberSpec, wantsSizes: boolean): string => {
  const version = (which: Which): string => {
    const command = steering.version(member, which);
    return command === undefined
      ? ''
      : `echo "${which}_version=$( { ${command}; } 2>&1 | head -n 3 | tr '\\n' ' ')"`;
  };
  const config = configPath(member);
  return [
    'echo "now_s=$(date +%s)"',
    `( ${steering.isRunning(member)} ) >/dev/null 2>&1; echo "running=$?"`,
    member.data_dir === undefined ? '' : directoryScript(member.data_dir, wantsSizes),
    version('new'),
    version('old'),
    config === undefined
      ? ''
      : `if [ -r ${quoted(config)} ]; then echo "config=$(base64 < ${quoted(config)} | tr -d '\\n')"; else echo config_missing=true; fi`,
    'exit 0',
  ].join('\n');
};

/** The lines of the script as facts. Pure but for the YAML reader. */
export const factsFrom = async (text: string, member: MemberSpec, nowMs: number): Promise<HostFacts> => {
  const found = new Map(
    text
      .split('\n')
      .flatMap((line) =>
        line.includes('=')
          ? [[line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const]
          : [],
      ),
  );
  const flag = (key: string) => (found.has(key) ? { [key]: found.get(key) === 'true' } : {});
  const count = (key: string, to = key, times = 1) =>
    /^\d+$/.test(found.get(key) ?? '') ? { [to]: Number(found.get(key)) * times } : {};
  const [fresh, old] = [
    versionInText(found.get('new_version') ?? ''),
    versionInText(found.get('old_version') ?? ''),
  ];
  const config = found.get('config');
  const read = config === undefined ? undefined : await parseConfig(Buffer.from(config, 'base64').toString());
  // Whole seconds there: up to a second of difference is no difference.
  const skew = Number(found.get('now_s')) * 1000 - nowMs;
  return {
    ...(found.get('running') === String(UNKNOWN) ? {} : { is_running: found.get('running') === '0' }),
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
    ...(found.has('config_missing')
      ? { config_error: `there is no configuration file ${configPath(member)}` }
      : {}),
    ...(read === undefined
      ? {}
      : 'broken' in read
        ? { config_error: `${configPath(member)} is not a configuration file: ${read.broken}` }
        : { config: read.file }),
    ...(Number.isFinite(skew) ? { clock_skew_ms: Math.abs(skew) <= 1500 ? 0 : skew } : {}),
  };
};

const failure = (
  member: MemberSpec,
  what: string,
  { stderr, stdout, code, timedOut }: Finished,
): AppError => {
  const said = `${stderr}\n${stdout}`.trim().split('\n').at(-1) ?? '';
  return new AppError(
    'stopped',
    `${member.name}: ${what} failed (${timedOut ? 'no answer in time' : `exit code ${code}`}${said === '' ? '' : `: ${said}`})`,
    { code: 'COMMAND_FAILED' },
  );
};

/** Whole or not at all: half a copy would take the room that the member needs, and be taken for a copy. */
const copyScript = (from: string | undefined, to: string): string => {
  const [target, partial] = [quoted(to), quoted(`${to}.partial`)];
  return `rm -rf ${partial}
cp -a ${quoted(from)} ${partial} && rm -rf ${target} && mv ${partial} ${target} || { rm -rf ${partial}; exit 1; }`;
};

const extraMs = 10_000;
const copyMs = 3_600_000;

type ShellFor = (member: MemberSpec) => Shell;
/** Runs a script on a member's host; anything but success is an error that says what was tried. */
type Must = (member: MemberSpec, what: string, script: string, timeoutMs?: number) => Promise<Finished>;
const mustWith =
  (shellFor: ShellFor): Must =>
  async (member, what, script, timeoutMs) => {
    const done = await shellFor(member).run(script, { timeoutMs });
    if (done.code !== 0) throw failure(member, what, done);
    return done;
  };

const processWork = (
  host: Host,
  steering: Steering,
  shellFor: ShellFor,
  must: Must,
): Pick<Driver, 'isRunning' | 'stop' | 'kill' | 'start'> => ({
  isRunning: async (member) => {
    const done = await shellFor(member)
      .run(steering.isRunning(member))
      .catch(() => undefined);
    return done === undefined || done.code === UNKNOWN ? undefined : done.code === 0;
  },
  stop: async (member, graceMs) => {
    const done = await shellFor(member).run(steering.stop(member, graceMs), { timeoutMs: graceMs + extraMs });
    if (done.code !== 0 && done.code !== 1) throw failure(member, 'the stop', done);
    return done.code === 0;
  },
  kill: async (member) => void (await must(member, 'ending it', steering.kill(member))),
  start: async (member, which) => {
    await must(member, 'the start', steering.start(member, which), 60_000);
    await begun(host, () => shellFor(member).run(steering.isRunning(member)));
    return {};
  },
});

/** The old file stays whole until the new one is. */
const writeScript = (path: string, text: string): string => `set -e
cp -p ${path} ${path}.incoming
printf %s ${quoted(Buffer.from(text).toString('base64'))} | base64 -d > ${path}.incoming
mv -f ${path}.incoming ${path}`;
const fileWork = (must: Must): Pick<Driver, 'copyData' | 'readConfig' | 'writeConfig'> => ({
  copyData: async (member, to) =>
    void (await must(member, 'the copy', copyScript(member.data_dir, to), copyMs)),
  readConfig: async (member) =>
    member.config_file === undefined
      ? undefined
      : (await must(member, 'reading the configuration', `cat ${quoted(member.config_file)}`)).stdout,
  writeConfig: async (member, text) =>
    void (await must(member, 'writing the configuration', writeScript(quoted(member.config_file), text))),
});

/** A driver made of shell scripts: here or over ssh, for every kind of installation. */
export const scriptDriver = (
  host: Host,
  cluster: ClusterFile,
  shellFor: ShellFor,
  steering: Steering,
): Driver => {
  const must = mustWith(shellFor);
  const { install } = steering;
  const installing = install && {
    install: async (member: MemberSpec, which: Which) =>
      void (await must(member, 'putting the binary in place', install(member, which) ?? 'true', copyMs)),
  };
  return {
    kind: cluster.driver ?? 'local',
    facts: async (member, { sizes }) => {
      try {
        const done = await must(member, 'looking at the host', factsScript(steering, member, sizes));
        return await factsFrom(done.stdout, member, host.now());
      } catch (error) {
        return {
          problems: [error instanceof Error ? error.message : String(error)],
          new_binary_error: 'its host could not be looked at',
        };
      }
    },
    ...processWork(host, steering, shellFor, must),
    ...fileWork(must),
    ...installing,
    logTail: async (member, lines) => {
      const done = await shellFor(member)
        .run(steering.logTail(member, lines))
        .catch(() => undefined);
      const text = done?.stdout ?? '';
      return text
        .split('\n')
        .filter((line) => line !== '')
        .slice(-lines);
    },
    describe: (kind, member, which) =>
      steering.describe(kind, member, which).map((command) => shellFor(member).shown(command)),
  };
};

/** A service manager answers before the process is there; the gate must not take that for a crash. */
const begun = async (host: Host, isRunning: () => Promise<Finished>): Promise<void> => {
  const until = host.elapsed() + 3000;
  while (host.elapsed() < until) {
    const { code } = await isRunning();
    if (code === 0 || code === UNKNOWN) return;
    await host.sleep(50);
  }
};
