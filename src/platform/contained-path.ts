import { dirname, sep } from 'node:path';
import { type FileName, childPath } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import type { Files } from './host.ts';

/** The path of a file in a directory, for writing. Throws when a symbolic link of that name leads out of the directory: `Files.replace` follows links. */
export const containedPath = async (
  files: Pick<Files, 'info' | 'realPath'>,
  directory: string,
  name: FileName,
): Promise<string> => {
  const path = childPath(directory, name);
  if ((await files.info(path))?.kind !== 'link') return path;
  const [real, home] = await Promise.all([files.realPath(path), files.realPath(directory)]);
  if (real !== undefined && home !== undefined && `${dirname(real)}${sep}`.startsWith(`${home}${sep}`))
    return path;
  throw new AppError('unsafe', `${path} is a symbolic link that leads out of ${directory}`, {
    code: 'LINK_OUTSIDE',
    tryThis: [`remove the link ${path}`, 'or name the directory of its target instead'],
  });
};
