import { cutToWidth } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { durationText, momentText, sizeText, wrapMessage } from '../../../core/format.ts';
import { type ShowAdvice, after, next, showPlain } from '../../../core/next.ts';
import { oneLine } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { processState, signalRecorded } from '../../../platform/process-identity.ts';
import type { Access } from '../../engine/access.ts';
import { holdText, type LockInfo, readMachineLock, readStoreLock } from '../../engine/locks.ts';
import { type FoundRun, findRuns, isRolledBack, lastAction, withHexIds } from '../../engine/journal.ts';
import type { ClusterFile, MemberStatus, Observation, Outcome } from '../../engine/model.ts';
import { progressOf, sharedRun } from '../../engine/progress.ts';
import { alarmMessages, revisionFinding } from '../guards/store.ts';
import { observe } from '../observe/observe.ts';
import { actionWay, nextHopOf } from '../plan-kind.ts';
import { startCanary } from '../watch/canary.ts';
import { type Cell, paint, tableLines } from './live.ts';
import { type CanaryCounts, canaryReport, memberState, writeCounter } from './run-model.ts';
import { canaryText } from './text.ts';

export type TopState = {
  readonly observation: Observation;
  readonly run?: FoundRun;
  /** The process that works on the run now, if any. */
  readonly worker?: string;
  readonly canary?: CanaryCounts;
  /** The result of the last key press. */
  readonly message?: string;
  /** True while the list of keys replaces the table. */
  readonly showsKeys?: boolean;
};
export type TopLook = {
  readonly columns: number;
  readonly rows: number;
  readonly isColored: boolean;
  readonly hasKeys: boolean;
};
const roleOf = (member: MemberStatus): Cell => {
  const state = memberState(member);
  if (state !== 'up') return { text: state, color: 'red' };
  if (member.is_leader) return { text: 'leader', color: 'green' };
  return { text: member.is_learner ? 'learner' : 'follower' };
};
const quotaOf = ({ db_size_bytes: now, quota_bytes: most }: MemberStatus): Cell => {
  if (now === undefined || most === undefined || most === 0) return { text: '?' };
  if (most < 0) return { text: 'none' };
  const share = Math.round((now / most) * 100);
  return { text: `${share} %`, ...(share >= 80 ? { color: 'yellow' as const } : {}) };
};
/** An unknown value is shown as a question mark, never as a number. */
const cellsOf = (member: MemberStatus, furthest: number): Cell[] => [
  { text: member.name, color: 'bold' },
  roleOf(member),
  { text: member.server_version ?? '?' },
  { text: member.raft_index === undefined ? '?' : String(furthest - member.raft_index) },
  { text: member.latency_ms === undefined ? '?' : durationText(member.latency_ms) },
  { text: member.db_size_bytes === undefined ? '?' : sizeText(member.db_size_bytes) },
  quotaOf(member),
  { text: member.raft_term === undefined ? '?' : String(member.raft_term) },
];
const heads = ['member', 'role', 'version', 'lag', 'latency', 'size', 'quota', 'term'];
/** Text of members on one line of the screen: none of it is a command for the terminal. */
const fit = (look: TopLook, text: string): string => cutToWidth(oneLine(text), look.columns);
const tableOf = ({ members }: Observation, look: TopLook) => {
  const furthest = Math.max(0, ...members.map(({ raft_index }) => raft_index ?? 0));
  const rows = [
    heads.map((text): Cell => ({ text, color: 'dim' })),
    ...members.map((one) => cellsOf(one, furthest).map((cell) => ({ ...cell, text: oneLine(cell.text) }))),
  ];
  const widths = heads.map((_, i) => Math.max(...rows.map((row) => row[i]?.text.length ?? 0)));
  const { lines, count } = tableLines(rows, widths, look);
  return { lines, hidden: heads.slice(count) };
};
const alarmLine = ({ alarms, members }: Observation, look: TopLook): string => {
  if (!members.some(({ is_reachable }) => is_reachable))
    return paint(look, 'red', fit(look, 'alarms ?: no member responds'));
  if (alarms.length === 0) return paint(look, 'dim', fit(look, 'no alarm is raised'));
  const texts = alarms.map(
    ({ member_id, alarm }) =>
      `${alarm} by ${members.find((one) => one.member_id === member_id)?.name ?? member_id}`,
  );
  return paint(look, 'red', fit(look, `alarm ${texts.join(', ')}`));
};
/** The step that started last, with its place in the plan. A step that the run added has no title. */
const lastStarted = (entries: FoundRun['entries']) => {
  const [first, begun] = [entries[0], entries.findLast((entry) => entry.kind === 'begin')];
  if (begun?.kind !== 'begin' || first?.kind !== 'opened') return undefined;
  const { steps } = first.plan;
  const at = steps.findIndex(({ id }) => id === begun.step);
  return { id: begun.step, number: at + 1, count: steps.length, title: steps[at]?.title };
};
/** One mark for each step of the plan: done, failed, running, pending. */
const timeline = ({ run, worker }: TopState, look: TopLook): string[] => {
  const first = run?.entries[0];
  if (run === undefined || first?.kind !== 'opened') return [paint(look, 'dim', fit(look, 'no run yet'))];
  const last = run.entries.at(-1);
  const { ended: done } = progressOf(run.entries);
  const started = lastStarted(run.entries);
  const current = started === undefined || done.has(started.id) ? undefined : started;
  const { steps } = first.plan;
  const { from, to } = actionWay(lastAction(run.entries), first.plan);
  const marks = steps.map(({ id }) => (done.has(id) ? '✓' : id === current?.id ? '▶' : '·')).join('');
  const end = last?.kind === 'closed' ? `${last.outcome}: ${last.message}` : (worker ?? 'interrupted');
  return [
    fit(look, `run ${run.run}: ${from} → ${to}, ${done.size} of ${steps.length} steps, ${end}`),
    paint(look, 'green', fit(look, marks)),
    ...(current?.title === undefined ? [] : [fit(look, `now: ${current.title}`)]),
  ];
};
const canaryLine = ({ canary }: TopState, look: TopLook): string[] => {
  if (canary === undefined) return [];
  const text = canaryText(canaryReport(canary, []), canary.lastMs);
  return [paint(look, canary.failed > 0 ? 'yellow' : 'dim', fit(look, text))];
};
const keys = ['c check', 'p plan', 'u upgrade', 'h hold', 'r rollback'];
/** The keys that fit on the line. `q quit` is always visible, and `?` lists the keys that do not fit. */
const keysText = (columns: number): string => {
  for (let count = keys.length; count >= 0; count -= 1) {
    const more = count < keys.length ? ['? more'] : [];
    const text = [...keys.slice(0, count), ...more, 'q quit'].join('  ');
    if (text.length <= columns) return text;
  }
  return 'q quit';
};
/** What `?` shows in place of the table: every key, and the columns that do not fit. */
const keyList = (hidden: readonly string[], look: TopLook): string[] =>
  [
    ...keys,
    '? back to the table',
    'q quit',
    ...(hidden.length === 0 ? [] : ['', `too narrow for: ${hidden.join(', ')}`]),
  ].map((text) => fit(look, text));
/** The lines of one frame, limited to the height of the terminal. Pure. */
export const topLines = (state: TopState, look: TopLook): string[] => {
  const { observation } = state;
  const head = `${observation.cluster}: cluster ${observation.cluster_version ?? '?'}, leader ${observation.leader ?? 'none'}, ${observation.taken_at.slice(11, 19)}Z`;
  const { lines: rows, hidden } = tableOf(observation, look);
  const lines = [
    paint(look, 'bold', fit(look, head)),
    '',
    ...(state.showsKeys === true ? keyList(hidden, look) : rows),
    '',
    alarmLine(observation, look),
    ...canaryLine(state, look),
    ...timeline(state, look),
    ...(state.message === undefined ? [] : ['', fit(look, state.message)]),
  ];
  const footer = look.hasKeys ? [paint(look, 'dim', fit(look, keysText(look.columns)))] : [];
  return [...lines.slice(0, Math.max(1, look.rows - footer.length)), ...footer];
};

export type TopWatched = {
  readonly host: Host;
  /** Directory of the runs of this machine. */
  readonly state: string;
  readonly cluster: ClusterFile;
  readonly access: Access;
};
/** The newest run of this machine, and the process that works on it. */
const runOf = async ({ host, state, cluster }: TopWatched): Promise<Pick<TopState, 'run' | 'worker'>> => {
  const [run] = await findRuns(host, state, cluster.name).catch(() => []);
  const held = await readMachineLock(host, state, cluster.name).catch(() => undefined);
  return {
    ...(run === undefined ? {} : { run }),
    ...(held === undefined ? {} : { worker: `in progress on ${held.owner.host}, process ${held.owner.pid}` }),
  };
};
/** Counts its writes from the first write on. */
const countedCanary = ({ host, cluster, access }: TopWatched) => {
  const writes = writeCounter();
  const canary = startCanary(
    host,
    cluster,
    access,
    `top-${host.pid}`,
    (event) => writes.take(event, host.elapsed()),
    () => 1000,
  );
  return { now: writes.counts, stop: () => canary.stop() };
};
export type TopWatch = { readonly look: () => Promise<TopState>; readonly stop: () => Promise<unknown> };
/** Observes the members and the run. With a canary, writes test keys until it is stopped. */
export const topWatch = (watched: TopWatched, withCanary: boolean): TopWatch => {
  const canary = withCanary ? countedCanary(watched) : undefined;
  return {
    look: async () => ({
      observation: await observe(watched),
      ...(await runOf(watched)),
      ...(canary === undefined ? {} : { canary: canary.now() }),
    }),
    stop: async () => canary?.stop(),
  };
};
const topCanary = ({ writes, failed, lastMs, longestGapMs }: CanaryCounts) => ({
  ...{ writes, failed, lastMs, longestMs: longestGapMs },
});
/** One observation as data. */
export const topData = ({ observation, run, worker, canary }: TopState) => ({
  ...withHexIds(observation),
  last_run: run === undefined ? null : { run: run.run, entries: run.entries.length, worker: worker ?? null },
  ...(canary === undefined ? {} : { canary: topCanary(canary) }),
});

/** Requests the current run to stop after its step, like Ctrl-C in its terminal. */
export const holdRun = async (
  host: Host,
  state: string,
  cluster: string,
  show: ShowAdvice = showPlain,
): Promise<string> => {
  const held = await readMachineLock(host, state, cluster);
  if (held === undefined)
    return 'no run is in progress on this machine; kv upgrade accepts --hold-last or --hold-after';
  const { pid, machine } = held;
  if (processState(host, held) !== 'alive')
    return `the run is in progress on ${machine}${machine === host.hostname ? ', in another container' : ''}: press Ctrl-C there`;
  const question = `Stop the run of ${cluster} (process ${pid}) after its current step?`;
  if (!(await host.terminal.prompts.confirm(question, false))) return 'not confirmed; the run continues';
  return signalRecorded(host, held, 'SIGINT')
    ? show(after('the run stops after its current step;', ['kv', 'resume'], 'continues it'))
    : `cannot send a signal to process ${pid}`;
};

const goesOn: ReadonlySet<Outcome> = new Set(['held', 'stopped', 'failed']);
/** After the last member no rollback is possible. */
const waysOf = ({ entries }: FoundRun, clusterVersion: string | undefined, show: ShowAdvice): string[] => {
  const isOver = entries[0]?.kind === 'opened' && minorOf(clusterVersion) === entries[0].plan.to;
  return [
    `  continue:  ${show(next(['kv', 'resume']))}`,
    `  ${isOver ? 'restore:  ' : 'roll back:'} ${show(next(['kv', isOver ? 'restore' : 'rollback']))}`,
  ];
};
export type RunLine = {
  readonly run: string;
  readonly outcome: string;
  readonly text: string;
  readonly from?: string;
  readonly endedAt?: string;
  /** The upgrade over several versions that the run belongs to, while versions are left. */
  readonly path?: { readonly to: string; readonly next: string };
};
const whereIn = (entries: FoundRun['entries']): string => {
  const started = lastStarted(entries);
  if (started === undefined) return '';
  const { id, number, count, title } = started;
  return title === undefined ? ` at ${id}` : ` at step ${number} of ${count}: ${title}`;
};
const openText = (
  { run, entries }: FoundRun,
  worker: LockInfo | undefined,
  ways: readonly string[],
): string => {
  if (worker === undefined) return [`run ${run} was interrupted${whereIn(entries)}`, ...ways].join('\n');
  const { user = 'an unknown user', host, pid } = worker.owner;
  return `run ${run} is in progress${whereIn(entries)}\n  by ${user} on ${host}, process ${pid}, since ${momentText(worker.since)}`;
};
/** Returns the remaining path, unless the cluster has left the versions of the run since. */
const pathOf = ({ entries }: FoundRun, clusterVersion: string | undefined): RunLine['path'] => {
  const [first] = entries;
  if (first?.kind !== 'opened' || first.action === 'rollback') return undefined;
  const { plan } = first;
  const [upcoming, running] = [nextHopOf(plan), minorOf(clusterVersion)];
  return upcoming === undefined || (running !== plan.to && running !== plan.from)
    ? undefined
    : { to: plan.options.path?.to ?? plan.to, next: upcoming };
};
/** Describes the state of a run and the commands that can follow. `worker`: the process that works on it. */
export const runLine = (
  found: FoundRun,
  worker: LockInfo | undefined,
  clusterVersion: string | undefined,
  show: ShowAdvice = showPlain,
): RunLine => {
  const ways = waysOf(found, clusterVersion, show);
  const { run, entries } = found;
  const last = entries.at(-1);
  if (last?.kind === 'closed') {
    // After the automatic revert of a member the run stops, but the operator can fix the cause and resume.
    const mayGoOn = goesOn.has(last.outcome) || (last.outcome === 'rolled-back' && !isRolledBack(entries));
    const text = `last run ${run}: ${last.message.startsWith(last.outcome) ? '' : `${last.outcome}: `}${last.message}`;
    const from = entries[0]?.kind === 'opened' ? { from: entries[0].plan.from, endedAt: last.at } : {};
    const path = pathOf(found, clusterVersion);
    const continues =
      path === undefined || last.outcome !== 'done'
        ? []
        : [`  the upgrade to ${path.to} continues with ${path.next}: ${show(next(['kv', 'resume']))}`];
    const lines = [text, ...(mayGoOn ? ways : []), ...continues];
    return {
      ...{ run, outcome: last.outcome, text: lines.join('\n'), ...from },
      ...(path === undefined ? {} : { path }),
    };
  }
  return {
    run,
    outcome: worker === undefined ? 'interrupted' : 'at-work',
    text: openText(found, worker, ways),
  };
};

/** Returns the newest run of the cluster on this machine or on another machine. */
export const lastRun = async (
  host: Host,
  state: string,
  { cluster, access }: { readonly cluster: ClusterFile; readonly access: Access },
  clusterVersion: string | undefined,
  show: ShowAdvice = showPlain,
): Promise<RunLine | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const [newest] = await findRuns(host, state, cluster.name).catch(() => []);
  const shared = await sharedRun({ host, cluster, stores }, state).catch(() => undefined);
  if (shared !== undefined && (newest === undefined || shared.run >= newest.run)) {
    const line = runLine(shared, await readStoreLock(stores), clusterVersion, show);
    const by = shared.owner === undefined ? 'another machine' : shared.owner.host;
    return {
      ...line,
      text: `${line.text}\n  its journal is on ${by}; kv resume and kv rollback adopt it on this machine`,
    };
  }
  return newest === undefined
    ? undefined
    : runLine(newest, await readMachineLock(host, state, cluster.name), clusterVersion, show);
};

/** Returns whether a member is unhealthy, or members contradict each other. */
export const hasProblem = (observation: Observation): boolean =>
  !observation.members.every(({ is_healthy }) => is_healthy) || revisionFinding(observation) !== undefined;

type Known = {
  readonly observation: Observation;
  readonly run: RunLine | undefined;
  readonly restored: { readonly text: string } | undefined;
  readonly operation: { readonly text: string } | undefined;
};
const runText = ({ observation, run, restored }: Known): string[] => {
  if (run === undefined) return [];
  const isBack =
    run.outcome === 'done' && run.from !== undefined && minorOf(observation.cluster_version) === run.from;
  return [
    isBack && restored === undefined
      ? `${run.text}; since then the cluster was rebuilt on ${run.from}`
      : run.text,
  ];
};
/** Adds an empty line before the text. Indented lines are commands to copy and stay unchanged. */
const wrapLines = (said: readonly string[], columns: number): string[] =>
  said.length === 0
    ? []
    : ['', ...said.join('\n').split('\n')].map((line) =>
        line.startsWith(' ') ? line : wrapMessage(line, columns, '  '),
      );
/**
 * Lines of kv status below the members: alarms, the last run, the last restore and an unfinished operation.
 */
export const statusLines = (known: Known, columns: number, show: ShowAdvice = showPlain): string[] => {
  const { observation, restored, operation } = known;
  const differing = revisionFinding(observation);
  const problems = [...alarmMessages(observation), ...(differing === undefined ? [] : [differing])];
  const alarms = problems.map(({ message, hint }) =>
    hint === undefined ? message : `${message}\n  next: ${show(hint)}`,
  );
  const held = observation.hold
    ? [`${holdText(observation.hold)}\n  remove: ${show(next(['kv', 'hold', 'remove']))}`]
    : [];
  const others = [restored, operation].flatMap((line) => line?.text ?? []);
  const { revisions_unread: unread } = observation;
  const notCompared = unread === undefined ? [] : [`revisions not compared: ${unread}`];
  return wrapLines([...alarms, ...notCompared, ...held, ...runText(known), ...others], columns);
};
