import { messageOf } from '../../core/problem.ts';
import type { Forced, Unstamped } from './journal.ts';
import type { Detail, MemberStepId, MemberStepKind, StepEntry } from './model.ts';

/** `n2.stop`. */
export const stepId = <K extends MemberStepKind>(member: string, kind: K): MemberStepId<K> =>
  `${member}.${kind}`;
/** The member of a step of this kind; undefined for a step of another kind. */
export const memberOfStep = (id: string, kind: MemberStepKind): string | undefined =>
  id.endsWith(`.${kind}`) ? id.slice(0, -`.${kind}`.length) : undefined;

/**
 * What an error of a step means.
 * `stop`: the run stops, the member stays as it is, and a resume repeats the step.
 * `revert`: the member is down, and gets its old version back.
 * `as-thrown`: the effect decides; it throws a `MemberFailure` for a member that has to be reverted.
 */
type OnFailure = 'stop' | 'revert' | 'as-thrown';
/** Everything that an engine has to know of a kind of step. `Shared`: what the steps of one sequence pass on to each other. */
export type StepRow<Run, Step, Shared = void> = StepTraits & {
  /** The effect. It returns what the journal records with the end of the step. */
  readonly run: (run: Run, step: Step, shared: Shared) => Promise<Detail | undefined>;
};
export type StepTraits = {
  /** A run that was asked to stop may end before this step. */
  readonly mayAbort: boolean;
  /** The member is down during this step: the step runs even if the journal cannot be written, and its line waits for the disk with the next line. */
  readonly isDownTime: boolean;
  readonly onFailure: OnFailure;
};

type StepJournal<Id extends string> = { tell(entry: Unstamped<StepEntry<Id>>, forced?: Forced): void };
/** Performs the effect of a step whose begin is in the journal, and records how it ended. */
export const recordEnd = async <Id extends string>(
  journal: StepJournal<Id>,
  step: Id,
  effect: () => Promise<Detail | undefined>,
  forced: Forced = 'now',
): Promise<Detail | undefined> => {
  try {
    const detail = await effect();
    journal.tell({ kind: 'end', step, ...(detail === undefined ? {} : { detail }) }, forced);
    return detail;
  } catch (error) {
    journal.tell({ kind: 'failed', step, reason: messageOf(error) });
    throw error;
  }
};
type InOrder<Step, Row> = {
  rowOf(step: Step): Row;
  readonly signal: AbortSignal;
  /** Why the run ends before this step. */
  stopReason(step: Step): Error;
  perform(step: Step, row: Row, next: Step | undefined): Promise<void>;
};
/** One step after the other. A run that was asked to stop ends before the first step that may be left out. */
export const performInOrder = async <Step, Row extends Pick<StepTraits, 'mayAbort'>>(
  steps: readonly Step[],
  { rowOf, signal, stopReason, perform }: InOrder<Step, Row>,
): Promise<void> => {
  for (const [at, step] of steps.entries()) {
    const row = rowOf(step);
    if (signal.aborted && row.mayAbort) throw stopReason(step);
    await perform(step, row, steps[at + 1]);
  }
};

type Held = { release(): Promise<void> };
type Session<Lock extends Held, Opened, Ended, Result> = {
  /** `lost` is aborted when the lock in the store goes to another run. */
  takeLocks(lost: AbortController): Promise<Lock>;
  /** Two runs that planned at the same time: the second finds here what the first has left behind. */
  refuseOthers(): Promise<void>;
  /** Opens the journal. */
  open(lock: Lock, lost: AbortController): Promise<Opened>;
  /** Returns how the run ended, also if it failed. */
  perform(opened: Opened): Promise<Ended>;
  /** Removes what only an unfinished run needs, writes the last line of the journal, and makes the report. */
  conclude(opened: Opened, ended: Ended): Promise<Result>;
};
/** One run under its locks, from its first look at other runs to its report. Upgrades, rollbacks and operations have this order. */
export const runLocked = async <Lock extends Held, Opened, Ended, Result>(
  session: Session<Lock, Opened, Ended, Result>,
): Promise<Result> => {
  const lost = new AbortController();
  const lock = await session.takeLocks(lost);
  try {
    await session.refuseOthers();
    const opened = await session.open(lock, lost);
    return await session.conclude(opened, await session.perform(opened));
  } finally {
    await lock.release();
  }
};
