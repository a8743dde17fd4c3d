import type { Host } from '../../platform/host.ts';
import type { Store } from '../client/etcd-client.ts';
import { ownerOf } from './locks.ts';

/** Key of the hold in the cluster. Every machine that runs an upgrade reads it, and it has no lease. */
export const holdKey = 'opsctl/hold';
export type ClusterHold = { readonly reason: string; readonly by: string; readonly since: string };
export const clusterHold = (host: Host, reason = 'no reason given'): ClusterHold => {
  const { user, host: machine } = ownerOf(host);
  return { reason, by: `${user ?? 'unknown'}@${machine}`, since: new Date(host.now()).toISOString() };
};
/** Parses a hold. Any value counts as a hold, including a value that another program wrote. */
export const parseHold = (value: string | undefined): ClusterHold | undefined => {
  if (value === undefined) return undefined;
  try {
    const read = JSON.parse(value) as Partial<ClusterHold> | null;
    if (typeof read?.reason === 'string')
      return { reason: read.reason, by: String(read.by), since: String(read.since) };
  } catch {
    // A value that is not valid JSON also counts as a hold.
  }
  return { reason: value.slice(0, 200), by: 'unknown', since: 'unknown' };
};
/**
 * Returns why an upgrade must not pass the point of no return. If no member can return the hold, the cluster
 * counts as held.
 */
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
  return 'no member reported whether the cluster is held';
};
