import { nearest } from '../core/nearest.ts';
import { type AppError, problem, usageError } from '../core/problem.ts';

/** What other programs call the flags of every command. */
const alsoCalled: Readonly<Record<string, string>> = {
  json: 'output json',
  yaml: 'output yaml',
  csv: 'output csv',
  format: 'output',
  fields: 'columns',
  query: 'jq',
  force: 'yes',
  'no-color': 'color never',
};

/** One sentence about a flag that nobody knows, with the one that it most likely means. Pure. */
export const unknownOption = (
  words: readonly string[],
  token: string,
  flags: readonly string[],
  tryThis: readonly string[] = [],
): AppError => {
  const at = ['opsctl', ...words].join(' ');
  const name = token.replace(/^--?/, '');
  const close = token.startsWith('--')
    ? (nearest(name, flags) ?? (Object.hasOwn(alsoCalled, name) ? alsoCalled[name] : undefined))
    : undefined;
  const hint = close && `did you mean --${close}?`;
  return usageError(
    `${at}: unknown option '${token}'${hint ? `; ${hint}` : ''}`,
    [problem(token, 'unknown', 'is not a known option', hint)],
    [...tryThis, `${at} --help`],
  );
};
