import { AppError } from '../../../core/problem.ts';
import type { Host } from '../../../platform/host.ts';
import { parseConfig } from './configuration.ts';

/** A configuration file of a server that some version can read. `named` is its path as it was typed. */
export const readServerFile = async (
  host: Host,
  path: string,
  named: string,
): Promise<{ readonly text: string; readonly file: Readonly<Record<string, unknown>> }> => {
  const text = await host.files.read(path);
  if (text === undefined) throw new AppError('not-found', `there is no file ${named}`, { code: 'NO_FILE' });
  const parsed = await parseConfig(text);
  if ('file' in parsed) return { text, file: parsed.file };
  throw new AppError('no', `${named} cannot be read by any version: ${parsed.broken}`, {
    code: 'CONFIG_BROKEN',
  });
};
