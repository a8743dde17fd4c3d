import type { Host } from '../../platform/host.ts';
import type { Store } from '../client/etcd-client.ts';
import { ownerOf } from './locks.ts';

/** A decision that is stored in the cluster itself: every machine that runs an upgrade reads it. It has no lease. */
export const holdKey = 'opsctl/hold';
export type ClusterHold = { readonly reason: string; readonly by: string; readonly since: string };
export const clusterHold = (host: Host, reason = 'no reason given'): ClusterHold => {
  const { user, host: machine } = ownerOf(host);
  return { reason, by: `${user ?? 'unknown'}@${machine}`, since: new Date(host.now()).toISOString() };
};
/** Any value holds the cluster, including one that another program wrote. */
export const parseHold = (value: string | undefined): ClusterHold | undefined => {
  if (value === undefined) return undefined;
  try {
    const read = JSON.parse(value) as Partial<ClusterHold> | null;
    if (typeof read?.reason === 'string')
      return { reason: read.reason, by: String(read.by), since: String(read.since) };
  } catch {
    // It holds the cluster all the same.
  }
  return { reason: value.slice(0, 200), by: 'unknown', since: 'unknown' };
};
/** Why an upgrade must not pass the point of no return. A hold that cannot be read counts as a hold. */
export const findHold = async (stores: readonly Store[]): Promise<string | undefined> => {
  for (const store of stores) {
    try {
      const hold = parseHold((await store.range(holdKey)).kvs[0]?.value);
      return hold === undefined
        ? undefined
        : `the cluster is held by ${hold.by} since ${hold.since}: ${hold.reason}`;
    } catch {
      // The next member may respond.
    }
  }
  return 'no member returned whether the cluster is held';
};
