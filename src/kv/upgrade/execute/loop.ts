import { after } from '../../../core/next.ts';
import { durationText } from '../../../core/format.ts';
import { AppError } from '../../../core/problem.ts';
import type { Finding, JournalEntry, Observation, Plan, Step } from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { stepId } from '../../engine/steps.ts';
import { decide, type Decision, upgradedIn } from '../decide.ts';
import { findingsOf } from '../guards/all.ts';
import { isMemberEnded } from '../observe/member-watch.ts';
import { observe } from '../observe/observe.ts';
import { kindOf, newWay, oldWay } from '../plan-kind.ts';
import { endedProcess, MemberFailure, memberOf, type Run, stopReason } from '../run.ts';
import { hasProcess } from '../supervisors/driver.ts';
import {
  beforeMember,
  type Confirmation,
  memberToBegin,
  confirmPointOfNoReturn,
  passPointOfNoReturn,
  type Before,
} from './before-member.ts';
import { noteCrossing } from './confirm.ts';
import { endedAfterCrossing, type Ending, heldWith, refusedBy, stoppedBy, stoppedWith } from './ending.ts';
import { electionGraceMs } from './connection-checks.ts';
import { logExcerpt } from './member.ts';
import { dropRevert, revertFailedMember, revertFailedStep } from './rollback.ts';
import { performSteps } from './steps.ts';

/** An election or a short loss of packets has the same symptoms. */
const transient: ReadonlySet<string> = new Set([
  'all-members-healthy',
  'leader-agreed',
  'peer-links',
  'quorum-survives',
  'members-keep-up',
]);
/**
 * Steps that prepare a member for the new version. A member that already runs the new version does not need
 * them.
 */
const preparing: ReadonlySet<string> = new Set([
  'binaries-are-right',
  'configuration-fits',
  'data-directories',
  'db-file-present',
  'disk-space',
]);
const observeWithHosts = async ({
  host,
  cluster,
  access,
  driver,
  directory,
  plan,
}: Run): Promise<Observation> =>
  observe({
    host,
    cluster,
    access,
    driver,
    sizes: plan.options.copy_data,
    isDeep: true,
    runDirectory: directory,
  });
const failuresIn = (run: Run, observation: Observation): Finding[] => {
  const { cluster, plan } = run;
  const upgraded = upgradedIn(plan, progressOf(run.journal.entries), observation);
  const { from, to, options } = plan;
  return findingsOf({ observation, cluster, options, from, to, kind: plan.kind, isUnderWay: true }).filter(
    ({ level, guard, member }) =>
      level === 'fail' && !(preparing.has(guard) && member !== undefined && upgraded.includes(member)),
  );
};
const pollMs = 200;
/** Runs every guard on the current state: hours or days may pass between a plan and its resume. */
export const guardsAgain = async (run: Run): Promise<readonly Finding[]> => {
  const until = run.host.elapsed() + electionGraceMs;
  for (;;) {
    const failures = failuresIn(run, await observeWithHosts(run));
    const mayPass = failures.length > 0 && failures.every(({ guard }) => transient.has(guard));
    if (!mayPass || run.signal.aborted || run.host.elapsed() > until) return failures;
    await run.host.sleep(pollMs);
  }
};

/** Observes members by API. For members that do not respond, the driver checks whether a process exists. */
type Place = Pick<Run, 'host' | 'cluster' | 'access' | 'driver'>;
const observeMembers = async (run: Place): Promise<Observation> => {
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
/** Starts watching members that passed their health check before this process started. */
const watchUpgraded = (run: Run, observation: Observation): void => {
  const progress = progressOf(run.journal.entries);
  for (const name of upgradedIn(run.plan, progress, observation))
    if (progress.ended.has(stepId(name, 'gate')) && !run.members.isWatched(name)) run.members.add(name);
};
const lookPollMs = 200;
/** After this time, a person who watches the run sees the reason for the wait. */
const tellAfterMs = 1000;
/** A service manager restarts a member within this time. */
const fallenMs = 1000;
type Decided = { readonly decision: Decision; readonly observation: Observation };
/**
 * An election or a short loss of packets looks like an unhealthy member. A cause that may pass with time gets
 * some time.
 */
const observeAndDecide = async (run: Run): Promise<Decided> => {
  const began = run.host.elapsed();
  let isTold = false;
  for (;;) {
    const observation = await observeMembers(run);
    noteCrossing(run, observation);
    const decision = decide(run.plan, progressOf(run.journal.entries), observation);
    const waited = run.host.elapsed() - began;
    const mayPass =
      decision.kind === 'refuse' && decision.findings.every(({ guard }) => transient.has(guard));
    const hasFallen =
      (decision.kind === 'revert' && decision.hasFallen === true) || decision.kind === 'restart';
    const limit = mayPass ? electionGraceMs : hasFallen ? fallenMs : 0;
    if (waited >= limit || run.signal.aborted) return { decision, observation };
    if (mayPass && !isTold && waited >= tellAfterMs) {
      isTold = true;
      const findings = decision.findings.map(({ message }) => message).join('; ');
      const text = `${findings}; waiting up to ${durationText(limit - waited)}, because an election may be the cause`;
      run.emit({ event: 'note', level: 'warn', text });
    }
    await run.host.sleep(lookPollMs);
  }
};
/** Once per process, and only if the operator resumed. */
const restartOnce = async (
  run: Run,
  { member, steps }: Extract<Decision, { readonly kind: 'restart' }>,
): Promise<Ending | undefined> => {
  if (!run.isResume || !run.state.claimRestart(member))
    return endedAfterCrossing(run, member, await logExcerpt(run, member, endedProcess()));
  run.members.remove(member);
  run.state.recordStop(member, run.host.elapsed());
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${member} is down: starting it with ${run.plan.to} again`,
  });
  run.emit({ event: 'member-down', member, was_leader: false });
  return tryPerformSteps(run, steps);
};
const heldBefore = (run: Run, member: string, isLast: boolean, observation: Observation): Ending => {
  const { plan } = run;
  const upgraded = upgradedIn(plan, progressOf(run.journal.entries), observation);
  const where = isLast
    ? `held before ${member}, the last member of ${plan.from}`
    : `held after ${upgraded.length} of ${plan.order.length} members (${upgraded.join(', ')} on ${newWay(plan)})`;
  return heldWith(
    after(`${where}: every member can still return to ${oldWay(plan)}; continue with`, ['kv', 'resume']),
  );
};
/** Once per process: an intermittent cause must not keep a run in a loop. */
const isFirstTime = ({ journal }: Run, steps: readonly Step[]): boolean => {
  const begun = journal.entries.findLastIndex(({ kind }) => kind === 'opened' || kind === 'resumed');
  const failed = journal.entries
    .slice(begun + 1)
    .filter((entry) => entry.kind === 'failed' && steps.some(({ id }) => id === entry.step));
  return failed.length <= 1;
};
const tryPerformSteps = async (run: Run, steps: readonly Step[]): Promise<Ending | undefined> => {
  const ended = run.members.signal();
  try {
    await performSteps(run, steps);
    return undefined;
  } catch (error) {
    if (error instanceof MemberFailure) return revertFailedStep(run, error);
    // Another member went down since the last observation. The next observation finds the member and the
    // possible actions.
    const isCut = error instanceof AppError && error.detail.code === 'CANCELED';
    if (ended.aborted && (isCut || isMemberEnded(error))) return undefined;
    if (error instanceof AppError && error.detail.code === 'QUORUM' && isFirstTime(run, steps))
      return undefined;
    return stoppedBy(error, steps[0]?.member);
  }
};
/**
 * A resume runs every guard before it changes the next member. A member that is already down is finished
 * first.
 */
const guardsBefore = async (run: Run, decision: Decision): Promise<Ending | undefined> => {
  const isNext =
    decision.kind === 'ask' ||
    (decision.kind === 'steps' && decision.steps.some(({ kind }) => kind === 'snapshot' || kind === 'stop'));
  if (!isNext || !run.state.claimGuards()) return undefined;
  const failures = await guardsAgain(run);
  return failures.length === 0 ? undefined : refusedBy(failures);
};
const doneMessage = ({ cluster, plan }: Run): string =>
  kindOf(plan) === 'restart'
    ? `every member of ${cluster.name} was restarted`
    : `cluster ${cluster.name} runs ${plan.to}`;
/** Runs the checks before the decision. `look-again`: time has passed, and the cluster may have changed. */
const checkBefore = async (run: Run, decision: Decision): Promise<Before> => {
  const refused = await guardsBefore(run, decision);
  if (refused !== undefined) return refused;
  const unwritten = run.journal.failure();
  if (unwritten !== undefined && (decision.kind === 'steps' || decision.kind === 'ask'))
    return stoppedWith(unwritten);
  const next = unwritten === undefined ? memberToBegin(decision) : undefined;
  return next && beforeMember(run, next.member, next.isLast);
};
/** Performs one decision. Undefined if the run continues. */
const perform = async (
  run: Run,
  confirmed: Confirmation,
  { decision, observation }: Decided,
): Promise<Before> => {
  switch (decision.kind) {
    case 'done':
      return { outcome: 'done', message: doneMessage(run) };
    case 'hold':
      return heldBefore(run, decision.member, decision.isLast, observation);
    case 'refuse':
      return refusedBy(decision.findings);
    case 'ask':
      return confirmPointOfNoReturn(run, confirmed, decision.member, observation);
    case 'revert':
      return revertFailedMember(run, decision);
    case 'drop-revert':
      return dropRevert(run, decision, observation);
    case 'restart':
      return restartOnce(run, decision);
    case 'steps':
      return (await passPointOfNoReturn(run, decision, observation)) ?? tryPerformSteps(run, decision.steps);
  }
};
/**
 * The loop of every run and of every resume: observes, decides and performs until the run ends or a check
 * fails. A decision contains all steps of one member from its stop to its health check, because an additional
 * observation would add down time.
 */
export const execute = async (run: Run, confirmed: Confirmation): Promise<Ending> => {
  for (;;) {
    if (run.signal.aborted) return stoppedWith(stopReason(run));
    const decided = await observeAndDecide(run);
    watchUpgraded(run, decided.observation);
    const next = (await checkBefore(run, decided.decision)) ?? (await perform(run, confirmed, decided));
    if (next !== undefined && next !== 'look-again') return next;
  }
};

/** What a resume does first. */
export type FirstAct = {
  /** The change that it makes because a member has failed since. */
  readonly repair?: string;
  /** It starts with the next member, or holds there, and does not finish or repair a member. */
  readonly isNextMember: boolean;
};
/** Returns what a resume does first, for the question before the resume and for the checks before it. */
export const findFirstAct = async (
  place: Place,
  plan: Plan,
  entries: readonly JournalEntry[],
): Promise<FirstAct> => {
  const decision = decide(plan, progressOf(entries), await observeMembers(place));
  const isNextMember = decision.kind === 'hold' || memberToBegin(decision) !== undefined;
  if (decision.kind === 'revert')
    return {
      repair: `First, ${decision.member} returns to ${oldWay(plan)}: ${decision.reason}.`,
      isNextMember,
    };
  if (decision.kind === 'restart')
    return {
      repair: `First, opsctl starts ${decision.member} with ${newWay(plan)} again: it has exited since its health check.`,
      isNextMember,
    };
  return { isNextMember };
};
