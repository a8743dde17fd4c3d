import { rowOf } from '../../../api-specs/etcd/versions.ts';
import { durationText } from '../../../core/format.ts';
import type { Plan, UpgradeEvent } from '../../engine/model.ts';
import { mebibytes } from '../guards/guard.ts';
import { crosses } from '../plan-kind.ts';

/** Time in which nothing is done but watched, for these members of a plan. Pure. */
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
/** What these members will take, when each takes as long as those did that are known; undefined when none is. Pure. */
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
    ? `; snapshots of ${mebibytes(all)} in all`
    : '';
  return `Databases: ${each}${saved}`;
};
/** Sizes and duration of a plan, for people: they are no part of what is decided. Pure. */
export const estimateLines = (plan: Plan, tookMs: readonly number[]): string[] => {
  const sizes = sizesText(plan);
  const all = estimateMs(plan, plan.order, tookMs);
  const waits = waitsMs(plan, plan.order);
  const duration =
    all === undefined
      ? `Duration: known after the first member; ${durationText(waits)} of it are waits`
      : `Duration: about ${durationText(all)}, when a member takes ${durationText(mean(tookMs))} as in earlier runs; ${durationText(waits)} of it are waits`;
  return plan.order.length === 0 ? [] : [...(sizes === undefined ? [] : [sizes]), duration];
};

/** How long members took in this run, and which are left. */
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
/** The timing after one more event; undefined before a run, and in a rollback, whose members are not those of the plan. Pure. */
export const timingAfter = (timing: Timing | undefined, event: UpgradeEvent): Timing | undefined => {
  if (event.event === 'run-started')
    return event.action === 'rollback'
      ? undefined
      : { plan: event.plan, begunAt: {}, tookMs: [], left: event.plan.order };
  if (timing === undefined) return undefined;
  if (event.event === 'step-finished') return finishStep(timing, event);
  // Whoever is rolled back begins again.
  if (event.event === 'reverting') {
    const { [event.member]: _, ...begunAt } = timing.begunAt;
    return { ...timing, begunAt, left: [...new Set([...timing.left, event.member])] };
  }
  const member = event.event === 'step-started' ? event.step.member : undefined;
  if (member === undefined || timing.begunAt[member] !== undefined || !timing.left.includes(member))
    return timing;
  return { ...timing, begunAt: { ...timing.begunAt, [member]: event.elapsed_ms } };
};
/** Undefined until one member has passed its gate, and when none is left. Pure. */
export const timeLeftText = (timing: Timing | undefined, elapsedMs: number): string | undefined => {
  if (timing === undefined || timing.left.length === 0) return undefined;
  const all = estimateMs(timing.plan, timing.left, timing.tookMs);
  if (all === undefined) return undefined;
  const begun = timing.left.flatMap((name) => timing.begunAt[name] ?? []);
  const spent = begun.length === 0 ? 0 : elapsedMs - Math.min(...begun);
  const members = timing.left.length === 1 ? '1 member' : `${timing.left.length} members`;
  return `about ${durationText(Math.max(0, all - spent))} left for ${members}, as members took ${durationText(Math.max(...timing.tookMs))} so far`;
};
