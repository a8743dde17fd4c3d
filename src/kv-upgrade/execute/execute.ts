import { AppError } from '../../core/problem.ts';
import type { Category } from '../../core/problem.ts';
import { acts, patienceMs, prove, refuseWrongBinary, runHook, startMember } from './apply-step.ts';
import { detailText } from '../format/detail-text.ts';
import { openGate } from './gate.ts';
import type { Gate } from './gate.ts';
import { revertMember } from './revert-member.ts';
import { observe } from '../observe/observe.ts';
import { decide, progressOf } from '../journal/progress.ts';
import type { Decision } from '../journal/progress.ts';
import { hasProcess, mayBeDown } from '../supervisors/driver.ts';
import { withoutTokens } from '../watch/log-lines.ts';
import { MemberFailure, memberOf, stopReason } from '../run.ts';
import type { Detail, Run } from '../run.ts';
import type { Finding, Observation, Outcome, Step, StepKind } from '../types.ts';

export type Ending = {
  readonly outcome: Outcome;
  readonly message: string;
  readonly category?: Category;
  readonly error?: AppError;
};

/** Asks before the last member. False: the run stops there and can go on later. */
export type Confirmation = (member: string) => Promise<boolean>;

/** Members by API; those that do not answer also by their driver: is a process there? */
const lookAgain = async (run: Run): Promise<Observation> => {
  const seen = await observe({ host: run.host, cluster: run.cluster, access: run.access });
  const members = await Promise.all(
    seen.members.map(async (member) => {
      if (member.is_reachable) return member;
      const is_running = hasProcess(await run.driver.process(memberOf(run, member.name)));
      return is_running === undefined ? member : { ...member, host: { is_running } };
    }),
  );
  return { ...seen, members };
};

/** From its stop on a member is down: then it is brought to its end even when the journal cannot be written any more. */
const whileDown: readonly StepKind[] = ['copy-data', 'configure', 'start', 'gate'];
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

const within = async (run: Run, step: Step, act: () => Promise<Detail | undefined>): Promise<void> => {
  const began = run.host.elapsed();
  begin(run, step);
  // A hand-over that was not planned, because the leader has changed, counts with the stop it comes before.
  const known = run.plan.steps.findIndex(({ id }) => id === step.id || id === `${step.member}.stop`);
  const number = run.plan.steps.findIndex(({ id }) => id === step.id) + 1 || known + 1;
  run.emit({ event: 'step-started', step, number, count: run.plan.steps.length });
  try {
    const detail = await act();
    run.journal.tell({ kind: 'end', step: step.id, detail });
    run.emit({
      event: 'step-finished',
      step,
      duration_ms: Math.round(run.host.elapsed() - began),
      detail: detailText(detail),
    });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
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
    const reason = error instanceof Error ? error.message : String(error);
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
const doSteps = async (run: Run, steps: readonly Step[]): Promise<void> => {
  let gate: Gate | undefined;
  const first = steps[0];
  // A resume begins here with a member that is down: its stop, which looks at the binary, is not part of these steps.
  if (
    first?.member !== undefined &&
    steps.some(({ kind }) => kind === 'start') &&
    steps.every(({ kind }) => kind !== 'stop')
  )
    await refuseWrongBinary(run, first.member).then(() => downSinceBefore(run, first.member as string));
  for (const step of steps) {
    const name = step.member as string;
    // Until its stop the member is as it was: asked to end, the run need not begin it. After that it is brought to its end.
    if (run.signal.aborted && untouched.has(step.kind)) throw stopReason(run);
    await within(run, step, async () => {
      if (step.kind === 'gate') {
        const detail = await prove(run, gate ?? openGate(run, name, run.plan.to));
        await runHook(run, 'after_member', name);
        return detail;
      }
      if (step.kind === 'copy-data' || step.kind === 'configure')
        return acts[step.kind]?.(run, step).catch(memberIsDown(step));
      if (step.kind !== 'start') return acts[step.kind]?.(run, step);
      gate = await startMember(run, name, 'new');
      return undefined;
    });
  }
};

const memberFailed = async (run: Run, failure: MemberFailure): Promise<Ending> => {
  try {
    await revertMember(run, failure.member, failure.message);
  } catch (error) {
    if (error instanceof AppError)
      return { outcome: 'failed', message: error.message, category: 'stopped', error };
    const why = error instanceof Error ? error.message : String(error);
    const message = `${failure.message}; its return to ${run.plan.from} failed too: ${why}${await logEnd(run, failure.member)}`;
    return {
      outcome: 'failed',
      message,
      category: 'stopped',
      error: new AppError('stopped', message, {
        code: 'REVERT_FAILED',
        tryThis: ['opsctl kv status', `read the log of ${failure.member}`, 'opsctl kv resume'],
        cause: error,
      }),
    };
  }
  const { ended } = progressOf(run.journal.entries);
  const others = run.plan.order.filter((name) => name !== failure.member && ended.has(`${name}.gate`));
  const rest =
    others.length === 0
      ? 'nothing else was touched'
      : `${others.join(', ')} ${others.length === 1 ? 'stays' : 'stay'} on ${run.plan.to}`;
  const message = `${failure.message}. ${failure.member} runs ${run.plan.from} again; ${rest}`;
  return {
    outcome: 'rolled-back',
    message,
    category: 'rolled-back',
    error: new AppError('rolled-back', message, {
      code: 'MEMBER_REVERTED',
      tryThis: [
        `fix the new version of ${failure.member}, then opsctl kv resume`,
        'opsctl kv rollback, to bring every member back',
      ],
    }),
  };
};

const refusedBy = (findings: readonly Finding[]): Ending => {
  const [first] = findings;
  const message = first?.message ?? 'a guard refused';
  const tryThis = first?.hint === undefined ? [] : [first.hint];
  return {
    outcome: 'stopped',
    category: 'stopped',
    message,
    error: new AppError('stopped', message, { code: 'GUARD', tryThis, data: findings }),
  };
};

const lookPollMs = 200;
/** Whoever watches over members brings one up again within this time. */
const fallenMs = 1000;
/** An election, or packets that are lost for a moment, look like a sick member: what only time may fix gets some. */
const patientDecision = async (run: Run): Promise<Decision> => {
  const until = run.host.elapsed() + patienceMs;
  for (;;) {
    const decision = decide(run.plan, progressOf(run.journal.entries), await lookAgain(run));
    const mayPass =
      decision.kind === 'refuse' &&
      decision.findings.every(({ guard }) => guard === 'all-members-healthy' || guard === 'quorum-survives');
    const hasFallen =
      decision.kind === 'revert' &&
      decision.hasFallen === true &&
      run.host.elapsed() < until - patienceMs + fallenMs;
    if ((!mayPass && !hasFallen) || run.signal.aborted || run.host.elapsed() > until) return decision;
    await run.host.sleep(lookPollMs);
  }
};

/** The operator was told that the return failed, and resumed: whatever was in its way, the run is to go on. After a crash nobody was told. */
const wasReturnTold = ({ journal }: Run): boolean => {
  const kinds = journal.entries.map(({ kind }) => kind);
  return kinds.lastIndexOf('closed') > kinds.lastIndexOf('reverting');
};
const returned = async (
  run: Run,
  { member, reason, hasFallen }: Extract<Decision, { readonly kind: 'revert' }>,
): Promise<Ending | undefined> => {
  const goesOn = hasFallen !== true && wasReturnTold(run);
  const ending = await memberFailed(run, new MemberFailure(member, reason));
  if (!goesOn || ending.outcome !== 'rolled-back') return ending;
  run.emit({
    event: 'note',
    level: 'info',
    text: `${member} runs ${run.plan.from} again, as it should; the upgrade goes on`,
  });
  return undefined;
};

/** One decision and what follows from it; undefined when the run goes on. */
const advance = async (run: Run, confirmed: Confirmation): Promise<Ending | undefined> => {
  const decision = await patientDecision(run);
  const untold = run.journal.failure();
  if (untold !== undefined && (decision.kind === 'steps' || decision.kind === 'ask'))
    return { outcome: 'stopped', message: untold.message, category: 'stopped', error: untold };
  switch (decision.kind) {
    case 'done':
      return { outcome: 'done', message: `cluster ${run.cluster.name} runs ${run.plan.to}` };
    case 'hold':
      return {
        outcome: 'held',
        category: 'stopped',
        message: `held before ${decision.member}, the last member of ${run.plan.from}: everything can still go back; go on with opsctl kv resume`,
      };
    case 'refuse':
      return refusedBy(decision.findings);
    case 'ask':
      // A question that was broken off is answered: no.
      if (await confirmed(decision.member).catch(() => false)) {
        run.journal.write({
          kind: 'crossing-confirmed',
          confirmed_by: run.host.env['USER'] ?? String(run.host.uid),
        });
        return undefined;
      }
      return {
        outcome: 'held',
        category: 'stopped',
        message: `stopped before ${decision.member}, the last member of ${run.plan.from}: nobody confirmed that there is no way back after it`,
      };
    case 'revert':
      return returned(run, decision);
    default:
      return performed(run, decision.steps);
  }
};

/** What the member said last: most of the time that is the reason. */
const logEnd = async (run: Run, name: string): Promise<string> => {
  const [line] = await run.driver.logTail(memberOf(run, name), 1).catch(() => []);
  return line === undefined ? '' : ` (its log ends: ${withoutTokens(line).slice(0, 300)})`;
};

/** Once in a process: what comes and goes must not keep a run going for ever. */
const isFirstTime = ({ journal }: Run, steps: readonly Step[]): boolean => {
  const begun = journal.entries.findLastIndex(({ kind }) => kind === 'opened' || kind === 'resumed');
  const failed = journal.entries
    .slice(begun + 1)
    .filter((entry) => entry.kind === 'failed' && steps.some(({ id }) => id === entry.step));
  return failed.length <= 1;
};

const performed = async (run: Run, steps: readonly Step[]): Promise<Ending | undefined> => {
  try {
    await doSteps(run, steps);
    return undefined;
  } catch (error) {
    if (error instanceof MemberFailure)
      return memberFailed(
        run,
        new MemberFailure(error.member, `${error.message}${await logEnd(run, error.member)}`),
      );
    // Another member has gone since the last look: the next one finds out which, and what can be done for it.
    if (error instanceof AppError && error.detail.code === 'QUORUM' && isFirstTime(run, steps))
      return undefined;
    const failure =
      error instanceof AppError && ['stopped', 'unsafe', 'interrupted'].includes(error.category)
        ? error
        : undefined;
    const where = steps[0]?.member === undefined ? '' : `${steps[0].member}: `;
    const message = failure?.message ?? `${where}${error instanceof Error ? error.message : String(error)}`;
    const tryThis = error instanceof AppError ? (error.detail.tryThis ?? []) : [];
    return {
      outcome: 'stopped',
      message,
      category: 'stopped',
      error: new AppError('stopped', message, {
        code: (error as AppError).detail?.code ?? 'STOPPED',
        tryThis: tryThis.some((text) => text.includes('opsctl kv resume'))
          ? tryThis
          : [...tryThis, 'opsctl kv resume'],
        cause: error,
      }),
    };
  }
};

/** The loop of every run: look, decide, do; until it is done or something speaks against the next step. */
export const execute = async (run: Run, confirmed: Confirmation): Promise<Ending> => {
  for (;;) {
    if (run.signal.aborted) {
      const error = stopReason(run);
      return { outcome: 'stopped', message: error.message, category: 'stopped', error };
    }
    const ending = await advance(run, confirmed);
    if (ending !== undefined) return ending;
  }
};
