import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import { detailText } from '../present/detail-text.ts';
import type { Forced } from '../../engine/line-journal.ts';
import { MemberFailure, stopReason } from '../run.ts';
import { mayBeDown } from '../supervisors/driver.ts';
import type { Detail, Run } from '../run.ts';
import type { Step, StepKind } from '../../engine/types.ts';
import { acts } from './apply-step.ts';
import { beginEarlySnapshot } from './early-snapshot.ts';
import type { EarlySnapshot } from './early-snapshot.ts';
import { runHook } from './hook.ts';
import { refuseWrongBinary } from './new-binary.ts';
import { openNewGate, prove, startMember } from './start-member.ts';
import { takeSnapshot } from './snapshot.ts';
import type { Gate } from './gate.ts';

/** From its stop on a member is down: then it is brought to its end even when the journal cannot be written any more. */
const whileDown: readonly StepKind[] = ['copy-data', 'check-data', 'configure', 'start', 'gate'];
const begin = ({ journal }: Run, { id, kind, member }: Step): void => {
  const entry = { kind: 'begin', step: id } as const;
  try {
    if (whileDown.includes(kind)) journal.tell(entry);
    else journal.write(entry);
  } catch (error) {
    const { message, detail } = error as AppError;
    throw new AppError(
      'stopped',
      `${member === undefined ? '' : `${member}: `}${kind} was not begun: ${message}`,
      detail,
    );
  }
};

/** Down time: from a stop to the start that follows it no more waits for the disk than what must be there before the start. */
const forcedOf = (step: Step, next: Step | undefined): Forced =>
  next !== undefined && next.member === step.member && whileDown.includes(next.kind) ? 'with-next' : 'now';

const within = async (
  run: Run,
  step: Step,
  forced: Forced,
  act: () => Promise<Detail | undefined>,
): Promise<void> => {
  const began = run.host.elapsed();
  begin(run, step);
  const numberOf = (wanted: string): number => run.plan.steps.findIndex(({ id }) => id === wanted) + 1;
  // A hand-over that was not planned, because the leader has changed, counts with the stop it comes before.
  const number = numberOf(step.id) || numberOf(`${step.member}.stop`);
  run.emit({ event: 'step-started', step, number, count: run.plan.steps.length });
  try {
    const detail = await act();
    run.journal.tell({ kind: 'end', step: step.id, detail }, forced);
    run.emit({
      event: 'step-finished',
      step,
      duration_ms: Math.round(run.host.elapsed() - began),
      detail: detailText(detail),
    });
  } catch (error) {
    const reason = messageOf(error);
    run.journal.tell({ kind: 'failed', step: step.id, reason });
    run.emit({ event: 'step-failed', step, reason });
    throw error;
  }
};

/** Whatever goes wrong between its stop and its start must not leave the member down: it gets its old version back. */
const memberIsDown =
  (step: Step) =>
  (error: unknown): never => {
    if (error instanceof MemberFailure || mayBeDown(error)) throw error;
    const name = step.member as string;
    const reason = messageOf(error);
    throw new MemberFailure(
      name,
      `${name}: could not ${step.title.replace(` of ${name}`, '')}: ${reason.replace(`${name}: `, '')}`,
    );
  };

const untouched: ReadonlySet<Step['kind']> = new Set(['snapshot', 'move-leader', 'stop']);
/** Stopped before a crash of ours: since then its clients have been without it. */
const downSinceBefore = ({ host, journal, downSince }: Run, name: string): void => {
  const stop = journal.entries.findLast(
    (entry) => (entry.kind === 'begin' && entry.step === `${name}.stop`) || entry.kind === 'reverted',
  );
  if (stop?.kind === 'begin')
    downSince.set(name, host.elapsed() - Math.max(0, host.now() - Date.parse(stop.at)));
};

/** A member's steps without a pause: between its stop and its gate nothing else is looked at, because every moment is down time. */
export const performSteps = async (run: Run, steps: readonly Step[]): Promise<void> => {
  try {
    await inOrder(run, steps);
  } finally {
    for (const { member } of steps) if (member !== undefined) run.replacing.delete(member);
  }
};

/** While the member is watched the next one's snapshot is taken; both have to be over before anything else begins. */
const proved = async (run: Run, step: Step, gate: Gate): Promise<Detail> => {
  let early: EarlySnapshot | undefined;
  try {
    const detail = await prove(run, gate, () => {
      early = beginEarlySnapshot(run, step, (snapshot, signal) =>
        within(run, snapshot, 'now', () => takeSnapshot(run, snapshot, signal)),
      );
    });
    await runHook(run, 'after_member', step.member as string);
    await early?.wait();
    return detail;
  } finally {
    await early?.cancel();
  }
};

const touching: ReadonlySet<StepKind> = new Set(['move-leader', 'stop', ...whileDown]);
const inOrder = async (run: Run, steps: readonly Step[]): Promise<void> => {
  let gate: Gate | undefined;
  const first = steps[0];
  // A resume begins here with a member that is down: its stop, which looks at the binary, is not part of these steps.
  if (
    first?.member !== undefined &&
    steps.some(({ kind }) => kind === 'start') &&
    steps.every(({ kind }) => kind !== 'stop')
  )
    await refuseWrongBinary(run, first.member).then(() => downSinceBefore(run, first.member as string));
  for (const [at, step] of steps.entries()) {
    const name = step.member as string;
    // Until its stop the member is as it was: asked to end, the run need not begin it. After that it is brought to its end.
    if (run.signal.aborted && untouched.has(step.kind)) throw stopReason(run);
    if (touching.has(step.kind)) run.replacing.set(name, 'changing');
    else run.replacing.delete(name);
    await within(run, step, forcedOf(step, steps[at + 1]), async () => {
      if (step.kind === 'gate') return proved(run, step, gate ?? openNewGate(run, name));
      if (step.kind === 'copy-data' || step.kind === 'check-data' || step.kind === 'configure')
        return acts[step.kind]?.(run, step).catch(memberIsDown(step));
      if (step.kind !== 'start') return acts[step.kind]?.(run, step);
      gate = await startMember(run, name, 'new');
      return undefined;
    });
  }
};
