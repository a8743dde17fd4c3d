import { resolve } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import type { Context } from './command.ts';
import { wholeInput } from './standard-input.ts';

const NUL = '\0';
/** Text in UTF-8, without the mark that some editors put before it. Another encoding would be sent as question marks. */
export const decoded = (bytes: Uint8Array, given: string, flag: string): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes(NUL)) return text;
  } catch {
    // Said below.
  }
  const what = given === '-' ? 'standard input' : given;
  throw invalidArguments([problem(flag, 'format', `names ${what}, which is not text in UTF-8`)]);
};

/** The text of a file that a flag names; `-` is standard input. */
export const textFile = async ({ host }: Context, given: string, flag: string): Promise<string> => {
  if (given === '-') return decoded(await wholeInput(host), given, flag);
  const path = resolve(host.cwd, given);
  const info = await host.files.info(path);
  if (info?.kind === 'directory')
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which is a directory`)]);
  const bytes = await host.files.readBytes(path);
  if (bytes === undefined)
    throw invalidArguments([problem(flag, 'rule', `names ${given}, which does not exist`)]);
  return decoded(bytes, given, flag);
};
