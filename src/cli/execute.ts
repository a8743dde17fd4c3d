import { loadSettings, refuseLongSecrets, secretsOf } from '../config/load.ts';
import type { Settings } from '../config/settings.ts';
import { withCaFile } from '../config/trust.ts';
import { type Category, usageError } from '../core/problem.ts';
import { type Result, recordResult } from '../core/result.ts';
import { makeLogger } from '../output/logger.ts';
import type { OutputOptions, Redactor } from '../output/types.ts';
import type { Host } from '../platform/host.ts';
import type { ApprovedFiles } from './approved-files.ts';
import type { Command, Context, Reach, ServiceName, Target, Values } from './command.ts';
import { DryRunStop, makeContext } from '../api/calls.ts';
import type { Globals } from './globals.ts';
import { groups } from './manifest.ts';
import { readBodies } from './read-bodies.ts';
import { choices, maxTimeOf, noPace, paceOf, settingFlags } from './options.ts';
import { type SeenRecords, seenRecords } from '../api/seen-records.ts';
import { type Stopper, deafStopper, endedBy, limited, stopper } from './stopper.ts';
import type { Tracing } from './tracing.ts';

/** What every step of one run needs. */
export type Run = { readonly host: Host; readonly redactor: Redactor };

/** A flag that promises to change nothing is never taken in silence by a command that would. */
const refuseDryRun = ({ path, noDryRun }: Command, { 'dry-run': isDryRun }: Globals): void => {
  if (isDryRun === true && noDryRun !== undefined)
    throw usageError(`${path.join(' ')} has no dry run; nothing was done`, [], [noDryRun]);
};

/** A service is reached when a command asks for one; what was started for it is closed with the command. */
const lazyReach = (env: Pick<Context, 'host' | 'settings' | 'log' | 'signal'>): Reach => {
  const make = async (): Promise<Reach> => (await import('../commands/target.ts')).makeReach(env);
  let made: Promise<Reach> | undefined;
  return {
    reach: async (service: ServiceName): Promise<Target> => {
      made ??= make();
      return (await made).reach(service);
    },
    close: async () => (await made)?.close(),
  };
};

/** The trace that was asked for; without one nothing is in the way of the requests. */
const tracingOf = async (
  host: Host,
  globals: Globals,
  redactor: Redactor,
  { path }: Command,
): Promise<Tracing> => {
  const { debug, har, record, replay } = globals;
  if (!debug && [har, record, replay].every((file) => file === undefined))
    return { host, reach: (given) => given, settings: (given) => given, end: async () => {} };
  return (await import('./tracing.ts')).traced(host, globals, redactor, path);
};

/** The copies that an approved call acts on; without them the files are read where they are. */
const approvedFiles = async (
  host: Host,
  command: Command,
  values: Values,
  globals: Globals,
): Promise<ApprovedFiles> => {
  const directory = globals['approved-files'];
  if (directory === undefined) return { host, end: async () => {} };
  const { withApprovedFiles } = await import('./approved-files.ts');
  return withApprovedFiles(host, directory, { command, values, isDryRun: globals['dry-run'] ?? false });
};

/** What a run leaves behind for the next one: records for completion, and the trace. */
const leave = async (host: Host, settings: Settings, seen: SeenRecords, trace: Tracing): Promise<void> => {
  if (seen.kinds.size > 0) await (await import('../api/record-cache.ts')).writeSeen(host, settings, seen);
  await trace.end();
};

/** `config` is how a wrong setting is found and removed: it shows settings and lets none of them take effect. */
const isConfig = (path: Command['path']): boolean => path[0] === 'config';

/** The settings of this run; no output shows their secrets. */
const settingsFor = ({ host, redactor }: Run, { path }: Command, globals: Globals): Settings => {
  const settings = loadSettings(host, settingFlags(globals));
  for (const secret of secretsOf(settings)) redactor.hide(secret);
  if (!isConfig(path)) refuseLongSecrets(settings);
  return settings;
};

const hostFor = ({ host }: Run, { path }: Command, settings: Settings): Host =>
  isConfig(path) ? host : withCaFile(host, settings);
const paceFor = ({ path }: Command, settings: Settings) => (isConfig(path) ? noPace : paceOf(settings));

/** Stops the command on a signal or after its longest time, and the program that its output goes through with it. */
const stopperFor = (
  host: Host,
  { path, leavesSignalsToChild }: Command,
  settings: Settings,
  { filter }: OutputOptions,
): Stopper => {
  const own = leavesSignalsToChild === true ? deafStopper(host) : stopper(host);
  const stop = isConfig(path) ? own : limited(host, own, maxTimeOf(settings));
  stop.signal.addEventListener('abort', () => void filter?.run?.kill());
  return stop;
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
  const own = settingsFor(run, command, globals);
  const trace = await tracingOf(hostFor(run, command, own), globals, redactor, command);
  const settings = trace.settings(own);
  const { host } = trace;
  const log = makeLogger(host, options, redactor);
  const stop = stopperFor(host, command, settings, options);
  const services = trace.reach(lazyReach({ host, settings, log, signal: stop.signal }));
  const seen = seenRecords();
  const context = makeContext({
    seen,
    ...choices(host, globals, options),
    ...paceFor(command, settings),
    host,
    settings,
    log,
    reach: services.reach,
    openRateStore: async (url) => (await import('./open.ts')).openRateStore(host, url),
    explainer: (service) => groups.find(({ name }) => name === service)?.explain?.(),
    signal: stop.signal,
  });
  const { render } = await import('../output/render.ts');
  try {
    const given = await readBodies(host, command, values);
    return await render(await stoppable(command, command.run(context, given)), options, host, redactor);
  } catch (error) {
    throw endedBy(stop, error);
  } finally {
    await leave(host, settings, seen, trace);
    await services.close();
    stop.off();
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
    return await executeOn({ ...run, host }, command, values, globals, options);
  } finally {
    await end();
  }
};

/** A dry run ends a command at its first request; that request is then the result. */
const stoppable = async ({ isCheck }: Command, running: Promise<Result>): Promise<Result> => {
  try {
    return await running;
  } catch (error) {
    if (!(error instanceof DryRunStop)) throw error;
    const { dryRun } = await import('../api/dry-run.ts');
    const shown = dryRun(error.request);
    const message = 'the check did not run: --dry-run shows its first request';
    const findings = () => [{ rule: 'dry-run', level: 'unknown' as const, message }];
    return recordResult(shown, { text: shown.curl, ...(isCheck === true ? { findings } : {}) });
  }
};
