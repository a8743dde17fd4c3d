import type { Host } from '../../../platform/host.ts';
import { findRuns } from '../../engine/journal.ts';
import { sharedRun } from '../../engine/shared-progress.ts';
import { whoIsAt } from '../../engine/machine-lock.ts';
import { whoIsIn } from '../../engine/locks.ts';
import type { Access } from '../../engine/access.ts';
import type { ClusterFile } from '../../engine/types.ts';
import { type RunLine, runLine } from './status.ts';

/** The newest run of the cluster, of this machine or of another one. */
export const lastRun = async (
  host: Host,
  state: string,
  { cluster, access }: { readonly cluster: ClusterFile; readonly access: Access },
  clusterVersion: string | undefined,
): Promise<RunLine | undefined> => {
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const [newest] = await findRuns(host, state, cluster.name).catch(() => []);
  const shared = await sharedRun({ host, cluster, stores }, state).catch(() => undefined);
  if (shared !== undefined && (newest === undefined || shared.run >= newest.run)) {
    const line = runLine(shared, await whoIsIn(stores), clusterVersion);
    const by = shared.owner === undefined ? 'another machine' : shared.owner.host;
    return {
      ...line,
      text: `${line.text}\n  its journal is on ${by}; kv resume and kv rollback take it over here`,
    };
  }
  return newest === undefined
    ? undefined
    : runLine(newest, await whoIsAt(host, state, cluster.name), clusterVersion);
};
