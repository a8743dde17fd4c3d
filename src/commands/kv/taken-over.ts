import type { Context } from '../../cli/command.ts';
import { AppError } from '../../core/problem.ts';
import type { FoundRun } from '../../kv/engine/journal.ts';
import type { Opened } from './open-cluster.ts';

export type TakenOver = {
  /** Newest first. */
  readonly runs: readonly FoundRun[];
  /** Why it is not known whether another machine has a newer one. */
  readonly unread?: AppError;
};

/** The runs of the cluster that this machine knows: those of other machines too, which are taken over. */
export const takenOver = async (
  { host, settings, log }: Context,
  { cluster, access }: Opened,
): Promise<TakenOver> => {
  const [{ takeOver }, { findRuns }, { PROGRESS_UNREAD }] = await Promise.all([
    import('../../kv/engine/take-over.ts'),
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/shared-progress.ts'),
  ]);
  const state = settings.directories.clusters;
  let unread: AppError | undefined;
  const said = await takeOver(host, state, cluster, access).catch((error: unknown) => {
    // A run of this machine goes on, also where no member is there to ask.
    if (!(error instanceof AppError) || error.detail.code !== PROGRESS_UNREAD) throw error;
    unread = error;
    return undefined;
  });
  if (said !== undefined) log.info(said);
  const runs = await findRuns(host, state, cluster.name);
  return unread === undefined ? { runs } : { runs, unread };
};
