import { rowOf } from '../../../api-specs/etcd/versions.ts';
import { durationText } from '../../../core/format.ts';
import type { Observation, Outcome, Plan, StepKind, UpgradeEvent } from '../../engine/model.ts';
import { mebibytes } from '../guards/guard.ts';
import { crosses } from '../plan-kind.ts';

/** Returns the total time of the plan's waits for these members. Pure. */
export const waitsMs = (plan: Plan, members: readonly string[]): number => {
  const settles = plan.steps.filter(
    ({ kind, member }) => kind === 'settle' && members.includes(member ?? ''),
  );
  const settleSeconds = settles.reduce((sum, { wait_seconds = 0 }) => sum + wait_seconds, 0);
  const isWhole = crosses(plan) && members.length > 0;
  const lastSeconds = isWhole
    ? (plan.options.stable_before_last_seconds ?? 0) + (rowOf(plan.to)?.monitorSeconds ?? 5)
    : 0;
  return (settleSeconds + lastSeconds) * 1000;
};
const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
/** Estimates the time for these members from the known durations; undefined if none is known. Pure. */
export const estimateMs = (
  plan: Plan,
  members: readonly string[],
  tookMs: readonly number[],
): number | undefined =>
  tookMs.length === 0 ? undefined : members.length * mean(tookMs) + waitsMs(plan, members);
const sizesText = ({ observation, order, steps }: Plan): string | undefined => {
  const sizes = order.flatMap((name) => {
    const bytes = observation.members.find((seen) => seen.name === name)?.db_size_bytes;
    return bytes === undefined ? [] : [{ name, bytes }];
  });
  if (sizes.length === 0) return undefined;
  const all = sizes.reduce((sum, { bytes }) => sum + bytes, 0);
  const each = sizes.map(({ name, bytes }) => `${name} ${mebibytes(bytes)}`).join(', ');
  const saved = steps.some(({ kind }) => kind === 'snapshot')
    ? `; ${mebibytes(all)} of snapshots in total`
    : '';
  return `Databases: ${each}${saved}`;
};
/** Size and duration of a plan, for the user only: no decision depends on these lines. Pure. */
export const estimateLines = (plan: Plan, tookMs: readonly number[]): string[] => {
  const sizes = sizesText(plan);
  const all = estimateMs(plan, plan.order, tookMs);
  const waits = waitsMs(plan, plan.order);
  const duration =
    all === undefined
      ? `Duration: known after the first member; ${durationText(waits)} of it is waiting time`
      : `Duration: about ${durationText(all)}, based on ${durationText(mean(tookMs))} per member in earlier runs; ${durationText(waits)} of it is waiting time`;
  return plan.order.length === 0 ? [] : [...(sizes === undefined ? [] : [sizes]), duration];
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
  const begun = timing.begunAt[member];
  const isOwn = event.was_done_before !== true && begun !== undefined;
  return {
    ...timing,
    left: timing.left.filter((name) => name !== member),
    tookMs: isOwn ? [...timing.tookMs, event.elapsed_ms - begun] : timing.tookMs,
  };
};
/**
 * Returns the timing after one more event; undefined before a run and in a rollback, whose members are not
 * those of the plan. Pure.
 */
export const timingAfter = (timing: Timing | undefined, event: UpgradeEvent): Timing | undefined => {
  if (event.event === 'run-started')
    return event.action === 'rollback'
      ? undefined
      : { plan: event.plan, begunAt: {}, tookMs: [], left: event.plan.order };
  if (timing === undefined) return undefined;
  if (event.event === 'step-finished') return finishStep(timing, event);
  // A member that is reverted starts from the beginning.
  if (event.event === 'reverting') {
    const { [event.member]: _, ...begunAt } = timing.begunAt;
    return { ...timing, begunAt, left: [...new Set([...timing.left, event.member])] };
  }
  const member = event.event === 'step-started' ? event.step.member : undefined;
  if (member === undefined || timing.begunAt[member] !== undefined || !timing.left.includes(member))
    return timing;
  return { ...timing, begunAt: { ...timing.begunAt, [member]: event.elapsed_ms } };
};
/** Undefined until one member has passed its health check, and if no member remains. Pure. */
export const timeLeftText = (timing: Timing | undefined, elapsedMs: number): string | undefined => {
  if (timing === undefined || timing.left.length === 0) return undefined;
  const all = estimateMs(timing.plan, timing.left, timing.tookMs);
  if (all === undefined) return undefined;
  const begun = timing.left.flatMap((name) => timing.begunAt[name] ?? []);
  const spent = begun.length === 0 ? 0 : elapsedMs - Math.min(...begun);
  const members = timing.left.length === 1 ? '1 member' : `${timing.left.length} members`;
  return `about ${durationText(Math.max(0, all - spent))} left for ${members}, based on ${durationText(Math.max(...timing.tookMs))} per member so far`;
};

export type CellState = 'none' | 'waiting' | 'running' | 'done' | 'failed';
export type LiveMember = {
  readonly name: string;
  readonly version: string;
  readonly isLeader: boolean;
  readonly isDown: boolean;
  readonly wasReverted: boolean;
  readonly cells: Readonly<Partial<Record<StepKind, CellState>>>;
  readonly downMs?: number;
  /** Size of its database, on which the time for snapshot and start depends. */
  readonly sizeBytes?: number;
};
/** The state of the table, derived from all events so far. */
export type LiveState = {
  readonly title: string;
  readonly columns: readonly StepKind[];
  readonly members: readonly LiveMember[];
  /** Cells of steps without a member. */
  readonly confirm: CellState;
  readonly now: string;
  readonly elapsedMs: number;
  readonly canary?: {
    readonly writes: number;
    readonly failed: number;
    readonly lastMs: number;
    readonly longestGapMs: number;
    /** Time since which no write succeeded. */
    readonly waitingSince?: number;
  };
  /** Lines that stay above the table: warnings, notes, unexpected log lines. */
  readonly said: readonly string[];
  readonly outcome?: Outcome;
  readonly isRollback: boolean;
  readonly timing?: Timing | undefined;
};
export const emptyState: LiveState = {
  title: '',
  isRollback: false,
  columns: [],
  members: [],
  confirm: 'none',
  now: '',
  elapsedMs: 0,
  said: [],
};

const order: readonly StepKind[] = [
  'snapshot',
  'move-leader',
  'stop',
  'copy-data',
  'check-data',
  'configure',
  'start',
  'gate',
  'settle',
];

const startState = (said: readonly string[], event: UpgradeEvent & { event: 'run-started' }): LiveState => {
  const { plan, action } = event;
  const memberOf = (name: string): LiveMember => {
    const seen = plan.observation.members.find((member) => member.name === name);
    const kinds = plan.steps.filter((step) => step.member === name).map((step) => step.kind);
    const cells = Object.fromEntries(kinds.map((kind) => [kind, 'waiting' as const]));
    return {
      name,
      version: seen?.server_version ?? '?',
      isLeader: plan.observation.leader === name,
      isDown: seen?.is_reachable === false,
      wasReverted: false,
      cells,
      ...(seen?.db_size_bytes === undefined ? {} : { sizeBytes: seen.db_size_bytes }),
    };
  };
  return {
    ...emptyState,
    said,
    now: 'inspecting the members',
    title:
      action === 'rollback'
        ? `rollback of ${plan.cluster} to ${plan.from}`
        : `${action} of ${plan.cluster} from ${plan.from} to ${plan.to}`,
    isRollback: action === 'rollback',
    columns: order.filter((kind) => plan.steps.some((step) => step.kind === kind)),
    members: plan.observation.members.map(({ name }) => memberOf(name)),
    confirm: plan.steps.some((step) => step.kind === 'confirm') ? 'waiting' : 'none',
  };
};

const changeMember = (
  state: LiveState,
  name: string,
  change: (member: LiveMember) => LiveMember,
): LiveState => ({
  ...state,
  members: state.members.map((member) => (member.name === name ? change(member) : member)),
});
const setCell = (
  state: LiveState,
  event: UpgradeEvent & { event: 'step-started' | 'step-finished' | 'step-failed' },
  cell: CellState,
): LiveState => {
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

/**
 * A gap lasts from the start of a write until a write succeeds. The pause between two canary writes does not
 * count.
 */
const canaryAfter = (
  before: LiveState['canary'],
  event: UpgradeEvent & { event: 'canary' },
): LiveState['canary'] => {
  const last = before ?? { writes: 0, failed: 0, lastMs: 0, longestGapMs: 0 };
  const since = last.waitingSince ?? event.elapsed_ms - event.latency_ms;
  const longestGapMs = Math.max(last.longestGapMs, Math.round(event.elapsed_ms - since));
  if (!event.ok)
    return { ...last, writes: last.writes + 1, failed: last.failed + 1, longestGapMs, waitingSince: since };
  return { writes: last.writes + 1, failed: last.failed, lastMs: event.latency_ms, longestGapMs };
};
const versionIn = (text: string): string | undefined => /\d+\.\d+\.\d+/.exec(text)?.[0];
const log = (state: LiveState, text: string): LiveState => ({ ...state, said: [...state.said, text] });

/** Updates every member from the observation. An unknown version or leader keeps its last value. */
const withObserved = (state: LiveState, { members, leader }: Observation): LiveState => ({
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

const memberEvent = (state: LiveState, event: UpgradeEvent): LiveState => {
  switch (event.event) {
    case 'member-down':
      return changeMember(state, event.member, (one) => ({ ...one, isDown: true, isLeader: false }));
    case 'member-up':
      return changeMember(state, event.member, (one) => ({
        ...one,
        isDown: false,
        downMs: event.down_ms,
        version: event.version ?? one.version,
      }));
    case 'leader-changed':
      return { ...state, members: state.members.map((one) => ({ ...one, isLeader: one.name === event.to })) };
    case 'reverting':
      return log(
        {
          ...changeMember(state, event.member, (one) => ({ ...one, wasReverted: true })),
          now: `${event.member} is rolled back`,
        },
        `${event.member} is rolled back: ${event.reason}`,
      );
    case 'reverted':
      return changeMember(state, event.member, (one) => ({ ...one, isDown: false }));
    case 'observed':
      return withObserved(state, event.observation);
    default:
      return state;
  }
};

/** Returns the state after one more event. Pure. */
export const liveAfter = (before: LiveState, event: UpgradeEvent): LiveState => ({
  ...shownAfter(before, event),
  timing: timingAfter(before.timing, event),
});
const shownAfter = (before: LiveState, event: UpgradeEvent): LiveState => {
  const state = { ...before, elapsedMs: Math.max(before.elapsedMs, event.elapsed_ms) };
  switch (event.event) {
    case 'run-started':
      return startState(state.said, event);
    case 'step-started':
      return {
        ...setCell(state, event, 'running'),
        now: `${event.number}/${event.count} ${event.step.title}`,
      };
    case 'step-finished':
      return setCell(state, event, 'done');
    case 'step-failed':
      return log(setCell(state, event, 'failed'), `${event.step.title}: ${event.reason}`);
    case 'waiting':
      return {
        ...state,
        now: `${event.step.title}: ${Math.ceil(event.remaining_ms / 1000)} s left (${event.reason})`,
      };
    case 'gate-check':
      if (event.ok !== false)
        return event.check === 'version'
          ? changeMember(state, event.member, (one) => ({
              ...one,
              version: versionIn(event.detail) ?? one.version,
            }))
          : state;
      return { ...state, now: `${event.member} is not ready yet: ${event.check}: ${event.detail}` };
    case 'canary':
      return { ...state, canary: canaryAfter(state.canary, event) };
    case 'log-line':
      return event.expected ? state : log(state, `log of ${event.member}: ${event.line}`);
    case 'note':
      return log(state, event.text);
    case 'run-finished':
      return { ...state, outcome: event.outcome, now: event.message };
    default:
      return memberEvent(state, event);
  }
};
