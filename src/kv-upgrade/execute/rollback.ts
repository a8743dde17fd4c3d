import { AppError } from '../../core/problem.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { Ending } from './ending.ts';
import { revertMember } from './revert-member.ts';
import { stopFinding } from '../guards/quorum-survives.ts';
import { observe } from '../observe/observe.ts';
import { stopReason } from '../run.ts';
import type { Run } from '../run.ts';
import type { MemberSeen, Observation } from '../types.ts';

/** Members that are down first, then followers of the new version, its leader last; undefined when every member runs the old version. Pure. */
const nextToReturn = (run: Pick<Run, 'plan'>, { members }: Observation): MemberSeen | undefined => {
  const isOld = (member: MemberSeen): boolean =>
    member.is_reachable && minorOf(member.server_version) === run.plan.from;
  const rank = (member: MemberSeen): number => (!member.is_reachable ? 0 : member.is_leader ? 2 : 1);
  return members.filter((member) => !isOld(member)).toSorted((a, b) => rank(a) - rank(b))[0];
};

const stopped = (message: string, tryThis: readonly string[]): Ending => ({
  outcome: 'stopped',
  message,
  category: 'stopped',
  error: new AppError('stopped', message, { code: 'ROLLBACK_STOPPED', tryThis }),
});

/** spec/store#states: while a member still runs the old version, every other one can go back to it: one at a time, with the same gate. */
export const rollBack = async (run: Run): Promise<Ending> => {
  const { host, cluster, access, plan, journal } = run;
  for (;;) {
    if (run.signal.aborted) {
      const error = stopReason(run);
      return stopped(error.message, error.detail.tryThis ?? []);
    }
    const observation = await observe({ host, cluster, access });
    const seen = nextToReturn(run, observation);
    if (seen === undefined) break;
    const untold = journal.failure();
    if (untold !== undefined) return stopped(untold.message, untold.detail.tryThis ?? []);
    const finding = seen.is_reachable ? stopFinding(observation, seen.name, plan.options.accept) : undefined;
    if (finding !== undefined)
      return stopped(finding.message, ['bring the other members back, then opsctl kv resume']);
    run.downSince.set(seen.name, host.elapsed());
    run.emit({ event: 'member-down', member: seen.name, was_leader: seen.is_leader });
    try {
      await revertMember(run, seen.name, 'rollback, as asked');
    } catch (error) {
      const isKnown = error instanceof AppError;
      return stopped(
        error instanceof Error ? error.message : String(error),
        isKnown ? (error.detail.tryThis ?? []) : ['opsctl kv resume', 'read the log of the member'],
      );
    }
  }
  const count = new Set(journal.entries.flatMap((entry) => (entry.kind === 'reverted' ? [entry.member] : [])))
    .size;
  return {
    outcome: 'rolled-back',
    category: 'rolled-back',
    message: `every member of ${cluster.name} runs ${plan.from} again (${count} returned)`,
  };
};
