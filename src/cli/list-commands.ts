import {
  cutText,
  exitCodes,
  type Problem,
  type AppError,
  type InvalidArguments,
  invalidArguments,
  problem,
  usageError,
} from '../core/problem.ts';
import { bare, type Field } from '../core/field.ts';
import { someOf } from '../core/format.ts';
import type { Argument, Flag, Flags, Meanings } from '../core/flag.ts';
import { rowsResult } from '../core/result.ts';
import { schemaOf } from '../core/shape.ts';
import { type Command, defineCommand, type Group } from './command.ts';
import { examplesOf, topics } from './help.ts';
import { globalFlags } from './options.ts';
import { parseValue, normalize, unknownFlag, unknownOption, type Words } from './parse.ts';
import { nearest } from '../core/text.ts';

/** Flags that are used without a command. */
const rootFlags: Flags = {
  ...globalFlags,
  version: { field: { type: 'boolean' }, short: 'V', summary: 'Show the version' },
};
const names = (flags: Flags): string[] =>
  Object.entries(flags).flatMap(([name, { negated }]) => (negated ? [name, `no-${name}`] : [name]));
/** Rule: a command line with an unknown flag never succeeds, regardless of its other flags. */
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
  const given = stop.split('=')[0] ?? stop;
  const line = `opsctl ${command.path.join(' ')} --${name} …`;
  return usageError(
    `opsctl ${words.join(' ')}: ${given} is a flag of \`${command.path.join(' ')}\` and must follow the command`,
    [problem(given, 'rule', 'must follow the words of the command')],
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
      fixed === undefined ? `it has ${someOf(wrong.known)}` : `did you mean ${fixed}?`,
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

const dialect = { version: '3.1', refPrefix: '#/$defs/' } as const;
/** The values of a field as JSON Schema. Named objects of the services are written as what they are: an object. */
export const valueSchema = (field: Field): Record<string, unknown> => {
  const schema = schemaOf(field, new Map(), dialect);
  const text = JSON.stringify(schema);
  return text.includes('"$ref"') ? { type: bare(field).type === 'array' ? 'array' : 'object' } : schema;
};
const describeArgument = (arg: Argument) => ({
  name: arg.name,
  summary: arg.summary,
  type: typeName(arg.field),
  optional: arg.optional ?? false,
  rest: arg.rest ?? false,
  schema: valueSchema(arg.field),
});
/** The type of a value in one word: `string`, `integer`, `array of integer`, `file`. */
const typeName = (field: Field): string => {
  const inner = bare(field);
  return inner.type === 'array' ? `array of ${typeName(inner.items)}` : inner.type;
};
/** The default as a value: a switch is off, and a summary names the default of a text or a number in brackets. */
const defaultOf = ({ field, negated, summary }: Flag): unknown => {
  if (field.default !== undefined) return field.default;
  if (bare(field).type === 'boolean') return negated === true;
  const text = /\(default:? ([^\s()]+)\)/.exec(summary)?.[1];
  if (text === undefined) return null;
  const problems: Problem[] = [];
  const value = parseValue(field, [text], '', problems);
  return problems.length === 0 && text !== 'none' && text !== 'all' ? value : null;
};
const describeFlag = ([name, flag]: [string, Flag]) => ({
  name,
  summary: flag.summary,
  short: flag.short ?? null,
  value: flag.value ?? null,
  required: flag.required ?? flag.field.required ?? false,
  repeat: flag.repeat ?? false,
  negated: flag.negated ?? false,
  type: typeName(flag.field),
  default: defaultOf(flag),
  suggest: flag.suggest ?? [],
  schema: valueSchema(flag.field),
});
const flagsOf = (flags: Readonly<Record<string, Flag>>) =>
  Object.entries(flags)
    .filter(([, flag]) => !flag.hidden)
    .map(describeFlag);
/** A command as data for other tools: everything that help, completion and the MCP server know. */
export const describe = (command: Command) => ({
  command: command.path.join(' '),
  summary: command.summary,
  about: command.about ?? null,
  args: (command.args ?? []).map(describeArgument),
  flags: flagsOf(command.flags ?? {}),
  examples: examplesOf(command).map(({ line, says }) => ({ line, about: says })),
  exit_codes: Object.values(exitCodes).map(({ code, meaning }) => ({ code, meaning })),
  dry_run: command.noDryRun === undefined,
  ...(command.operation
    ? {
        request: `${command.operation.operation.method} ${command.operation.service.basePath}${command.operation.operation.path}`,
        endpoint: {
          service: command.operation.service.name,
          method: command.operation.operation.method,
          path: `${command.operation.service.basePath}${command.operation.operation.path}`,
          success: command.operation.operation.ok,
        },
      }
    : {}),
  ...(command.deprecated === undefined ? {} : { deprecated: true }),
});
type Groups = readonly { readonly load: () => Promise<readonly Command[]> }[];
const listOf = (groups: Groups): Command =>
  defineCommand({
    path: ['commands'],
    summary: 'List all commands as data',
    about:
      'The complete registry: arguments and flags with their types as JSON Schema, enums, defaults, examples, exit codes and the endpoint behind each command. `--global` lists the flags that every command takes.',
    flags: {
      global: { effects: [], field: { type: 'boolean' }, summary: 'The flags that every command takes' },
    },
    examples: [
      { line: "opsctl commands --jq '.[].command'", says: 'All commands' },
      { line: 'opsctl commands --global -o json', says: 'The global flags' },
    ],
    run: async (_context, { global: isGlobal }) => {
      if (isGlobal)
        return rowsResult(flagsOf(globalFlags), {
          columns: ['name', 'short', 'value', 'summary'],
          name: 'name',
        });
      const all = (await Promise.all(groups.map((group) => group.load()))).flat();
      return rowsResult(all.filter((command) => !command.hidden).map(describe), {
        columns: ['command', 'summary'],
        name: 'command',
      });
    },
  });
/** The command that lists the commands of these groups, its own among them. */
export const commandsOver = (groups: Groups): readonly Command[] => [listOf(groups)];

/** One flag for TAB: `d` what it is, `v` its values (each may have a tab and its meaning behind it), `c` the source of its values (a kind of record, files), `s` its letter, `t` a switch. */
export type TreeFlag = {
  readonly d?: string;
  readonly v?: readonly string[];
  readonly c?: string;
  readonly s?: string;
  readonly t?: true;
};
export type Tree = {
  readonly summary?: string;
  readonly sub?: { [word: string]: Tree };
  readonly flags?: Readonly<Record<string, TreeFlag>>;
  /** For each place its values, or the word that names a source of them. */
  readonly args?: readonly (string | readonly string[])[];
  /** The last argument accepts any number of words. */
  readonly rest?: true;
  /** The commands below are in a separate file. */
  readonly more?: true;
};
export type Root = {
  readonly global: Record<string, TreeFlag>;
  readonly sub: { [word: string]: Tree };
  readonly topics: { readonly [name: string]: string };
};
const LONGEST = 70;
/** The first sentence, shortened to fit next to a command name. */
const brief = (text: string): string => {
  const first = text.split(/[.;:](?= )|\n/)[0] ?? '';
  return first.length <= LONGEST ? first : cutText(first, LONGEST - 1);
};
/** The source of completions for a value without a list: file names if the flag accepts a file. */
const sourceOf = ({ complete, value = '' }: Flag): string | undefined => {
  if (/^(director(y|ies)|dir)$/.test(value)) return 'directory';
  if (complete === undefined && /^(file|path)(\||$)/.test(value)) return 'file';
  return complete;
};
/** Values for TAB with their meanings. `known` has those of the checks: a list of nothing else takes them from there. */
const withMeanings = (
  values: readonly string[],
  given: Meanings | undefined,
  known: Meanings = {},
): readonly string[] => {
  const meanings = given ?? (values.every((value) => Object.hasOwn(known, value)) ? known : {});
  return values.map((value) =>
    meanings[value] === undefined ? value : `${value}\t${brief(meanings[value])}`,
  );
};
const treeFlag = (flag: Flag, known?: Meanings): TreeFlag => {
  const field = bare(flag.field);
  const allowed =
    field.type === 'string'
      ? field.enum
      : field.type === 'array'
        ? (bare(field.items) as { enum?: readonly string[] }).enum
        : undefined;
  const values = flag.suggest ?? allowed;
  const source = sourceOf(flag);
  return {
    d: brief(flag.summary),
    ...(field.type === 'boolean' ? { t: true as const } : {}),
    ...(values ? { v: withMeanings(values, flag.meanings, known) } : {}),
    ...(source && !values ? { c: source } : {}),
    ...(flag.short ? { s: flag.short } : {}),
  };
};
const treeFlags = (flags: Flags, known?: Meanings): Record<string, TreeFlag> =>
  Object.fromEntries(
    Object.entries(flags)
      .filter(([, f]) => !f.hidden)
      .map(([name, flag]) => [flag.negated ? `no-${name}` : name, treeFlag(flag, known)]),
  );
const treeArgument = ({ field, complete, suggest, name, meanings }: Argument): string | readonly string[] => {
  const { enum: values } = bare(field) as { readonly enum?: readonly string[] };
  const offered = suggest ?? values;
  return offered === undefined ? (complete ?? name) : withMeanings(offered, meanings);
};
/** Columns of a result, one level deep: `id`, `stats.num_stories_total`. */
const columnNames = (row: Field): string[] => {
  const inner = bare(row);
  if (inner.type !== 'object') return [];
  return Object.entries(inner.fields).flatMap(([name, field]) => {
    const below = bare(field);
    return below.type === 'object'
      ? [name, ...Object.keys(below.fields).map((one) => `${name}.${one}`)]
      : [name];
  });
};
const leaf = (command: Command, known: Meanings): Tree => {
  const row = rowOf(command);
  const columns = row === undefined ? [] : columnNames(row);
  const { columns: usual } = globalFlags;
  return {
    summary: brief(command.summary),
    flags: {
      ...treeFlags(command.flags ?? {}, known),
      ...(columns.length > 0 ? { columns: { d: brief(usual.summary), v: columns } } : {}),
    },
    ...(command.args?.length ? { args: command.args.map(treeArgument) } : {}),
    ...(command.args?.at(-1)?.rest ? { rest: true as const } : {}),
  };
};
const place = (root: { sub: { [word: string]: Tree } }, command: Command, known: Meanings): void => {
  let at: { sub?: { [word: string]: Tree } } = root;
  for (const word of command.path.slice(0, -1)) {
    at.sub ??= {};
    at = at.sub[word] ??= { sub: {} };
  }
  at.sub ??= {};
  at.sub[command.path.at(-1) ?? ''] = { ...at.sub[command.path.at(-1) ?? ''], ...leaf(command, known) };
};
/** Commands with subcommands show the list of their subcommands. */
const describeTree = (tree: Tree): Tree => {
  if (tree.sub === undefined) return tree;
  const sub = Object.fromEntries(
    Object.entries(tree.sub).map(([word, below]) => [word, describeTree(below)]),
  );
  return { ...tree, summary: tree.summary ?? brief(Object.keys(sub).join(', ')), sub };
};
/** The whole command tree as data, for completion. Loads every group: only the build and the tests do that. */
export const commandTree = async (groups: readonly Group[], known: Meanings = {}): Promise<Root> => {
  const root = {
    global: treeFlags(globalFlags),
    sub: {} as { [word: string]: Tree },
    topics: Object.fromEntries(topics.map(({ name, summary }) => [name, brief(summary)])),
  };
  for (const group of groups) {
    root.sub[group.name] = { summary: group.summary };
    for (const command of await group.load()) if (!command.hidden) place(root, command, known);
    const made = root.sub[group.name];
    if (made) root.sub[group.name] = { ...describeTree(made), summary: brief(group.summary) };
  }
  return root;
};
/** A file that is read at each TAB stays below this. */
const SMALL = 12_000;
/** The tree in files, by the words that lead to them: TAB reads only those on its way. Pure. */
export const treeFiles = (root: Root): Map<string, unknown> => {
  const files = new Map<string, unknown>();
  const splitTree = (tree: Tree, path: readonly string[]): Tree => {
    const isSmall = path.length > 0 && JSON.stringify(tree).length < SMALL;
    if (tree.sub === undefined || isSmall) return tree;
    const sub = Object.fromEntries(
      Object.entries(tree.sub).map(([word, below]) => {
        const own = [...path, word];
        const whole = splitTree(below, own);
        if (JSON.stringify(whole).length < 1000) return [word, whole];
        files.set(own.join('.'), whole);
        return [
          word,
          { ...(whole.summary === undefined ? {} : { summary: whole.summary }), more: true as const },
        ];
      }),
    );
    return { ...tree, sub };
  };
  const { sub } = splitTree({ sub: root.sub }, []);
  files.set('root', { ...root, sub });
  return files;
};
