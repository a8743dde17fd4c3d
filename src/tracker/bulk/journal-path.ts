import { childPath, pathPart } from '../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { Context } from '../../cli/command.ts';
import type { BulkOptions } from './options.ts';
import type { Input } from './outcomes.ts';

export const journalPath = async (
  context: Context,
  values: BulkOptions,
  input: Input,
  target = '',
): Promise<string> => {
  const { host, settings } = context;
  if (values.journal !== undefined) return resolve(host.cwd, values.journal);
  if (input.path === '-' && values.resume)
    throw invalidArguments([
      problem('--journal', 'required', 'is required to resume a run from standard input'),
    ]);
  const directory = join(settings.directories.state, 'bulk');
  await host.files.makeDirectory(directory, 0o700).catch((error: Error) => {
    throw new AppError('config', `the directory of journals cannot be made: ${error.message}`, {
      tryThis: ['name a file with --journal'],
    });
  });
  const run = `${settings.profile.name} ${input.path} ${target}`;
  const mark = createHash('sha256').update(run).digest('hex');
  return childPath(directory, pathPart(`${mark.slice(0, 16)}.journal`));
};
