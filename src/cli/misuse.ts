import { bare, type Field } from '../core/field.ts';
import type { Flags } from '../core/flag.ts';
import {
  type AppError,
  type InvalidArguments,
  invalidArguments,
  problem,
  type Problem,
  usageError,
} from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import type { Command } from './command.ts';
import { globalFlags } from './options.ts';
import { normalize, unknownFlag, unknownOption, type Words } from './parse.ts';

/** Flags that are used without a command. */
const rootFlags: Flags = {
  ...globalFlags,
  version: { field: { type: 'boolean' }, short: 'V', summary: 'Show the version' },
};
const names = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, { negated }]) => (negated ? [name, `no-${name}`] : [name]));
/** Rule: a command line with an unknown flag never succeeds, whatever its other flags are. */
export const refuseUnknownFlags = (
  words: readonly string[],
  tokens: readonly string[],
  flags: Flags = globalFlags,
): void => {
  const unknown = unknownFlag(normalize(tokens, flags), flags);
  if (unknown !== undefined) throw unknownOption(words, unknown, names(flags));
};
/** A flag of the command that precedes the last word of the command. */
const findMisplacedFlag = (
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
    `opsctl ${words.join(' ')}: ${stop} is a flag of \`${command.path.join(' ')}\` and must follow the command`,
    [problem(stop, 'rule', 'must follow the words of the command')],
    [line],
  );
};
/** Words that name a group: without flags, print its help. Flags without a command have no meaning. */
export const isGroupHelp = (
  found: Words,
  tokens: readonly string[],
  asksForHelp: boolean,
  commands: readonly Command[] = [],
): void => {
  const { words } = found;
  const flags = words.length === 0 ? rootFlags : globalFlags;
  const unknown = unknownFlag(normalize(tokens, flags), flags);
  if (unknown !== undefined)
    throw findMisplacedFlag(found, tokens, commands) ?? unknownOption(words, unknown, names(flags));
  if (asksForHelp || tokens.length === 0) return;
  const at = ['opsctl', ...words].join(' ');
  throw usageError(
    `${at}: flags without a command have no effect: <command> is required`,
    [problem('<command>', 'required', 'is required')],
    [`${at} --help`],
  );
};
/** `--version` among flags that are all known. */
export const asksForVersion = (tokens: readonly string[]): boolean =>
  tokens.some((token) => token === '--version' || token === '-V');
/** The error for --report with a command that makes no checks. */
export const refuseReport = (): InvalidArguments =>
  invalidArguments(
    [problem('--report', 'rule', 'is for commands that check something')],
    ['opsctl kv check --report junit=FILE', 'opsctl labels lint … --report sarif=FILE'],
  );

/** What a column may name below this field: undefined for a value that holds anything. */
const fieldsOf = (field: Field): Readonly<Record<string, Field>> | undefined => {
  const inner = bare(field);
  if (inner.type === 'object') return inner.fields;
  return inner.type === 'any' || inner.type === 'map' || inner.type === 'file' ? undefined : {};
};
/** Returns the first part of a dotted path that the response cannot contain. Pure. */
const unknownPart = (row: Field, column: string): { part: string; known: readonly string[] } | undefined => {
  let at: Field = row;
  for (const part of column.split('.')) {
    const inner = bare(at);
    if (inner.type === 'array' && /^\d+$/.test(part)) {
      at = inner.items;
      continue;
    }
    const fields = fieldsOf(inner);
    if (fields === undefined) return undefined;
    const next = Object.hasOwn(fields, part) ? fields[part] : undefined;
    if (next === undefined) return { part, known: Object.keys(fields) };
    at = next;
  }
  return undefined;
};
const columnProblem = (row: Field, column: string): Problem[] => {
  const wrong = unknownPart(row, column);
  if (wrong === undefined) return [];
  const close = nearest(wrong.part, wrong.known);
  const fixed = close && column.replace(wrong.part, close);
  return [
    problem(
      '--columns',
      'unknown',
      `names \`${column}\`, which the result does not have`,
      fixed === undefined ? `it has ${wrong.known.slice(0, 12).join(', ')}` : `did you mean ${fixed}?`,
    ),
  ];
};
/** Returns one row of the response of a generated command. */
export const rowOf = ({ operation }: Command): Field | undefined => {
  const returns = operation?.operation.returns;
  if (returns === undefined) return undefined;
  const inner = bare(returns);
  if (inner.type === 'array') return inner.items;
  // A page of rows, which the command hands on row by row.
  if (inner.type !== 'object' || !Object.hasOwn(inner.fields, 'nextPageToken')) return inner;
  const pages = Object.values(inner.fields)
    .map(bare)
    .find(({ type }) => type === 'array');
  return pages?.type === 'array' ? pages.items : inner;
};
/**
 * Checks the columns before a request is sent. Returns true if the response is known to have every column.
 */
export const checkColumnNames = (command: Command, columns: readonly string[]): boolean => {
  const row = rowOf(command);
  if (row === undefined || fieldsOf(row) === undefined || bare(row).type !== 'object') return false;
  const problems = columns.flatMap((column) => columnProblem(row, column));
  if (problems.length > 0) throw invalidArguments(problems);
  return true;
};
