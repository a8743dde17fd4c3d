import type { Context } from '../../cli/command.ts';
import type { FoundRun } from '../../kv-upgrade/journal/journal.ts';
import type { Opened } from './open-cluster.ts';

/** The runs of the cluster that this machine knows, newest first: those of other machines too, which are taken over. */
export const takenOver = async (
  { host, settings, log }: Context,
  { cluster, access }: Opened,
): Promise<FoundRun[]> => {
  const [{ takeOver }, { findRuns }] = await Promise.all([
    import('../../kv-upgrade/locks/take-over.ts'),
    import('../../kv-upgrade/journal/journal.ts'),
  ]);
  const state = settings.directories.clusters;
  const said = await takeOver(host, state, cluster, access);
  if (said !== undefined) log.info(said);
  return findRuns(host, state, cluster.name);
};
