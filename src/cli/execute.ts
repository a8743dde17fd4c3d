import { printable } from '../core/text.ts';
import { plainHttpWarning } from '../core/external-url.ts';
import { resolve } from 'node:path';
import type { AuditLog, RequestGuard } from '../api/audit.ts';
import { type ContextOptions, makeContext, RecordedRequest } from '../api/calls.ts';
import type { Reach, Runtime, ServiceName, Target } from '../api/context.ts';
import { decodeInput, namesOtherType, refuseJson, wholeInput } from '../api/input.ts';
import { type CompletionCache, createCompletionCache } from '../api/list-rows.ts';
import { readJsonText } from '../core/json.ts';
import {
  loadSettings,
  mistypedVariables,
  refuseForeignConfiguration,
  refuseLongSecrets,
  secretsOf,
} from '../config/load.ts';
import { checkedSettings } from '../config/resolve-target.ts';
import { type Settings, withCaFile } from '../config/settings.ts';
import { exitCode, AppError, type Category, invalidArguments, problem, usageError } from '../core/problem.ts';
import { secretFlag, type Values } from '../core/flag.ts';
import { recordResult, type Result } from '../core/result.ts';
import { makeLogger } from '../output/logger.ts';
import type { OutputOptions, Redactor } from '../output/types.ts';
import { isRecord } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';
import { isJsonText, jsonFault } from '../core/json-scan.ts';
import type { ApprovedFiles } from './approved-files.ts';
import type { Command, Program } from './command.ts';
import {
  choices,
  isInteractiveRun,
  type Globals,
  maxTimeOf,
  requestsTraces,
  unlimitedRate,
  paceOf,
  settingFlags,
} from './options.ts';
import { isReadOnlyCommand } from './read-only.ts';
import type { Tracing } from './tracing.ts';

const textOf = async (host: Host, given: string): Promise<string> => {
  if (given === '-') return decodeInput(await wholeInput(host), given, '--body');
  if (!given.startsWith('@')) return given;
  const path = given.slice(1);
  const bytes = await host.files.readBytes(resolve(host.cwd, path));
  if (bytes === undefined)
    throw invalidArguments([problem('--body', 'rule', `names ${path}, which does not exist`)]);
  return decodeInput(bytes, path, '--body');
};
/** The arguments of a process are public on its machine: a body with a secret comes from a file or from standard input. */
const refuseInlineSecret = ({ operation }: Command, body: unknown): void => {
  const secrets = Object.entries(operation?.operation.body ?? {}).filter(
    ([name, { secret }]) => secret === true && isRecord(body) && body[name] !== undefined,
  );
  const problems = secrets.map(([name]) =>
    problem('--body', 'rule', `must not contain ${name} on the command line`, `--${secretFlag(name)} FILE`),
  );
  if (problems.length > 0) throw invalidArguments(problems, ['--body @FILE', '--body -']);
};
/** `--body` of a derived command: text, `@file` or `-`, as the object that it must be. */
export const readBodies = async (host: Host, command: Command, values: Values): Promise<Values> => {
  if (typeof values.body !== 'string') return values;
  const text = await textOf(host, values.body);
  const isInline = text === values.body;
  if (command.operation === undefined) {
    // The body of a mock fault may be any text.
    const mustBeJson = command.path[0] === 'api' && !namesOtherType(values.header);
    if (!isInline && mustBeJson && !isJsonText(text))
      throw refuseJson(values.body.replace(/^@/, ''), '--body')(jsonFault(text));
    return { ...values, body: text };
  }
  const body = readJsonText(
    text,
    isInline
      ? ({ what, line, column, hint, isJson }) => {
          const why = isJson ? 'cannot be used' : 'must be JSON';
          const place = `${line === 1 ? '' : `line ${line}, `}column ${column}`;
          return invalidArguments([problem('--body', 'type', `${why}: ${place}: ${what}`, hint)]);
        }
      : refuseJson(values.body.replace(/^@/, ''), '--body'),
  );
  if (isInline) refuseInlineSecret(command, body);
  if (isRecord(body)) return { ...values, body };
  throw invalidArguments([problem('--body', 'type', 'must be a JSON object')]);
};

/** One key press may arrive twice: from the terminal, and handed on by the program that started this one (npm run). */
const samePressMs = 500;
/**
 * The first signal requests a stop; a second one ends the process immediately. A closing terminal sends
 * SIGHUP to the shell, which sends another. Two SIGHUPs therefore do not count as a second request.
 */
type Stopper = {
  readonly signal: AbortSignal;
  off(): void;
  endCategory(): Category | undefined;
  /** Stops the run as a first signal does. */
  stop(reason: AppError): void;
};
const stopper = (host: Pick<Host, 'onSignal' | 'elapsed' | 'exit'>): Stopper => {
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
  const stop = (reason: AppError): void => controller.abort(reason);
  return { signal: controller.signal, off, endCategory: () => got, stop };
};
/** For a command that leaves signals to the program it runs: only --max-time stops it. */
const deafStopper = (host: Host): Stopper =>
  stopper({ onSignal: () => () => undefined, elapsed: host.elapsed, exit: host.exit });
/** --max-time stopped the run. A run that can be resumed or is partly done reports that itself. */
const afterMaxTime = (reason: unknown, error: unknown): unknown =>
  error instanceof AppError && ['stopped', 'partial'].includes(error.category) ? error : reason;
/** Stops a run that takes longer than --max-time. */
const limitRunTime = (host: Host, stopper: Stopper, maxMs: number | undefined): Stopper => {
  if (maxMs === undefined) return stopper;
  const reason = new AppError('network', `not done within ${maxMs / 1000} s (--max-time)`, {
    code: 'MAX_TIME',
    retryable: true,
  });
  void host.sleep(maxMs).then(() => stopper.stop(reason));
  return stopper;
};
/**
 * A run that a signal stopped reports that signal with its exit code. The aborted request does not know the
 * signal.
 */
const endedBy = ({ endCategory, signal }: Stopper, error: unknown): unknown => {
  const category = endCategory();
  if (category === undefined) return signal.aborted ? afterMaxTime(signal.reason, error) : error;
  if (!(error instanceof AppError)) return signal.reason;
  return error.category === 'interrupted' && category !== 'interrupted'
    ? new AppError(category, error.advice, error.detail)
    : error;
};

/** What every step of one run needs. */
export type Run = {
  readonly host: Host;
  readonly redactor: Redactor;
  readonly program: Program;
  /** A look-up for a prompt is not a command of the user, so it exports no trace. */
  readonly isLookup?: true;
  /** The line after the words of the command. */
  readonly tokens?: readonly string[];
};
/**
 * A command must not silently accept a flag that promises a run without changes if the command makes changes.
 */
const refuseDryRun = ({ path, noDryRun }: Command, { 'dry-run': isDryRun }: Globals): void => {
  if (isDryRun === true && noDryRun !== undefined)
    throw usageError(`${path.join(' ')} does not support a dry run; no changes were made`, [], [noDryRun]);
};
/**
 * A service is resolved when a command requests it. Its resources are closed with the command, or as soon as a pager
 * has the whole result: a reader of a page must not block other commands.
 */
const lazyReach = (program: Program, runtime: Runtime, { screen }: OutputOptions): Reach => {
  let made: Promise<Reach> | undefined;
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closed ??= made?.then((reach) => reach.close());
    return closed ?? Promise.resolve();
  };
  // The end of the command reports a failure of the same promise.
  if (screen !== undefined) screen.onWritten = () => void close().catch(() => undefined);
  return {
    reach: async (service: ServiceName): Promise<Target> => {
      made ??= program.makeReach(runtime);
      return (await made).reach(service);
    },
    close,
  };
};
/** The requested trace. Without a trace, requests are sent directly. */
const tracingOf = async (
  host: Host,
  globals: Globals,
  redactor: Redactor,
  { path }: Command,
): Promise<Tracing> => {
  const { debug, har, record, replay } = globals;
  if (!debug && [har, record, replay].every((file) => file === undefined))
    return { host, reach: (given) => given, settings: (given) => given, end: async () => {} };
  return (await import('./tracing.ts')).traceHost(host, globals, redactor, path);
};
/** The copies that an approved call acts on, and the directories of a tool; without them the files are read where they are. */
const approvedFiles = async (
  host: Host,
  command: Command,
  values: Values,
  globals: Globals,
): Promise<ApprovedFiles> => {
  const { 'approved-files': directory, 'files-within': directories } = globals;
  if (directory === undefined && directories === undefined) return { host, end: async () => {} };
  const { withApprovedFiles, withinDirectories } = await import('./approved-files.ts');
  const limited = directories === undefined ? host : withinDirectories(host, directories);
  if (directory === undefined) return { host: limited, end: async () => {} };
  return withApprovedFiles(limited, directory, { command, values, isDryRun: globals['dry-run'] ?? false });
};
const loggerFor = (...given: Parameters<typeof makeLogger>): ReturnType<typeof makeLogger> => {
  const log = makeLogger(...given);
  const warning = plainHttpWarning(given[0].env);
  if (warning !== undefined) log.warn(warning);
  for (const text of mistypedVariables(given[0].env)) log.warn(text);
  return log;
};
type Audit = {
  readonly wrap: NonNullable<ContextOptions['audit']>;
  readonly onEnd: NonNullable<ContextOptions['onEnd']>;
  /** What a dry run reports about an earlier command that may have sent its request. */
  describeEarlier(recorded: RecordedRequest): Promise<string | undefined>;
  /** Writes the entry of a command of the cluster, whose journal has the steps, and closes the log and the records. */
  end(values: Values, failure: unknown): Promise<void>;
};
type Warnings = { readonly warn: (text: string) => void; readonly warnRecords: (text: string) => void };
/** The guard against requests that an earlier command may have sent, loaded at the first change. */
const guardOf = (
  { host, redactor, tokens }: Pick<Run, 'host' | 'redactor' | 'tokens'>,
  settings: Settings,
  { warn, warnRecords }: Warnings,
  { readsBeforeWrites, path }: Command,
  globals: Globals,
) => {
  let guard: RequestGuard | undefined;
  return {
    open: async (): Promise<RequestGuard | undefined> => {
      if (readsBeforeWrites === true) return undefined;
      const { openGuard } = await import('../api/sent-requests.ts');
      const isInteractive = isInteractiveRun(host, globals) && globals.yes !== true;
      const { timeoutMs } = paceOf(settings);
      const line = tokens === undefined ? [] : [...path, ...tokens];
      const decision = { sendsAgain: globals['send-again'] ?? false, isInteractive, timeoutMs, line };
      guard ??= openGuard(host, settings, decision, { clean: redactor.clean, warn, warnRecords });
      return guard;
    },
    end: async (failure: unknown): Promise<void> => guard?.end(failure),
  };
};
/** The log, loaded at the first change. */
const lazyAudit = (
  { host, redactor }: Pick<Run, 'host' | 'redactor'>,
  settings: Settings,
  warn: (text: string) => void,
) => {
  let opened: AuditLog | undefined;
  const load = async () => {
    const { auditSender, commandEntry, openAudit } = await import('../api/audit.ts');
    opened ??= openAudit(host, settings, warn, redactor.clean);
    return { auditSender, commandEntry, log: opened };
  };
  return { load, close: async (): Promise<void> => opened?.close() };
};
const changesCluster = (path: Command['path'], { replay, 'dry-run': isDryRun }: Globals): boolean =>
  path[0] === 'kv' && isDryRun !== true && !isReadOnlyCommand(path.join(' ')) && replay === undefined;
type Sends = Parameters<Audit['wrap']>[1];
/** Sends the changes of one command through the log and the guard, which are loaded at the first change. */
const wrapWith =
  (
    { load }: Pick<ReturnType<typeof lazyAudit>, 'load'>,
    guard: ReturnType<typeof guardOf>,
    host: Host,
    who: { readonly command: string; readonly profile: string },
    { replay }: Globals,
  ): Audit['wrap'] =>
  (place, send) => {
    let audited: Sends | undefined;
    const open = async (request: Parameters<Sends>[0]): ReturnType<Sends> => {
      const { auditSender, log } = await load();
      audited ??= auditSender(log, host, who, place, send, await guard.open());
      return audited(request);
    };
    return (request) => {
      if (request.method === 'GET' || replay !== undefined) return send(request);
      return audited === undefined ? open(request) : audited(request);
    };
  };
/** The local audit log of one command. A replayed trace makes no changes. */
const auditOf = (
  run: Pick<Run, 'host' | 'redactor' | 'tokens'>,
  settings: Settings,
  log: Pick<Runtime['log'], 'warn' | 'warnOnce'>,
  command: Command,
  globals: Globals,
): Audit => {
  const { host } = run;
  const { path } = command;
  const who = { command: path.join(' '), profile: settings.profile.name };
  const [began, actions] = [host.elapsed(), new Set<() => void>()];
  const warnRecords = (text: string): void => log.warnOnce('records', text);
  const guard = guardOf(run, settings, { warn: log.warn, warnRecords }, command, globals);
  const { load, close } = lazyAudit(run, settings, warnRecords);
  return {
    wrap: wrapWith({ load }, guard, host, who, globals),
    onEnd: (action) => void actions.add(action),
    describeEarlier: async ({ request, target }) =>
      request.method === 'GET' || globals.replay !== undefined
        ? undefined
        : (await guard.open())?.describeEarlier(request, target),
    end: async (values, failure) => {
      for (const action of actions) action();
      if (changesCluster(path, globals)) {
        const { commandEntry, log } = await load();
        await log.write(commandEntry(host, who, values, began, failure));
      }
      await guard.end(failure);
      await close();
    },
  };
};
/** What a run leaves behind for the next one: records for completion, and the trace. */
const leave = async (
  host: Host,
  settings: Settings,
  seen: CompletionCache,
  trace: Tracing,
): Promise<void> => {
  if (seen.kinds.size > 0) await (await import('../api/list-rows.ts')).writeCompletions(host, settings, seen);
  await trace.end();
};
/** These commands report problems of settings. */
const showsSettings = (path: Command['path']): boolean => isConfig(path) || path[0] === 'doctor';
/** `config` is how a wrong setting is found and removed: it shows settings and lets none of them take effect. */
const isConfig = (path: Command['path']): boolean => path[0] === 'config';
/** The settings of this run; no output shows their secrets. */
const settingsFor = ({ host, redactor }: Run, { path }: Command, globals: Globals): Settings => {
  const settings = loadSettings(host, settingFlags(globals));
  for (const secret of secretsOf(settings, host.env)) redactor.hide(secret);
  if (!isConfig(path)) refuseLongSecrets(settings);
  return showsSettings(path) ? settings : checkedSettings(settings);
};
const hostFor = ({ host }: Run, { path }: Command, settings: Settings): Host =>
  isConfig(path) ? host : withCaFile(host, settings);
const paceFor = ({ path }: Command, settings: Settings) =>
  isConfig(path) ? unlimitedRate : paceOf(settings);
/** Stops the command on a signal, after its longest time or with its pager, and the program that its output goes through with it. */
const stopperFor = (
  host: Host,
  { path, leavesSignalsToChild }: Command,
  settings: Settings,
  { filter, screen }: OutputOptions,
): Stopper => {
  const own = leavesSignalsToChild === true ? deafStopper(host) : stopper(host);
  const stop = isConfig(path) ? own : limitRunTime(host, own, maxTimeOf(settings));
  stop.signal.addEventListener('abort', () => void filter?.run?.kill());
  if (screen !== undefined)
    screen.onLeft = () => stop.stop(new AppError('interrupted', 'the pager was closed'));
  return stop;
};
/** Parts that are loaded when a command needs them. */
const lazyParts = ({ program }: Run, host: Host): Pick<ContextOptions, 'openRateStore' | 'explainer'> => ({
  openRateStore: async (url) => (await import('./rate-stores.ts')).openRateStore(host, url),
  explainer: (service) => program.groups.find(({ name }) => name === service)?.explain?.(),
});
/** In a CI job no error suggests a sign-in with a browser, whichever part of the program reported it. */
const withJobHints = async (
  { path }: Command,
  context: Pick<Runtime, 'host' | 'settings'>,
  error: unknown,
): Promise<unknown> => {
  const hints = error instanceof AppError ? (error.detail.tryThis ?? []) : [];
  const isSignIn = hints.some((hint) => hint.toString().startsWith('opsctl login'));
  if (!isSignIn || path[0] === 'login' || !context.host.env.CI) return error;
  return (await import('../auth/machine/identity-token.ts')).adviseJob(context, error as AppError);
};
/** Runs a command next to the daily check for a newer version. Only a person at a terminal gets the notice. */
const withUpdateNotice = async <T>(
  { host, isLookup }: Run,
  { path }: Command,
  { replay, 'dry-run': isDryRun, quiet }: Globals,
  { settings, signal }: Pick<Runtime, 'settings' | 'signal'>,
  act: () => Promise<T>,
): Promise<T> => {
  const { stdout, stderr } = host.terminal;
  const isPerson = stdout.isTty && stderr.isTty && !host.env.CI && quiet !== true && isLookup !== true;
  const isOn = settings.get('update_notice')?.value === 'on';
  const sendsNothing = isDryRun === true || replay !== undefined || isConfig(path) || path[0] === 'version';
  if (!isOn || !isPerson || sendsNothing) return act();
  const { startUpdateCheck } = await import('../support/installation.ts');
  const end = await startUpdateCheck({ host: withCaFile(host, settings), settings, signal }, OPSCTL_VERSION);
  try {
    const result = await act();
    const notice = await end(true);
    if (notice !== undefined) await stderr.write(`${notice}\n`).catch(() => {});
    return result;
  } catch (error) {
    await end(false);
    throw error;
  }
};
const renderRun = async (
  { host, redactor }: Pick<Run, 'host' | 'redactor'>,
  command: Command,
  values: Values,
  context: ReturnType<typeof makeContext>,
  options: OutputOptions,
  describeEarlier: Audit['describeEarlier'],
): Promise<Category | 'done'> => {
  const { render } = await import('../output/render.ts');
  const given = await readBodies(host, command, values);
  const describe = async (recorded: RecordedRequest): Promise<string | undefined> => {
    const text = await describeEarlier(recorded);
    if (text !== undefined) context.log.warn(text);
    return text;
  };
  return render(await stoppable(command, command.run(context, given), describe), options, host, redactor);
};
/** Runs one command and renders its result while the services that it talks to are still there. */
const executeOn = async (
  run: Run,
  command: Command,
  values: Values,
  globals: Globals,
  options: OutputOptions,
): Promise<Category | 'done'> => {
  const { redactor } = run;
  if (!isConfig(command.path)) await refuseForeignConfiguration(run.host);
  const own = settingsFor(run, command, globals);
  const trace = await tracingOf(hostFor(run, command, own), globals, redactor, command);
  const settings = trace.settings(own);
  const { host } = trace;
  const log = loggerFor(host, options, redactor);
  const stop = stopperFor(host, command, settings, options);
  const services = trace.reach(lazyReach(run.program, { host, settings, log, signal: stop.signal }, options));
  const seen = createCompletionCache();
  const audit = auditOf({ ...run, host }, settings, log, command, globals);
  let failure: unknown;
  const context = makeContext({
    ...{ seen, host, settings, log, audit: audit.wrap, onEnd: audit.onEnd },
    ...{ reach: services.reach, signal: stop.signal },
    ...choices(host, globals, options),
    ...paceFor(command, settings),
    ...lazyParts(run, host),
  });
  const act = () => renderRun({ host, redactor }, command, values, context, options, audit.describeEarlier);
  try {
    return await withUpdateNotice(run, command, globals, { settings: own, signal: stop.signal }, act);
  } catch (error) {
    failure = await withJobHints(command, { host, settings }, endedBy(stop, error));
    throw failure;
  } finally {
    await audit.end(values, failure);
    await leave(host, settings, seen, trace);
    await services.close();
    stop.off();
  }
};
/** Runs the command inside a span if OTEL_TRACES_EXPORTER requests traces. A failed export never changes the result. */
const runTraced = async (
  run: Run,
  { path }: Command,
  { replay }: Globals,
  options: OutputOptions,
  act: (run: Run) => Promise<Category | 'done'>,
): Promise<Category | 'done'> => {
  const isTraced = requestsTraces(run.host.env) && run.isLookup !== true;
  // The embedded services inherit the variables, but they are not part of the user's work.
  if (!isTraced || replay !== undefined || path[0] === 'mock') return act(run);
  const { startTelemetry } = await import('./telemetry.ts');
  const { releaseNotes, takeNotes, waitsForEnd } = await import('../output/render.ts');
  const { host, redactor } = run;
  const { stderr } = host.terminal;
  const warn = (text: string): void => {
    if (options.quiet) return;
    if (waitsForEnd(options, host)) options.lastNotes?.push(text);
    else void stderr.write(`${printable(redactor.clean(text))}\n`).catch(() => {});
  };
  const telemetry = startTelemetry({ host, redactor, warn }, path.join(' '));
  if (telemetry === undefined) return act(run);
  try {
    const category = await act({ ...run, host: telemetry.host });
    await telemetry.end({ category });
    releaseNotes({ notes: takeNotes(options) }, host);
    return category;
  } catch (error) {
    await telemetry.end({ error });
    throw error;
  }
};
/** Runs one command, on the copies of its files if it was approved. */
export const execute = async (
  run: Run,
  command: Command,
  values: Values,
  globals: Globals,
  options: OutputOptions,
): Promise<Category | 'done'> => {
  refuseDryRun(command, globals);
  const { host, end } = await approvedFiles(run.host, command, values, globals);
  try {
    return await runTraced({ ...run, host }, command, globals, options, (own) =>
      executeOn(own, command, values, globals, options),
    );
  } finally {
    await end();
  }
};
/** A dry run records the first request and ends the command; that request is then the result. */
const stoppable = async (
  { isCheck }: Command,
  running: Promise<Result>,
  describeEarlier: Audit['describeEarlier'],
): Promise<Result> => {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof RecordedRequest)) throw error;
    const { dryRun } = await import('../api/request.ts');
    const earlier = await describeEarlier(error);
    const shown = { ...dryRun(error.request), ...(earlier === undefined ? {} : { sent_before: earlier }) };
    const message = 'the check did not run: --dry-run shows its first request';
    const findings = () => [{ rule: 'dry-run', level: 'unknown' as const, message }];
    return recordResult(shown, { text: shown.curl, ...(isCheck === true ? { findings } : {}) });
  }
};
