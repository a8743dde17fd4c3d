import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { findRuns, unfinishedError } from '../engine/journal.ts';
import type { OperationKind } from './types.ts';

/** What brings a member back or makes room: the run that is held may need just that. */
const repairs: ReadonlySet<OperationKind> = new Set(['replace-member', 'recover-space']);

/** A run that crashed or is in progress refuses every operation, a run that is held all but repairs: its members run two versions. */
export const refuseDuringUpgrade = async (
  host: Host,
  state: string,
  cluster: string,
  operation: OperationKind,
): Promise<void> => {
  const [newest] = await findRuns(host, state, cluster);
  const last = newest?.entries.at(-1);
  if (newest === undefined) return;
  if (last?.kind !== 'closed') throw unfinishedError(newest);
  if (last.outcome !== 'held' || repairs.has(operation)) return;
  throw new AppError(
    'unsafe',
    `refused, nothing was changed: run ${newest.run} of this cluster is held, and its members may run two versions`,
    { code: 'HELD_RUN', tryThis: ['opsctl kv resume', 'opsctl kv rollback', 'opsctl kv abort'] },
  );
};
