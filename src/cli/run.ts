import type { Command, Reach, ServiceName, Target, Values } from './command.ts';
import type { Settings } from '../config/settings.ts';
import { loadSettings, secretsOf } from '../config/load.ts';
import { withCaFile } from '../config/trust.ts';
import type { Host } from '../platform/host.ts';
import { exitCode } from '../core/exit.ts';
import { AppError, type Category, usageError } from '../core/problem.ts';
import { type Result, rawResult, recordResult } from '../core/result.ts';
import { makeRedactor } from '../output/redact.ts';
import { makeLogger } from '../output/logger.ts';
import type { OutputOptions, Redactor } from '../output/types.ts';
import { without, wordsOf } from './argv.ts';
import { DryRunStop, makeContext } from './context.ts';
import { findCommand, findGroup } from './find.ts';
import type { Found } from './find.ts';
import { type Globals, globalFlags } from './globals.ts';
import { groups } from './manifest.ts';
import { choices, early, outputOptions, rateOf, settingFlags, timeoutOf } from './options.ts';
import { readBodies } from './read-bodies.ts';
import { seenRecords } from './seen-records.ts';

/** One key press may arrive twice: from the terminal, and handed on by the program that started this one (npm run). */
const samePressMs = 500;
/**
 * The first signal asks to stop; a second one ends the process at once. A terminal that goes away sends its SIGHUP to the
 * shell, which sends another: that is never a person who insists.
 */
const stopper = (host: Host): { signal: AbortSignal; off: () => void; ended: () => Category | undefined } => {
  const controller = new AbortController();
  let got: Category | undefined;
  let gotMs = 0;
  const off = host.onSignal((name) => {
    const category: Category = name === 'SIGINT' ? 'interrupted' : 'terminated';
    if (got !== undefined && (name === 'SIGHUP' || host.elapsed() - gotMs < samePressMs)) return;
    if (got !== undefined) host.exit(exitCode(category));
    [got, gotMs] = [category, host.elapsed()];
    controller.abort(new AppError(category, name === 'SIGINT' ? 'interrupted' : 'terminated'));
  });
  return { signal: controller.signal, off, ended: () => got };
};

/** What a signal has ended says so, with the code of that signal: a cut request alone does not know which one it was. */
const endedBy = ({ ended, signal }: ReturnType<typeof stopper>, error: unknown): unknown => {
  const category = ended();
  if (category === undefined) return error;
  if (!(error instanceof AppError)) return signal.reason;
  return error.category === 'interrupted' && category !== 'interrupted'
    ? new AppError(category, error.message, error.detail)
    : error;
};

type Run = { readonly host: Host; readonly redactor: Redactor };

/** A flag that promises to change nothing is never taken in silence by a command that would. */
const refuseDryRun = ({ path, noDryRun }: Command, { 'dry-run': isDryRun }: Globals): void => {
  if (isDryRun === true && noDryRun !== undefined)
    throw usageError(`${path.join(' ')} has no dry run; nothing was done`, [], [noDryRun]);
};

/** Runs one command and renders its result while the services that it talks to are still there. */
const execute = async (
  run: Run,
  command: Command,
  values: Values,
  globals: Globals,
  options: OutputOptions,
): Promise<Category | 'done'> => {
  refuseDryRun(command, globals);
  const { redactor } = run;
  const settings: Settings = loadSettings(run.host, settingFlags(globals));
  for (const secret of secretsOf(settings)) redactor.hide(secret);
  const host = withCaFile(run.host, settings);
  const log = makeLogger(host, options, redactor);
  const stop = stopper(host);
  stop.signal.addEventListener('abort', () => void options.filter?.run?.kill());
  let made: Promise<Reach> | undefined;
  const reacher = (): Promise<Reach> =>
    (made ??= import('../commands/target.ts').then(({ makeReach }) =>
      makeReach({ host, settings, log, signal: stop.signal }),
    ));
  const reach = async (service: ServiceName): Promise<Target> => (await reacher()).reach(service);
  const seen = seenRecords();
  const context = makeContext({
    seen,
    ...choices(host, globals, options),
    host,
    settings,
    log,
    reach,
    explainer: (service) => groups.find(({ name }) => name === service)?.explain?.(),
    signal: stop.signal,
    timeoutMs: timeoutOf(settings),
    ratePerMinute: rateOf(settings),
    isRateDefault: settings.get('rate_per_minute')?.origin === 'default',
  });
  const { render } = await import('../output/render.ts');
  try {
    const given = await readBodies(host, command, values);
    return await render(await stoppable(command.run(context, given)), options, host, redactor);
  } catch (error) {
    throw endedBy(stop, error);
  } finally {
    if (seen.kinds.size > 0) await (await import('./record-cache.ts')).writeSeen(host, settings, seen);
    await (await made)?.close();
    stop.off();
  }
};

/** A dry run ends a command at its first request; that request is then the result. */
const stoppable = async (running: Promise<Result>): Promise<Result> => {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof DryRunStop)) throw error;
    const { dryRun } = await import('../api-client/dry-run.ts');
    const shown = dryRun(error.request);
    return recordResult(shown, { text: shown.curl });
  }
};

/** `--help` before `--`: answered without reading the other flags, so that it helps with those that are wrong. */
const asksForHelp = (tokens: readonly string[]): boolean => {
  const own = tokens.includes('--') ? tokens.slice(0, tokens.indexOf('--')) : tokens;
  return own.includes('--help') || own.includes('-h');
};

const lookedUp = async (words: readonly string[]): Promise<Found> => {
  try {
    return findCommand(await findGroup(words[0] ?? '').load(words), words);
  } catch (error) {
    throw error instanceof AppError && error.detail.code === 'UNKNOWN_COMMAND'
      ? await (await import('./suggest-command.ts')).withSuggestion(error, words)
      : error;
  }
};

/** What a line without a command asks for: a page of help or the version. */
const answerWithoutCommand = async (
  found: ReturnType<typeof wordsOf>,
  tokens: readonly string[],
  host: Host,
  commands: readonly Command[] = [],
): Promise<Result> => {
  const misuse = await import('./misuse.ts');
  misuse.groupIsAsked(found, tokens, asksForHelp(tokens) || misuse.asksForVersion(tokens), commands);
  if (found.words.length === 0 && misuse.asksForVersion(tokens)) return rawResult(`${OPSCTL_VERSION}\n`);
  return (await import('./help-pages.ts')).helpPage(found.words, host);
};

/** `help` takes words that name a page, and no flags but the global ones. */
const answerHelp = async (
  line: ReturnType<typeof wordsOf>,
  tokens: readonly string[],
  host: Host,
): Promise<Result> => {
  (await import('./misuse.ts')).refuseUnknownFlags(['help'], tokens);
  return (await import('./help-pages.ts')).helpPage(line.words.slice(1), host);
};

/** A mistyped column is refused before anything is sent, where the table of the service says what comes. */
const withKnownColumns = async (command: Command, options: OutputOptions): Promise<OutputOptions> => {
  if (options.columns === undefined) return options;
  const { checkColumnNames } = await import('./check-columns.ts');
  try {
    return { ...options, areColumnsKnown: checkColumnNames(command, options.columns) };
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
  const print = (result: Result) => render(result, early(argv), run.host, run.redactor);
  if (words[0] === 'help') return print(await answerHelp(line, without(argv, line, words.length), run.host));
  if (words.length === 0) return print(await answerWithoutCommand(line, argv, run.host));
  const found = await lookedUp(words);
  if (found.kind === 'group')
    return print(
      await answerWithoutCommand(line, without(argv, line, words.length), run.host, found.commands),
    );
  const { command } = found;
  const tokens = without(argv, line, found.used);
  if (asksForHelp(tokens)) {
    (await import('./misuse.ts')).refuseUnknownFlags(command.path, tokens, {
      ...globalFlags,
      ...command.flags,
    });
    return print((await import('./help-pages.ts')).commandHelp(command, run.host));
  }
  const { parseCommand } = await import('./parse.ts');
  const { values, globals } = await parseCommand(command, tokens);
  const options = await withKnownColumns(command, outputOptions(globals));
  note(options);
  if (options.jq !== undefined || options.columns !== undefined)
    await (await import('../output/check.ts')).checkOutput(options, run.host);
  return execute(run, command, values, globals, options).catch((error: unknown) => {
    throw ofCommand(command, error);
  });
};

/** What a command finds wrong with its flags reads as what the parser finds: whose flags they are, and where to read on. */
const ofCommand = ({ path }: Command, error: unknown): unknown => {
  if (!(error instanceof AppError) || error.category !== 'usage' || error.message !== 'invalid arguments')
    return error;
  const name = `opsctl ${path.join(' ')}`;
  return new AppError('usage', `${name}: invalid arguments`, {
    ...error.detail,
    tryThis: [...(error.detail.tryThis ?? []), `${name} --help`],
    cause: error,
  });
};

/** argv → exit code. Every error ends here: one layer renders it, one table gives its code. */
export const runProgram = async (host: Host, argv: readonly string[]): Promise<number> => {
  const run: Run = { host, redactor: makeRedactor() };
  let options = early(argv);
  try {
    return exitCode(await dispatch(run, argv, (found) => (options = found)));
  } catch (error) {
    const { renderError } = await import('../output/error.ts');
    return exitCode(await renderError(error, options, host, run.redactor));
  } finally {
    await options.filter?.run?.kill();
    await host.network.close();
  }
};
