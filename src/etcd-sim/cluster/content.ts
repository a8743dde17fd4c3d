import { AppError } from '../../core/problem.ts';
import { storedObject } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import type { Content } from './start.ts';

/** The keys to begin with, of the file that --keys names. */
export const readContent = async (host: Host, path: string): Promise<Content> => {
  const text = await host.files.read(path);
  if (text === undefined)
    throw new AppError('config', `--keys: there is no file ${path}`, { code: 'NO_KEYS_FILE' });
  return storedObject<Content>(path, text, { revision: 'number', keys: ['record'] }, [
    '--keys names a JSON file with `revision` and `keys`',
  ]);
};
