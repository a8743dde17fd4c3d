import { resolve } from 'node:path';
import { invalidArguments, problem } from '../core/problem.ts';
import { utf8Remedy, utf8Text } from '../core/utf8.ts';
import type { Context } from '../cli/command.ts';
import { wholeInput } from './input.ts';

const NUL = '\0';
/** Text in UTF-8, without the mark that some editors put before it. A lenient decoder would store question marks. */
export const decoded = (bytes: Uint8Array, given: string, flag: string): string => {
  const what = given === '-' ? 'standard input' : given;
  const read = utf8Text(bytes);
  if (read.fault !== undefined) {
    const { fault } = read;
    const wrong = problem(flag, 'format', `names ${what}, which is not text in UTF-8`, fault.what);
    throw invalidArguments([{ ...wrong, file: what, line: fault.line }], [utf8Remedy(given, fault)]);
  }
  const at = read.text.indexOf(NUL);
  if (at === -1) return read.text.replace(/^\uFEFF/, '');
  const wrong = problem(
    flag,
    'format',
    `names ${what}, which is not text in UTF-8`,
    'it contains a NUL character',
  );
  throw invalidArguments([{ ...wrong, file: what, line: read.text.slice(0, at).split('\n').length }]);
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
