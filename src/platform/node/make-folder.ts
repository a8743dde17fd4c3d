import fs from 'node:fs';
import { dirname } from 'node:path';

const isFolder = (path: string): Promise<boolean> =>
  fs.promises.stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** A folder with its parents. Node's own recursive `mkdir` never ends where a folder that is there lets none be made in it (/proc, automounts). */
export const makeFolder = async (path: string, mode?: number): Promise<void> => {
  try {
    await fs.promises.mkdir(path, mode);
  } catch (error) {
    const { code } = error as { code?: string };
    if (await isFolder(path)) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    // Somebody else may have made the parent since: then one more try shows whether a folder can be made in it.
    if (!(await isFolder(parent))) await makeFolder(parent, mode);
    await fs.promises.mkdir(path, mode).catch(async (second: unknown) => {
      if (!(await isFolder(path))) throw second;
    });
  }
};
