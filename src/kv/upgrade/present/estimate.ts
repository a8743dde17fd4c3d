import { durationText } from '../../../core/duration.ts';
import { rowOf } from '../../../api-specs/etcd/versions.ts';
import { mebibytes } from '../guards/guard.ts';
import { crosses } from '../plan-kind.ts';
import type { Plan } from '../../engine/types.ts';

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
