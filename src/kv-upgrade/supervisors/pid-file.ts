import { argvOf, shellLine } from '../cluster/command-line.ts';
import type { HostFacts, Identity, MemberSpec } from '../types.ts';
import { placeProblems } from './host-preflight.ts';
import { flagsOf } from '../configuration/configuration.ts';
import { remoteFiles } from './remote-files.ts';
import { commandOf, identityOf, launchWords } from './launch.ts';
import { memberProcess, processesOf } from './member-process.ts';
import { ownerFacts, placeFacts, processProblems } from './process-facts.ts';
import type { ProcessInfo } from './process-table.ts';
import { remoteProcesses } from './remote-processes.ts';
import { askedVersion, quoted } from './service.ts';
import type { Ask, MakeService } from './service.ts';

const running = async (member: MemberSpec, ask: Ask): Promise<readonly ProcessInfo[]> =>
  processesOf(await remoteProcesses(member, ask), member);

/** `lives PID MARK`: that very process runs, not another one that has its pid by now, and not one that only its parent has not noticed the end of. */
const lives = `lives() { kill -0 "$1" 2>/dev/null || return 1
s=$(cat "/proc/$1/stat" 2>/dev/null) || { [ ! -d /proc/self ]; return; }
s=\${s##*) }; case "$s" in Z*|X*) return 1;; esac
[ -z "$2" ] || [ "$(echo "$s" | cut -d' ' -f20)" = "$2" ]; }`;
/** Signals each process and waits for its end: first the one that the pid file names, then what it left behind. */
const endScript = (processes: readonly ProcessInfo[], signals: string, graceMs: number): string => `${lives}
i=0
${processes
  .map(
    ({ pid, startMark = '' }) => `if lives ${pid} ${quoted(startMark)}; then ${signals
      .split(' ')
      .map((signal) => `kill -${signal} ${pid}`)
      .join('; ')}; fi
while lives ${pid} ${quoted(startMark)}; do i=$((i+1)); [ $i -gt ${Math.ceil(graceMs / 50)} ] && exit 1; sleep 0.05; done`,
  )
  .join('\n')}
exit 0`;

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
  const data = member.data_dir === undefined ? undefined : await files.info(member.data_dir);
  const problems = [
    ...(problem === undefined ? [] : [problem]),
    ...(await placeProblems(files, member, first?.cwd ?? '/')),
    ...processProblems(member, first, server, table.ownUid),
  ];
  return {
    is_running: first !== undefined,
    ...(first === undefined ? {} : { pid: first.pid }),
    ...(process?.state === 'T' ? { is_suspended: true } : {}),
    ...ownerFacts(server, data?.uid),
    ...(await placeFacts(table, member, first)),
    ...(problems.length === 0 ? {} : { problems }),
  };
};

/** Nobody saw its process: whoever owns the data directory is who ran it. */
const ownerOfData = async (member: MemberSpec, ask: Ask): Promise<Identity | undefined> => {
  if (member.data_dir === undefined) return undefined;
  const info = await (await remoteFiles([member.data_dir], ask)).info(member.data_dir);
  return info === undefined ? undefined : { uid: info.uid, gid: info.gid };
};

/** A process with a pid file on another host. */
export const pidFileService: MakeService = () => ({
  look: () => 'true',
  stateFrom: () => ({ state: 'unknown', reason: 'its processes were not looked at' }),
  processOf: async (member, ask) => {
    const [first] = await running(member, ask);
    return first === undefined ? { state: 'gone' } : { state: 'running', pid: first.pid };
  },
  facts,
  runsAs: async (member, ask) =>
    identityOf((await running(member, ask))[0]) ?? (await ownerOfData(member, ask)),
  stop: (member, graceMs) => async (ask) => endScript(await running(member, ask), 'TERM CONT', graceMs),
  kill: (member) => async (ask) => endScript(await running(member, ask), 'KILL', 10_000),
  start: (member, which, placement) => async (ask) => {
    const table = await remoteProcesses(member, ask);
    const [first] = await processesOf(table, member);
    if (first !== undefined) return `echo "it runs already (process ${first.pid})" >&2; exit 4`;
    // Without a process to ask, the directory that checks assumed: not the home of whoever logs in.
    const identity = { cwd: '/', ...(placement?.runs_as ?? (await ownerOfData(member, ask))) };
    const words = launchWords(member, commandOf(member, which) ?? [], identity, table.ownUid);
    const env = Object.entries(member.env ?? {}).map(([name, value]) => `${name}=${value}`);
    return `for v in $(env | sed -n 's/^\\(ETCD_[A-Z_]*\\|ETCDCTL_[A-Z_]*\\|OPSCTL_[A-Z_]*\\)=.*/\\1/p'); do unset "$v"; done
nohup ${env.length === 0 ? '' : `env ${shellLine(env)} `}/bin/sh ${shellLine(words)} >> ${quoted(member.log_file)} 2>&1 < /dev/null &
p=$!; i=0
while [ "$(cat ${quoted(member.pid_file)} 2>/dev/null)" != "$p" ] && kill -0 $p 2>/dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.01; done
exit 0`;
  },
  logTail: (member, lines) => `tail -n ${lines} ${quoted(member.log_file)}`,
  version: (member, which) =>
    askedVersion(member[`${which}_binary`] ?? argvOf(member[`${which}_command`], undefined)?.[0]),
  describe: (kind, member, which) => {
    if (kind === 'stop') return [`kill -TERM "$(cat ${shellLine([member.pid_file ?? ''])})"`];
    if (kind !== 'start') return [];
    return [`${shellLine(commandOf(member, which) ?? [])} >> ${shellLine([member.log_file ?? ''])} 2>&1 &`];
  },
});
