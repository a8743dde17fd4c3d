import { messageOf } from '../../../core/error-message.ts';
import { AppError } from '../../../core/problem.ts';
import { crosses } from '../plan-kind.ts';
import type { MemberFailure, Run } from '../run.ts';
import type { Ending } from './ending.ts';
import { revertFailed, revertedAfter, stoppedWith } from './ending.ts';
import { logExcerpt, refusedDowngrade } from './log-excerpt.ts';
import { revertMember } from './revert-member.ts';

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
    const log = await logExcerpt(run, member);
    if (await crossedUnseen(run, member, message)) return undefined;
    return revertFailed(run, member, message, new Error(`${messageOf(error)}${log}`));
  }
};
