import { messageOf } from '../../../core/error-message.ts';
import { decide } from '../decide.ts';
import { progressOf } from '../../engine/progress.ts';
import { observe } from '../observe/observe.ts';
import type { JournalEntry, Observation, Plan, Step, Unstamped } from '../../engine/types.ts';
import type { Run } from '../run.ts';

/** The snapshot of the next member while the one before it is watched. `wait` ends with it, however it ended; `cancel` breaks it off. */
export type EarlySnapshot = { wait(): Promise<void>; cancel(): Promise<void> };
const none: EarlySnapshot = { wait: async () => {}, cancel: async () => {} };

/** What would be decided if this health check had ended: the snapshot step of the member that follows, when it begins with one. Pure. */
export const snapshotAfter = (
  plan: Plan,
  entries: readonly JournalEntry[],
  { id }: Step,
  observation: Observation,
): Step | undefined => {
  const ended: JournalEntry = { kind: 'end', step: id, at: observation.taken_at };
  const decision = decide(plan, progressOf([...entries, ended]), observation);
  if (decision.kind === 'steps') return decision.steps.find(({ kind }) => kind === 'snapshot');
  // The question before the last member is answered at once where a flag answers it.
  return decision.kind === 'ask'
    ? plan.steps.find(({ kind, member }) => kind === 'snapshot' && member === decision.member)
    : undefined;
};

/** Nothing waits between this member and the next one: a snapshot that would be old by then is taken when its turn comes. A plan waits after every member or after none. */
const isSoon = ({ plan, window }: Run): boolean =>
  window === undefined && plan.steps.every(({ kind }) => kind !== 'settle');

type Take = (step: Step, signal: AbortSignal) => Promise<void>;
/**
 * Begins the snapshot of the next member. A failure is no failure of anything yet: its step takes it again, and says what is wrong. `take` is the
 * step with its lines of the journal.
 */
export const beginEarlySnapshot = (run: Run, gate: Step, take: Take): EarlySnapshot => {
  const { host, cluster, access, plan, journal } = run;
  if (!isSoon(run)) return none;
  const over = new AbortController();
  const taking = (async () => {
    const step = snapshotAfter(plan, journal.entries, gate, await observe({ host, cluster, access }));
    if (step !== undefined && !over.signal.aborted && !run.signal.aborted) await take(step, over.signal);
  })().catch((error: unknown) => {
    if (!over.signal.aborted) run.emit(tookNone(error));
  });
  return {
    wait: () => taking,
    cancel: async () => {
      over.abort();
      await taking;
    },
  };
};

const tookNone = (error: unknown): Unstamped => ({
  event: 'note',
  level: 'info',
  text: `the next member's snapshot was not taken ahead (${messageOf(error)}): it is taken when its turn comes`,
});
