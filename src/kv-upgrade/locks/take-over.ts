import type { Host } from '../../platform/host.ts';
import { adoptRun, sharedRun } from '../journal/shared-progress.ts';
import type { Access } from '../observe/access.ts';
import type { ClusterFile } from '../types.ts';
import { refuseOther } from './take-locks.ts';

/** A run that another machine began, or went on with, is known here from now on. Says so when there was one. */
export const takeOver = async (
  host: Host,
  state: string,
  cluster: ClusterFile,
  access: Access,
): Promise<string | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  if ((await sharedRun({ host, cluster, stores }, state)) === undefined) return undefined;
  // Whoever is at work there still has it.
  await refuseOther(
    host,
    state,
    cluster,
    access,
    cluster.members.map(({ client_url }) => client_url),
  );
  const found = await adoptRun({ host, cluster, stores }, state);
  if (found === undefined) return undefined;
  const by = found.owner === undefined ? '' : ` of ${found.owner.user ?? 'somebody'} on ${found.owner.host}`;
  return `run ${found.run}${by} was taken over: its progress was read from the store or from beside the snapshots`;
};
