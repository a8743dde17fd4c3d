import { call } from '../../../core/program-call.ts';
import { isServerVariable, variableOf } from '../../../api-specs/etcd/server-settings.ts';
import { scriptText, sh, type ShellScript } from '../../../core/shell.ts';
import type { Host } from '../../../platform/host.ts';
import type { Identity, MemberSpec, Placement } from '../../engine/model.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { type ScriptRunner, valuesIn } from './driver.ts';

/** One process of a member's host. */
export type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  /** `T` is suspended, `Z` is a zombie. */
  readonly state?: string;
  readonly uid?: number;
  readonly gid?: number;
  readonly groups?: readonly number[];
  readonly cwd?: string;
  /** Empty for the moment in which a process changes its program. */
  readonly words: readonly string[];
  /** Only the variables that a server reads. */
  readonly env: ReadonlyMap<string, string>;
  /** Differs if another process has reused the pid. */
  readonly startMark?: string;
};
/** The processes of one host, local or remote. Code that identifies a member uses only this table. */
export type ProcessTable = {
  pidIn(pidFile: string): Promise<number | undefined>;
  get(pid: number): Promise<ProcessInfo | undefined>;
  /** At least every process whose program has one of these names, and its ancestors. */
  all(programs: ReadonlySet<string>): Promise<readonly ProcessInfo[]>;
  realPath(path: string): Promise<string | undefined>;
};
/** Parses `State`, `PPid`, `Uid` and similar fields of /proc/PID/status. Pure. */
export const statusOf = (text: string): Pick<ProcessInfo, 'parent' | 'state' | 'uid' | 'gid' | 'groups'> => {
  const line = (key: string): string | undefined =>
    new RegExp(`^${key}:[ \\t]*(.*)$`, 'm').exec(text)?.[1]?.trim();
  // Real, effective, saved, file system: the effective user owns new files.
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
/** Splits the words that the kernel separates with zero bytes. */
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
    // A directory at the path of the file, or a file that this user cannot read.
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
/** The processes of this machine by the name of their program, read for one round of an observation. */
type Scan = (programs: ReadonlySet<string>) => Promise<readonly ProcessInfo[]>;
const scanHere = async (host: Host): Promise<Scan> => {
  const names = (await host.files.list('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const programs = names.map((name) =>
    (wordsIn(textAt(host, `/proc/${name}/cmdline`))[0] ?? '').replace(/^.*\//, ''),
  );
  const read = new Map<string, Promise<ProcessInfo | undefined>>();
  const infoOf = (name: string): Promise<ProcessInfo | undefined> => {
    const known = read.get(name) ?? infoHere(host, Number(name));
    read.set(name, known);
    return known;
  };
  return async (wanted) => {
    const found = names.filter((_, at) => wanted.has(programs[at] ?? ''));
    return (await Promise.all(found.map(infoOf))).flatMap((one) => one ?? []);
  };
};
const nextScans = new WeakMap<Host, Promise<Scan>>();
/**
 * The scan that begins in the next turn. An observation looks for the processes of all members at once, and each of them
 * would read each process of the machine. A scan that has begun takes no more requests: it may be older than a request.
 */
const nextScan = (host: Host): Promise<Scan> => {
  const next =
    nextScans.get(host) ??
    host.turn().then(() => {
      nextScans.delete(host);
      return scanHere(host);
    });
  nextScans.set(host, next);
  return next;
};
/** The processes of this machine. Each process is read when it is requested. */
export const localProcesses = (host: Host): ProcessTable => ({
  pidIn: async (pidFile) => {
    const pid = Number.parseInt(textAt(host, pidFile), 10);
    return pid > 1 && host.processes.isAlive(pid) ? pid : undefined;
  },
  get: (pid) => infoHere(host, pid),
  all: async (programs) => (await nextScan(host))(programs),
  realPath: (path) => host.files.realPath(path).catch(() => undefined),
});

/** Sets of capabilities as the kernel prints them: hexadecimal numbers with one bit for each capability. */
type CapabilitySets = {
  readonly effective: string;
  readonly bounding: string;
  readonly inheritable: string;
  readonly ambient: string;
};
/**
 * Everything that the successor of a process inherits and that no cluster file contains. Its environment may
 * contain secrets. Records of earlier versions have fewer fields: only `env` is always present.
 */
export type ProcessRecord = Identity & {
  readonly env: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly umask?: string;
  /** Names of prlimit, with soft and hard value. */
  readonly limits?: Readonly<Record<string, string>>;
  readonly nice?: number;
  readonly oom_score_adj?: number;
  /** Directories of its control groups below /sys/fs/cgroup. */
  readonly cgroups?: readonly string[];
  readonly capabilities?: CapabilitySets;
  readonly no_new_privs?: boolean;
  /** Signals that the process ignores, as a hexadecimal number with one bit for each signal. */
  readonly ignored_signals?: string;
  /** The list of its processors, such as `0-3,8`. */
  readonly cpus?: string;
  /** Policy and priority as numbers, see sched(7). */
  readonly scheduling?: { readonly policy: number; readonly priority: number };
  /** Its I/O priority in the words of `ionice -p`. Absent if its host does not have that program. */
  readonly io_priority?: string;
  readonly seccomp?: number;
  readonly root?: string;
  /** Namespaces by type: `net:[4026531840]`. */
  readonly namespaces?: Readonly<Record<string, string>>;
  /** Its real and saved user or group differ from its effective user or group. */
  readonly has_mixed_ids?: true;
};
/**
 * A private file next to the pid file, on the member's host. One record is written before an upgrade replaces
 * its version, another before every stop.
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
/** Parses the lines of /proc/PID/limits. Pure. */
const limitsIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    text.split('\n').flatMap((line) => {
      const found = /^(Max [a-z ]+?) {2,}(\w+) +(\w+)/.exec(line);
      const name = limitNames[found?.[1] ?? ''];
      return name === undefined ? [] : [[name, `${found?.[2]}:${found?.[3]}`]];
    }),
  );
/**
 * The text of a file of /proc/PID, or the target of a link there. Undefined if it does not exist or cannot be
 * read.
 */
type Read = (name: string) => string | undefined;
const procFiles = [...['environ', 'cmdline', 'status', 'stat', 'limits', 'oom_score_adj', 'cgroup']] as const;
const namespaceKinds = ['mnt', 'net', 'ipc', 'uts', 'pid', 'user'] as const;
const procLinks = ['cwd', 'root', ...namespaceKinds.map((kind) => `ns/${kind}`)] as const;
const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d+$/.test(text.trim()) ? Number(text) : undefined;
const environmentIn = (text: string): Record<string, string> =>
  Object.fromEntries(
    wordsIn(text)
      // Variables of this program do not belong to the server.
      .filter((word) => word.indexOf('=') > 0 && !word.startsWith('OPSCTL_'))
      .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)]),
  );
/**
 * The directory of each hierarchy; `/` is the root of the second version, `/memory/` the root of a hierarchy
 * of the first version.
 */
const cgroupsIn = (text: string): string[] =>
  text.split('\n').flatMap((line) => {
    const [, controllers = '', path] = /^\d+:([^:]*):(\/.*)$/.exec(line) ?? [];
    return path === undefined || path.includes('..')
      ? []
      : [`${controllers === '' ? '' : `/${controllers.replace(/^name=/, '')}`}${path}`];
  });
/** Reads fields of /proc/PID/status that a successor can or must have. */
const stateIn = (status: string): Partial<ProcessRecord> => {
  const line = (key: string): string | undefined =>
    new RegExp(`^${key}:[ \\t]*(.*)$`, 'm').exec(status)?.[1]?.trim();
  const { uid, gid, groups } = statusOf(status);
  const [bounding, inheritable, ambient, effective] = ['CapBnd', 'CapInh', 'CapAmb', 'CapEff'].map(line);
  const [umask, ignored, cpus] = [line('Umask'), line('SigIgn'), line('Cpus_allowed_list')];
  const [privileges, seccomp] = [line('NoNewPrivs'), numberIn(line('Seccomp'))];
  const isMixed = ['Uid', 'Gid'].some((key) => new Set(line(key)?.split(/\s+/).slice(0, 3)).size > 1);
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(groups === undefined ? {} : { groups }),
    ...(umask === undefined || !/^[0-7]+$/.test(umask) ? {} : { umask }),
    ...(bounding === undefined || inheritable === undefined || ambient === undefined
      ? {}
      : { capabilities: { bounding, inheritable, ambient, effective: effective ?? '0' } }),
    ...(privileges === undefined ? {} : { no_new_privs: privileges === '1' }),
    ...(ignored === undefined ? {} : { ignored_signals: ignored }),
    ...(cpus === undefined ? {} : { cpus }),
    ...(seccomp === undefined ? {} : { seccomp }),
    ...(isMixed ? { has_mixed_ids: true } : {}),
  };
};
/** Creates a record from files of /proc/PID. Undefined if the environment cannot be read. Pure. */
const recordFrom = (read: Read): ProcessRecord | undefined => {
  const environ = read('environ');
  if (environ === undefined) return undefined;
  // The name of the program may contain spaces and parentheses: fields count from the third one.
  const stat = (read('stat') ?? '').replace(/^.*\) /s, '').split(' ');
  const [nice, priority, policy] = [16, 37, 38].map((at) => numberIn(stat[at]));
  const [oom, cwd, root] = [numberIn(read('oom_score_adj')), read('cwd'), read('root')];
  const io = read('ionice')?.trim();
  return {
    env: environmentIn(environ),
    args: wordsIn(read('cmdline') ?? ''),
    ...stateIn(read('status') ?? ''),
    limits: limitsIn(read('limits') ?? ''),
    cgroups: cgroupsIn(read('cgroup') ?? ''),
    ...(nice === undefined ? {} : { nice }),
    ...(oom === undefined ? {} : { oom_score_adj: oom }),
    ...(policy === undefined || priority === undefined ? {} : { scheduling: { policy, priority } }),
    ...(io === undefined || io === '' ? {} : { io_priority: io }),
    ...(cwd === undefined ? {} : { cwd }),
    ...(root === undefined ? {} : { root }),
    namespaces: Object.fromEntries(
      namespaceKinds.flatMap((kind) => {
        const target = read(`ns/${kind}`);
        return target === undefined ? [] : [[kind, target]];
      }),
    ),
  };
};
const textOf = ({ files }: Pick<Host, 'files'>, path: string): string | undefined => {
  try {
    return files.readNow(path);
  } catch {
    return undefined;
  }
};
export type ReadProcess = {
  readonly record?: ProcessRecord;
  /** Why the process cannot be started again with the same settings. */
  readonly problem?: string;
};
const unreadable =
  'opsctl cannot read its environment, so its successor would start without it; run opsctl as root';
const readFrom = (read: Read): ReadProcess => {
  const record = recordFrom(read);
  if (record !== undefined) return { record };
  return read('status') === undefined ? {} : { problem: unreadable };
};
/**
 * No file of the kernel contains the I/O priority. Without the program, the priority is unknown. A Ctrl-C during
 * the read must not lose it, because the run still stops and starts the member.
 */
const ioPriorityOf = async ({ processes }: Pick<Host, 'processes'>, pid: number): Promise<string> => {
  const asked = await processes
    .run(...call`ionice -p ${pid}`, { keepsRunningOnCtrlC: true })
    .catch(() => undefined);
  return asked?.code === 0 ? asked.stdout : '';
};
/** The process with this ID, or the current process without its I/O priority, which only a record needs. */
export const readProcess = async (
  host: Pick<Host, 'files' | 'processes'>,
  pid: number | 'self',
): Promise<ReadProcess> => {
  // The names are those of the tables above, and the kernel names the processes.
  const pathOf = (name: string): string => ['/proc', pid, name].join('/');
  const links = new Map<string, string | undefined>();
  for (const name of procLinks)
    links.set(name, (await host.files.info(pathOf(name)).catch(() => undefined))?.target);
  if (pid !== 'self') links.set('ionice', await ioPriorityOf(host, pid));
  return readFrom((name) => (links.has(name) ? links.get(name) : textOf(host, pathOf(name))));
};
/** Runs before a stop: a member must not stop without a record of its settings. */
export const keepRecord = async (host: Host, pid: number | undefined, path: string): Promise<void> => {
  const { record } = pid === undefined ? {} : await readProcess(host, pid);
  if (record === undefined) return;
  // Does not follow a link that another user created there.
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
/** The process of the last stop may have run another version, which may accept other arguments. */
const forVersion = ({ args, ...record }: ProcessRecord, isLastStop: boolean): ProcessRecord =>
  isLastStop || args === undefined ? record : { ...record, args };
export const recordHere = async (
  host: Pick<Host, 'files' | 'uid'>,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<ProcessRecord | undefined> => {
  for (const path of pathsFor(member, placement)) {
    // A user with write access to the record would choose the program that root starts.
    const info = await host.files.info(path).catch(() => undefined);
    if (info?.kind !== 'file' || info.uid !== host.uid || (info.mode & 0o077) !== 0) continue;
    const record = parseText(textOf(host, path) ?? '');
    if (record !== undefined) return forVersion(record, path === recordPath(member));
  }
  return undefined;
};
/** Prints the files and links of a process in base64. */
const procScript = (pid: number | 'self'): ShellScript => sh`cd /proc/${pid} 2>/dev/null || exit 0
for f in ${[...procFiles]}; do [ ! -r "$f" ] || { v=$(base64 < "$f" 2>/dev/null) && echo "$f=$(echo "$v" | tr -d '\\n')"; }; done
for f in ${[...procLinks]}; do v=$(readlink "$f" 2>/dev/null) && echo "$f=$(printf %s "$v" | base64 | tr -d '\\n')"; done
${pid === 'self' ? sh`` : sh`v=$(ionice -p ${pid} 2>/dev/null) && echo "ionice=$(printf %s "$v" | base64 | tr -d '\\n')"`}
exit 0`;
const decodeText = (text: string | undefined): string | undefined =>
  text === undefined ? undefined : Buffer.from(text, 'base64').toString();
export const readProcessThere = async (ask: ScriptRunner, pid: number | 'self'): Promise<ReadProcess> => {
  const values = valuesIn(await ask(procScript(pid)));
  return readFrom((name) => decodeText(values.get(name)));
};
/** A shell builtin writes the text, so the process list does not show it. */
export const keepRecordThere = async (
  ask: ScriptRunner,
  pid: number | undefined,
  path: string,
): Promise<void> => {
  const { record } = pid === undefined ? {} : await readProcessThere(ask, pid);
  if (record === undefined) return;
  const text = Buffer.from(`${JSON.stringify(record)}\n`).toString('base64');
  await ask(sh`set -e
umask 077; set -C; F=${path}; rm -f "$F.incoming"
printf %s ${text} | base64 -d > "$F.incoming"
mv -f "$F.incoming" "$F"`);
};
export const recordThere = async (
  ask: ScriptRunner,
  member: MemberSpec,
  placement: Placement | undefined,
): Promise<ProcessRecord | undefined> => {
  for (const path of pathsFor(member, placement)) {
    const text = await ask(sh`[ -L ${path} ] || [ ! -O ${path} ] || base64 < ${path}; exit 0`);
    const record = parseText(Buffer.from(text, 'base64').toString());
    if (record !== undefined) return forVersion(record, path === recordPath(member));
  }
  return undefined;
};
/** A server rejects a flag and a variable for the same setting, so the flag of the command wins. Pure. */
export const environmentFor = (
  record: ProcessRecord,
  member: MemberSpec,
  argv: readonly string[],
): Record<string, string> => {
  const isFlag = new Set([...flagsOf(argv.slice(1)).keys()].map(variableOf));
  const kept = Object.entries(record.env).filter(([name]) => !isFlag.has(name));
  return { ...Object.fromEntries(kept), ...member.env };
};
/** Returns whether a shell can pass on a variable with this name. */
export const isPortable = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
/**
 * Packs the environment under names that no loader or shell reads, with the command that restores it for the
 * server. The names are restored only after the process has changed to the user of the service: variables
 * such as LD_PRELOAD or PATH must not affect a program that root runs.
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
  return ['/bin/sh', '-c', scriptText(script), 'sh'];
};
