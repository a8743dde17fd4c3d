import { printable } from '../core/text.ts';
import { type Field, bare } from '../core/field.ts';
import { AppError, type Problem, problemText } from '../core/problem.ts';
import { nothing } from '../core/result.ts';
import { shellLine } from '../core/shell.ts';
import type { Host } from '../platform/host.ts';
import { globalsOf, normalize, parseValue } from './parse.ts';
import type { Command } from './command.ts';
import type { Context } from '../api/context.ts';
import { type Run, execute } from './execute.ts';
import { globalFlags, outputOptions } from './options.ts';

type Choice = Parameters<Host['terminal']['prompts']['select']>[1][number];

/** A value that the line lacks: a flag or an argument of the command. */
export type MissingInput = {
  readonly name: string;
  readonly isFlag: boolean;
  readonly field: Field;
  readonly summary: string;
  readonly complete?: string;
  readonly suggest?: readonly string[];
};

const wantedAt = ({ flags = {}, args = [] }: Command, path: string): MissingInput[] => {
  const [, flag, arg] = /^(?:--([\w-]+)|<([\w-]+)>)$/.exec(path) ?? [];
  if (flag !== undefined && flags[flag] !== undefined) return [{ ...flags[flag], name: flag, isFlag: true }];
  const found = args.find(({ name }) => name === arg);
  return found === undefined ? [] : [{ ...found, isFlag: false }];
};

/**
 * Returns the values that an error requests, if the error only reports missing values. Users correct invalid
 * values themselves. Pure.
 */
export const missingInputs = (command: Command, error: unknown): readonly MissingInput[] => {
  if (!(error instanceof AppError) || error.category !== 'usage') return [];
  const problems: readonly Problem[] = error.detail.problems ?? [];
  const found = problems.flatMap(({ rule, path }) => (rule === 'required' ? wantedAt(command, path) : []));
  return found.length === problems.length ? found : [];
};

/** Prompts need a person: both ends are terminals, CI is not set, and prompts are not disabled. */
export const mayAsk = ({ env, terminal }: Host, tokens: readonly string[]): boolean => {
  const given = normalize(tokens, globalFlags);
  return (
    terminal.stdin.isTty &&
    terminal.stderr.isTty &&
    !env.CI &&
    !given.includes('--input=false') &&
    !given.includes('--yes=true')
  );
};

/** Records with their titles, of a kind that the service can list; none where that fails: then the value is typed. */
const recordChoices = async (
  run: Run,
  command: Command,
  tokens: readonly string[],
  kind: string,
): Promise<readonly Choice[]> => {
  const globals = { ...(await globalsOf(command, tokens)), 'dry-run': false, quiet: true };
  let found: readonly Choice[] = [];
  const look = async (context: Context) => {
    found = await run.program.choicesOf(context, kind);
    return nothing();
  };
  const { noDryRun: _, ...rest } = command;
  const options = outputOptions(globals);
  await execute({ ...run, isLookup: true }, { ...rest, run: look }, {}, globals, options).catch(
    () => undefined,
  );
  return found;
};

const plainChoices = ({ field, suggest }: MissingInput): readonly Choice[] => {
  const inner = bare(field);
  const words = (inner.type === 'string' && inner.open !== true ? inner.enum : undefined) ?? suggest ?? [];
  return words.map((value) => ({ value, label: value }));
};

/** One value, asked for until it is one that the row accepts. */
const answerTo = async ({ host }: Run, wanted: MissingInput, choices: readonly Choice[]): Promise<string> => {
  const { prompts, stderr } = host.terminal;
  const path = wanted.isFlag ? `--${wanted.name}` : `<${wanted.name}>`;
  const question = printable(wanted.summary === '' ? `${path}:` : `${wanted.summary} (${path}):`);
  if (bare(wanted.field).type === 'boolean') return String(await prompts.confirm(question, false));
  if (choices.length > 0) return prompts.select(question, choices);
  for (;;) {
    const text = (await prompts.text(question)).trim();
    const problems: Problem[] = [];
    parseValue(wanted.field, [text], path, problems);
    if (text !== '' && problems.length === 0) return text;
    const said = problems.map(problemText);
    await stderr.write(`  ${printable(said.length > 0 ? said.join('; ') : `${path} is required`)}\n`);
  }
};

/**
 * Returns the command line with the entered values: flags before the typed tokens, arguments after them.
 * Pure.
 */
export const withAnswers = (
  tokens: readonly string[],
  answers: readonly (readonly [MissingInput, string])[],
): string[] => {
  const flags = answers.flatMap(([{ name, isFlag }, text]) =>
    isFlag
      ? [text.startsWith('-') ? `--${name}=${text}` : `--${name}`, ...(text.startsWith('-') ? [] : [text])]
      : [],
  );
  const words = answers.flatMap(([{ isFlag }, text]) => (isFlag ? [] : [text]));
  const needsEnd = words.some((word) => word.startsWith('-')) && !tokens.includes('--');
  return [...flags, ...tokens, ...(needsEnd ? ['--'] : []), ...words];
};

/**
 * Returns the tokens of a line that prompts completed; undefined if prompts are impossible or the line has
 * another error.
 */
export const completeTokens = async (
  run: Run,
  command: Command,
  tokens: readonly string[],
  error: unknown,
): Promise<readonly string[] | undefined> => {
  const wanted = missingInputs(command, error);
  if (wanted.length === 0 || !mayAsk(run.host, tokens)) return undefined;
  const answers: (readonly [MissingInput, string])[] = [];
  for (const one of wanted) {
    const own = plainChoices(one);
    const choices =
      own.length > 0 || one.complete === undefined
        ? own
        : await recordChoices(run, command, tokens, one.complete);
    answers.push([one, await answerTo(run, one, choices)]);
  }
  return withAnswers(tokens, answers);
};

/** The whole command, for the next time and for a script. */
export const printEquivalentCommand = async (
  { host, redactor }: Run,
  { path }: Command,
  tokens: readonly string[],
): Promise<void> => {
  const given = normalize(tokens, globalFlags);
  if (given.includes('--quiet=true')) return;
  const line = shellLine(['opsctl', ...path, ...tokens]);
  await host.terminal.stderr
    .write(`The same without questions: ${printable(redactor.clean(line))}\n`)
    .catch(() => {});
};
