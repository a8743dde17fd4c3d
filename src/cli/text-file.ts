import { isAbsolute, join } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import type { Context } from './command.ts';
import { wholeInput } from './standard-input.ts';

/** The text of a file that a flag names; `-` is standard input. */
export const textFile = async ({ host }: Context, given: string, flag: string): Promise<string> => {
  if (given === '-') return (await wholeInput(host)).toString('utf8');
  const path = isAbsolute(given) ? given : join(host.cwd, given);
  const info = await host.files.info(path);
  if (info?.kind === 'directory')
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which is a directory`)]);
  const text = await host.files.read(path);
  if (text === undefined)
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which does not exist`)]);
  return text;
};
