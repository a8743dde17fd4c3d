import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { durationText } from '../../../core/format.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { Finding, Observation, Step } from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { stepId } from '../../engine/steps.ts';
import { decide, type Decision, upgradedIn } from '../decide.ts';
import { findingsOf } from '../guards/all.ts';
import { isMemberEnded } from '../observe/member-watch.ts';
import { observe } from '../observe/observe.ts';
import { crosses, kindOf, newWay, oldWay } from '../plan-kind.ts';
import { endedProcess, MemberFailure, memberOf, type Run, seenIn, stopReason } from '../run.ts';
import { hasProcess } from '../supervisors/driver.ts';
import {
  beforeMember,
  type Confirmation,
  crossingOf,
  memberToBegin,
  stableBeforeLastMs,
  stableTogether,
} from './before-member.ts';
import { noteCrossing } from './confirm.ts';
import {
  endedAfterCrossing,
  type Ending,
  heldWith,
  refusedBy,
  revertedAfter,
  revertFailed,
  stoppedBy,
  stoppedWith,
} from './ending.ts';
import { electionPatienceMs } from './health-verdict.ts';
import { logExcerpt, refusedDowngrade } from './member.ts';
import { revertMember } from './rollback.ts';
import { performSteps } from './steps.ts';

/** An election, or packets that are lost for a moment, look like these. */
const transient: ReadonlySet<string> = new Set([
  'all-members-healthy',
  'leader-agreed',
  'peer-links',
  'quorum-survives',
  'members-keep-up',
]);
/** What prepares a member for the new version: one that runs it already was prepared well enough. */
const preparing: ReadonlySet<string> = new Set([
  'binaries-are-right',
  'configuration-fits',
  'data-directories',
  'db-file-present',
  'disk-space',
]);
const look = async ({ host, cluster, access, driver, directory, plan }: Run): Promise<Observation> =>
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
/** Every guard on what is true now: hours or days may lie between a plan and the resume that carries on with it. */
export const guardsAgain = async (run: Run): Promise<readonly Finding[]> => {
  const until = run.host.elapsed() + electionPatienceMs;
  for (;;) {
    const failures = failuresIn(run, await look(run));
    const mayPass = failures.length > 0 && failures.every(({ guard }) => transient.has(guard));
    if (!mayPass || run.signal.aborted || run.host.elapsed() > until) return failures;
    await run.host.sleep(pollMs);
  }
};

/** Nobody answered, and the old version itself says that it is too old: the cluster's version has moved. Only the new version can be started. */
const crossedUnseen = async (run: Run, member: string, reason: string): Promise<boolean> => {
  if (!crosses(run.plan) || !(await refusedDowngrade(run, member))) return false;
  run.journal.tell({ kind: 'crossed', cluster_version: `${run.plan.to}.0` });
  run.journal.tell({ kind: 'revert-dropped', member, reason });
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${member} cannot run ${run.plan.from} any more: the cluster is ${run.plan.to} already; it is started with ${run.plan.to} again`,
  });
  return true;
};
const logOfFailure = async (run: Run, error: unknown): Promise<string> =>
  error instanceof MemberFailure && error.process !== undefined
    ? logExcerpt(run, error.member, error.process)
    : '';
/** A member that did not do what it should gets its old version back. Undefined: it cannot, and the run has to look again. */
export const memberFailed = async (
  run: Run,
  { member, message }: MemberFailure,
): Promise<Ending | undefined> => {
  try {
    await revertMember(run, member, message);
    return revertedAfter(run, member, message);
  } catch (error) {
    if (error instanceof AppError) return stoppedWith(error, 'failed');
    const log = await logOfFailure(run, error);
    if (await crossedUnseen(run, member, message)) return undefined;
    return revertFailed(run, member, message, new Error(`${messageOf(error)}${log}`));
  }
};

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
/** Members that passed their gate before this process began are watched like those that pass it now. */
const watchUpgraded = (run: Run, observation: Observation): void => {
  const progress = progressOf(run.journal.entries);
  for (const name of upgradedIn(run.plan, progress, observation))
    if (progress.ended.has(stepId(name, 'gate')) && !run.members.isWatched(name)) run.members.add(name);
};
const lookPollMs = 200;
/** Who watches is told why nothing happens. */
const tellAfterMs = 1000;
/** Whoever watches over members brings one up again within this time. */
const fallenMs = 1000;
type Looked = { readonly decision: Decision; readonly observation: Observation };
/** An election, or packets that are lost for a moment, look like a sick member: what only time may fix gets some. */
const patientDecision = async (run: Run): Promise<Looked> => {
  const began = run.host.elapsed();
  let isTold = false;
  for (;;) {
    const observation = await lookAgain(run);
    noteCrossing(run, observation);
    const decision = decide(run.plan, progressOf(run.journal.entries), observation);
    const waited = run.host.elapsed() - began;
    const mayPass =
      decision.kind === 'refuse' &&
      decision.findings.every(({ guard }) => guard === 'all-members-healthy' || guard === 'quorum-survives');
    const hasFallen =
      (decision.kind === 'revert' && decision.hasFallen === true) || decision.kind === 'restart';
    const limit = mayPass ? electionPatienceMs : hasFallen ? fallenMs : 0;
    if (waited >= limit || run.signal.aborted) return { decision, observation };
    if (mayPass && !isTold && waited >= tellAfterMs) {
      isTold = true;
      const findings = decision.findings.map(({ message }) => message).join('; ');
      const text = `${findings}; waiting up to ${durationText(limit - waited)}: an election may be the cause`;
      run.emit({ event: 'note', level: 'warn', text });
    }
    await run.host.sleep(lookPollMs);
  }
};
/** The operator was told that the revert failed, and resumed: whatever was in its way, the run is to go on. After a crash nobody was told. */
const wasRevertTold = ({ journal }: Run): boolean => {
  const kinds = journal.entries.map(({ kind }) => kind);
  return kinds.lastIndexOf('closed') > kinds.lastIndexOf('reverting');
};
const revertFailedMember = async (
  run: Run,
  { member, reason, hasFallen }: Extract<Decision, { readonly kind: 'revert' }>,
): Promise<Ending | undefined> => {
  const goesOn = hasFallen !== true && wasRevertTold(run);
  const log = hasFallen === true ? await logExcerpt(run, member, endedProcess()) : '';
  const ending = await memberFailed(run, new MemberFailure(member, `${reason}${log}`));
  if (!goesOn || ending?.outcome !== 'rolled-back') return ending;
  run.emit({
    event: 'note',
    level: 'info',
    text: `${member} runs ${oldWay(run.plan)} again, as it should; the ${kindOf(run.plan)} goes on`,
  });
  return undefined;
};
/** Begun, and the cluster's version has moved since: the old version cannot start, and the new one may be as good as ever. */
const revertDropped = (
  run: Run,
  { member, reason }: Extract<Decision, { readonly kind: 'drop-revert' }>,
  observation: Observation,
): undefined => {
  const { to, from } = run.plan;
  const isUp = minorOf(seenIn(observation, member).server_version) === to;
  const text = `the cluster is ${to}: the rollback of ${member} to ${from} is ${isUp ? 'not needed any more' : 'impossible'}; ${isUp ? 'it runs' : 'it is started with'} ${to}`;
  run.journal.write({ kind: 'revert-dropped', member, reason });
  run.emit({ event: 'note', level: 'warn', text: `${text} (it was begun because ${reason})` });
  return undefined;
};
/** Once in a process, and only when the operator resumed. */
const restartOnce = async (
  run: Run,
  { member, steps }: Extract<Decision, { readonly kind: 'restart' }>,
): Promise<Ending | undefined> => {
  const wasTried = run.restarted.has(member);
  if (!run.isResume || wasTried)
    return endedAfterCrossing(run, member, await logExcerpt(run, member, endedProcess()));
  run.restarted.add(member);
  run.members.remove(member);
  run.downSince.set(member, run.host.elapsed());
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${member} is down: it is started with ${run.plan.to} again`,
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
  return heldWith(`${where}: everything can still go back to ${oldWay(plan)}; go on with opsctl kv resume`);
};
const neverStable = ({ plan, members }: Run, name: string): Ending => {
  const again = plan.order
    .filter((one) => members.restartsOf(one) > 0)
    .map((one) => `; ${one} ended and was started again by its service manager ${members.restartsOf(one)} ×`);
  return stoppedWith(
    new AppError(
      'stopped',
      `the upgraded members were not good together for ${stableBeforeLastMs(plan) / 1000} s: ${name}, the last member of ${plan.from}, was not stopped${again.join('')}`,
      { code: 'NOT_STABLE', tryThis: ['opsctl kv status', 'opsctl kv resume', 'opsctl kv rollback'] },
    ),
  );
};
/** The question before the point of no return. A member whose process ends meanwhile breaks it off; a question that the operator broke off is answered: no. */
const confirmPointOfNoReturn = async (
  run: Run,
  confirmed: Confirmation,
  { decision, observation }: Looked,
): Promise<Ending | undefined> => {
  const { plan, members, journal, host } = run;
  const name = (decision as Extract<Decision, { readonly kind: 'ask' }>).member;
  const stop = (plan.steps.find((step) => step.member === name && step.kind === 'stop') ??
    plan.steps.find((step) => step.member === name)) as Step;
  const stability = await stableTogether(run, stop, observation);
  if (stability !== 'good') return stability === 'never' ? neverStable(run, name) : undefined;
  const ended = members.signal();
  const isYes = await confirmed(crossingOf(run, name, observation), ended).catch(() => false);
  if (ended.aborted) return undefined;
  if (isYes) {
    journal.write({ kind: 'crossing-confirmed', confirmed_by: host.env['USER'] ?? String(host.uid) });
    return undefined;
  }
  return heldWith(
    `held before ${name}, the last member of ${plan.from}: nobody confirmed the point of no return; everything can still go back to ${plan.from}`,
  );
};
/** Once in a process: what comes and goes must not keep a run going for ever. */
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
    if (error instanceof MemberFailure) {
      const log = await logOfFailure(run, error);
      return memberFailed(run, new MemberFailure(error.member, `${error.message}${log}`));
    }
    // Another member has gone since the last look: the next one finds out which, and what can be done for it.
    const isCut = error instanceof AppError && error.detail.code === 'CANCELED';
    if (ended.aborted && (isCut || isMemberEnded(error))) return undefined;
    if (error instanceof AppError && error.detail.code === 'QUORUM' && isFirstTime(run, steps))
      return undefined;
    return stoppedBy(error, steps[0]?.member);
  }
};
/** Confirmed, by this process or by one that crashed since: the upgraded members have to be good together now. */
const passPointOfNoReturn = async (
  run: Run,
  { member, steps }: Extract<Decision, { readonly kind: 'steps' }>,
  observation: Observation,
): Promise<Ending | undefined> => {
  const stability = await stableTogether(
    run,
    (steps.find(({ kind }) => kind === 'stop') ?? steps[0]) as Step,
    observation,
  );
  if (stability === 'good') return tryPerformSteps(run, steps);
  return stability === 'never' ? neverStable(run, member as string) : undefined;
};
/** A resume asks every guard before it touches the next member. One that is down already is brought to its end first. */
const guardsBefore = async (run: Run, decision: Decision): Promise<Ending | undefined> => {
  const isNext =
    decision.kind === 'ask' ||
    (decision.kind === 'steps' && decision.steps.some(({ kind }) => kind === 'snapshot' || kind === 'stop'));
  if (run.once.areGuardsAsked || !isNext) return undefined;
  run.once.areGuardsAsked = true;
  const failures = await guardsAgain(run);
  return failures.length === 0 ? undefined : refusedBy(failures);
};
const doneMessage = ({ cluster, plan }: Run): string =>
  kindOf(plan) === 'restart'
    ? `every member of ${cluster.name} was restarted`
    : `cluster ${cluster.name} runs ${plan.to}`;
/** One decision and what follows from it; undefined when the run goes on. */
const advance = async (run: Run, confirmed: Confirmation): Promise<Ending | undefined> => {
  const looked = await patientDecision(run);
  const { decision, observation } = looked;
  watchUpgraded(run, observation);
  const refused = await guardsBefore(run, decision);
  if (refused !== undefined) return refused;
  const untold = run.journal.failure();
  if (untold !== undefined && (decision.kind === 'steps' || decision.kind === 'ask'))
    return stoppedWith(untold);
  const begins = untold === undefined ? memberToBegin(decision) : undefined;
  const before = begins && (await beforeMember(run, begins.member, begins.isLast));
  if (before !== undefined) return before === 'look-again' ? undefined : before;
  return carriedOut(run, confirmed, looked);
};
const carriedOut = async (run: Run, confirmed: Confirmation, looked: Looked): Promise<Ending | undefined> => {
  const { decision, observation } = looked;
  switch (decision.kind) {
    case 'done':
      return { outcome: 'done', message: doneMessage(run) };
    case 'hold':
      return heldBefore(run, decision.member, decision.isLast, observation);
    case 'refuse':
      return refusedBy(decision.findings);
    case 'ask':
      return confirmPointOfNoReturn(run, confirmed, looked);
    case 'revert':
      return revertFailedMember(run, decision);
    case 'drop-revert':
      return revertDropped(run, decision, observation);
    case 'restart':
      return restartOnce(run, decision);
    default:
      return decision.isCrossing === true
        ? passPointOfNoReturn(run, decision, observation)
        : tryPerformSteps(run, decision.steps);
  }
};
/** The loop of every run: look, decide, do; until it is done or something speaks against the next step. */
export const execute = async (run: Run, confirmed: Confirmation): Promise<Ending> => {
  for (;;) {
    if (run.signal.aborted) return stoppedWith(stopReason(run));
    const ending = await advance(run, confirmed);
    if (ending !== undefined) return ending;
  }
};
