import { type Advice, after, next } from '../../../core/next.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { AppError, messageOf } from '../../../core/problem.ts';
import type { MemberStatus, Observation } from '../../engine/model.ts';
import { progressOf } from '../../engine/progress.ts';
import { stopGraceMs } from '../cluster/cluster-file.ts';
import { isGood, stopFinding } from '../guards/membership.ts';
import { observe } from '../observe/observe.ts';
import { configOn } from '../placement.ts';
import { crosses, isSwitched, kindOf, oldWay } from '../plan-kind.ts';
import { memberOf, type Run, stopReason, MemberFailure, endedProcess, getMemberStatus } from '../run.ts';
import { beforeReturn } from './before-member.ts';
import { cancelDowngrade } from './confirm.ts';
import { type Ending, revertedAfter, stoppedWith, revertFailed } from './ending.ts';
import { openOldGate, prove, startMember, refusedDowngrade, logExcerpt } from './member.ts';
import type { Decision } from '../decide.ts';

/**
 * Refuses to revert a member if the cluster's version has moved (spec/store#versions-2). If no other member
 * responds, this is not proof that it moved: in that case the old server refuses to start.
 */
const refuseReturn = (run: Run, name: string, reason: string, observation: Observation): void => {
  const { members } = observation;
  const { plan } = run;
  if (crosses(plan) && members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to)) {
    throw new AppError(
      'stopped',
      `${reason}. The cluster is ${plan.to}: ${name} can no longer run ${plan.from}`,
      {
        code: 'PAST_POINT_OF_NO_RETURN',
        tryThis: [
          after(`fix ${name} on ${plan.to}, then`, ['kv', 'resume']),
          next(['kv', 'restore'], ', to rebuild the cluster from a snapshot'),
        ],
      },
    );
  }
  // The member may fail its health check and still be part of the majority.
  const seen = members.find((member) => member.name === name);
  const finding =
    seen !== undefined && isGood(seen) ? stopFinding(observation, name, plan.options.accept) : undefined;
  if (finding !== undefined)
    throw new AppError('stopped', `${reason}. It continues to run: ${finding.message}`, {
      code: 'QUORUM',
      tryThis: [finding.hint as string],
    });
};
const silentGraceMs = 15_000;
/**
 * Starts the old binary with the old configuration and the same data directory. Returns when the member has
 * passed the health check on its old version.
 */
export const revertMember = async (run: Run, name: string, reason: string): Promise<void> => {
  const { host, driver, cluster, access, plan, journal } = run;
  const member = memberOf(run, name);
  const began = host.elapsed();
  const observation = await observe({ host, cluster, access });
  run.members.remove(name);
  run.state.markReplacing(name, 'changing');
  run.emit({ event: 'reverting', member: name, reason });
  // A crash of opsctl may have occurred after the revert: then only the health check runs. After a crash
  // during the revert of a restart, the new process cannot be distinguished from the old process, so the
  // member is stopped again.
  const isBack =
    kindOf(plan) !== 'restart' &&
    minorOf(observation.members.find((seen) => seen.name === name)?.server_version) === plan.from;
  if (!isBack) {
    refuseReturn(run, name, reason, observation);
    // Reads the old configuration before the stop: a corrupted record would leave the member down.
    await configOn(run, member);
    journal.tell({ kind: 'reverting', member: name, reason });
    await run.shareProgress();
    const isSilent = observation.members.find((seen) => seen.name === name)?.is_reachable !== true;
    // The member runs the failed version, so killing it loses no data. A member that does not respond gets a
    // shorter grace period.
    const grace = isSilent ? Math.min(silentGraceMs, stopGraceMs(cluster)) : stopGraceMs(cluster);
    if (!(await driver.stop(member, grace))) await driver.kill(member);
  }
  await prove(run, isBack ? openOldGate(run, name) : await startMember(run, name, 'old'));
  run.state.markReplaced(name);
  journal.tell({ kind: 'reverted', member: name });
  run.emit({ event: 'reverted', member: name, duration_ms: Math.round(host.elapsed() - began) });
};

/**
 * No member responded, and the old version reports that it is too old: the cluster's version has moved. Only
 * the new version can start.
 */
const crossedUnseen = async (run: Run, member: string, reason: string): Promise<boolean> => {
  if (!crosses(run.plan) || !(await refusedDowngrade(run, member))) return false;
  run.journal.tell({ kind: 'crossed', cluster_version: `${run.plan.to}.0` });
  run.journal.tell({ kind: 'revert-dropped', member, reason });
  run.emit({
    event: 'note',
    level: 'warn',
    text: `${member} can no longer run ${run.plan.from}: the cluster is already ${run.plan.to}; starting it with ${run.plan.to} again`,
  });
  return true;
};
const logOfFailure = async (run: Run, error: unknown): Promise<string> =>
  error instanceof MemberFailure && error.process !== undefined
    ? logExcerpt(run, error.member, error.process)
    : '';
/**
 * Reverts a member whose step failed. Undefined: the revert is not possible, and the run must observe the
 * cluster again.
 */
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

/** Handles a step that left its member down, or on a version that failed. */
export const revertFailedStep = async (run: Run, failure: MemberFailure): Promise<Ending | undefined> =>
  memberFailed(
    run,
    new MemberFailure(failure.member, `${failure.message}${await logOfFailure(run, failure)}`),
  );
/**
 * The operator saw the failed revert and resumed, so the run must continue. After a crash the operator has
 * not seen it.
 */
const wasRevertTold = ({ journal }: Run): boolean => {
  const kinds = journal.entries.map(({ kind }) => kind);
  return kinds.lastIndexOf('closed') > kinds.lastIndexOf('reverting');
};
/** Continues a revert that has started, or reverts a member that went down after its health check. */
export const revertFailedMember = async (
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
    text: `${member} runs ${oldWay(run.plan)} again, as intended; the ${kindOf(run.plan)} continues`,
  });
  return undefined;
};
/**
 * The revert started, but the cluster's version has moved since: the old version cannot start, and the new
 * version may be healthy.
 */
export const dropRevert = (
  run: Run,
  { member, reason }: Extract<Decision, { readonly kind: 'drop-revert' }>,
  observation: Observation,
): undefined => {
  const { to, from } = run.plan;
  const isUp = minorOf(getMemberStatus(observation, member).server_version) === to;
  const text = `the cluster is ${to}: the rollback of ${member} to ${from} is ${isUp ? 'no longer necessary' : 'impossible'}; ${isUp ? 'it runs' : 'starting it with'} ${to}`;
  run.journal.write({ kind: 'revert-dropped', member, reason });
  run.emit({ event: 'note', level: 'warn', text: `${text} (the rollback started because ${reason})` });
  return undefined;
};

/**
 * Selects the next member: first members that are down, then followers of the new version, then its leader.
 * Undefined if every member runs the old version. Pure.
 */
const nextToReturn = (
  { plan, journal }: Pick<Run, 'plan' | 'journal'>,
  { members }: Observation,
): MemberStatus | undefined => {
  const progress = progressOf(journal.entries);
  const isOld = (member: MemberStatus): boolean =>
    member.is_reachable &&
    progress.reverting?.member !== member.name &&
    (kindOf(plan) === 'restart'
      ? !isSwitched(plan, progress, member) || !plan.order.includes(member.name)
      : minorOf(member.server_version) === plan.from);
  const rank = (member: MemberStatus): number => (!member.is_reachable ? 0 : member.is_leader ? 2 : 1);
  return members.filter((member) => !isOld(member)).toSorted((a, b) => rank(a) - rank(b))[0];
};
const endStopped = (message: string, tryThis: readonly Advice[]): Ending => ({
  outcome: 'stopped',
  message,
  category: 'stopped',
  error: new AppError('stopped', message, { code: 'ROLLBACK_STOPPED', tryThis }),
});
/**
 * Every member runs the newer version again: the store no longer needs to accept members of the older
 * version.
 */
const endDowngrade = async (run: Run): Promise<void> => {
  run.journal.write({ kind: 'begin', step: 'cancel-downgrade' });
  await cancelDowngrade(run, run.plan.from);
  run.journal.tell({ kind: 'end', step: 'cancel-downgrade' });
};
/** Returns why the next member must not be stopped now; undefined if no check fails. */
const refusalNow = async (
  run: Run,
  observation: Observation,
  seen: MemberStatus,
): Promise<Ending | 'look-again' | undefined> => {
  const untold = run.journal.failure();
  if (untold !== undefined) return endStopped(untold.message, untold.detail.tryThis ?? []);
  // The member is already down: starting its old version affects no client.
  if (!seen.is_reachable) return undefined;
  const finding = stopFinding(observation, seen.name, run.plan.options.accept);
  return finding === undefined
    ? beforeReturn(run, seen.name)
    : endStopped(finding.message, finding.hint === undefined ? [] : [finding.hint]);
};
/** Undefined if the member runs its old version again. */
const returnMember = async (run: Run, { name, is_leader }: MemberStatus): Promise<Ending | undefined> => {
  run.state.recordStop(name, run.host.elapsed());
  run.emit({ event: 'member-down', member: name, was_leader: is_leader });
  try {
    await revertMember(run, name, 'requested by the operator');
    return undefined;
  } catch (error) {
    const tryThis =
      error instanceof AppError
        ? (error.detail.tryThis ?? [])
        : [next(['kv', 'resume']), 'read the log of the member'];
    return endStopped(messageOf(error), tryThis);
  }
};
const allReturned = ({ plan, cluster, journal }: Run): Ending => {
  const reverted = journal.entries.flatMap((entry) => (entry.kind === 'reverted' ? [entry.member] : []));
  return {
    outcome: 'rolled-back',
    category: 'rolled-back',
    message: `every member of ${cluster.name} runs ${oldWay(plan)} again (${new Set(reverted).size} rolled back)`,
  };
};
/**
 * The end at a requested stop; undefined without one. If every member has returned, no step is left to stop
 * before: only a downgrade still has to be canceled in the store. A run that lost its lock must not end the
 * work of another run.
 */
const stopNow = (run: Run, seen: MemberStatus | undefined): Ending | undefined => {
  if (!run.signal.aborted) return undefined;
  const { message, detail } = stopReason(run);
  const isOver = seen === undefined && detail.code === 'STOPPED' && kindOf(run.plan) !== 'downgrade';
  return isOver ? undefined : endStopped(message, detail.tryThis ?? []);
};
/**
 * spec/store#states: while a member still runs the old version, all others can return to it. Members return
 * one after the other, with the same health check.
 */
export const rollBack = async (run: Run): Promise<Ending> => {
  const { host, cluster, access } = run;
  for (;;) {
    const observation = await observe({ host, cluster, access });
    const seen = nextToReturn(run, observation);
    const stopped = stopNow(run, seen);
    if (stopped !== undefined) return stopped;
    if (seen === undefined) break;
    const refusal = await refusalNow(run, observation, seen);
    if (refusal === 'look-again') continue;
    const ending = refusal ?? (await returnMember(run, seen));
    if (ending !== undefined) return ending;
  }
  if (kindOf(run.plan) === 'downgrade') await run.holdLock().then(() => endDowngrade(run));
  return allReturned(run);
};
