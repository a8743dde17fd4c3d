import { check } from '../core/check.ts';
import { bare, type Field, type ListField } from '../core/field.ts';
import { type Argument, type Flag, flagName, type Flags, type Values } from '../core/flag.ts';
import { countText, formatNames, isWholeNumber, momentOf } from '../core/format.ts';
import { readJsonText } from '../core/json.ts';
import { shellWord } from '../core/shell.ts';
import { type AppError, messageOf, problem, type Problem, usageError } from '../core/problem.ts';
import { nearest } from '../core/text.ts';
import type { Command } from './command.ts';
import { globalFlags, type Globals } from './options.ts';

/**
 * The first word of a command line whose other words follow on standard input, as a JSON list. Other users can read
 * the arguments of a process, and the arguments of a tool call may contain a secret.
 */
export const WORDS_FOLLOW = '__words';

const isSwitch = (flag: Flag): boolean => bare(flag.field).type === 'boolean';
const byShort = (flags: Flags, letter: string): [string, Flag] | undefined =>
  Object.entries(flags).find(([, flag]) => flag.short === letter);
/** `-v`, `-vq`, `-ojson`, `-o json`: as long flags. Undefined when a letter is not known. */
const longForm = (token: string, flags: Flags): string[] | undefined => {
  const found: string[] = [];
  for (let i = 1; i < token.length; i++) {
    const known = byShort(flags, token[i] ?? '');
    if (known === undefined) return undefined;
    const rest = token.slice(i + 1);
    if (!isSwitch(known[1]))
      return [...found, rest === '' ? `--${known[0]}` : `--${known[0]}=${rest.replace(/^=/, '')}`];
    found.push(`--${known[0]}`);
  }
  return found;
};
/**
 * Makes every flag a long one with a value, so that the parser needs one rule: `--archived` → `--archived=true`,
 * `--no-browser` → `--browser=false`, `-o json` → `--output json`. What it does not know it leaves alone.
 */
export const normalize = (argv: readonly string[], flags: Flags): string[] => {
  const out: string[] = [];
  const queue = [...argv];
  for (let token = queue.shift(); token !== undefined; token = queue.shift()) {
    if (token === '--') return [...out, token, ...queue];
    const long = /^-[A-Za-z]/.test(token) ? longForm(token, flags) : undefined;
    if (long === undefined) out.push(withValue(token, queue, flags));
    else queue.unshift(...long);
  }
  return out;
};
/**
 * Parses a token as a flag with its value, which may be the next token. A token that is not a known flag
 * stays unchanged.
 */
const withValue = (token: string, queue: string[], flags: Flags): string => {
  if (!token.startsWith('--') || token.includes('=')) return token;
  const name = token.slice(2);
  const flag = flags[name];
  if (flag && isSwitch(flag)) {
    const next = queue[0];
    return `${token}=${next === 'true' || next === 'false' ? queue.shift() : 'true'}`;
  }
  const negated = name.startsWith('no-') ? flags[name.slice(3)] : undefined;
  if (negated && isSwitch(negated)) return `--${name.slice(3)}=false`;
  // A value may start with a dash: `--name -5`, `--body -`.
  return flag && queue.length > 0 ? `${token}=${queue.shift()}` : token;
};
/** Returns the number of tokens of a global flag at this position; 0 if none exists. */
const globalWidth = (token: string, next: string | undefined, globals: Flags): number => {
  const known = normalize([token], globals);
  const last = known[known.length - 1] ?? '';
  if (!known.every((t) => globals[t.slice(2).split('=')[0] ?? ''])) return 0;
  const flag = globals[last.slice(2).split('=')[0] ?? ''];
  if (flag && isSwitch(flag)) return !token.includes('=') && (next === 'true' || next === 'false') ? 2 : 1;
  return last.includes('=') || next === undefined ? 1 : 2;
};
export type Words = {
  readonly words: readonly string[];
  /** The position of each word in the line. */
  readonly places: readonly number[];
  /** The flag at which the words end because it is not a global one. */
  readonly stop?: string;
};
/** The words before the first flag that is not a global one: those that may name a command. */
export const wordsOf = (argv: readonly string[], globals: Flags): Words => {
  const words: string[] = [];
  const places: number[] = [];
  for (let i = 0; i < argv.length; ) {
    const token = argv[i] ?? '';
    if (!token.startsWith('-') || token === '-') {
      words.push(token);
      places.push(i);
      i += 1;
      continue;
    }
    if (token === '--') break;
    const width = globalWidth(token, argv[i + 1], globals);
    if (width === 0) return { words, places, stop: token };
    i += width;
  }
  return { words, places };
};
/** The line without its first `used` words, in the order in which it was typed. */
export const without = (argv: readonly string[], { places }: Words, used: number): string[] => {
  const gone = new Set(places.slice(0, used));
  return argv.filter((_, i) => !gone.has(i));
};
/**
 * Returns the first unknown flag of a line, as typed but without its value. Expects the output of
 * `normalize`.
 */
export const unknownFlag = (tokens: readonly string[], flags: Flags): string | undefined => {
  for (const token of tokens) {
    if (token === '--') return undefined;
    if (!token.startsWith('-') || token === '-' || /^-[\d.]/.test(token)) continue;
    const name = /^--([^=]+)/.exec(token)?.[1];
    const [word = ''] = token.split('=');
    // The rest of `-pTEXT` may be a password, as the text after `=` may be. Programs in Go accept one dash before a flag.
    if (name === undefined)
      return token.startsWith('--') || Object.hasOwn(flags, word.slice(1)) ? word : token.slice(0, 2);
    if (!Object.hasOwn(flags, name)) return token.split('=')[0];
  }
  return undefined;
};

/**
 * Flags of other programs, each with the flags that have its meaning here. The first one that the command has is
 * suggested, because one word names different fields: `--title` is the name of a story and the title of a label.
 */
const alsoCalled: Readonly<Record<string, readonly string[]>> = {
  json: ['output json'],
  yaml: ['output yaml'],
  csv: ['output csv'],
  format: ['output'],
  fields: ['columns'],
  query: ['jq'],
  force: ['yes'],
  'no-color': ['color never'],
  state: ['workflow-state', 'epic-state', 'status'],
  status: ['workflow-state', 'epic-state', 'state'],
  assignee: ['owner'],
  author: ['requested-by', 'author-id'],
  reporter: ['requested-by'],
  kind: ['story-type', 'type'],
  type: ['story-type', 'types', 'workflow-state-types'],
  title: ['name', 'summary'],
  summary: ['name', 'title', 'description'],
  points: ['estimate'],
  'story-points': ['estimate'],
  sprint: ['iteration'],
  team: ['group', 'teams'],
  parent: ['epic', 'parent-story-id'],
  due: ['deadline', 'deadline-end'],
  message: ['text', 'description', 'reason'],
};
/** Returns the flag with the meaning of the name in other programs, or else with the most similar name. Pure. */
const similarFlag = (name: string, flags: readonly string[]): string | undefined => {
  const meant = Object.hasOwn(alsoCalled, name) ? (alsoCalled[name] ?? []) : [];
  return meant.find((flag) => flags.includes(flag.split(' ')[0] ?? flag)) ?? nearest(name, flags);
};
/** Returns one sentence about an unknown flag, with the flag that was probably meant. Pure. */
export const unknownOption = (
  words: readonly string[],
  token: string,
  flags: readonly string[],
  tryThis: readonly string[] = [],
): AppError => {
  const at = ['opsctl', ...words].join(' ');
  const close = token.startsWith('--') ? similarFlag(token.slice(2), flags) : undefined;
  const hint = close && `did you mean --${close}?`;
  return usageError(
    `${at}: unknown flag: ${token}${hint ? `; ${hint}` : ''}`,
    [problem(token, 'unknown', 'is not a known flag', hint)],
    [...tryThis, `${at} --help`],
  );
};

/** Formats of kubectl, as the flag of opsctl that prints the same. Undefined for every other text. Pure. */
export const equalOutput = (text: string): string | undefined => {
  const [, kind, body = ''] =
    /^(jsonpath|go-template|custom-columns)(?:-file|-as-json)?(?:=(.*))?$/s.exec(text) ?? [];
  if (kind === 'custom-columns') {
    const columns = body.split(',').map((one) => one.replace(/^[^:]*:\.?/, ''));
    return `--columns ${body === '' ? 'NAMES' : columns.join(',')}`;
  }
  const paths = [
    ...body.matchAll(kind === 'go-template' ? /\{\{\s*(\.[\w.]+)\s*\}\}/g : /\{\$?(\.[^{}]+)\}/g),
  ];
  const programs = paths.map(([, path = '']) =>
    path
      .replaceAll('[*]', '[]')
      .replace(/^\.items\[\]/, '.[]')
      .replace(/\[\]\./g, '[].'),
  );
  const isRange = kind === 'go-template' && /\{\{-?\s*range\s/.test(body);
  const program = programs.filter((one) => one !== '.items').map((one) => (isRange ? `.[]${one}` : one));
  return kind === undefined ? undefined : `-o json --jq ${shellWord(program.join(', ') || '.[].name')}`;
};
const isJson = (field: Field): boolean => ['object', 'map', 'any'].includes(field.type);
const json = (
  text: string,
  path: string,
  problems: Problem[],
  quote = 'put the whole text in single quotes',
): unknown => {
  try {
    return readJsonText(text, ({ what, line, column, hint, isJson }) => {
      const place = `${line === 1 ? '' : `line ${line}, `}column ${column}`;
      problems.push(
        isJson
          ? problem(path, 'type', `cannot be used: ${place}: ${what}`, hint)
          : problem(path, 'type', `must be JSON: ${place}: ${what}`, quote),
      );
      return new Error(what);
    });
  } catch {
    return undefined;
  }
};
const one = (field: Field, text: string, path: string, problems: Problem[]): unknown => {
  const inner = bare(field);
  if (field.nullable && text === 'null') return null;
  switch (inner.type) {
    case 'integer':
      return isWholeNumber(text) ? Number(text) : text;
    case 'number':
      return /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text) ? Number(text) : text;
    case 'boolean':
      if (text === 'true' || text === 'false') return text === 'true';
      // `--client-secret-stdin=SECRET`: the text is not for this flag, so no message repeats it.
      problems.push(problem(path, 'type', 'must be true or false'));
      return undefined;
    case 'array':
      return many(field, [text], path, problems);
    case 'string':
      return inner.format === 'datetime' ? momentOf(text) : text;
    default:
      return isJson(inner) ? json(text, path, problems) : text;
  }
};
/**
 * `--owner-ids a,b --owner-ids c` and `--labels '[{"name":"x"}]'` both give one list; `''` alone is the empty list. Spaces
 * next to a comma belong to neither value; a free text is used as it is.
 */
const many = (field: Field, texts: readonly string[], path: string, problems: Problem[]): unknown => {
  const inner = bare(field);
  if (inner.type !== 'array') return undefined;
  if (texts.length === 1 && field.nullable && texts[0] === 'null') return null;
  if (texts.length === 1 && texts[0] === '') return [];
  const items = bare(inner.items);
  // Free text may hold commas; ids, numbers and enums never do.
  const splits =
    items.type !== 'string' ||
    items.format !== undefined ||
    items.enum !== undefined ||
    field.summary?.includes('comma') === true;
  return texts.flatMap((text) => {
    if (splits ? text.startsWith('[') : /^\[.*\]\s*$/s.test(text)) {
      const whole = json(text, path, problems, splits ? undefined : bracketHint(text));
      return Array.isArray(whole) ? whole : [];
    }
    if (isJson(items)) return [json(text, path, problems)];
    if (!splits) return [one(inner.items, text, path, problems)];
    return text.split(',').map((part) => one(inner.items, part.trim(), path, problems));
  });
};
/** Free text in brackets may be a list or a text. */
const bracketHint = (text: string): string =>
  `it is read as a list because it is in brackets; for the text itself, write ${JSON.stringify([text])}`;
/** The texts given for one flag or argument as its field's value; problems name the flag. */
export const parseValue = (
  field: Field,
  texts: readonly string[],
  path: string,
  problems: Problem[],
): unknown => {
  const before = problems.length;
  const value =
    bare(field).type === 'array'
      ? many(field, texts, path, problems)
      : one(field, texts[texts.length - 1] ?? '', path, problems);
  if (problems.length === before) {
    const isFlat = !isJson(bare(bare(field).type === 'array' ? (bare(field) as ListField).items : field));
    // Values of a flag have no numbers: `--unset[0]` becomes `--unset`.
    const nameProblem = (one: Problem): Problem =>
      isFlat ? { ...one, path: one.path.replace(/\[\d+\]$/, '') } : one;
    problems.push(...check(field, value, path).map(nameProblem));
  }
  return value;
};

export type Parsed = { readonly values: Values; readonly globals: Globals };
type Given = { readonly flags: Record<string, string[]>; readonly args: string[] };
/** Most lines are plain after `normalize`: known flags with their values, and words. Undefined for everything else. */
const plain = (tokens: readonly string[], flags: Flags): Given | undefined => {
  const given: Given = { flags: {}, args: [] };
  for (const token of tokens) {
    const at = token.indexOf('=');
    const name = token.startsWith('--') && at > 0 ? token.slice(2, at) : undefined;
    if (name !== undefined && Object.hasOwn(flags, name))
      given.flags[name] = [...(given.flags[name] ?? []), token.slice(at + 1)];
    else if (token.startsWith('-') && token !== '-') return undefined;
    else given.args.push(token);
  }
  return given;
};
/**
 * commander parses the tokens that are not plain and writes the errors for invalid ones. The fields contain
 * all other knowledge about flags.
 */
const read = async (command: Command, tokens: readonly string[], flags: Flags): Promise<Given> => {
  const { Command: Engine, Option } = await import('commander');
  const engine = new Engine(command.path.join(' '))
    .helpOption(false)
    .exitOverride()
    .allowExcessArguments(true);
  engine.configureOutput({ writeErr: () => {}, writeOut: () => {} });
  for (const name of Object.keys(flags)) {
    engine.addOption(
      new Option(`--${name} <value>`).argParser((text: string, before: string[] | undefined) => [
        ...(before ?? []),
        text,
      ]),
    );
  }
  engine.argument('[rest...]');
  const given: Given = { flags: {}, args: [] };
  engine.action((rest: string[], options: Record<string, string[]>) => {
    for (const word of rest) given.args.push(word);
    for (const option of engine.options) {
      const texts = options[option.attributeName()];
      if (texts !== undefined) given.flags[option.name()] = texts;
    }
  });
  try {
    await engine.parseAsync([...tokens], { from: 'user' });
  } catch (error) {
    throw usageError(sentence(error, command), [], [`opsctl ${command.path.join(' ')} --help`]);
  }
  return given;
};
const sentence = (error: unknown, command: Command): string => {
  const text =
    messageOf(error)
      .replace(/^error: /, '')
      .split('\n')[0] ?? '';
  return `opsctl ${command.path.join(' ')}: ${text}`;
};
/**
 * An empty value usually comes from an unset variable: it selects no record and has no meaning, unless
 * declared.
 */
const emptyProblem = (
  { field, allowsEmpty }: Pick<Flag, 'field' | 'allowsEmpty'>,
  texts: readonly string[],
  path: string,
): Problem | undefined => {
  if (!texts.includes('')) return undefined;
  // `--owner-ids ''` is the empty list; `--owner-ids a --owner-ids ''` has an empty entry.
  const hasEmptyEntry = path.startsWith('--') && texts.length > 1 && bare(field).type === 'array';
  if (allowsEmpty === true && !hasEmptyEntry) return undefined;
  return problem(path, 'min', 'must not be empty');
};
const parseGiven = (
  given: Pick<Flag, 'field' | 'allowsEmpty'>,
  texts: readonly string[],
  path: string,
  problems: Problem[],
): unknown => {
  const empty = emptyProblem(given, texts, path);
  if (empty === undefined) return parseValue(given.field, texts, path, problems);
  problems.push(empty);
  return undefined;
};
/** A text with spaces arrives as several arguments unless it is quoted. */
const quoteHint = (last: Argument | undefined): string | undefined => {
  const field = last === undefined ? undefined : bare(last.field);
  const isText = field?.type === 'string' && field.enum === undefined && field.format === undefined;
  return isText && field.pattern === undefined ? 'put a value with spaces in quotes' : undefined;
};
/** The word of `tracker search --type` for each resource whose lists a query can search. */
const searchedTypes: Readonly<Record<string, string>> = {
  stories: 'story',
  epics: 'epic',
  iterations: 'iteration',
  objectives: 'objective',
  milestones: 'objective',
};
/** A surplus argument of a list without a query is most likely a query. */
const surplusHint = ({ path, args = [] }: Command): string | undefined => {
  const [group, resource = '', verb = ''] = path;
  const type =
    group === 'tracker' && Object.hasOwn(searchedTypes, resource) ? searchedTypes[resource] : undefined;
  return type !== undefined && args.length === 0 && ['list', 'search', 'find'].includes(verb)
    ? `for a query, use opsctl tracker search QUERY --type ${type}`
    : quoteHint(args.at(-1));
};
const parseArgs = (
  command: Command,
  texts: readonly string[],
  problems: Problem[],
): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  const wanted = command.args ?? [];
  for (const [i, arg] of wanted.entries()) {
    const given = arg.rest ? texts.slice(i) : texts.slice(i, i + 1);
    if (given.length > 0) values[arg.name] = parseGiven(arg, given, `<${arg.name}>`, problems);
    else if (!arg.optional)
      problems.push(
        problem(`<${arg.name}>`, 'required', 'is required', arg.summary === '' ? undefined : arg.summary),
      );
  }
  const most = wanted.some((arg: Argument) => arg.rest) ? Number.POSITIVE_INFINITY : wanted.length;
  // The position replaces the argument: a surplus word may be a secret or a part of it.
  if (texts.length > most)
    problems.push(
      problem(
        `argument ${most + 1}`,
        'unknown',
        `is unexpected: the command accepts ${wanted.length === 0 ? 'no arguments' : countText(wanted.length, 'argument')}`,
        surplusHint(command),
      ),
    );
  return values;
};
const parseFlags = (flags: Flags, given: Given['flags'], problems: Problem[]): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const [name, texts] of Object.entries(given)) {
    const flag = flags[name];
    if (flag === undefined) continue;
    const equal = name === 'output' ? equalOutput(texts[0] ?? '') : undefined;
    if (equal !== undefined) {
      const message = `must be one of ${formatNames.join(', ')}; got ${JSON.stringify(texts[0])}`;
      problems.push(problem('--output', 'enum', message, `opsctl prints this with ${equal}`));
      continue;
    }
    if (texts.length > 1 && bare(flag.field).type !== 'array') {
      problems.push(problem(`--${name}`, 'rule', `is given ${texts.length} times; give it once`));
    }
    values[name] = parseGiven(
      flag,
      name === 'unset' ? texts.map((t) => t.replaceAll('-', '_')) : texts,
      `--${name}`,
      problems,
    );
  }
  return values;
};
/** A field of a row may also come in `--body`, so the rows look themselves; every other required flag must be there. */
const missing = ({ operation }: Command, flags: Flags, values: Values): Problem[] =>
  Object.entries(flags).flatMap(([name, flag]: [string, Flag]) =>
    (flag.required || (flag.field.required && operation === undefined)) && !Object.hasOwn(values, name)
      ? [problem(`--${name}`, 'required', 'is required')]
      : [],
  );
/**
 * A request may have only one of some fields. This is checked before the names of the others are looked up.
 */
const exclusiveProblems = ({ operation }: Command, values: Values): Problem[] =>
  (operation?.operation.exclusive ?? []).flatMap((group) => {
    const [first, second] = group.map(flagName).filter((name) => values[name] !== undefined);
    return first === undefined || second === undefined
      ? []
      : [problem(`--${second}`, 'exclusive', `cannot be combined with --${first}`)];
  });
/** A command may have its own `--color`; the three words of the global one still mean the global one. */
const takeColor = (own: Flags, given: Given['flags']): Given['flags'] => {
  const mode = given.color?.find((text) => ['auto', 'always', 'never'].includes(text));
  if (own.color === undefined || mode === undefined) return {};
  given.color = (given.color ?? []).filter((text) => text !== mode);
  if (given.color.length === 0) delete given.color;
  return { color: [mode] };
};
type Split = {
  readonly own: Given['flags'];
  readonly globals: Given['flags'];
  readonly args: readonly string[];
};
/** Flags of the command and flags of every command apart. An unknown one is a mistake of the whole line. */
const split = async (command: Command, tokens: readonly string[]): Promise<Split> => {
  const own: Flags = command.flags ?? {};
  const all = { ...globalFlags, ...own };
  const normal = normalize(tokens, all);
  const unknown = unknownFlag(normal, all);
  if (unknown !== undefined) throw unknownOption(command.path, unknown, Object.keys(all));
  const given = plain(normal, all) ?? (await read(command, normal, all));
  const globals: Given['flags'] = takeColor(own, given.flags);
  const ownGiven: Given['flags'] = {};
  for (const [name, texts] of Object.entries(given.flags)) (own[name] ? ownGiven : globals)[name] = texts;
  return { own: ownGiven, globals, args: given.args };
};
/** The flags of every command on a line whose other values are not all there. */
export const globalsOf = async (command: Command, tokens: readonly string[]): Promise<Globals> =>
  parseFlags(globalFlags, (await split(command, tokens)).globals, []);
/**
 * Returns the tokens after the words of the command as checked values. Throws one usage error with all
 * problems.
 */
export const parseCommand = async (command: Command, tokens: readonly string[]): Promise<Parsed> => {
  const own: Flags = command.flags ?? {};
  const given = await split(command, tokens);
  const problems: Problem[] = [];
  const globals = parseFlags(globalFlags, given.globals, problems);
  const values = { ...parseFlags(own, given.own, problems), ...parseArgs(command, given.args, problems) };
  problems.push(
    ...missing(command, own, values),
    ...exclusiveProblems(command, values),
    ...(command.check?.(values) ?? []),
  );
  if (problems.length > 0)
    throw usageError(`opsctl ${command.path.join(' ')}: invalid arguments`, problems, [
      `opsctl ${command.path.join(' ')} --help`,
    ]);
  return { values, globals };
};
