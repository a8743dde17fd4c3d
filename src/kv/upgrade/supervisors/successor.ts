/** Starts a process with the settings of its predecessor, and lists the settings that cannot be kept. */
import { basename, dirname } from 'node:path';
import { scriptText, sh, shellLines, type ShellScript, argvOf } from '../../../core/shell.ts';
import type { Identity, MemberSpec, Placement } from '../../engine/model.ts';
import { flagsOf } from '../configuration/configuration.ts';
import type { Which } from './driver.ts';
import { startedProgram } from './host-facts.ts';
import { isPortable, type ProcessRecord, type ReadProcess } from './process-record.ts';

/** The process that starts a member: its children inherit its settings without a command. */
export type Starter = Partial<ProcessRecord> & { readonly uid: number };
/** Capabilities that a start needs, by their numbers in capabilities(7). */
const cap = { setgid: 6, setuid: 7, setpcap: 8, nice: 23, resource: 24 } as const;
const bitsOf = (hex: string | undefined): bigint => {
  const text = hex ?? '';
  return /^[0-9a-f]+$/i.test(text) ? BigInt(`0x${text}`) : 0n;
};
const bitNumbers = (bits: bigint): number[] =>
  Array.from({ length: 64 }, (_, i) => i).filter((i) => ((bits >> BigInt(i)) & 1n) === 1n);
const can = (own: Starter, number: number): boolean =>
  own.capabilities === undefined
    ? own.uid === 0
    : ((bitsOf(own.capabilities.effective) >> BigInt(number)) & 1n) === 1n;
const isSameSet = (a: readonly number[] = [], b: readonly number[] = []): boolean =>
  a.toSorted((x, y) => x - y).join() === b.toSorted((x, y) => x - y).join();

/** Runs a command. If it fails, the member's log contains the setting that could not be kept. */
const tryCommand = (command: ShellScript, what: string): ShellScript =>
  sh`{ ${command}; } 2>/dev/null || echo "opsctl: the ${what} of the previous process could not be kept" >&2`;
const changedLimits = ({ limits = {} }: ProcessRecord, own: Starter): string[] =>
  Object.entries(limits)
    .filter(
      ([name, value]) => /^[a-z]+$/.test(name) && /^\w+:\w+$/.test(value) && own.limits?.[name] !== value,
    )
    .map(([name, value]) => `--${name}=${value}`);
/** Sets all limits with one command. If that fails, sets each limit separately. */
const limitLines = (flags: readonly string[]): ShellScript[] => {
  if (flags.length === 0) return [];
  const each = shellLines(flags.map((flag) => tryCommand(sh`prlimit --pid "$$" ${[flag]}`, `limit ${flag}`)));
  return [sh`prlimit --pid "$$" ${[...flags]} 2>/dev/null || {\n${each}\n}`];
};
const changedCgroups = ({ cgroups = [] }: ProcessRecord, own: Starter): string[] =>
  cgroups.filter(
    (path) => own.cgroups?.includes(path) !== true && !(own.cgroups === undefined && path === '/'),
  );
/** The second version is mounted below `unified` on hosts that use both versions. */
const cgroupFile = (path: string): ShellScript =>
  sh`G=/sys/fs/cgroup${path}/cgroup.procs; [ -e "$G" ] || G=/sys/fs/cgroup/unified${path}/cgroup.procs`;
const schedulingFlags: Readonly<Record<number, string>> = {
  0: '--other',
  1: '--fifo',
  2: '--rr',
  3: '--batch',
  5: '--idle',
};
const isChanged = (record: ProcessRecord, own: Starter, key: 'nice' | 'oom_score_adj' | 'cpus'): boolean =>
  record[key] !== undefined && record[key] !== own[key];
const hasOtherScheduling = ({ scheduling }: ProcessRecord, own: Starter): boolean =>
  scheduling !== undefined &&
  JSON.stringify(scheduling) !== JSON.stringify(own.scheduling ?? { policy: 0, priority: 0 });
const schedulingLines = (record: ProcessRecord, own: Starter): ShellScript[] => {
  const { policy = 0, priority = 0 } = record.scheduling ?? {};
  const flag = schedulingFlags[policy];
  return !hasOtherScheduling(record, own) || flag === undefined
    ? []
    : [tryCommand(sh`chrt ${[flag]} -p ${Number(priority)} "$$" >/dev/null`, 'scheduling policy')];
};
/** Class and level for ionice; undefined for a process with the default priority. */
const ioClassOf = ({ io_priority = '' }: ProcessRecord): readonly [number, string] | undefined => {
  const [, name, level = '0'] = /^(realtime|best-effort|idle)(?:: prio ([0-7]))?$/.exec(io_priority) ?? [];
  return name === undefined ? undefined : [['realtime', 'best-effort', 'idle'].indexOf(name) + 1, level];
};
/** A newer kernel derives the priority from the nice value, so the shell compares it before it sets one. */
const ioLines = (record: ProcessRecord): ShellScript[] => {
  const [kind, level = '0'] = ioClassOf(record) ?? [];
  if (kind === undefined) return [];
  const set = sh`ionice -c ${kind} ${kind === 3 ? [] : ['-n', level]} -p "$$"`;
  return [tryCommand(sh`[ "$(ionice)" = ${String(record.io_priority)} ] || ${set}`, 'I/O priority')];
};
/** The shell that becomes the server ignores a signal if its predecessor did: a child ignores it as well. */
const signalLines = ({ ignored_signals: ignored }: ProcessRecord): ShellScript[] =>
  bitNumbers(bitsOf(ignored))
    .map((bit) => bit + 1)
    .filter((signal) => signal <= 31 && signal !== 9 && signal !== 19)
    .map((signal) => sh`trap '' ${signal}`);
/** The commands of a shell that will become the server; undefined if it needs no commands. */
const becomeLike = (record: ProcessRecord | undefined, own: Starter): ShellScript | undefined => {
  if (record === undefined) return undefined;
  const { nice, oom_score_adj: oom, umask, cpus } = record;
  const lines = [
    ...changedCgroups(record, own).map((path) =>
      tryCommand(sh`${cgroupFile(path)}; echo "$$" > "$G"`, 'control group'),
    ),
    ...limitLines(changedLimits(record, own)),
    ...(isChanged(record, own, 'oom_score_adj')
      ? [tryCommand(sh`echo ${Number(oom)} > "/proc/$$/oom_score_adj"`, 'oom_score_adj')]
      : []),
    ...(isChanged(record, own, 'nice')
      ? [tryCommand(sh`renice -n ${Number(nice)} -p "$$" >/dev/null`, 'nice value')]
      : []),
    ...schedulingLines(record, own),
    ...ioLines(record),
    ...(isChanged(record, own, 'cpus')
      ? [tryCommand(sh`taskset -pc ${String(cpus)} "$$" >/dev/null`, 'processor list')]
      : []),
    ...signalLines(record),
    ...(umask === undefined || !/^[0-7]+$/.test(umask) ? [] : [sh`umask ${umask}`]),
  ];
  return lines.length === 0 ? undefined : shellLines(lines);
};

/**
 * The user and the directory: from the process, otherwise from the record of a stage, otherwise from the
 * owner of the data.
 */
export const identityFor = (
  record: ProcessRecord | undefined,
  placement: Placement | undefined,
  owner: Identity | undefined,
): Identity | undefined => {
  const isWhole = (one: Identity | undefined): boolean => one?.uid !== undefined && one.gid !== undefined;
  const found = [record, placement?.runs_as, owner].find(isWhole);
  const cwd = record?.cwd ?? placement?.runs_as?.cwd;
  if (found === undefined && cwd === undefined) return undefined;
  const { uid, gid, groups } = found ?? {};
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
    ...(groups === undefined ? {} : { groups }),
    ...(cwd === undefined ? {} : { cwd }),
  };
};
const setWord = (bits: bigint): string =>
  ['-all', ...bitNumbers(bits).map((number) => `+cap_${number}`)].join(',');
/**
 * Flags for settings that differ from the starter. The sets of capabilities come from a record; the kernel
 * clears a set when the user changes.
 */
const capabilityFlags = (record: ProcessRecord | undefined, own: Starter, isOther: boolean): string[] => {
  const wanted = record?.capabilities;
  if (wanted === undefined || own.capabilities === undefined) return [];
  const [bounding, inheritable, ambient] = (['bounding', 'inheritable', 'ambient'] as const).map((set) =>
    bitsOf(wanted[set]),
  ) as [bigint, bigint, bigint];
  return [
    ...(bounding === bitsOf(own.capabilities.bounding) ? [] : [`--bounding-set=${setWord(bounding)}`]),
    ...(inheritable === bitsOf(own.capabilities.inheritable) ? [] : [`--inh-caps=${setWord(inheritable)}`]),
    ...(ambient === (isOther ? 0n : bitsOf(own.capabilities.ambient))
      ? []
      : [`--ambient-caps=${setWord(ambient)}`]),
  ];
};
const groupFlags = (groups: readonly number[] = []): string[] =>
  groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')];
/**
 * Returns the command that changes to the predecessor's user, groups and capabilities; empty if the starter
 * already has them.
 */
const becomeUser = (
  { uid, gid, groups }: Identity,
  own: Starter,
  record: ProcessRecord | undefined,
): string[] => {
  if (!can(own, cap.setuid) && own.uid !== 0) return [];
  const isOther = uid !== undefined && gid !== undefined && (uid !== own.uid || gid !== (own.gid ?? 0));
  const hasOtherGroups = groups !== undefined && own.groups !== undefined && !isSameSet(groups, own.groups);
  const flags = [
    ...(isOther ? ['--reuid', String(uid), '--regid', String(gid)] : []),
    ...(isOther || hasOtherGroups ? groupFlags(groups) : []),
    ...capabilityFlags(record, own, isOther),
    ...(record?.no_new_privs === true && own.no_new_privs !== true ? ['--no-new-privs'] : []),
  ];
  return flags.length === 0 ? [] : ['setpriv', ...flags, '--'];
};
/**
 * A shell that becomes the server: `$1` pid file, then the command. The shell writes the pid file first, so
 * that a crash of opsctl leaves no process without a pid file. It runs in the directory and as the user of
 * its predecessor; only root can become another user.
 */
export const launchWords = (
  member: MemberSpec,
  argv: readonly string[],
  identity: Identity | undefined,
  own: Starter,
  record?: ProcessRecord,
): string[] => {
  const like = becomeLike(record, own);
  const start = sh`cd "$2" || exit 1; echo "$$" > "$1" && shift 2 || exit 1`;
  const script = shellLines([start, ...(like === undefined ? [] : [like]), sh`exec "$@"`]);
  const become = becomeUser(identity ?? {}, own, record);
  return [
    '-c',
    scriptText(script),
    'sh',
    member.pid_file as string,
    identity?.cwd ?? '.',
    ...become,
    ...argv,
  ];
};
/**
 * The command that starts a version. The old version gets the arguments that its process had, even if the
 * cluster file differs; a wrapper keeps its own arguments.
 */
export const startWords = (
  member: MemberSpec,
  which: Which,
  placement: Placement | undefined,
  record: ProcessRecord | undefined,
): [string, ...string[]] | undefined => {
  const named = argvOf(member[`${which}_command`], member[`${which}_binary`]);
  const [program, ...args] = record?.args ?? [];
  const isSameProgram =
    program !== undefined && named !== undefined && basename(program) === basename(named[0]);
  // Without a placement, the command contains settings for this start only, as for a member that joins.
  if (which !== 'old' || placement === undefined || !isSameProgram || args.length === 0) return named;
  const flags = flagsOf(args);
  if (flags.has('force-new-cluster')) return named;
  const isSame =
    JSON.stringify([...flags].toSorted()) === JSON.stringify([...flagsOf(named.slice(1))].toSorted());
  return isSame ? named : [named[0], ...args];
};

const hardOf = (value: string | undefined): number => {
  const hard = value?.split(':')[1];
  return hard === undefined || hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard);
};
const softOf = (value: string): number => {
  const soft = value.split(':')[0];
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
};
const environmentLosses = ({ env }: ProcessRecord): string[] => [
  ...Object.keys(env)
    .filter((name) => !isPortable(name))
    .map((name) => `its process has the variable ${name}, whose name a shell cannot pass to a process`),
  ...Object.keys(env)
    .filter((name) => env[name]?.includes('\uFFFD') === true)
    .map((name) => `its process has the variable ${name}, whose value is not UTF-8`),
];
const limitLosses = ({ limits = {} }: ProcessRecord, own: Starter): string[] =>
  can(own, cap.resource)
    ? []
    : Object.entries(limits)
        .filter(
          ([name, value]) =>
            own.limits?.[name] !== undefined &&
            // sudo takes the hard limit of core files away, and no server raises its own.
            ((name !== 'core' && hardOf(value) > hardOf(own.limits[name])) ||
              softOf(value) > hardOf(own.limits[name])),
        )
        .map(
          ([name, value]) =>
            `its process has the limit ${name}=${value}, opsctl has ${own.limits?.[name]} and could not raise it; run opsctl as root or with that limit`,
        );
const groupLosses = ({ uid, gid, groups, has_mixed_ids }: ProcessRecord, own: Starter): string[] => {
  const mixed =
    has_mixed_ids === true
      ? ['its real user or group differs from its effective one; start it as one user']
      : [];
  // A different user is reported even without a record.
  if (can(own, cap.setgid) || uid !== own.uid || own.gid === undefined) return mixed;
  const isOther = gid !== own.gid || !isSameSet(groups, own.groups);
  return isOther
    ? [
        ...mixed,
        `its process has gid ${gid} and the groups ${(groups ?? []).join(',') || '(none)'}, opsctl has gid ${own.gid} and ${(own.groups ?? []).join(',') || '(none)'}; run opsctl as root or with these groups`,
      ]
    : mixed;
};
const priorityLosses = (record: ProcessRecord, own: Starter): string[] => [
  ...((record.nice ?? 0) < (own.nice ?? 0) && !can(own, cap.nice)
    ? [`its process has the nice value ${record.nice}, which only root can set; run opsctl as root`]
    : []),
  ...(record.oom_score_adj !== undefined &&
  record.oom_score_adj < (own.oom_score_adj ?? 0) &&
  !can(own, cap.resource)
    ? [`its process has oom_score_adj ${record.oom_score_adj}, which only root can set; run opsctl as root`]
    : []),
  ...(hasOtherScheduling(record, own) &&
  (schedulingFlags[record.scheduling?.policy ?? 0] === undefined ||
    ((record.scheduling?.priority ?? 0) > 0 && !can(own, cap.nice)))
    ? [
        `its process has scheduling policy ${record.scheduling?.policy} (sched(7)), which opsctl cannot set; run opsctl as root, or use a unit and driver systemd`,
      ]
    : []),
];
const ioLosses = (record: ProcessRecord, own: Starter): string[] =>
  ioClassOf(record)?.[0] === 1 && !can(own, cap.nice)
    ? [`its process has the I/O priority ${record.io_priority}, which only root can set; run opsctl as root`]
    : [];
const capabilityLosses = (record: ProcessRecord, own: Starter): string[] => {
  const [wanted, has] = [record.capabilities, own.capabilities];
  if (wanted === undefined || has === undefined) return [];
  const missing = bitsOf(wanted.bounding) & ~bitsOf(has.bounding);
  const gained = bitsOf(wanted.ambient) | bitsOf(wanted.inheritable);
  const isOther = (['bounding', 'ambient', 'inheritable'] as const).some(
    (set) => bitsOf(wanted[set]) !== bitsOf(has[set]),
  );
  const hint = 'use a unit with CapabilityBoundingSet= and AmbientCapabilities=, and driver systemd';
  if (missing !== 0n || (gained & ~bitsOf(has.bounding)) !== 0n)
    return [
      `its process may have the capabilities ${bitNumbers(missing | gained)
        .map((n) => `cap_${n}`)
        .join(',')}, which opsctl does not have; ${hint}`,
    ];
  return isOther && !can(own, cap.setpcap)
    ? [
        `its process has other sets of capabilities than opsctl, which only root can set; run opsctl as root, or ${hint}`,
      ]
    : [];
};
const otherNamespaces = (record: ProcessRecord, own: Starter): string[] =>
  Object.entries(record.namespaces ?? {})
    .filter(([kind, name]) => own.namespaces?.[kind] !== undefined && own.namespaces[kind] !== name)
    .map(([kind]) => kind);
/**
 * Settings that a container, a sandbox or a service manager gave to the process. A separate mount namespace alone is not a loss: each session of an
 * ssh server may have one. `missingScript` compares the files that the process sees in it.
 */
const confinementLosses = (record: ProcessRecord, own: Starter): string[] => {
  // The host name of a namespace (uts) changes nothing that a server does.
  const spaces = otherNamespaces(record, own).filter((kind) => kind !== 'mnt' && kind !== 'uts');
  const hint =
    'use the driver of the tool that starts it: systemd with unit, or docker or podman with container';
  return [
    ...(spaces.length === 0
      ? []
      : [`its process has its own namespaces (${spaces.join(', ')}), and its successor would not; ${hint}`]),
    ...(record.root !== undefined && record.root !== (own.root ?? '/')
      ? [`its process has the root directory ${record.root}, and its successor would not; ${hint}`]
      : []),
    ...((record.seccomp ?? 0) > (own.seccomp ?? 0)
      ? [`its process has a seccomp filter, and its successor would not; ${hint}`]
      : []),
    ...(record.no_new_privs === false && own.no_new_privs === true
      ? ['opsctl runs with no_new_privs, its process does not; run opsctl without it']
      : []),
    ...(record.cwd?.endsWith(' (deleted)') === true
      ? [
          `its working directory ${record.cwd.replace(/ \(deleted\)$/, '')} was deleted; create it and restart the member`,
        ]
      : []),
  ];
};
/**
 * Groups that systemd removes with their last process. A login session is not the installation of a member,
 * so its group does not count.
 */
const cgroupLosses = (record: ProcessRecord, own: Starter): string[] =>
  changedCgroups(record, own)
    .filter((path) => {
      const unit = basename(path);
      return /\.(service|scope)$/.test(unit) && !/^(session-|init\.scope|user@)/.test(unit);
    })
    .map(
      (path) =>
        `its process is in the control group ${path}, which is removed when the process exits; use driver systemd with unit: ${basename(path)}`,
    )
    .slice(0, 1);
/** Settings that a successor would lose. Pure. */
export const recordProblems = ({ record, problem }: ReadProcess, own: Starter): string[] => {
  if (record === undefined) return problem === undefined ? [] : [problem];
  return [
    ...environmentLosses(record),
    ...groupLosses(record, own),
    ...limitLosses(record, own),
    ...priorityLosses(record, own),
    ...ioLosses(record, own),
    ...capabilityLosses(record, own),
    ...confinementLosses(record, own),
    ...cgroupLosses(record, own),
  ];
};
/** The process that runs, the absolute paths of its member, and the programs that its successors may be. */
type Seen = { readonly pid: number; readonly paths: readonly string[]; readonly programs: readonly string[] };
/** A program that the starter can execute may be out of reach for the user of the process. */
const deniedLines = (user: readonly string[], programs: readonly string[]): ShellScript[] =>
  user.length === 0
    ? []
    : programs.map(
        (path) =>
          sh`if [ -e ${path} ] && ${user} true 2>/dev/null; then ${user} test -x ${path} || echo "denied=${path}"; fi`,
      );
/** The paths that a successor must find as its predecessor does. */
export const pathsOf = (member: MemberSpec): string[] =>
  [
    ...[member.data_dir, member.wal_dir, member.config_file],
    ...[member.old_binary, member.new_binary],
    ...[member.pid_file, member.log_file].map((path) => path && dirname(path)),
  ].filter((path): path is string => path?.startsWith('/') === true);
export const listPrograms = (member: MemberSpec): string[] =>
  (['old', 'new'] as const)
    .map((which) => startedProgram(member, which))
    .filter((path): path is string => path?.startsWith('/') === true);
const otherFileLines = (record: ProcessRecord, own: Starter, { pid, paths }: Seen): ShellScript[] =>
  otherNamespaces(record, own).includes('mnt')
    ? paths.map((path) => {
        const there = `/proc/${pid}/root${path}`;
        const same = sh`a=$(stat -L -c %d:%i ${there} 2>/dev/null); [ -n "$a" ] && [ "$a" = "$(stat -L -c %d:%i ${path} 2>/dev/null)" ]`;
        return sh`{ ${same}; } || [ ! -e ${there} -a ! -e ${path} ] || echo "other=${path}"`;
      })
    : [];
/** Prints what this host lacks to start a process like that one: a program, a control group that can be written, or a file of its mount namespace. */
export const missingScript = ({ record }: ReadProcess, own: Starter, seen: Seen): ShellScript | undefined => {
  if (record === undefined) return undefined;
  const user = becomeUser(identityFor(record, undefined, undefined) ?? {}, own, record);
  const tools = [
    ...(changedLimits(record, own).length > 0 ? ['prlimit'] : []),
    ...(isChanged(record, own, 'nice') ? ['renice'] : []),
    ...(schedulingLines(record, own).length > 0 ? ['chrt'] : []),
    ...(isChanged(record, own, 'cpus') ? ['taskset'] : []),
  ];
  const lines = [
    ...tools.map((tool) => sh`command -v ${tool} >/dev/null 2>&1 || echo "missing=the program ${tool}"`),
    ...(user.length === 0
      ? []
      : [sh`setpriv --help 2>&1 | grep -q -- --reuid || echo "missing=the program setpriv of util-linux"`]),
    ...changedCgroups(record, own).map(
      (path) =>
        sh`${cgroupFile(path)}; [ -w "$G" ] || echo "missing=write access to the control group ${path}"`,
    ),
    ...otherFileLines(record, own, seen),
    ...deniedLines(user, seen.programs),
  ];
  return lines.length === 0 ? undefined : sh`${shellLines(lines)}\nexit 0`;
};
export const missingProblems = (text: string): string[] =>
  text
    .split('\n')
    .flatMap((line) =>
      line.startsWith('missing=')
        ? [`opsctl cannot start an equal process: ${line.slice('missing='.length)} is missing on its host`]
        : line.startsWith('other=')
          ? [
              `its process has its own mount namespace, in which ${line.slice('other='.length)} is another file, and its successor would not; use the driver of the tool that starts it: systemd with unit, or docker or podman with container`,
            ]
          : line.startsWith('denied=')
            ? [
                `the user of its process cannot execute ${line.slice('denied='.length)}, so opsctl could not start it: check the permissions of the program and of its directories`,
              ]
            : [],
    );
