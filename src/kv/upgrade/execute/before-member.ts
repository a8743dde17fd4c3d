import { after, next } from '../../../core/next.ts';
import { durationText } from '../../../core/format.ts';
import type { Observation, Step } from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { stopGraceMs } from '../cluster/cluster-file.ts';
import { shellLine } from '../../../core/shell.ts';
import { type Decision, upgradedIn } from '../decide.ts';
import type { MemberWatch } from '../observe/member-watch.ts';
import type { PointOfNoReturn } from '../present/live.ts';
import type { Run } from '../run.ts';
import { askImpact, type ImpactStatus, neededMs, untilText, type Window } from '../window/window.ts';
import { memberDurations } from '../present/journal-events.ts';
import { type Ending, heldWith, stoppedWith } from './ending.ts';
import { electionGraceMs, gateMs } from './connection-checks.ts';
import { AppError } from '../../../core/problem.ts';

/**
 * Asks before the last member. False: the run holds there. Rejects with the reason of the signal if the
 * signal is aborted.
 */
export type Confirmation = (crossing: PointOfNoReturn, signal: AbortSignal) => Promise<boolean>;
const defaultSeconds = 10;
export const stableBeforeLastMs = ({ options }: Run['plan']): number =>
  (options.stable_before_last_seconds ?? defaultSeconds) * 1000;
const pollMs = 100;
const tellMs = 1000;
/**
 * If members change between healthy and unhealthy for this long, they will not all become healthy together.
 */
const flappingMs = 120_000;
type Waiting = { readonly run: Run; readonly step: Step; readonly upgraded: readonly string[] };
const goodFor = ({ run: { host, members }, upgraded }: Waiting): number => {
  const since = members.goodSince(upgraded);
  return since === undefined ? 0 : host.elapsed() - since;
};
/**
 * `look-again`: a member is down or unhealthy, or the user requested a stop; the next decision handles it.
 */
export type Stability = 'good' | 'look-again' | 'never';
/** Starts watching the members that were upgraded before this process started. */
const watchAll = (members: MemberWatch, names: readonly string[]): void => {
  for (const name of names) if (!members.isWatched(name)) members.add(name);
};
/**
 * Before the point of no return, all upgraded members must be healthy together for a time. Late faults (a
 * leak, a delayed panic) must appear while the old version can still start.
 */
export const waitForStableMembers = async (
  run: Run,
  step: Step,
  observation: Observation,
): Promise<Stability> => {
  const { host, members, signal, plan } = run;
  const upgraded = upgradedIn(plan, progressOf(run.journal.entries), observation);
  if (upgraded.length === 0) return 'good';
  watchAll(members, upgraded);
  const waiting = { run, step, upgraded };
  const needed = stableBeforeLastMs(plan);
  const either = AbortSignal.any([signal, members.signal()]);
  const until = host.elapsed() + needed + flappingMs;
  let [goodAt, toldAt] = [host.elapsed(), Number.NEGATIVE_INFINITY];
  for (;;) {
    if (either.aborted) return 'look-again';
    const good = goodFor(waiting);
    if (good >= needed) return 'good';
    if (host.elapsed() > until) return 'never';
    if (good > 0) goodAt = host.elapsed();
    else if (host.elapsed() - goodAt > electionGraceMs) return 'look-again';
    if (host.elapsed() - toldAt >= tellMs) {
      toldAt = host.elapsed();
      const reason = `${upgraded.join(', ')} must be healthy at the same time before ${step.member} is stopped`;
      run.emit({ event: 'waiting', step, remaining_ms: Math.round(needed - good), reason });
    }
    await host.sleep(Math.min(pollMs, needed - good), either).catch(() => {});
  }
};
/** The state that the operator sees with the question. */
export const crossingOf = (run: Run, member: string, observation: Observation): PointOfNoReturn => {
  const upgraded = upgradedIn(run.plan, progressOf(run.journal.entries), observation);
  const since = run.members.goodSince(upgraded);
  const goodForMs = since === undefined || upgraded.length === 0 ? 0 : run.host.elapsed() - since;
  return { member, upgraded, goodForMs, observation };
};

/** A result that ends the run, or that makes it observe the cluster again because time has passed. */
export type Before = Ending | 'look-again' | undefined;
const isStop = ({ kind }: Step): boolean => kind === 'stop';
const neverStable = ({ plan, members }: Run, name: string): Ending => {
  const again = plan.order
    .filter((one) => members.restartsOf(one) > 0)
    .map((one) => `; ${one} exited and its service manager started it again ${members.restartsOf(one)} ×`);
  return stoppedWith(
    new AppError(
      'stopped',
      `the upgraded members were not healthy at the same time for ${stableBeforeLastMs(plan) / 1000} s: ${name}, the last member of ${plan.from}, was not stopped${again.join('')}`,
      {
        code: 'NOT_STABLE',
        tryThis: [next(['kv', 'status']), next(['kv', 'resume']), next(['kv', 'rollback'])],
      },
    ),
  );
};
/** Undefined when all upgraded members have been healthy together for the required time. */
const awaitStable = async (run: Run, step: Step, observation: Observation): Promise<Before> => {
  const stability = await waitForStableMembers(run, step, observation);
  if (stability === 'good') return undefined;
  return stability === 'never' ? neverStable(run, step.member as string) : 'look-again';
};
/**
 * Asks before the point of no return. If the process of a member exits in the meantime, opsctl withdraws the
 * question. An interrupted question counts as not confirmed.
 */
export const confirmPointOfNoReturn = async (
  run: Run,
  confirmed: Confirmation,
  name: string,
  observation: Observation,
): Promise<Before> => {
  const { plan, members, journal, host } = run;
  const own = plan.steps.filter((step) => step.member === name);
  const unstable = await awaitStable(run, (own.find(isStop) ?? own[0]) as Step, observation);
  if (unstable !== undefined) return unstable;
  const ended = members.signal();
  const isYes = await confirmed(crossingOf(run, name, observation), ended).catch(() => false);
  if (ended.aborted) return 'look-again';
  if (isYes) {
    journal.write({ kind: 'crossing-confirmed', confirmed_by: host.env['USER'] ?? String(host.uid) });
    return undefined;
  }
  return heldWith(
    `held before ${name}, the last member of ${plan.from}: the point of no return was not confirmed; every member can still return to ${plan.from}`,
  );
};
/**
 * The operator confirmed in this process or in an earlier process that crashed. The upgraded members must be
 * healthy together now. Other steps pass.
 */
export const passPointOfNoReturn = async (
  run: Run,
  { steps, isCrossing }: Extract<Decision, { readonly kind: 'steps' }>,
  observation: Observation,
): Promise<Before> =>
  isCrossing === true ? awaitStable(run, (steps.find(isStop) ?? steps[0]) as Step, observation) : undefined;

const beforeMemberPollMs = 15_000;
/** The longest time that the cluster file allows for a member and for its snapshot. */
const limitsMs = (run: Run, member: string): number => stopGraceMs(run.cluster) + 2 * gateMs(run, member);
/**
 * Returns whether the member can be finished before the window ends. Otherwise its upgrade does not start.
 */
const memberFitsWindow = (run: Run, { until, earlierMs }: Window, member: string, isLast: boolean) => {
  if (until === undefined) return undefined;
  const { ms, isLearned } = neededMs(memberDurations(run.journal.entries), earlierMs, limitsMs(run, member));
  const needed = ms + (isLast ? stableBeforeLastMs(run.plan) : 0);
  const left = until.atMs - run.host.now();
  if (left >= needed) return undefined;
  const how = isLearned ? 'the duration of earlier members plus a quarter' : 'the sum of its timeouts';
  const time = left <= 0 ? 'is over' : `ends in ${durationText(left)}`;
  return heldWith(
    after(
      `held before ${member}: the window until ${untilText(until)} ${time}, and ${member} may need ${durationText(needed)} (${how}); continue with`,
      ['kv', 'resume', '--until', `${shellLine([until.text])}`],
    ),
    'window',
  );
};
const worstOf = async ({ host }: Run, { probes }: Window): Promise<ImpactStatus | undefined> => {
  for (const probe of probes) {
    const impact = await askImpact(host, probe);
    if (impact.state !== 'no') return impact;
  }
  return undefined;
};
const impactText = ({ state, reason }: ImpactStatus): string =>
  state === 'yes'
    ? `users are affected (${reason})`
    : `cannot determine whether users are affected (${reason})`;
/**
 * The first reason is in the journal and a warning, which is sent as a notice. A later change between affected and
 * unknown is only an event: it may repeat with every check.
 */
const reportPause = (
  { journal, emit }: Pick<Run, 'journal' | 'emit'>,
  member: string,
  before: ImpactStatus['state'] | undefined,
  impact: ImpactStatus,
): void => {
  if (before === impact.state) return;
  const reason = impactText(impact);
  if (before === undefined) journal.write({ kind: 'paused', member, reason });
  const level = before === undefined ? 'warn' : 'info';
  emit({ event: 'note', level, text: `paused before ${member}: ${reason}`, is_paused: true });
};
/** Waits while users are affected, up to a limit and never past the end of the window. */
const pausedForUsers = async (run: Run, window: Window, member: string, isLast: boolean): Promise<Before> => {
  const { host, journal } = run;
  const began = host.elapsed();
  let [reason, state]: [string?, ImpactStatus['state']?] = [];
  for (;;) {
    const impact = await worstOf(run, window);
    const waited = Math.round(host.elapsed() - began);
    if (impact === undefined && reason === undefined) return undefined;
    if (impact === undefined) {
      journal.write({ kind: 'continued', member, waited_ms: waited });
      run.emit({
        event: 'note',
        level: 'info',
        text: `users are no longer affected: continuing with ${member} after ${durationText(waited)}`,
        is_paused: false,
      });
      return 'look-again';
    }
    reason = impactText(impact);
    reportPause(run, member, state, impact);
    state = impact.state;
    if (run.signal.aborted) return 'look-again';
    if (waited >= window.pauseAtMostMs)
      return heldWith(
        after(`held before ${member}: ${reason} after ${durationText(waited)}; continue with`, [
          'kv',
          'resume',
        ]),
        'impact',
      );
    const over = memberFitsWindow(run, window, member, isLast);
    if (over !== undefined) return over;
    const left = window.pauseAtMostMs - waited;
    await host.sleep(Math.min(beforeMemberPollMs, Math.max(left, 1)), run.signal).catch(() => undefined);
  }
};
const confirmedEach = async (run: Run, window: Window, member: string): Promise<Before> => {
  if (window.confirmEach === undefined) return undefined;
  const ended = run.members.signal();
  const isYes = await window.confirmEach(member, AbortSignal.any([ended, run.signal])).catch(() => false);
  if (ended.aborted || run.signal.aborted) return 'look-again';
  if (!isYes)
    return heldWith(
      after(`held before ${member}: it was not confirmed; continue with`, ['kv', 'resume']),
      'operator',
    );
  run.state.admit(member);
  return 'look-again';
};
/** Runs the checks that the operator requested before a member is stopped. Undefined if no check fails. */
export const beforeMember = async (run: Run, member: string, isLast: boolean): Promise<Before> => {
  const { window } = run;
  if (window === undefined) return undefined;
  const over = memberFitsWindow(run, window, member, isLast);
  if (over !== undefined) return over;
  const paused = await pausedForUsers(run, window, member, isLast);
  if (paused !== undefined || run.state.isAdmitted(member)) return paused;
  return confirmedEach(run, window, member);
};
/**
 * A rollback resolves a mixed cluster, which may be the cause that affects users, so no window or pause
 * interrupts it. Only the operator can stop it, with the optional question before each member.
 */
export const beforeReturn = async (run: Run, member: string): Promise<Before> =>
  run.window === undefined || run.state.isAdmitted(member)
    ? undefined
    : confirmedEach(run, run.window, member);
/**
 * The member that this decision would change first. Undefined if the decision finishes a member or changes no
 * member.
 */
export const memberToBegin = (
  decision: Decision,
): { readonly member: string; readonly isLast: boolean } | undefined => {
  if (decision.kind === 'ask') return { member: decision.member, isLast: true };
  if (decision.kind !== 'steps' || decision.member === undefined) return undefined;
  const isBegin = decision.steps.some(({ kind }) => kind === 'stop');
  return isBegin ? { member: decision.member, isLast: decision.isCrossing === true } : undefined;
};
