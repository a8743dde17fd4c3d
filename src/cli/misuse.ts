import {
  type AppError,
  type InvalidArguments,
  invalidArguments,
  problem,
  usageError,
} from '../core/problem.ts';
import { type Words, normalize, unknownFlag } from './argv.ts';
import type { Command, Flags } from './command.ts';
import { globalFlags } from './globals.ts';
import { unknownOption } from './unknown-option.ts';

/** Flags that only stand alone, without a command. */
const rootFlags: Flags = {
  ...globalFlags,
  version: { field: { type: 'boolean' }, short: 'V', summary: 'Show the version' },
};
const names = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, { negated }]) => (negated ? [name, `no-${name}`] : [name]));

/** Rule: an unknown flag never leaves a command line green, whatever else the line asks for. */
export const refuseUnknownFlags = (
  words: readonly string[],
  tokens: readonly string[],
  flags: Flags = globalFlags,
): void => {
  const unknown = unknownFlag(normalize(tokens, flags), flags);
  if (unknown !== undefined) throw unknownOption(words, unknown, names(flags));
};

/** A flag of the command that stands before the command's last word. */
const misplaced = (
  { words, stop = '' }: Words,
  tokens: readonly string[],
  commands: readonly Command[],
): AppError | undefined => {
  const later = [...words, ...tokens.filter((token) => !token.startsWith('-'))];
  const command = commands.find(({ path }) => path.every((word) => later.includes(word)));
  const name = /^--(?:no-)?([^=]+)/.exec(stop)?.[1] ?? '';
  if (command === undefined || !Object.hasOwn(command.flags ?? {}, name)) return undefined;
  const line = `opsctl ${command.path.join(' ')} --${name} …`;
  return usageError(
    `opsctl ${words.join(' ')}: ${stop} is a flag of \`${command.path.join(' ')}\` and stands before the command`,
    [problem(stop, 'rule', 'must stand after the words of the command')],
    [line],
  );
};

/** Words that name a group: help is the answer when nothing else was asked for; flags alone do nothing. */
export const groupIsAsked = (
  found: Words,
  tokens: readonly string[],
  asksForHelp: boolean,
  commands: readonly Command[] = [],
): void => {
  const { words } = found;
  const flags = words.length === 0 ? rootFlags : globalFlags;
  const unknown = unknownFlag(normalize(tokens, flags), flags);
  if (unknown !== undefined)
    throw misplaced(found, tokens, commands) ?? unknownOption(words, unknown, names(flags));
  if (asksForHelp || tokens.length === 0) return;
  const at = ['opsctl', ...words].join(' ');
  throw usageError(
    `${at}: flags alone do nothing: <command> is required`,
    [problem('<command>', 'required', 'is required')],
    [`${at} --help`],
  );
};

/** `--version` among flags that are all known. */
export const asksForVersion = (tokens: readonly string[]): boolean =>
  tokens.some((token) => token === '--version' || token === '-V');

/** What --report is told by a command that checks nothing. */
export const refuseReport = (): InvalidArguments =>
  invalidArguments(
    [problem('--report', 'rule', 'is for commands that check something')],
    ['opsctl kv check --report junit=FILE', 'opsctl labels lint … --report sarif=FILE'],
  );
