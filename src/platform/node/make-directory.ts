import fs from 'node:fs';
import { dirname } from 'node:path';

const isDirectory = (path: string): Promise<boolean> =>
  fs.promises.stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** A directory with its parents. Node's own recursive `mkdir` never ends where a directory that is there lets none be made in it (/proc, automounts). */
export const makeDirectory = async (path: string, mode?: number): Promise<void> => {
  try {
    await fs.promises.mkdir(path, mode);
  } catch (error) {
    const { code } = error as { code?: string };
    if (await isDirectory(path)) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    // Somebody else may have made the parent since: then one more try shows whether a directory can be made in it.
    if (!(await isDirectory(parent))) await makeDirectory(parent, mode);
    await fs.promises.mkdir(path, mode).catch(async (second: unknown) => {
      if (!(await isDirectory(path))) throw second;
    });
  }
};
