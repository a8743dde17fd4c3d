import { messageOf } from '../core/error-message.ts';
import type { Argument, Command, Flag, Flags, Values } from './command.ts';
import { bare } from '../core/field.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { normalize, unknownFlag } from './argv.ts';
import { type Globals, globalFlags } from './globals.ts';
import { unknownOption } from './unknown-option.ts';
import { parseValue } from './values.ts';

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

/** commander reads the tokens that are not plain, and finds the words for those that are wrong; all knowledge about flags stays in their fields. */
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
    given.args.push(...rest);
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

const parseArgs = (
  command: Command,
  texts: readonly string[],
  problems: Problem[],
): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  const wanted = command.args ?? [];
  for (const [i, arg] of wanted.entries()) {
    const given = arg.rest ? texts.slice(i) : texts.slice(i, i + 1);
    if (given.length > 0) values[arg.name] = parseValue(arg.field, given, `<${arg.name}>`, problems);
    else if (!arg.optional)
      problems.push(
        problem(`<${arg.name}>`, 'required', 'is required', arg.summary === '' ? undefined : arg.summary),
      );
  }
  const most = wanted.some((arg: Argument) => arg.rest) ? Number.POSITIVE_INFINITY : wanted.length;
  const extra = texts.slice(most);
  if (extra.length > 0)
    problems.push(
      problem(JSON.stringify(extra[0]), 'unknown', `is one argument too many (takes ${wanted.length})`),
    );
  return values;
};

const parseFlags = (flags: Flags, given: Given['flags'], problems: Problem[]): Record<string, unknown> => {
  const values: Record<string, unknown> = {};
  for (const [name, texts] of Object.entries(given)) {
    const flag = flags[name];
    if (flag === undefined) continue;
    if (texts.length > 1 && bare(flag.field).type !== 'array') {
      problems.push(problem(`--${name}`, 'rule', `is given ${texts.length} times; give it once`));
    }
    values[name] = parseValue(
      flag.field,
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
    (flag.required || (flag.field.required && operation === undefined)) && values[name] === undefined
      ? [problem(`--${name}`, 'required', 'is required')]
      : [],
  );

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

/** Tokens after the command's words as checked values; all problems at once as one usage error. */
export const parseCommand = async (command: Command, tokens: readonly string[]): Promise<Parsed> => {
  const own: Flags = command.flags ?? {};
  const given = await split(command, tokens);
  const problems: Problem[] = [];
  const globals = parseFlags(globalFlags, given.globals, problems);
  const values = { ...parseFlags(own, given.own, problems), ...parseArgs(command, given.args, problems) };
  problems.push(...missing(command, own, values), ...(command.check?.(values) ?? []));
  if (problems.length > 0)
    throw usageError(`opsctl ${command.path.join(' ')}: invalid arguments`, problems, [
      `opsctl ${command.path.join(' ')} --help`,
    ]);
  return { values, globals };
};
