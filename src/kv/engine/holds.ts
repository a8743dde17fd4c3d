import type { JournalEntry, Plan, PlanOptions } from './types.ts';
import { progressOf } from './progress.ts';

export type Holds = Pick<PlanOptions, 'hold_last' | 'hold_after'>;

/** What the run says that it holds for; undefined when its last end was another one. */
export const heldBy = (entries: readonly JournalEntry[]): string | undefined => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && last.outcome === 'held' ? last.message : undefined;
};

/** It holds for a time when users are not affected: who names such a time may go on. */
export const isHeldForWindow = (entries: readonly JournalEntry[]): boolean => {
  const last = entries.at(-1);
  return last?.kind === 'closed' && (last.held_for === 'window' || last.held_for === 'impact');
};

/** The holds that the plan or the last resume asked for, less those that were held since. */
const holdsLeft = (plan: Plan, entries: readonly JournalEntry[]): Holds => {
  const at = entries.findLastIndex((entry) => entry.kind === 'resumed' && entry.holds !== undefined);
  const asked = entries[at];
  const wanted: Holds = asked?.kind === 'resumed' && asked.holds !== undefined ? asked.holds : plan.options;
  const wasHeld = entries
    .slice(Math.max(0, at))
    .some((entry) => entry.kind === 'closed' && entry.outcome === 'held' && entry.held_for === undefined);
  return wasHeld ? { hold_last: false } : wanted;
};

/** Who goes on after a hold wants what comes after it; a run that was stopped before its hold still holds there. `after` counts from here. */
export const resumedOptions = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { last, after }: { readonly last?: boolean | undefined; readonly after?: number | undefined },
): Holds & Pick<PlanOptions, 'hold_after'> => {
  const left = holdsLeft(plan, entries);
  const { ended } = progressOf(entries);
  const done = plan.order.filter((name) => ended.has(`${name}.gate`)).length;
  const hold_after = after === undefined ? left.hold_after : done + after;
  return { hold_last: last ?? left.hold_last, ...{ hold_after } };
};
