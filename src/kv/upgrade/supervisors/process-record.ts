import { isServerVariable } from '../../../api-specs/etcd/settings.ts';
import { sh, shellLines, type ShellScript } from '../../../core/shell.ts';
import type { Host } from '../../../platform/host.ts';
import type { MemberSpec, Placement } from '../../engine/model.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { type Ask, valuesIn } from './driver.ts';

/** One process of a member's host. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  /** `T` is suspended, `Z` has ended and nobody has noticed. */
  readonly state?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  readonly cwd?: string;
  /** Empty for the moment in which a process becomes another program. */
  readonly words: readonly string[];
  /** Only the variables that a server reads. */
  readonly env: ReadonlyMap<string, string>;
  /** Differs when the pid was given to another process. */
  readonly startMark?: string;
};
/** The processes of one host, here or over ssh: what identifies a member reads nothing else. */
export type ProcessTable = {
  pidIn(pidFile: string): Promise<number | undefined>;
  get(pid: number): Promise<ProcessInfo | undefined>;
  /** At least every process whose program has one of these names, and those that they descend from. */
  all(programs: ReadonlySet<string>): Promise<readonly ProcessInfo[]>;
  realPath(path: string): Promise<string | undefined>;
};
/** `State`, `PPid`, `Uid` and the like of /proc/PID/status. Pure. */
export const statusOf = (text: string): Pick<ProcessInfo, 'parent' | 'state' | 'uid' | 'gid' | 'groups'> => {
  const line = (key: string): string | undefined =>
    new RegExp(`^${key}:[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim();
  // Real, effective, saved, file system: files belong to the effective one.
  const effective = (key: string): number | undefined => {
    const value = line(key)?.split(/\s+/)[1];
    return value === undefined ? undefined : Number(value);
  };
  const [uid, gid, groups, state] = [effective('Uid'), effective('Gid'), line('Groups'), line('State')?.[0]];
  return {
    parent: Number(line('PPid') ?? 0),
    ...(state === undefined ? {} : { state }),
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(groups === undefined ? {} : { groups: groups.split(/\s+/).filter(Boolean).map(Number) }),
  };
};
/** Zero-ended words, as the kernel prints them. */
export const wordsIn = (text: string): string[] => (text === '' ? [] : text.replace(/\0$/, '').split('\0'));
export const serverVariables = (words: readonly string[]): Map<string, string> =>
  new Map(
    words
      .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)] as const)
      .filter(([name]) => isServerVariable(name)),
  );
const textAt = ({ files }: Host, path: string): string => {
  try {
    return files.readNow(path) ?? '';
  } catch {
    // A directory in the place of the file, or a file that is not ours to read.
    return '';
  }
};
const infoHere = async (host: Host, pid: number): Promise<ProcessInfo | undefined> => {
  const cwd = await host.files.realPath(`/proc/${pid}/cwd`).catch(() => undefined);
  const startMark = host.processes.startMark(pid);
  return {
    pid,
    ...statusOf(textAt(host, `/proc/${pid}/status`)),
    ...(cwd === undefined ? {} : { cwd }),
    words: wordsIn(textAt(host, `/proc/${pid}/cmdline`)),
    env: serverVariables(wordsIn(textAt(host, `/proc/${pid}/environ`))),
    ...(startMark === undefined ? {} : { startMark }),
  };
};
/** The processes of this machine, each read when it is asked for. */
export const localProcesses = (host: Host): ProcessTable => ({
  pidIn: async (pidFile) => {
    const pid = Number.parseInt(textAt(host, pidFile), 10);
    return pid > 1 && host.processes.isAlive(pid) ? pid : undefined;
  },
  get: (pid) => infoHere(host, pid),
  all: async (programs) => {
    const names = (await host.files.list('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
    const isWanted = (name: string): boolean =>
      programs.has((wordsIn(textAt(host, `/proc/${name}/cmdline`))[0] ?? '').replace(/^.*\//, ''));
    const servers = await Promise.all(names.filter(isWanted).map((name) => infoHere(host, Number(name))));
    return servers.flatMap((one) => one ?? []);
  },
  realPath: (path) => host.files.realPath(path).catch(() => undefined),
});

/** Everything of a process that its successor gets and no cluster file contains. Its environment may contain secrets. */
export type ProcessRecord = {
  readonly env: Readonly<Record<string, string>>;
  readonly umask?: string;
  /** Names of prlimit, with soft and hard value. */
  readonly limits?: Readonly<Record<string, string>>;
  readonly nice?: number;
  readonly oom_score_adj?: number;
  /** Directories of its control groups below /sys/fs/cgroup. */
  readonly cgroups?: readonly string[];
};
/**
 * A private file next to the pid file, on the member's host. The record of a version is written before an upgrade leaves that version, the
 * other record before every stop.
 */
export const recordPath = ({ pid_file }: MemberSpec, minor?: string): string =>
  `${pid_file}.opsctl-process${minor === undefined ? '' : `-${minor}`}`;
const limitNames: Readonly<Record<string, string>> = {
  ...{ 'Max cpu time': 'cpu', 'Max file size': 'fsize', 'Max data size': 'data', 'Max stack size': 'stack' },
  ...{ 'Max core file size': 'core', 'Max resident set': 'rss', 'Max processes': 'nproc' },
  ...{ 'Max open files': 'nofile', 'Max locked memory': 'memlock', 'Max address space': 'as' },
  ...{ 'Max file locks': 'locks', 'Max pending signals': 'sigpending', 'Max msgqueue size': 'msgqueue' },
  ...{ 'Max nice priority': 'nice', 'Max realtime priority': 'rtprio', 'Max realtime timeout': 'rttime' },
};
/** Lines of /proc/PID/limits. Pure. */
export const limitsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const found = /^(Max [a-z ]+?) {2,}(\w+) +(\w+)/.exec(line);
      const name = limitNames[found?.[1] ?? ''];
      return name === undefined ? [] : [[name, `${found?.[2]}:${found?.[3]}`]];
    }),
  );
/** Undefined: the file does not exist, or must not be read. */
type Read = (name: string) => string | undefined;
const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d+$/.test(text.trim()) ? Number(text) : undefined;
/** Files of /proc/PID. Undefined if the environment cannot be read. Pure. */
const recordFrom = (read: Read): ProcessRecord | undefined => {
  const text = read('environ');
  if (text === undefined) return undefined;
  const environ = wordsIn(text);
  const env = Object.fromEntries(
    environ
      // Variables of this program itself are nothing of the server's.
      .filter((word) => word.indexOf('=') > 0 && !word.startsWith('OPSCTL_'))
      .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
  const umask = /^Umask:\s*([0-7]+)$/m.exec(read('status') ?? '')?.[1];
  const nice = numberIn((read('stat') ?? '').replace(/^.*\) /s, '').split(' ')[16]);
  const oom = numberIn(read('oom_score_adj'));
  const cgroups = (read('cgroup') ?? '').split('\n').flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    return path === undefined || path === '/' || path.includes('..')
      ? []
      : [`${controllers === '' ? '' : `/${(controllers ?? '').replace(/^name=/, '')}`}${path}`];
  });
  return {
    env,
    limits: limitsIn(read('limits') ?? ''),
    cgroups,
    ...(umask === undefined ? {} : { umask }),
    ...(nice === undefined ? {} : { nice }),
    ...(oom === undefined ? {} : { oom_score_adj: oom }),
  };
};
const textOf = ({ files }: Pick<Host, 'files'>, path: string): string | undefined => {
  try {
    return files.readNow(path);
  } catch {
    return undefined;
  }
};
export const readProcess = (host: Pick<Host, 'files'>, pid: number): ProcessRecord | undefined =>
  recordFrom((name) => textOf(host, `/proc/${pid}/${name}`));
/** Before a stop: a member must not be stopped if nothing would say what it ran with. */
export const keepRecord = async (host: Host, pid: number | undefined, path: string): Promise<void> => {
  const record = pid === undefined ? undefined : readProcess(host, pid);
  if (record === undefined) return;
  // A link that somebody put there is not followed.
  await host.files.remove(path);
  await host.files.replace(path, `${JSON.stringify(record)}\n`, 0o600);
};
const parseText = (text: string): ProcessRecord | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    const isRecord = typeof value === 'object' && value !== null && 'env' in value;
    return isRecord ? (value as ProcessRecord) : undefined;
  } catch {
    return undefined;
  }
};
/** The record of the version that a placement left, otherwise of the last stop. */
const pathsFor = (member: MemberSpec, placement: Placement | undefined): readonly string[] => [
  ...[placement?.previous?.minor].flatMap((minor) =>
    minor === undefined ? [] : [recordPath(member, minor)],
  ),
  recordPath(member),
];
export const recordHere = async (
  host: Pick<Host, 'files' | 'uid'>,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<ProcessRecord | undefined> => {
  for (const path of pathsFor(member, placement)) {
    // Whoever else could write it would choose what root starts.
    const info = await host.files.info(path).catch(() => undefined);
    if (info?.kind !== 'file' || info.uid !== host.uid || (info.mode & 0o077) !== 0) continue;
    const record = parseText(textOf(host, path) ?? '');
    if (record !== undefined) return record;
  }
  return undefined;
};
const procFiles = ['environ', 'status', 'stat', 'limits', 'oom_score_adj', 'cgroup'] as const;
/** Prints the files of a process in base64. */
const procScript = (pid: number): ShellScript => sh`cd /proc/${pid} 2>/dev/null || exit 0
for f in ${[...procFiles]}; do [ ! -r "$f" ] || echo "$f=$(base64 < "$f" 2>/dev/null | tr -d '\\n')"; done
exit 0`;
const encodeText = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'base64').toString();
export const readProcessThere = async (ask: Ask, pid: number): Promise<ProcessRecord | undefined> => {
  const values = valuesIn(await ask(procScript(pid)));
  return recordFrom((name) => encodeText(values.get(name)));
};
/** A builtin writes the text, so that it is in no process list. */
export const keepRecordThere = async (ask: Ask, pid: number | undefined, path: string): Promise<void> => {
  const record = pid === undefined ? undefined : await readProcessThere(ask, pid);
  if (record === undefined) return;
  const text = Buffer.from(`${JSON.stringify(record)}\n`).toString('base64');
  await ask(sh`set -e
umask 077; set -C; F=${path}; rm -f "$F.incoming"
printf %s ${text} | base64 -d > "$F.incoming"
mv -f "$F.incoming" "$F"`);
};
export const recordThere = async (
  ask: Ask,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<ProcessRecord | undefined> => {
  for (const path of pathsFor(member, placement)) {
    const text = await ask(sh`[ -L ${path} ] || [ ! -O ${path} ] || base64 < ${path}; exit 0`);
    const record = parseText(Buffer.from(text, 'base64').toString());
    if (record !== undefined) return record;
  }
  return undefined;
};
const variableOf = (flag: string): string => `ETCD_${flag.toUpperCase().replaceAll('-', '_')}`;
/** A server rejects a flag and a variable for one setting: the flag of the command holds. Pure. */
export const environmentFor = (
  record: ProcessRecord,
  member: MemberSpec,
  argv: readonly string[],
): Record<string, string> => {
  const isFlag = new Set([...flagsOf(argv.slice(1)).keys()].map(variableOf));
  const kept = Object.entries(record.env).filter(([name]) => !isFlag.has(name));
  return { ...Object.fromEntries(kept), ...member.env };
};
/** Names that a shell can pass on. */
export const isPortable = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
/**
 * The environment under names that no loader and no shell reads, and the command that gives it to the server. It takes effect only after the
 * process has become the user of the service: variables such as LD_PRELOAD or PATH must not reach a program that root runs.
 */
export const packEnvironment = (env: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env)
      .filter(([name]) => isPortable(name))
      .map(([name, value], i) => [`OPSCTL_KEPT_${i}`, `${name}=${value}`]),
  );
export const unpackWords = (env: Readonly<Record<string, string>>): string[] => {
  const forget = env['PATH'] === undefined ? sh`unset OLDPWD PWD SHLVL _ PATH` : sh`unset OLDPWD PWD SHLVL _`;
  const script = sh`${forget}; opsctl_i=0
while eval "opsctl_v=\\\${OPSCTL_KEPT_$opsctl_i-}"; [ -n "$opsctl_v" ]; do unset "OPSCTL_KEPT_$opsctl_i"; export "$opsctl_v"; opsctl_i=$((opsctl_i+1)); done
exec "$@"`;
  return ['/bin/sh', '-c', String(script), 'sh'];
};
/** Runs a command; if it fails, the member's log names the part that could not be kept. */
const tryCommand = (command: ShellScript, what: string): ShellScript =>
  sh`{ ${command}; } 2>/dev/null || echo "opsctl: the ${what} of the process before could not be kept" >&2`;
/** Sets the limits with one command, otherwise one by one. */
const limitLines = (kept: Readonly<Record<string, string>>): ShellScript[] => {
  const flags = Object.entries(kept)
    .filter(([name, value]) => /^[a-z]+$/.test(name) && /^\w+:\w+$/.test(value))
    .map(([name, value]) => `--${name}=${value}`);
  if (flags.length === 0) return [];
  const each = shellLines(flags.map((flag) => tryCommand(sh`prlimit --pid "$$" ${flag}`, `limit ${flag}`)));
  return [sh`prlimit --pid "$$" ${flags} 2>/dev/null || {\n${each}\n}`];
};
/** The commands of a shell that is about to become the server; undefined when nothing is to be kept. */
export const becomeLike = (record: ProcessRecord | undefined): ShellScript | undefined => {
  if (record === undefined) return undefined;
  const { limits = {}, cgroups = [], nice, oom_score_adj: oom, umask } = record;
  const lines = [
    ...cgroups.map((path) =>
      tryCommand(sh`echo "$$" > ${`/sys/fs/cgroup${path}/cgroup.procs`}`, 'control group'),
    ),
    ...limitLines(limits),
    ...(Number.isInteger(oom)
      ? [tryCommand(sh`echo ${Number(oom)} > "/proc/$$/oom_score_adj"`, 'oom_score_adj')]
      : []),
    ...(Number.isInteger(nice)
      ? [tryCommand(sh`renice -n ${Number(nice)} -p "$$" >/dev/null`, 'nice value')]
      : []),
    ...(umask === undefined || !/^[0-7]+$/.test(umask) ? [] : [sh`umask ${umask}`]),
  ];
  return lines.length === 0 ? undefined : shellLines(lines);
};
const hardOf = (value: string | undefined): number => {
  const hard = value?.split(':')[1];
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
};
/** What a successor would not get. `own`: the limits of whoever starts it. Pure. */
export const recordProblems = (
  record: ProcessRecord | undefined,
  ownUid: number,
  own: Readonly<Record<string, string>>,
): string[] => {
  if (record === undefined) return [];
  const names = Object.keys(record.env).filter((name) => !isPortable(name));
  const damaged = Object.keys(record.env).filter((name) => record.env[name]?.includes('\uFFFD') === true);
  const limits = Object.entries(record.limits ?? {}).filter(
    ([name, value]) => ownUid !== 0 && own[name] !== undefined && hardOf(value) > hardOf(own[name]),
  );
  return [
    ...names.map((name) => `its process has the variable ${name}, whose name a shell cannot pass on`),
    ...damaged.map((name) => `its process has the variable ${name}, whose value is not UTF-8`),
    ...limits.map(
      ([name, value]) =>
        `its process has the limit ${name}=${value}, opsctl has ${own[name]} and could not raise it; run opsctl as root or with that limit`,
    ),
  ];
};
