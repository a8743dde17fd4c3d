import type { Disk, Inode } from './disk.ts';

/** Returns a map from path to text for every file below a directory, without a simulated process. */
export const filesBelow = (disk: Disk, path: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>();
  const visit = (at: string, inode: Inode | undefined): void => {
    if (inode?.kind === 'file') found.set(at, inode.data.toString('utf8'));
    for (const [name, child] of inode?.entries ?? []) visit(`${at}/${name}`, child);
  };
  visit(path, disk.find(path));
  return found;
};
