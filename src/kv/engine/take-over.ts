import type { Host } from '../../platform/host.ts';
import { findRuns, openRun } from './journal.ts';
import { adoptRun, sharedRun } from './shared-progress.ts';
import { type Access, busyTimeoutMs } from './access.ts';
import type { ClusterFile } from './types.ts';
import { refuseOther } from './take-locks.ts';

/** A run that another machine began, or went on with, is known here from now on. Says so when there was one; throws PROGRESS_UNREAD where that could not be seen. */
export const takeOver = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  access: Access,
): Promise<string | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const patient = cluster.members.map(({ client_url }) => access.store(client_url, busyTimeoutMs));
  const found = await sharedRun({ host, cluster, stores }, state).catch(async (error: unknown) => {
    if (openRun(await findRuns(host, state, cluster.name)) !== undefined) throw error;
    // On a busy machine the answer is late: that there is no run must not be concluded from that.
    return sharedRun({ host, cluster, stores: patient }, state);
  });
  if (found === undefined) return undefined;
  // Whoever is at work there still has it.
  await refuseOther(
    host,
    state,
    cluster,
    access,
    cluster.members.map(({ client_url }) => client_url),
  );
  const adopted = await adoptRun({ host, cluster, stores: patient }, state);
  if (adopted === undefined) return undefined;
  const { owner, run } = adopted;
  const by = owner === undefined ? '' : ` of ${owner.user ?? 'somebody'} on ${owner.host}`;
  return `run ${run}${by} was taken over: its progress was read from the store or from beside the snapshots`;
};
