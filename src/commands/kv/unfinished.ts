import type { Context } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import type { FoundRun } from '../../kv/engine/journal.ts';
import { viewFor } from '../../kv/upgrade/plan-kind.ts';
import type { Plan } from '../../kv/engine/types.ts';
import type { EndpointValues } from './flags.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import { takenOver } from './taken-over.ts';

export type Unfinished = {
  readonly opened: Opened;
  readonly found: FoundRun;
  readonly plan: Plan;
  readonly isRollback: boolean;
};

/** The newest run of the cluster that can go on. */
export const unfinished = async (context: Context, values: EndpointValues): Promise<Unfinished> => {
  const opened = await openCluster(context, values, 'upgrade');
  const [{ openRun }, { refuseOtherMembers }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/same-members.ts'),
  ]);
  const { runs, unread } = await takenOver(context, opened);
  const found = openRun(runs);
  const first = found?.entries[0];
  if (found === undefined && unread !== undefined) throw unread;
  if (found === undefined || first?.kind !== 'opened') {
    throw new AppError('not-found', `there is no unfinished run of cluster ${opened.cluster.name} here`, {
      code: 'NO_RUN',
      tryThis: ['opsctl kv status', 'opsctl kv upgrade'],
    });
  }
  refuseOtherMembers(opened.cluster, found, first.plan);
  const last = found.entries.findLast(
    (entry) => entry.kind === 'resumed' || entry.kind === 'closed' || entry.kind === 'opened',
  );
  const isRollback = (last?.kind === 'resumed' || last?.kind === 'opened') && last.action === 'rollback';
  // A downgrade reads the cluster file the other way round.
  const view = { ...opened, cluster: viewFor(opened.cluster, first.plan) };
  return { opened: view, found, plan: first.plan, isRollback };
};
