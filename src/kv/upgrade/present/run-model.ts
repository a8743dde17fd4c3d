import { durationText } from '../../../core/format.ts';
import type {
  CanaryReport,
  MemberReport,
  MemberStatus,
  Observation,
  Outcome,
  Plan,
  Report,
  Step,
  StepKind,
  Unstamped,
  UpgradeEvent,
} from '../../engine/model.ts';
import { forgetSteps } from '../../engine/progress.ts';
import { memberOfStep } from '../../engine/steps.ts';
import { actionName, runWay } from '../plan-kind.ts';

/**
 * The model of a run: the facts that its events contain, derived once. The live table, the lines, the report
 * and its forms (page, drawing, Markdown) read this model and do not read events.
 */

/** The value of a member. A member may have the name of an inherited property, such as `constructor`. */
export const getOwn = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;
export const revertText = ({
  member,
  reason,
}: {
  readonly member: string;
  readonly reason: string;
}): string => `${member} is rolled back: ${reason}`;
/** Repeats no reason that the line of the failed step above has. */
export const revertLine = (
  { steps }: Pick<RunModel, 'steps'>,
  event: { readonly member: string; readonly reason: string },
): string => {
  const hasFailed = Object.values(steps).some(
    ({ step, ended }) => step.member === event.member && ended?.isDone === false,
  );
  return hasFailed ? `${event.member} is rolled back` : revertText(event);
};
/** Durations of the members in this run, and the remaining members. */
export type Timing = {
  readonly plan: Plan;
  readonly begunAt: Readonly<Record<string, number>>;
  readonly tookMs: readonly number[];
  readonly left: readonly string[];
};
const finishStep = (timing: Timing, event: UpgradeEvent & { event: 'step-finished' }): Timing => {
  const { kind, member } = event.step;
  if (kind !== 'gate') return timing;
  const begun = getOwn(timing.begunAt, member);
  const isOwn = event.was_done_before !== true && begun !== undefined;
  return {
    ...timing,
    left: timing.left.filter((name) => name !== member),
    tookMs: isOwn ? [...timing.tookMs, event.elapsed_ms - begun] : timing.tookMs,
  };
};
/**
 * Returns the timing after one more event; undefined before a run and in a rollback, whose members are not
 * those of the plan. A later part of a run keeps the durations of the members. Pure.
 */
export const timingAfter = (timing: Timing | undefined, event: UpgradeEvent): Timing | undefined => {
  if (event.event === 'run-started')
    return event.action === 'rollback'
      ? undefined
      : { plan: event.plan, begunAt: {}, tookMs: timing?.tookMs ?? [], left: event.plan.order };
  if (timing === undefined) return undefined;
  if (event.event === 'step-finished') return finishStep(timing, event);
  // A member that is reverted starts from the beginning.
  if (event.event === 'reverting') {
    const { [event.member]: _, ...begunAt } = timing.begunAt;
    return { ...timing, begunAt, left: [...new Set([...timing.left, event.member])] };
  }
  const member =
    event.event === 'step-started' && event.step.kind !== 'settle' ? event.step.member : undefined;
  if (member === undefined || getOwn(timing.begunAt, member) !== undefined || !timing.left.includes(member))
    return timing;
  return { ...timing, begunAt: { ...timing.begunAt, [member]: event.elapsed_ms } };
};
/**
 * The names of the step kinds, in the order of a run: above a column of the live table, and in the summary of a
 * plan, which names only the steps of members.
 */
export const stepNames: Readonly<Record<StepKind, { readonly column: string; readonly phrase?: string }>> = {
  snapshot: { column: 'snapshot', phrase: 'snapshot' },
  'move-leader': { column: 'leader', phrase: 'move the leadership' },
  stop: { column: 'stop', phrase: 'stop' },
  'copy-data': { column: 'copy', phrase: 'copy the data' },
  'check-data': { column: 'data', phrase: 'read the data' },
  configure: { column: 'config', phrase: 'configuration' },
  start: { column: 'start', phrase: 'start' },
  gate: { column: 'health', phrase: 'health check' },
  settle: { column: 'settle', phrase: 'wait' },
  hold: { column: 'hold' },
  confirm: { column: 'confirm' },
  'enable-downgrade': { column: 'enable' },
};
/** The kinds of the steps of members, in the order of a run. */
const order = (Object.keys(stepNames) as StepKind[]).filter((kind) => stepNames[kind].phrase !== undefined);
/** Returns the one word for the condition of a member. Pure. */
export const memberState = ({
  is_reachable,
  is_healthy,
}: Pick<MemberStatus, 'is_reachable' | 'is_healthy'>): 'up' | 'unhealthy' | 'down' =>
  !is_reachable ? 'down' : is_healthy ? 'up' : 'unhealthy';

/** A write of the canary. The latency of a failed write is the time until its failure. */
export type CanaryWrite = { readonly atMs: number; readonly latencyMs: number; readonly ok: boolean };
const canaryWrite = ({
  elapsed_ms: atMs,
  latency_ms: latencyMs,
  ok,
}: UpgradeEvent & { event: 'canary' }): CanaryWrite => ({ atMs, latencyMs, ok });
/** The effect of a run on a client that always writes. */
export type CanaryCounts = {
  readonly writes: number;
  readonly failed: number;
  /** Latency of the last successful write. */
  readonly lastMs: number;
  readonly longestGapMs: number;
  /** Time since which no write succeeded. */
  readonly waitingSince?: number;
};
export const emptyCounts: CanaryCounts = { writes: 0, failed: 0, lastMs: 0, longestGapMs: 0 };
/**
 * Returns the counts after one more write. A gap lasts from the start of a write until a write succeeds. The
 * pause between two writes does not count. Pure.
 */
const countWrite = (
  { waitingSince, ...last }: CanaryCounts = emptyCounts,
  { atMs, latencyMs, ok }: CanaryWrite,
): CanaryCounts => {
  const since = waitingSince ?? atMs - latencyMs;
  const longestGapMs = Math.max(last.longestGapMs, Math.round(atMs - since));
  const counts = { ...last, writes: last.writes + 1, longestGapMs };
  return ok ? { ...counts, lastMs: latencyMs } : { ...counts, failed: last.failed + 1, waitingSince: since };
};
const quantile = (sorted: readonly number[], share: number): number | undefined => {
  const found = sorted[Math.floor(sorted.length * share)];
  return found === undefined ? undefined : Math.round(found * 10) / 10;
};
/** The stored form of the counts. `latencies`: those of the successful writes. Pure. */
export const canaryReport = (
  { writes, failed, longestGapMs }: CanaryCounts,
  latencies: readonly number[],
): CanaryReport => {
  const sorted = latencies.toSorted((a, b) => a - b);
  return {
    writes,
    failed,
    longest_gap_ms: longestGapMs,
    median_ms: quantile(sorted, 0.5),
    p99_ms: quantile(sorted, 0.99),
  };
};
/** Counts the writes of a canary, whose events need not be kept. */
export const writeCounter = () => {
  let counts: CanaryCounts | undefined;
  const latencies: number[] = [];
  return {
    take: (event: Unstamped, atMs: number): void => {
      if (event.event !== 'canary') return;
      counts = countWrite(counts, { atMs, latencyMs: event.latency_ms, ok: event.ok });
      if (event.ok) latencies.push(event.latency_ms);
    },
    counts: (): CanaryCounts => counts ?? emptyCounts,
    /** Undefined without a write. */
    report: (): CanaryReport | undefined =>
      counts === undefined ? undefined : canaryReport(counts, latencies),
  };
};

export type CellState = 'none' | 'waiting' | 'running' | 'done' | 'failed';
/** A member now. */
export type RunMember = {
  readonly name: string;
  readonly version: string;
  /** The version that a revert restores. */
  readonly oldVersion: string;
  readonly isLeader: boolean;
  readonly isDown: boolean;
  readonly wasReverted: boolean;
  readonly cells: Readonly<Partial<Record<StepKind, CellState>>>;
  /** Size of its database, on which the time for snapshot and start depends. */
  readonly sizeBytes?: number;
};
/** A period of the run. Times are milliseconds since its start. An open period has no end. */
export type Period = { readonly fromMs: number; readonly toMs: number };
/** What happened to a member in all parts of the run. */
export type MemberHistory = {
  /** Where its program changed: stopped, on the new version, or on the old version again. */
  readonly changes: readonly { readonly to: 'old' | 'down' | 'new'; readonly atMs: number }[];
  readonly snapshotsAt: readonly number[];
  readonly revertedAt: readonly number[];
  /** The checks since its last health check started. */
  readonly checks: MemberReport['gate'];
  /** Its last unavailability. */
  readonly downMs?: number;
  /** The result of the first copy of its data directory. */
  readonly dataCopy?: string | undefined;
};
/** The last attempt of a step. */
export type StepHistory = {
  readonly step: Step;
  readonly startedAt?: string;
  readonly startedMs?: number;
  /** Its place in the plan: `4/13`. */
  readonly place?: string;
  readonly ended?: { readonly atMs: number; readonly isDone: boolean };
};
/** The state of a run after its events so far. */
export type RunModel = {
  /** Its ID; empty before it starts. */
  readonly run: string;
  readonly title: string;
  /** Number of steps in the plan. */
  readonly stepCount: number;
  /** The finished steps, with those of earlier parts. A reverted member starts from its first step. */
  readonly done: ReadonlySet<string>;
  readonly isRollback: boolean;
  /** The kinds of the steps of members, in order. */
  readonly columns: readonly StepKind[];
  readonly members: readonly RunMember[];
  /** The step after the last member. */
  readonly confirm: CellState;
  /** The current action. */
  readonly now: string;
  readonly elapsedMs: number;
  readonly canary?: CanaryCounts;
  /** Messages that stay: warnings, notes, unexpected log lines. */
  readonly said: readonly string[];
  readonly outcome?: Outcome;
  readonly timing?: Timing | undefined;
  readonly histories: Readonly<Record<string, MemberHistory>>;
  readonly steps: Readonly<Record<string, StepHistory>>;
  readonly leaders: readonly { readonly name: string; readonly fromMs: number; readonly toMs?: number }[];
  /** The longest times without an acknowledged write, the longest first. */
  readonly gaps: readonly Period[];
  /** Position and length of each pause between two parts of the run. */
  readonly pauses: readonly { readonly atMs: number; readonly forMs: number }[];
  readonly oddLines: Report['unexpected_log_lines'];
  /** ISO time of the last event. */
  readonly at: string;
};
export const emptyRun: RunModel = {
  run: '',
  title: '',
  stepCount: 0,
  done: new Set(),
  isRollback: false,
  columns: [],
  members: [],
  confirm: 'none',
  now: '',
  elapsedMs: 0,
  said: [],
  histories: {},
  steps: {},
  leaders: [],
  gaps: [],
  pauses: [],
  oddLines: [],
  at: '',
};

/** Adds a leader to the leaders of the run. While no leader is known, the last one counts. */
const withLeader = (state: RunModel, name: string | undefined, atMs: number): RunModel => {
  const last = state.leaders.at(-1);
  if (name === undefined || last?.name === name) return state;
  const before = last === undefined ? [] : [...state.leaders.slice(0, -1), { ...last, toMs: atMs }];
  return { ...state, leaders: [...before, { name, fromMs: atMs }] };
};
/** What the parts of a run before this part contain. Another run starts without it. */
const earlierParts = (before: RunModel, event: UpgradeEvent & { event: 'run-started' }): RunModel => {
  if (isOtherRun(before, event)) return { ...emptyRun, said: before.said };
  const forMs = Math.max(0, Date.parse(event.at) - Date.parse(before.at));
  const { outcome: _, canary, ...state } = before;
  return {
    ...state,
    // No client waits during the pause for a write that failed before it.
    ...(canary === undefined ? {} : { canary: { ...canary, waitingSince: undefined } }),
    pauses: [...before.pauses, { atMs: event.elapsed_ms, forMs }],
    gaps: before.gaps.filter(({ toMs }) => toMs < event.elapsed_ms),
  };
};
const startPart = (before: RunModel, event: UpgradeEvent & { event: 'run-started' }): RunModel => {
  const { plan, action, run } = event;
  const memberOf = (name: string): RunMember => {
    const seen = plan.observation.members.find((member) => member.name === name);
    const kinds = plan.steps.filter((step) => step.member === name).map((step) => step.kind);
    const cells = Object.fromEntries(kinds.map((kind) => [kind, 'waiting' as const]));
    const version = seen?.server_version ?? '?';
    return {
      ...{ name, version, oldVersion: version },
      isLeader: plan.observation.leader === name,
      isDown: seen?.is_reachable === false,
      wasReverted: false,
      cells,
      ...(seen?.db_size_bytes === undefined ? {} : { sizeBytes: seen.db_size_bytes }),
    };
  };
  const state = earlierParts(before, event);
  return {
    ...(state.leaders.length === 0 ? withLeader(state, plan.observation.leader, 0) : state),
    run,
    now: 'inspecting the members',
    title:
      action === 'rollback'
        ? `rollback of ${plan.cluster} to ${plan.from}`
        : `${actionName(event)} of ${plan.cluster} ${runWay(plan)}`,
    stepCount: plan.steps.length,
    isRollback: action === 'rollback',
    columns: order.filter((kind) => plan.steps.some((step) => step.kind === kind)),
    members: plan.observation.members.map(({ name }) => memberOf(name)),
    confirm: plan.steps.some((step) => step.kind === 'confirm') ? 'waiting' : 'none',
  };
};

const noHistory: MemberHistory = { changes: [], snapshotsAt: [], revertedAt: [], checks: [] };
const changeHistory = (
  state: RunModel,
  name: string,
  change: (history: MemberHistory) => Partial<MemberHistory>,
): RunModel => {
  const history = getOwn(state.histories, name) ?? noHistory;
  return { ...state, histories: { ...state.histories, [name]: { ...history, ...change(history) } } };
};

const changeMember = (state: RunModel, name: string, change: (member: RunMember) => RunMember): RunModel => ({
  ...state,
  members: state.members.map((member) => (member.name === name ? change(member) : member)),
});
const setCell = (
  state: RunModel,
  event: UpgradeEvent & { event: 'step-started' | 'step-finished' | 'step-failed' },
  cell: CellState,
): RunModel => {
  const { kind, member } = event.step;
  if (kind === 'confirm') return { ...state, confirm: cell };
  if (member === undefined) return state;
  // An unplanned step (the leader changed during the run) gets its column now.
  const columns = state.columns.includes(kind)
    ? state.columns
    : order.filter((one) => one === kind || state.columns.includes(one));
  return changeMember({ ...state, columns }, member, (one) => ({
    ...one,
    cells: { ...one.cells, [kind]: cell },
  }));
};

type StepEvent = UpgradeEvent & { event: 'step-started' | 'step-finished' | 'step-failed' };
const historyAfter = (before: StepHistory | undefined, event: StepEvent): StepHistory => {
  const { step, at, elapsed_ms: atMs } = event;
  if (event.event === 'step-started')
    return { ...before, step, startedAt: at, startedMs: atMs, place: `${event.number}/${event.count}` };
  return { ...before, step: before?.step ?? step, ended: { atMs, isDone: event.event === 'step-finished' } };
};
const cellAfter = { 'step-started': 'running', 'step-finished': 'done', 'step-failed': 'failed' } as const;
/** Records the event of a step. A step that an earlier part has finished keeps its times. */
const stepAfter = (before: RunModel, event: StepEvent): RunModel => {
  const done = event.event === 'step-finished' ? new Set([...before.done, event.step.id]) : before.done;
  const state = { ...setCell(before, event, cellAfter[event.event]), done };
  if (event.event === 'step-finished' && event.was_done_before === true) return state;
  const { id } = event.step;
  const steps = { ...state.steps, [id]: historyAfter(state.steps[id], event) };
  const [checked, copied] = [memberOfStep(id, 'gate'), memberOfStep(id, 'copy-data')];
  if (event.event === 'step-started' && checked !== undefined)
    return changeHistory({ ...state, steps }, checked, () => ({ checks: [] }));
  if (event.event === 'step-finished' && copied !== undefined)
    return changeHistory({ ...state, steps }, copied, (history) =>
      'dataCopy' in history ? {} : { dataCopy: event.detail },
    );
  return { ...state, steps };
};

/** A gap of this length or longer is visible in the drawing. */
const leastGapMs = 150;
const mostGaps = 12;
const canaryAfter = (state: RunModel, event: UpgradeEvent & { event: 'canary' }): Partial<RunModel> => {
  const write = canaryWrite(event);
  const canary = countWrite(state.canary, write);
  const since = state.canary?.waitingSince ?? write.atMs - write.latencyMs;
  return write.ok
    ? { canary, gaps: gapsAfter(state.gaps, { fromMs: Math.max(0, since), toMs: write.atMs }) }
    : { canary };
};
const gapsAfter = (gaps: RunModel['gaps'], gap: Period): RunModel['gaps'] => {
  const length = ({ fromMs, toMs }: Period): number => toMs - fromMs;
  if (length(gap) < leastGapMs) return gaps;
  return [...gaps, gap].sort((a, b) => length(b) - length(a)).slice(0, mostGaps);
};
const versionIn = (text: string): string | undefined => /\d+\.\d+\.\d+/.exec(text)?.[0];
const log = (state: RunModel, text: string): RunModel => ({ ...state, said: [...state.said, text] });

/** Updates every member from the observation. An unknown version or leader keeps its last value. */
const withObserved = (state: RunModel, { members, leader }: Observation): RunModel => ({
  ...state,
  members: state.members.map((one) => {
    const seen = members.find((member) => member.name === one.name);
    return {
      ...one,
      version: seen?.server_version ?? one.version,
      isDown: seen?.is_reachable === false,
      ...(seen?.db_size_bytes === undefined ? {} : { sizeBytes: seen.db_size_bytes }),
      isLeader: leader === undefined ? one.isLeader : leader === one.name,
    };
  }),
});

/** Updates every member from the last observation of the run. A member that did not respond keeps its values. */
const withReported = (state: RunModel, { members = [] }: Partial<Pick<Report, 'members'>>): RunModel => ({
  ...state,
  members: state.members.map((one) => {
    const { version_after, state: condition } = members.find(({ name }) => name === one.name) ?? {};
    if (version_after === undefined) return one;
    return { ...one, version: version_after, isDown: condition === 'down' };
  }),
});

/** The program of a member stopped, started, or is the old one again. */
const programAfter = (
  before: RunModel,
  event: UpgradeEvent & { event: 'member-down' | 'member-up' | 'reverted' },
): RunModel => {
  const { member, elapsed_ms: atMs } = event;
  const to = { 'member-down': 'down', 'member-up': 'new', reverted: 'old' } as const;
  const state = changeHistory(before, member, ({ changes, revertedAt }) => ({
    changes: [...changes, { to: to[event.event], atMs }],
    ...(event.event === 'member-up' ? { downMs: event.down_ms } : {}),
    ...(event.event === 'reverted' ? { revertedAt: [...revertedAt, atMs] } : {}),
  }));
  if (event.event === 'member-down')
    return changeMember(state, member, (one) => ({ ...one, isDown: true, isLeader: false }));
  if (event.event === 'member-up')
    return changeMember(state, member, (one) => ({
      ...one,
      isDown: false,
      version: event.version ?? one.version,
    }));
  const done = new Set(state.done);
  forgetSteps(done, { kind: 'reverted', member });
  return changeMember({ ...state, done }, member, (one) => ({
    ...one,
    isDown: false,
    version: one.oldVersion,
  }));
};
const memberEvent = (state: RunModel, event: UpgradeEvent): RunModel => {
  const { elapsed_ms: atMs } = event;
  switch (event.event) {
    case 'member-down':
    case 'member-up':
    case 'reverted':
      return programAfter(state, event);
    case 'reverting':
      return log(
        {
          ...changeMember(state, event.member, (one) => ({ ...one, wasReverted: true })),
          now: `${event.member} is rolled back`,
        },
        revertLine(state, event),
      );
    case 'snapshot-saved':
      return changeHistory(state, event.snapshot.member, ({ snapshotsAt }) => ({
        snapshotsAt: [...snapshotsAt, atMs],
      }));
    case 'leader-changed':
      return withLeader(
        { ...state, members: state.members.map((one) => ({ ...one, isLeader: one.name === event.to })) },
        event.to,
        atMs,
      );
    case 'observed':
      return withLeader(withObserved(state, event.observation), event.observation.leader, atMs);
    default:
      return state;
  }
};
const checkAfter = (before: RunModel, event: UpgradeEvent & { event: 'gate-check' }): RunModel => {
  const { member, check, ok, detail } = event;
  const state = changeHistory(before, member, ({ checks }) => ({
    checks: [...checks, { check, ok, detail }],
  }));
  if (ok === false) return { ...state, now: `${member} is not ready yet: ${check}: ${detail}` };
  return check === 'version'
    ? changeMember(state, member, (one) => ({ ...one, version: versionIn(detail) ?? one.version }))
    : state;
};
const logLineAfter = (state: RunModel, event: UpgradeEvent & { event: 'log-line' }): RunModel => {
  const { member, line, expected } = event;
  if (expected) return state;
  return log({ ...state, oddLines: [...state.oddLines, { member, line }] }, `log of ${member}: ${line}`);
};
const factsAfter = (state: RunModel, event: UpgradeEvent): RunModel => {
  switch (event.event) {
    case 'run-started':
      return startPart(state, event);
    case 'step-started':
      return {
        ...stepAfter(state, event),
        now: `${event.number}/${event.count} ${event.step.title}`,
      };
    case 'step-finished':
      return stepAfter(state, event);
    case 'step-failed':
      return log(stepAfter(state, event), `${event.step.title}: ${event.reason}`);
    case 'waiting':
      return {
        ...state,
        now: `${event.step.title}: ${durationText(event.remaining_ms)} left (${event.reason})`,
      };
    case 'gate-check':
      return checkAfter(state, event);
    case 'log-line':
      return logLineAfter(state, event);
    case 'note':
      return log(event.is_paused === undefined ? state : { ...state, now: event.text }, event.text);
    case 'run-finished':
      return { ...withReported(state, event.report), outcome: event.outcome, now: event.message };
    default:
      return memberEvent(state, event);
  }
};
const isOtherRun = ({ run }: RunModel, event: UpgradeEvent): boolean =>
  event.event === 'run-started' && event.run !== run;
/** Returns the model after one more event. Pure. */
export const runAfter = (before: RunModel, event: UpgradeEvent): RunModel => {
  // Nearly all events of a long run are writes of the canary, which change two fields.
  const isWrite = event.event === 'canary';
  return {
    ...(isWrite ? before : factsAfter(before, event)),
    ...(isWrite ? canaryAfter(before, event) : {}),
    at: event.at,
    elapsedMs: event.event === 'run-started' ? 0 : Math.max(before.elapsedMs, event.elapsed_ms),
    timing: timingAfter(isOtherRun(before, event) ? undefined : before.timing, event),
  };
};

/** The model of a run with every write, which only a drawing needs. */
export type WholeRun = RunModel & { readonly writes: readonly CanaryWrite[]; readonly endMs?: number };
/** Folds all events of a run. Pure. */
export const wholeRun = (events: readonly UpgradeEvent[]): WholeRun => {
  const last = events.at(-1);
  return {
    ...events.reduce(runAfter, emptyRun),
    writes: events.flatMap((event) => (event.event === 'canary' ? [canaryWrite(event)] : [])),
    ...(last === undefined ? {} : { endMs: last.elapsed_ms }),
  };
};
