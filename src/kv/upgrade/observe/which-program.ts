import { minorOf } from '../../../api-specs/etcd/versions.ts';
import type { Driver } from '../supervisors/driver.ts';
import type { ClusterFile } from '../../engine/types.ts';
import type { Access } from '../../engine/access.ts';

/** After an upgrade the program that runs is the new one of the cluster file, before it the old one. */
export const whichRuns = async (
  cluster: ClusterFile,
  access: Access,
  driver: Driver,
): Promise<'old' | 'new'> => {
  const [first] = cluster.members;
  if (first === undefined) return 'old';
  const [{ new_binary_version: fresh }, running] = await Promise.all([
    driver.facts(first, { sizes: false }),
    access
      .store(first.client_url)
      .versions()
      .catch(() => undefined),
  ]);
  return fresh !== undefined && minorOf(fresh) === minorOf(running?.server) ? 'new' : 'old';
};
