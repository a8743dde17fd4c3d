import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import { minorOf } from '../../../api-specs/etcd/versions.ts';
import { beforeReturn } from './before-member.ts';
import type { Ending } from './ending.ts';
import { revertMember } from './revert-member.ts';
import { stopFinding } from '../guards/quorum-survives.ts';
import { progressOf } from '../../engine/progress.ts';
import { isSwitched, kindOf, oldWay } from '../plan-kind.ts';
import { cancelDowngrade } from './enable-downgrade.ts';
import { observe } from '../observe/observe.ts';
import { stopReason } from '../run.ts';
import type { Run } from '../run.ts';
import type { MemberSeen, Observation } from '../../engine/types.ts';

/** Members that are down first, then followers of the new version, its leader last; undefined when every member runs the old version. Pure. */
const nextToReturn = (
  { plan, journal }: Pick<Run, 'plan' | 'journal'>,
  { members }: Observation,
): MemberSeen | undefined => {
  const progress = progressOf(journal.entries);
  const isOld = (member: MemberSeen): boolean =>
    member.is_reachable &&
    progress.reverting?.member !== member.name &&
    (kindOf(plan) === 'restart'
      ? !isSwitched(plan, progress, member) || !plan.order.includes(member.name)
      : minorOf(member.server_version) === plan.from);
  const rank = (member: MemberSeen): number => (!member.is_reachable ? 0 : member.is_leader ? 2 : 1);
  return members.filter((member) => !isOld(member)).toSorted((a, b) => rank(a) - rank(b))[0];
};

const stopped = (message: string, tryThis: readonly string[]): Ending => ({
  outcome: 'stopped',
  message,
  category: 'stopped',
  error: new AppError('stopped', message, { code: 'ROLLBACK_STOPPED', tryThis }),
});

/** Every member runs the newer version again: the store does not have to take the older one in any more. */
const cancelled = async (run: Run): Promise<void> => {
  run.journal.write({ kind: 'begin', step: 'cancel-downgrade' });
  await cancelDowngrade(run, run.plan.from);
  run.journal.tell({ kind: 'end', step: 'cancel-downgrade' });
};

/** Why the next member may not be stopped now; undefined when nothing speaks against it. */
const refusalNow = async (
  run: Run,
  observation: Observation,
  seen: MemberSeen,
): Promise<Ending | 'look-again' | undefined> => {
  const untold = run.journal.failure();
  if (untold !== undefined) return stopped(untold.message, untold.detail.tryThis ?? []);
  // It is down already: to start its old version costs nobody anything.
  if (!seen.is_reachable) return undefined;
  const finding = stopFinding(observation, seen.name, run.plan.options.accept);
  return finding === undefined
    ? beforeReturn(run, seen.name)
    : stopped(finding.message, ['bring the other members back, then opsctl kv resume']);
};

/** Undefined when the member runs its old version again. */
const returned = async (run: Run, { name, is_leader }: MemberSeen): Promise<Ending | undefined> => {
  run.downSince.set(name, run.host.elapsed());
  run.emit({ event: 'member-down', member: name, was_leader: is_leader });
  try {
    await revertMember(run, name, 'rollback, as asked');
    return undefined;
  } catch (error) {
    const tryThis =
      error instanceof AppError
        ? (error.detail.tryThis ?? [])
        : ['opsctl kv resume', 'read the log of the member'];
    return stopped(messageOf(error), tryThis);
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

/** spec/store#states: while a member still runs the old version, every other one can go back to it: one at a time, with the same gate. */
export const rollBack = async (run: Run): Promise<Ending> => {
  const { host, cluster, access } = run;
  for (;;) {
    if (run.signal.aborted) {
      const error = stopReason(run);
      return stopped(error.message, error.detail.tryThis ?? []);
    }
    const observation = await observe({ host, cluster, access });
    const seen = nextToReturn(run, observation);
    if (seen === undefined) break;
    const refusal = await refusalNow(run, observation, seen);
    if (refusal === 'look-again') continue;
    const ending = refusal ?? (await returned(run, seen));
    if (ending !== undefined) return ending;
  }
  if (kindOf(run.plan) === 'downgrade') await run.holdLock().then(() => cancelled(run));
  return allReturned(run);
};
