import type { Host } from '../../platform/host.ts';
import type { Store } from '../client/etcd-client.ts';
import { messageOf } from '../../core/problem.ts';
import { ownerOf } from './locks.ts';
import type { ClusterHold, Observation } from './model.ts';

/** Key of the hold in the cluster. Every machine that runs an upgrade reads it, and it has no lease. */
export const holdKey = 'opsctl/hold';
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
export const holdText = ({ by, since, reason }: ClusterHold): string =>
  `the cluster is held by ${by} since ${since}: ${reason}`;
/** Requests the hold from one member after the other until a member responds. */
export const seeHold = async (
  stores: readonly Store[],
): Promise<Pick<Observation, 'hold' | 'hold_unread'>> => {
  let why = 'no member is healthy';
  for (const store of stores) {
    try {
      return { hold: parseHold((await store.range(holdKey)).kvs[0]?.value) ?? null };
    } catch (error) {
      why = messageOf(error);
    }
  }
  return { hold_unread: why };
};
/**
 * Returns why an upgrade must not pass the point of no return. If no member can return the hold, the cluster
 * counts as held.
 */
export const findHold = async (stores: readonly Store[]): Promise<string | undefined> => {
  const { hold } = await seeHold(stores);
  if (hold === undefined) return 'no member returned whether the cluster is held';
  return hold === null ? undefined : holdText(hold);
};
