import { dirname, join } from 'node:path';
import type { Files } from '../../../platform/host.ts';
import type { ClusterFile, DirectorySeen } from '../../engine/types.ts';

/** Where the snapshots of a run are put. */
export const snapshotDirectory = (
  { snapshot_dir }: Pick<ClusterFile, 'snapshot_dir'>,
  runDirectory: string,
): string => snapshot_dir ?? join(runDirectory, 'snapshots');

/** Room in a directory of this machine, which need not be there yet: then in the one that will hold it. */
export const seeDirectory = async (files: Files, path: string): Promise<DirectorySeen> => {
  let there = path;
  const isMissing = async (): Promise<boolean> =>
    (await files.realPath(there).catch(() => undefined)) === undefined && dirname(there) !== there;
  // A link that leads nowhere cannot become a directory.
  while (await isMissing()) {
    if ((await files.info(there).catch(() => undefined))?.kind === 'link')
      return { path, is_writable: false };
    there = dirname(there);
  }
  const [free_bytes, disk, is_writable] = await Promise.all([
    files.freeBytes(there).catch(() => undefined),
    files.diskOf(there),
    files.isWritable(there),
  ]);
  return {
    path,
    is_writable,
    ...(free_bytes === undefined ? {} : { free_bytes }),
    ...(disk === undefined ? {} : { disk }),
  };
};
