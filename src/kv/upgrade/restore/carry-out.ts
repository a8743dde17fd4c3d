import type { Host } from '../../../platform/host.ts';
import { runDirectory } from '../../engine/journal.ts';
import { takeLocks } from '../../engine/take-locks.ts';
import type { Driver } from '../supervisors/driver.ts';
import { shellsOf } from '../supervisors/open.ts';
import { type Restored, type Restoring, restore } from './execute.ts';
import { openRestore } from './restore-journal.ts';

type Place = {
  readonly host: Host;
  readonly directories: { readonly clusters: string; readonly state: string };
  readonly log: { info(text: string): void; warn(text: string): void };
};
type Parts = Pick<Restoring, 'cluster' | 'access' | 'plan'> & { readonly driver: Driver };

const carriedOut = async ({ host, directories, log }: Place, parts: Parts): Promise<Restored> => {
  const { cluster, plan } = parts;
  const shellFor = await shellsOf(host, cluster, directories.state);
  const directory = runDirectory(directories.clusters, cluster.name, plan.run);
  const progress = await openRestore(host, directories.clusters, plan);
  return restore({ ...parts, host, shellFor, directory, progress, log: log.info });
};

/** Nobody else may be at work on the members meanwhile. The store is away in the middle, so its own lock is a warning to others, no more. */
export const carryOutRestore = async (place: Place, parts: Parts): Promise<Restored> => {
  const { host, directories, log } = place;
  const { cluster, access, plan } = parts;
  const { run } = plan;
  const lock = await takeLocks({ host, state: directories.clusters, cluster, access, run, warn: log.warn });
  try {
    return await carriedOut(place, parts);
  } finally {
    await lock.release();
  }
};
