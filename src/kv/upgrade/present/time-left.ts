import { durationText } from '../../../core/duration.ts';
import { estimateMs } from './estimate.ts';
import type { Plan, UpgradeEvent } from '../../engine/types.ts';

/** How long members took in this run, and which are left. */
export type Timing = {
  readonly plan: Plan;
  readonly begunAt: Readonly<Record<string, number>>;
  readonly tookMs: readonly number[];
  readonly left: readonly string[];
};

const finished = (timing: Timing, event: UpgradeEvent & { event: 'step-finished' }): Timing => {
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
  if (event.event === 'step-finished') return finished(timing, event);
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
