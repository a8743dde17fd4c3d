import type { Host } from '../platform/host.ts';
import {
  exitCode,
  AppError,
  type Category,
  InvalidArguments,
  invalidArguments,
  problem,
  reword,
  usageError,
} from '../core/problem.ts';
import { argumentName, flagName, type Flags, type Values } from '../core/flag.ts';
import { type Result, rawResult } from '../core/result.ts';
import { makeRedactor } from '../output/redact.ts';
import type { OutputOptions } from '../output/types.ts';
import { without, wordsOf } from './parse.ts';
import {
  type Command,
  type Group,
  type Program,
  watchColumns,
  findCommand,
  findGroup,
  type CommandMatch,
  withSuggestion,
} from './command.ts';
import type { Run } from './execute.ts';
import { type ShowAdvice, type WriteCommand, makeShowAdvice, showPlain } from '../core/next.ts';
import { shellLine } from '../core/shell.ts';
import { parseOutputOptions, type Globals, globalFlags, outputOptions } from './options.ts';
import { isReadOnlyCommand } from './read-only.ts';

declare global {
  /** Set by the build. */
  const OPSCTL_VERSION: string;
  /** Set only by the build of the single executable. */
  const OPSCTL_SINGLE_EXECUTABLE: true | undefined;
  /** The minisign public key of the releases. Set by the build if the repository contains minisign.pub. */
  const OPSCTL_RELEASE_KEY: string | undefined;
}

/**
 * Handles `--help` before `--` without parsing the other flags, so that help works even if they are invalid.
 */
const asksForHelp = (tokens: readonly string[]): boolean => {
  const own = tokens.includes('--') ? tokens.slice(0, tokens.indexOf('--')) : tokens;
  return own.includes('--help') || own.includes('-h');
};

const isUnknownCommand = (error: unknown): error is AppError =>
  error instanceof AppError && error.detail.code === 'UNKNOWN_COMMAND';

const lookUp = async (groups: readonly Group[], words: readonly string[]): Promise<CommandMatch> => {
  try {
    return findCommand(await findGroup(groups, words[0] ?? '').load(words), words);
  } catch (error) {
    throw isUnknownCommand(error) ? await withSuggestion(groups, error, words) : error;
  }
};

/** What a line without a command asks for: a page of help or the version. */
const answerWithoutCommand = async (
  found: ReturnType<typeof wordsOf>,
  tokens: readonly string[],
  { host, program }: Run,
  commands: readonly Command[] = [],
): Promise<Result> => {
  const misuse = await import('./list-commands.ts');
  misuse.isGroupHelp(found, tokens, asksForHelp(tokens) || misuse.asksForVersion(tokens), commands);
  if (found.words.length === 0 && misuse.asksForVersion(tokens)) return rawResult(`${OPSCTL_VERSION}\n`);
  return (await import('./help.ts')).helpPage(program.groups, found.words, host);
};

/** `help` takes words that name a page, and no flags but the global ones. */
const answerHelp = async (
  line: ReturnType<typeof wordsOf>,
  tokens: readonly string[],
  { host, program }: Run,
): Promise<Result> => {
  (await import('./list-commands.ts')).refuseUnknownFlags(['help'], tokens);
  return (await import('./help.ts')).helpPage(program.groups, line.words.slice(1), host);
};

const isWatched = ({ flags }: Command, values: Values): boolean =>
  flags?.watch !== undefined && values.watch === true;
/** A watched list has no end for which its warnings could wait. */
const withoutWait = ({ lastNotes: _, ...options }: OutputOptions): OutputOptions => options;

/** Rejects a mistyped column before a request is sent, if the table of the service defines the response. */
const withKnownColumns = async (
  command: Command,
  values: Values,
  options: OutputOptions,
): Promise<OutputOptions> => {
  if (options.columns === undefined) return options;
  const { checkColumnNames } = await import('./list-commands.ts');
  const columns = isWatched(command, values)
    ? options.columns.filter((column) => !(watchColumns as readonly string[]).includes(column))
    : options.columns;
  try {
    return { ...options, areColumnsKnown: checkColumnNames(command, columns) };
  } catch (error) {
    throw ofCommand(command, error);
  }
};

const dispatch = async (
  run: Run,
  argv: readonly string[],
  note: (options: OutputOptions) => void,
): Promise<Category | 'done'> => {
  const line = wordsOf(argv, globalFlags);
  const { words } = line;
  const { render } = await import('../output/render.ts');
  const print = (result: Result) => render(result, parseOutputOptions(argv), run.host, run.redactor);
  if (words[0] === 'help') return print(await answerHelp(line, without(argv, line, words.length), run));
  if (words.length === 0) return print(await answerWithoutCommand(line, argv, run));
  const found = await lookUp(run.program.groups, words);
  if (found.kind === 'group')
    return print(await answerWithoutCommand(line, without(argv, line, words.length), run, found.commands));
  const { command } = found;
  const tokens = without(argv, line, found.used);
  if (asksForHelp(tokens)) {
    (await import('./list-commands.ts')).refuseUnknownFlags(command.path, tokens, {
      ...globalFlags,
      ...command.flags,
    });
    return print((await import('./help.ts')).commandHelp(command, run.host));
  }
  return runInteractively(run, command, tokens, (whole) => attempt(run, command, whole, note));
};

/** Output options of a check whose flags are not read yet: an error in one of them has its report as well. */
const earlyReports = async (
  { path, isCheck }: Command,
  tokens: readonly string[],
): Promise<OutputOptions> => {
  const options = parseOutputOptions(tokens);
  if (isCheck !== true || !tokens.some((token) => token.startsWith('--report'))) return options;
  const { reportsOnLine } = await import('../output/reports.ts');
  return { ...options, title: path.join(' '), version: OPSCTL_VERSION, reports: reportsOnLine(tokens) };
};

/** --report applies to commands that check something. Other commands would never write the promised file. */
const withReports = async (
  command: Command,
  options: OutputOptions,
  given: readonly string[] | undefined,
): Promise<OutputOptions> => {
  const named = { ...options, title: command.path.join(' '), version: OPSCTL_VERSION };
  if (given === undefined) return named;
  const [{ reportsOf }, { refuseReport }] = await Promise.all([
    import('../output/reports.ts'),
    import('./list-commands.ts'),
  ]);
  try {
    if (command.isCheck !== true) throw refuseReport();
    return { ...named, reports: reportsOf(given), checked: { findings: [], isReported: false } };
  } catch (error) {
    throw ofCommand(command, error);
  }
};

/** Only output for people goes through a pager. A change prints its result and exits. */
const reads = ({ path, operation }: Command): boolean =>
  operation?.operation.method === 'GET' || path.at(-1) === 'search' || isReadOnlyCommand(path.join(' '));

/**
 * The format that the values of a command decide. A watched list has no end, so a program that reads it gets one JSON
 * object for each record unless the line names a format.
 */
const formatOfCommand = (
  command: Command,
  values: Values,
  { output, jq, template }: Globals,
  host: Host,
): OutputOptions['format'] => {
  if (command.flags?.output !== undefined && values.output === 'json') return 'json';
  if (!isWatched(command, values)) return undefined;
  if (output === 'json')
    throw invalidArguments(
      [problem('-o json', 'rule', 'prints one document at the end, and --watch has no end', '-o ndjson')],
      ['-o ndjson prints one JSON object for each record'],
    );
  const isStream = jq !== undefined || (template === undefined && !host.terminal.stdout.isTty);
  return isStream ? (output ?? 'ndjson') : undefined;
};

/** Rejects a filter, columns or a template that cannot work, before a request is sent. */
const checkExpressions = async (command: Command, options: OutputOptions, host: Host): Promise<void> => {
  if (options.jq === undefined && options.columns === undefined && options.template === undefined) return;
  const { checkOutput } = await import('../output/expressions.ts');
  await checkOutput(options, host).catch((error: unknown) => {
    throw ofCommand(command, error);
  });
};

/** One try of a line: its values are read, then the command runs. */
const attempt = async (
  run: Run,
  command: Command,
  tokens: readonly string[],
  note: (options: OutputOptions) => void,
): Promise<Category | 'done'> => {
  const { parseCommand } = await import('./parse.ts');
  note(await earlyReports(command, tokens));
  const { values, globals } = await parseCommand(command, tokens);
  const output = asOfCommand(
    command,
    () => formatOfCommand(command, values, globals, run.host) ?? globals.output,
  );
  const given = outputOptions({ ...globals, output });
  const known = await withKnownColumns(
    command,
    values,
    isWatched(command, values) ? withoutWait(given) : given,
  );
  const reported = await withReports(
    command,
    reads(command) ? known : { ...known, pager: false },
    globals.report,
  );
  const options = { ...reported, showAdvice: await showAdviceFor(command, values, run.program.groups) };
  note(options);
  await checkExpressions(command, options, run.host);
  if (options.reports !== undefined) {
    const { writeUnfinishedReports } = await import('../output/reports.ts');
    await writeUnfinishedReports(options, run.host, run.redactor);
  }
  const { execute } = await import('./execute.ts');
  return execute({ ...run, tokens }, command, values, globals, options).catch((error: unknown) => {
    throw ofCommand(command, error);
  });
};

/** On a terminal, prompts for missing values and then prints the complete command line. */
const runInteractively = async (
  run: Run,
  command: Command,
  tokens: readonly string[],
  attempted: (tokens: readonly string[]) => Promise<Category | 'done'>,
  wasAsked = false,
): Promise<Category | 'done'> => {
  const teach = async (): Promise<void> => {
    if (wasAsked) await (await import('./ask-missing.ts')).printEquivalentCommand(run, command, tokens);
  };
  try {
    const category = await attempted(tokens);
    await teach();
    return category;
  } catch (error) {
    const isMissing = error instanceof AppError && error.category === 'usage';
    const whole = isMissing
      ? await (await import('./ask-missing.ts')).completeTokens(run, command, tokens, error)
      : undefined;
    if (whole !== undefined) return runInteractively(run, command, whole, attempted, true);
    await teach();
    throw error;
  }
};

/** A field of a request in the words of the line: `text` becomes `--text`, `story-public-id` becomes `<story>`. */
const lineName = ({ flags = {}, args = [], operation }: Command, path: string): string => {
  const [, head = '', rest = ''] = /^([^.[]+)(.*)$/.exec(path) ?? [];
  if (head === '' || /^[-<"]/.test(head)) return path;
  const argument = args.find(({ name }) => name === argumentName(head));
  if (argument !== undefined) return `<${argument.name}>${rest}`;
  if (Object.hasOwn(flags, flagName(head))) return `--${flagName(head)}${rest}`;
  return operation !== undefined && flags.body !== undefined ? `--body.${path}` : path;
};
/** The service's table names fields; the person typed flags. Problems of a file keep the names of the file. */
const nameFlags = (command: Command, error: AppError): AppError => {
  const { problems } = error.detail;
  if (problems === undefined || problems.every(({ file, line }) => file !== undefined || line !== undefined))
    return error;
  const named = problems.map((one) =>
    one.file === undefined && one.line === undefined ? { ...one, path: lineName(command, one.path) } : one,
  );
  return reword(error, { ...error.detail, problems: named });
};

/** What a command finds wrong with its flags reads as what the parser finds: whose flags they are, and where to read on. */
const ofCommand = (command: Command, thrown: unknown): unknown => {
  const error =
    thrown instanceof AppError && thrown.category === 'usage' ? nameFlags(command, thrown) : thrown;
  if (!(error instanceof InvalidArguments)) return error;
  const name = `opsctl ${command.path.join(' ')}`;
  return new AppError('usage', `${name}: invalid arguments`, {
    ...error.detail,
    tryThis: [...(error.detail.tryThis ?? []), `${name} --help`],
    cause: error,
  });
};

const asOfCommand = <T>(command: Command, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    throw ofCommand(command, error);
  }
};

/** A line whose first word is not a command: an alias or a program of the user. Resolves with its exit code or its error. */
const runOther = async (
  host: Host,
  argv: readonly string[],
  program: Program,
  unknown: AppError,
): Promise<number | Error | undefined> => {
  try {
    const expanded = await (await import('./aliases.ts')).expandedLine(host, argv, unknown);
    const { groups } = program;
    // An alias of an alias could run in a circle.
    if (expanded !== undefined && groups.every(({ name }) => name !== expanded[0]))
      return usageError(
        `the alias ${argv[0]} does not start with a command: ${expanded[0]}`,
        [],
        ['opsctl alias list'],
      );
    if (expanded !== undefined) return runProgram(host, expanded, program);
    return await (await import('./aliases.ts')).extensionCode(host, argv, groups);
  } catch (error) {
    return error as Error;
  }
};

/** argv → exit code. Every error ends here: one layer renders it, one table gives its code. */
export const runProgram = async (host: Host, argv: readonly string[], program: Program): Promise<number> => {
  const run: Run = { host, redactor: makeRedactor(), program };
  let options = parseOutputOptions(argv);
  try {
    return exitCode(await dispatch(run, argv, (found) => (options = found)));
  } catch (error) {
    const other = isUnknownCommand(error) ? await runOther(host, argv, program, error) : undefined;
    if (typeof other === 'number') return other;
    const { renderError } = await import('../output/error.ts');
    return exitCode(await renderError(other ?? error, options, host, run.redactor));
  } finally {
    await options.filter?.run?.kill();
    await host.network.close();
  }
};

type Known = { readonly path: readonly string[]; readonly flags: Flags };

/** The flags of a line that the next line needs too: `--cluster FILE`. */
const repeatedFlags = ({ flags = {} }: Command, values: Values): [string, string][] =>
  Object.entries(flags).flatMap(([name, { isRepeated }]): [string, string][] => {
    const value = values[name];
    return isRepeated === true && typeof value === 'string' ? [[name, value]] : [];
  });

/** Writes a command with these flags behind its words, if it accepts them and does not have them. Pure. */
export const writeWithFlags =
  (flags: readonly (readonly [string, string])[], commands: readonly Known[]): WriteCommand =>
  (command) => {
    const named = commands
      .filter(({ path }) => path.every((word, at) => command[at] === word))
      .toSorted((one, other) => other.path.length - one.path.length)[0];
    if (named === undefined) return ['opsctl', ...command].join(' ');
    const used = named.path.length;
    const added = flags.filter(
      ([name]) =>
        named.flags[name] !== undefined && !command.some((word) => word.split(' ')[0] === `--${name}`),
    );
    const words = added.map(([name, value]) => shellLine([`--${name}`, value]));
    return ['opsctl', ...command.slice(0, used), ...words, ...command.slice(used)].join(' ');
  };

/**
 * Returns a command to run next with the flags that select the current target, so that users can paste it.
 */
export const showAdviceFor = async (
  command: Command,
  values: Values,
  groups: readonly Group[],
): Promise<ShowAdvice> => {
  const repeated = repeatedFlags(command, values);
  if (repeated.length === 0) return showPlain;
  const commands = await findGroup(groups, command.path[0] ?? '').load();
  const write = writeWithFlags(
    repeated,
    commands.map(({ path, flags = {} }) => ({ path, flags })),
  );
  return makeShowAdvice(write);
};
