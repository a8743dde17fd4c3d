import { type Advice, adviceText } from '../../core/next.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { FsyncMode, Unstamped } from './journal.ts';
import type { Detail, MemberStepId, MemberStepKind, StepEntry } from './model.ts';

/** Returns an id such as `n2.stop`. */
export const stepId = <K extends MemberStepKind>(member: string, kind: K): MemberStepId<K> =>
  `${member}.${kind}`;
/** Returns the member of a step of this kind, or undefined for a step of another kind. */
export const memberOfStep = (id: string, kind: MemberStepKind): string | undefined =>
  id.endsWith(`.${kind}`) ? id.slice(0, -`.${kind}`.length) : undefined;

/**
 * How the run handles an error of a step.
 * `stop`: the run stops, the member keeps its state, and a resume repeats the step.
 * `revert`: the member is down, and opsctl reverts it to the old version.
 * `as-thrown`: the effect throws a `MemberFailure` if the member must be reverted.
 */
type OnFailure = 'stop' | 'revert' | 'as-thrown';
/** The properties of a step kind. `Shared` is the data that the steps of one sequence pass to each other. */
export type StepRow<Run, Step, Shared = void> = StepTraits & {
  /** The effect. Its result is recorded in the journal with the end of the step. */
  readonly run: (run: Run, step: Step, shared: Shared) => Promise<Detail | undefined>;
};
export type StepTraits = {
  /** A run with a requested stop may stop before this step. */
  readonly mayAbort: boolean;
  /**
   * The member is down during this step. The step runs even if the journal is not writable, and its line is
   * flushed with the next line.
   */
  readonly isDownTime: boolean;
  readonly onFailure: OnFailure;
};

type StepJournal<Id extends string> = { tell(entry: Unstamped<StepEntry<Id>>, forced?: FsyncMode): void };
/** Performs the effect of a step whose `begin` line is in the journal, and records the result. */
export const recordEnd = async <Id extends string>(
  journal: StepJournal<Id>,
  step: Id,
  effect: () => Promise<Detail | undefined>,
  forced: FsyncMode = 'now',
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
/**
 * Converts the error of a run that may have changed something. A refusal promises that no changes were made, and a guard
 * or a driver does not know which steps came before. `again` continues the run, unless a hint contains `marker`.
 */
export const stopAfterEffect = (error: unknown, again: Advice, marker = adviceText(again)): AppError => {
  const { code = 'STOPPED', tryThis = [] } = error instanceof AppError ? error.detail : {};
  const hasAgain = tryThis.some((one) => adviceText(one).includes(marker));
  return new AppError('stopped', messageOf(error).replace(/^no changes were made: /, ''), {
    code,
    tryThis: hasAgain ? tryThis : [...tryThis, again],
    cause: error,
  });
};
type InOrder<Step, Row> = {
  rowOf(step: Step): Row;
  readonly signal: AbortSignal;
  /** Returns why the run stops before this step. */
  stopReason(step: Step): Error;
  perform(step: Step, row: Row, next: Step | undefined): Promise<void>;
};
/**
 * Performs the steps in order. After a stop request, the run stops before the first step that may be omitted.
 */
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
  /** `lost` is aborted if another run acquires the lock in the store. */
  takeLocks(lost: AbortController): Promise<Lock>;
  /** If two runs planned at the same time, the second run detects the result of the first run here. */
  refuseOthers(): Promise<void>;
  /** Opens the journal. */
  open(lock: Lock, lost: AbortController): Promise<Opened>;
  /** Returns the result of the run, even if the run failed. */
  perform(opened: Opened): Promise<Ended>;
  /**
   * Removes the data that only an unfinished run needs, writes the last journal line and creates the report.
   */
  conclude(opened: Opened, ended: Ended): Promise<Result>;
};
/**
 * Performs one run under its locks, from the check for other runs to the report. Upgrades, rollbacks and
 * operations use this order.
 */
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
