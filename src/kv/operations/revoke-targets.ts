import { next } from '../../core/next.ts';
import { compareVersions, minorOf } from '../../api-specs/etcd/versions.ts';
import { AppError } from '../../core/problem.ts';
import type { Store } from '../client/etcd-client.ts';

/** A member that may receive a lease revoke. */
type Target<T> = { readonly endpoint: string; readonly store: Store; readonly target: T };
type Seen<T> = Target<T> & { readonly server?: string; readonly isMixed: boolean };

/**
 * Returns whether a member is newer than its cluster, or its cluster has no version yet. Such a member
 * belongs to a mixed cluster.
 */
const isNewer = (server: string, cluster: string): boolean => {
  const [own, common] = [minorOf(server), minorOf(cluster)];
  return own !== undefined && (common === undefined || compareVersions(own, common) > 0);
};

const look = async <T>(target: Target<T>): Promise<Seen<T>> => {
  try {
    const { server, cluster } = await target.store.versions();
    return { ...target, server, isMixed: isNewer(server, cluster) };
  } catch {
    // A member that does not respond cannot receive a revoke.
    return { ...target, isMixed: false };
  }
};

/**
 * Returns the members that may receive a lease revoke. spec/store#limits-4: with authentication on, an
 * unauthorized revoke at a member of the new version can corrupt data while the versions are mixed. The
 * function excludes such members and refuses the revoke if no other member responds.
 */
export const revokeTargets = async <T>(
  targets: readonly Target<T>[],
  isAuthOn: (target: T) => Promise<boolean | undefined>,
): Promise<readonly T[]> => {
  const seen = await Promise.all(targets.map(look));
  const newer = seen.filter(({ isMixed }) => isMixed);
  const all = targets.map(({ target }) => target);
  const [first] = newer;
  if (first === undefined || (await isAuthOn(first.target)) === false) return all;
  const safe = seen.filter(({ isMixed, server }) => !isMixed && server !== undefined);
  if (safe.length > 0) return safe.map(({ target }) => target);
  const names = newer.map(({ endpoint, server }) => `${endpoint} (${server})`).join(', ');
  throw new AppError(
    'unsafe',
    `no changes were made: the cluster runs two versions, authentication is on, and ${names} ${newer.length === 1 ? 'runs' : 'run'} the new version: a lease revoke without permission there can corrupt data`,
    {
      code: 'MIXED_REVOKE',
      tryThis: [
        'use --endpoints with a member that runs the old version',
        next(['kv', 'resume'], 'finishes the upgrade; then revoke the lease'),
      ],
    },
  );
};
