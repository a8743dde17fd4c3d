import { sh, shellLines } from '../../../core/shell.ts';
import type { ShellScript } from '../../../core/shell.ts';
import { argvOf } from '../cluster/command-line.ts';
import type { HostFacts, Identity, MemberSpec, Placement } from '../../engine/types.ts';
import type { Which } from './driver.ts';
import { placeProblems } from './host-preflight.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { remoteFiles } from './remote-files.ts';
import { commandOf, identityOf, launchWords } from './launch.ts';
import { memberProcess, processesOf } from './member-process.ts';
import { commandFacts, placeFacts, processProblems } from './process-facts.ts';
import type { ProcessInfo } from './process-table.ts';
import { remoteProcesses } from './remote-processes.ts';
import {
  environmentFor,
  isPortable,
  packEnvironment,
  keepRecordThere,
  readProcessThere,
  recordPath,
  recordProblems,
  recordThere,
  unpackWords,
} from './process-record.ts';
import { askedVersion } from './service.ts';
import type { Ask, MakeService } from './service.ts';

const running = async (member: MemberSpec, ask: Ask): Promise<readonly ProcessInfo[]> =>
  processesOf(await remoteProcesses(member, ask), member);

/** `lives PID MARK`: that very process runs, not another one that has its pid by now, and not one that only its parent has not noticed the end of. */
const lives = sh`lives() { kill -0 "$1" 2>/dev/null || return 1
s=$(cat "/proc/$1/stat" 2>/dev/null) || { [ ! -d /proc/self ]; return; }
s=\${s##*) }; case "$s" in Z*|X*) return 1;; esac
[ -z "$2" ] || [ "$(echo "$s" | cut -d' ' -f20)" = "$2" ]; }`;
/** Signals each process and waits for its end: first the one that the pid file names, then what it left behind. */
const endScript = (
  processes: readonly ProcessInfo[],
  signals: (pid: number) => ShellScript,
  graceMs: number,
): ShellScript => {
  const ends = processes.map(
    ({ pid, startMark }) => sh`if lives ${pid} ${startMark}; then ${signals(pid)}; fi
while lives ${pid} ${startMark}; do i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 50)} ] && exit 1; sleep 0.05; done`,
  );
  return sh`${lives}
i=0
${shellLines(ends)}
exit 0`;
};

/** Everything that placeProblems asks for. */
const namedPaths = (member: MemberSpec): (string | undefined)[] => [
  ...[member.data_dir, member.pid_file, member.log_file],
  ...(['old', 'new'] as const).flatMap((which) => {
    const [program, ...words] = commandOf(member, which) ?? [];
    return [program, flagsOf(words).get('data-dir')].map((path) =>
      path?.startsWith('/') === true ? path : undefined,
    );
  }),
];

const facts = async (member: MemberSpec, ask: Ask): Promise<HostFacts> => {
  const [table, files] = await Promise.all([
    remoteProcesses(member, ask),
    remoteFiles(namedPaths(member), ask),
  ]);
  const { process, problem } = await memberProcess(table, member);
  const all = await processesOf(table, member);
  const [first, server] = [all[0], all.at(-1)];
  const problems = [
    ...(problem === undefined ? [] : [problem]),
    ...(await placeProblems(files, member, first?.cwd ?? '/')),
    ...processProblems(member, first, server, table.ownUid),
    ...recordProblems(first && (await readProcessThere(ask, first.pid)), table.ownUid, {}),
  ];
  return {
    is_running: first !== undefined,
    ...(first === undefined ? {} : { pid: first.pid }),
    ...(process?.state === 'T' ? { is_suspended: true } : {}),
    ...(await placeFacts(table, member, first)),
    ...commandFacts(server),
    ...(problems.length === 0 ? {} : { problems }),
  };
};

/** Nobody saw its process: whoever owns the data directory is who ran it. */
const ownerOfData = async (member: MemberSpec, ask: Ask): Promise<Identity | undefined> => {
  if (member.data_dir === undefined) return undefined;
  const { data_dir } = member;
  const files = await remoteFiles([data_dir], ask);
  const info = await files.info((await files.realPath(data_dir)) ?? data_dir);
  return info === undefined ? undefined : { uid: info.uid, gid: info.gid };
};

const unsetOperators = sh`for v in $(env | sed -n 's/^\\(ETCD_[A-Z_]*\\|ETCDCTL_[A-Z_]*\\|OPSCTL_[A-Z_]*\\)=.*/\\1/p'); do unset "$v"; done`;
/** But PATH: the commands of this script need it, and the record brings its own. */
const unsetAll = sh`for v in $(env | sed -n 's/^\\([A-Za-z_][A-Za-z0-9_]*\\)=.*/\\1/p'); do [ "$v" = PATH ] || unset "$v"; done`;
const keptBefore = async (member: MemberSpec, ask: Ask): Promise<readonly ProcessInfo[]> => {
  const processes = await running(member, ask);
  // On a full disk the record that the stage of this version wrote has to do.
  await keepRecordThere(ask, processes[0]?.pid, recordPath(member)).catch(() => {});
  return processes;
};

const startScript = async (
  member: MemberSpec,
  which: Which,
  placement: Placement | undefined,
  ask: Ask,
): Promise<ShellScript> => {
  const table = await remoteProcesses(member, ask);
  const [first] = await processesOf(table, member);
  if (first !== undefined) return sh`echo "it runs already (process ${first.pid})" >&2; exit 4`;
  // Without a process to ask, the directory that checks assumed: not the home of whoever logs in.
  const identity = { cwd: '/', ...(placement?.runs_as ?? (await ownerOfData(member, ask))) };
  const argv = commandOf(member, which) ?? [];
  const record = await recordThere(ask, member, placement);
  const kept = record === undefined ? {} : environmentFor(record, member, argv);
  const command = record === undefined ? argv : [...unpackWords(kept), ...argv];
  const words = launchWords(member, command, identity, table.ownUid, record);
  // Standard input brings the environment: it may contain secrets, and a command line is in the process list.
  const env = record === undefined ? (member.env ?? {}) : packEnvironment(kept);
  const exports = Object.entries(env)
    .filter(([name]) => isPortable(name))
    .map(([name, value]) => sh`export ${`${name}=${value}`}`);
  return sh`${record === undefined ? unsetOperators : unsetAll}
(
${shellLines(exports)}
exec nohup /bin/sh ${words}
) >> ${member.log_file} 2>&1 < /dev/null &
p=$!; i=0
while [ "$(cat ${member.pid_file} 2>/dev/null)" != "$p" ] && kill -0 $p 2>/dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.01; done
exit 0`;
};

/** A process with a pid file on another host. */
export const pidFileService: MakeService = () => ({
  look: () => sh`true`,
  stateFrom: () => ({ state: 'unknown', reason: 'its processes were not looked at' }),
  processOf: async (member, ask) => {
    const [first] = await running(member, ask);
    return first === undefined ? { state: 'gone' } : { state: 'running', pid: first.pid };
  },
  facts,
  runsAs: async (member, ask, from) => {
    const [first] = await running(member, ask);
    await keepRecordThere(ask, first?.pid, recordPath(member, from));
    return identityOf(first) ?? (await ownerOfData(member, ask));
  },
  stop: (member, graceMs) => async (ask) =>
    endScript(await keptBefore(member, ask), (pid) => sh`kill -TERM ${pid}; kill -CONT ${pid}`, graceMs),
  kill: (member) => async (ask) =>
    endScript(await running(member, ask), (pid) => sh`kill -KILL ${pid}`, 10_000),
  start: (member, which, placement) => (ask) => startScript(member, which, placement, ask),
  logTail: (member, lines) => sh`tail -n ${lines} ${member.log_file}`,
  version: (member, which) =>
    askedVersion(member[`${which}_binary`] ?? argvOf(member[`${which}_command`], undefined)?.[0]),
  describe: (kind, member, which) => {
    if (kind === 'stop') return [String(sh`kill -TERM "$(cat ${[member.pid_file ?? '']})"`)];
    if (kind !== 'start') return [];
    return [String(sh`${commandOf(member, which) ?? []} >> ${[member.log_file ?? '']} 2>&1 &`)];
  },
});
