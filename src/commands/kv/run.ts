import type { Context } from '../../api/context.ts';
import { refuseLongSecret } from '../../core/field.ts';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import {
  durationText,
  isJsonStream,
  momentText,
  parseDuration,
  columnsOf,
  isAccessible,
} from '../../core/format.ts';
import { next } from '../../core/next.ts';
import { AppError, makeDeclinedError, usageError } from '../../core/problem.ts';
import { rawResult, type Result } from '../../core/result.ts';
import { printable } from '../../core/text.ts';
import type { Plan, Sink } from '../../kv/engine/model.ts';
import type { SessionInput, SessionResult } from '../../kv/upgrade/execute/session.ts';
import { shortPath } from '../../config/settings.ts';
import { crosses } from '../../kv/upgrade/plan-kind.ts';
import type { PointOfNoReturn } from '../../kv/upgrade/present/live.ts';
import type { Driver } from '../../kv/upgrade/supervisors/driver.ts';
import type { ImpactProbe, Until, Window } from '../../kv/upgrade/window/window.ts';
import { type CrossingValues, type RunValues, windowFlags, type WindowValues } from './flags.ts';
import { checkRestore, clearedPlan, driverFor, earlierMs, type Opened, prepare } from './prepare.ts';

const reportEnding = async (context: Context, { ending, report }: SessionResult): Promise<Result> => {
  const { host, isFormatGiven } = context;
  const { membersText, endingText, errorWithMembers } = await import('../../kv/upgrade/present/text.ts');
  const told = { ...report, message: context.showAdvice(ending.message) };
  const text = endingText(told, columnsOf(host.terminal.stdout), context.showAdvice, (path) =>
    // A path that the terminal wraps cannot be copied as one word. A log keeps the whole path.
    host.terminal.stdout.isTty ? shortPath(host, path) : path,
  );
  if (ending.error !== undefined) {
    context.log.info(`members: ${membersText(report.members)}`);
    throw errorWithMembers(ending.error, report, context.showAdvice);
  }
  const exit = ending.category === undefined ? {} : { exit: ending.category };
  // A job's log ends with the outcome and where the report is, not with three hundred lines of it.
  if (isFormatGiven !== true && !host.terminal.stdout.isTty) return { ...rawResult(`${text}\n`), ...exit };
  return {
    kind: 'record',
    // A fleet runs this command for each cluster and shows its message, so the command in it has its flags.
    data: { ...told, next: report.next?.map((step) => context.showAdvice(step)) },
    view: { text, isProse: true, name: 'run' },
    ...exit,
  };
};
type Ask = <T>(question: () => Promise<T>) => Promise<T>;
type Conduct = (sink: Sink, ask: Ask, signal: AbortSignal) => Promise<SessionResult>;
const atOnce: Ask = (question) => question();
/**
 * spec/program#output: redraws a table only if stderr is a terminal that can move its cursor, CI is unset,
 * and quiet mode is off.
 */
const hasLiveTable = ({ host, isQuiet }: Context): boolean =>
  host.terminal.stderr.isTty &&
  !host.env['CI'] &&
  host.env['TERM'] !== 'dumb' &&
  !isAccessible(host.env) &&
  isQuiet !== true;
const onTable = async (context: Context, conduct: Conduct): Promise<SessionResult> => {
  const [{ liveScreen }, { isColored }] = await Promise.all([
    import('../../kv/upgrade/present/live.ts'),
    import('../../output/types.ts'),
  ]);
  const screen = liveScreen(context.host, {
    isColored: isColored(context.color, context.host.env, true),
    clean: printable,
  });
  return conduct(screen.take, screen.pause, context.signal).finally(screen.finish);
};
const inLines = async (context: Context, conduct: Conduct): Promise<SessionResult> => {
  const { makeLineFormatter } = await import('../../kv/upgrade/present/live.ts');
  const lineOf = makeLineFormatter();
  const sink: Sink = (event) => {
    const line = lineOf(event);
    if (line !== undefined && event.event !== 'run-finished')
      context.log.info(`${event.at.slice(11, 19)}Z ${line}`);
  };
  return conduct(sink, atOnce, context.signal);
};
/**
 * Runs with the matching sink: a live table on a terminal, plain lines in other output, events on stdout with
 * `-o ndjson`.
 */
const runWithProgress = async (context: Context, conduct: Conduct): Promise<Result> => {
  if (!isJsonStream(context.format))
    return reportEnding(context, await (hasLiveTable(context) ? onTable : inLines)(context, conduct));
  const { followRun: followed } = await import('../../kv/upgrade/present/live.ts');
  return followed(context.signal, (sink, signal) => conduct(sink, atOnce, signal), context.showAdvice);
};

/**
 * Confirms the point of no return before the last member of the old version. --yes only starts a run. Passing
 * this point needs a person at a terminal or the dedicated flag, so that a script that repeats a command
 * cannot pass it. The word to type differs from the one that started the run.
 */
const confirmCrossing = async (
  context: Context,
  values: CrossingValues,
  plan: Plan,
  { problems, ...crossing }: PointOfNoReturn & { readonly problems: readonly string[] },
  ask: Ask,
  withdrawn: AbortSignal,
): Promise<boolean> => {
  if (values['accept-point-of-no-return'] === true || !context.isInteractive || context.isConfirmed)
    for (const one of problems) context.log.warn(one);
  if (values['accept-point-of-no-return'] === true) return true;
  if (!context.isInteractive || context.isConfirmed) return false;
  const { terminal } = context.host;
  const { crossingText } = await import('../../kv/upgrade/present/live.ts');
  const text = crossingText(plan, crossing, context.showAdvice);
  const lines = problems.map((one) => `\n  ! ${one}`).join('');
  const question = `${text}${lines}\n  Type ${plan.to} to continue past it, anything else to hold:`;
  return ask(async () => (await terminal.prompts.text(question, { signal: withdrawn })).trim() === plan.to);
};
/** An error at the start is better than an error after an hour. */
const reportUnattended = (
  { isInteractive, isConfirmed, log }: Context,
  values: CrossingValues,
  plan: Plan,
): void => {
  const { options, from } = plan;
  if (!crosses(plan)) return;
  if ((isInteractive && !isConfirmed) || values['accept-point-of-no-return'] === true) return;
  if (options.hold_last || options.hold_after !== undefined) return;
  const why = isInteractive ? '--yes does not confirm the point of no return' : 'not interactive';
  log.info(
    `${why}: the run will hold before the last member on ${from}; --accept-point-of-no-return continues past it`,
  );
};

const defaultPause = '1h';
/** The values of `--until` and of the probes, as the run needs them. */
const readWindowValues = async (
  { host, log }: Context,
  values: WindowValues,
): Promise<{ readonly until: Until | undefined; readonly probes: ImpactProbe[] }> => {
  const { probesOf, untilOf } = await import('../../kv/upgrade/window/window.ts');
  const token = host.env['OPSCTL_PROMETHEUS_TOKEN'];
  if (token) {
    refuseLongSecret('config', 'OPSCTL_PROMETHEUS_TOKEN', token);
    log.hide(token);
  }
  return { until: untilOf(host, values.until), probes: probesOf(values, token) };
};
const isAsked = (values: WindowValues): boolean =>
  (Object.keys(windowFlags) as (keyof typeof windowFlags)[]).some((name) => values[name] !== undefined);
const eachConfirmed =
  ({ host }: Context, ask: Ask) =>
  (member: string, withdrawn: AbortSignal): Promise<boolean> =>
    ask(async () => {
      const answer = await host.terminal.prompts.text(`Continue with ${member}? [y/N]`, {
        signal: withdrawn,
      });
      return /^y(es)?$/i.test(answer.trim());
    });
/** Reports invalid flags before planning. `checksProbes`: also probes that cannot work. */
const refuseWrongWindow = async (
  context: Context,
  values: WindowValues,
  checksProbes: boolean,
): Promise<void> => {
  const { probes } = await readWindowValues(context, values);
  parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most');
  if (values['confirm-each'] === true && !context.isInteractive)
    throw usageError(
      '--confirm-each prompts before each member, which requires a terminal',
      [],
      ['use --until or --pause-while-query for unattended runs'],
    );
  if (probes.length === 0 || !checksProbes) return;
  const { refuseUnusableProbes } = await import('../../kv/upgrade/window/window.ts');
  await refuseUnusableProbes(context.host, probes);
};
/** Undefined if none of these flags is set. */
const windowOf = async (
  context: Context,
  values: WindowValues,
  cluster: string,
  ask: Ask,
): Promise<Window | undefined> => {
  if (!isAsked(values)) return undefined;
  return {
    ...(await readWindowValues(context, values)),
    pauseAtMostMs: parseDuration(values['pause-at-most'] ?? defaultPause, '--pause-at-most'),
    earlierMs: await earlierMs(context, cluster),
    confirmEach: values['confirm-each'] === true ? eachConfirmed(context, ask) : undefined,
  };
};

/**
 * The objections to a restore at this moment, hours or days after the start of the run. After this question,
 * a restore is the only way to undo the upgrade.
 */
const restoreProblems = async (
  context: Context,
  { cluster }: Opened,
  { from, options }: Plan,
  { observation }: PointOfNoReturn,
): Promise<string[]> => {
  const { restorePossible } = await import('../../kv/upgrade/guards/hosts.ts');
  const checked = await checkRestore(context, cluster, observation, from);
  const findings = restorePossible.findings({ observation: checked, cluster, options, from });
  return findings.flatMap(({ level, message }) => (level === 'warn' ? [message] : []));
};
/** A hold in the cluster precedes all options of this command line. */
const confirmUnheld = async (
  context: Context,
  values: RunValues,
  { opened, plan }: Pick<Start, 'opened' | 'plan'>,
  crossing: PointOfNoReturn,
  ask: Ask,
  withdrawn: AbortSignal,
): Promise<boolean> => {
  const { findHold } = await import('../../kv/engine/locks.ts');
  const stores = opened.cluster.members.map(({ client_url }) => opened.access.store(client_url));
  const held = await findHold(stores);
  if (held !== undefined) {
    context.log.warn(`${held}; no upgrade passes the point of no return before kv hold remove`);
    return false;
  }
  const problems = await restoreProblems(context, opened, plan, crossing);
  // A signal at the prompt is also a reply: the run is recorded as held.
  const cut = AbortSignal.any([withdrawn, context.signal]);
  return confirmCrossing(context, values, plan, { ...crossing, problems }, ask, cut);
};
export type Start = {
  readonly opened: Opened;
  /** The one that planned: it has its connections, and knows which version each program is. */
  readonly driver?: Driver;
  readonly plan: Plan;
  /** The plan of the journal, if `plan` has the holds of a resume. */
  readonly original?: Plan;
  readonly run: string;
  readonly action: SessionInput['action'];
  readonly loop?: SessionInput['loop'];
};
type Tools = { readonly sink: Sink; readonly ask: Ask; readonly signal: AbortSignal };
const conductHop = async (
  context: Context,
  values: RunValues,
  { opened, driver: planned, plan, run, action, loop }: Start,
  { sink, ask, signal }: Tools,
): Promise<SessionResult> => {
  const { host, settings } = context;
  const [{ runSession }, { withListeners }] = await Promise.all([
    import('../../kv/upgrade/execute/session.ts'),
    import('../../kv/upgrade/present/notify.ts'),
  ]);
  const common = {
    host,
    cluster: opened.cluster,
    clusterFile: opened.file ?? '',
    access: opened.access,
    driver: planned ?? (await driverFor(context, opened.cluster)),
    state: settings.directories.clusters,
  };
  const window = await windowOf(context, values, plan.cluster, ask);
  return withListeners(context, values, { plan, run, action }, sink, (all) =>
    runSession({
      ...common,
      ...{ plan, run, action, sink: all, signal, window },
      confirmCrossing: (crossing, withdrawn) =>
        confirmUnheld(context, values, { opened, plan }, crossing, ask, withdrawn),
      hasCanary: values.canary !== false,
      canaryRate: values['canary-rate'],
      canKill: values['kill-after-grace'] ?? false,
      ...(loop === undefined ? {} : { loop }),
    }),
  );
};
/** A finished hop of a path, after which the next hop follows. */
export type FinishedHop = { readonly opened: Opened; readonly plan: Plan; readonly endedMs: number };
const pathError = (last: Plan, why: string, cause?: AppError): AppError =>
  new AppError('stopped', `the upgrade to ${last.options.path?.to} stopped on ${last.to}: ${why}`, {
    code: 'PATH_STOPPED',
    tryThis: [...(cause?.detail.tryThis ?? []), next(['kv', 'resume'], 'continues the path')],
    problems: cause?.detail.problems ?? [],
    ...(cause === undefined ? {} : { cause }),
  });
/** Waits until the cluster has run the version of the last hop for the soak time. */
const soak = async ({ host }: Context, last: FinishedHop, to: string, { sink, signal }: Tools) => {
  const { path } = last.plan.options;
  const until = last.endedMs + (path?.soak_seconds ?? 0) * 1000;
  const left = until - host.now();
  if (left <= 0) return;
  const at = new Date(host.now()).toISOString();
  const text = `the cluster runs ${last.plan.to} for ${durationText(left)} more, until ${momentText(new Date(until).toISOString())}; then the upgrade to ${to} starts`;
  sink({ event: 'note', level: 'info', text, at, elapsed_ms: 0 });
  await host.sleep(left, signal).catch(() => {});
  if (signal.aborted) throw pathError(last.plan, 'interrupted during the soak time');
};
/** Plans the next hop with its own observation and guards. */
const nextHop = async (context: Context, last: FinishedHop, to: Minor, tools: Tools): Promise<Start> => {
  await soak(context, last, to, tools);
  const { opened, plan } = last;
  const written = { ...opened, cluster: opened.written ?? opened.cluster };
  const { hold_after: _, ...options } = plan.options;
  try {
    const prepared = await prepare(context, {}, { ...options, to }, undefined, written);
    const made = await clearedPlan(context, prepared);
    return {
      opened: prepared.opened,
      driver: prepared.driver,
      plan: made,
      run: prepared.run,
      action: 'upgrade',
    };
  } catch (error) {
    if (error instanceof AppError) throw pathError(plan, error.message, error);
    throw error;
  }
};
/** Conducts one hop after the other, each as a separate run, until a hop does not finish or the path ends. */
const conductPath = async (
  context: Context,
  values: RunValues,
  start: Start | FinishedHop,
  tools: Tools,
): Promise<SessionResult> => {
  const { nextHopOf } = await import('../../kv/upgrade/plan-kind.ts');
  let current = start;
  for (;;) {
    const hop =
      'endedMs' in current
        ? await nextHop(context, current, nextHopOf(current.plan) as Minor, tools)
        : current;
    const result = await conductHop(context, values, hop, tools);
    const isOpen = hop.action !== 'rollback' && nextHopOf(hop.plan) !== undefined;
    if (result.ending.outcome !== 'done' || !isOpen) return result;
    current = { opened: hop.opened, plan: hop.original ?? hop.plan, endedMs: context.host.now() };
  }
};
export const runUpgrade = async (
  context: Context,
  values: RunValues,
  start: Start | FinishedHop,
): Promise<Result> => {
  if (!('action' in start) || start.action !== 'rollback') reportUnattended(context, values, start.plan);
  return runWithProgress(context, (sink, ask, signal) =>
    conductPath(context, values, start, { sink, ask, signal }),
  );
};

/** The user types the name of the cluster. --yes skips the question. */
const typedName = async (context: Context, cluster: string, question: string): Promise<boolean> => {
  if (context.isConfirmed) return true;
  if (!context.isInteractive) return false;
  return (
    (
      await context.host.terminal.prompts.text(
        `${question}\n  Type the cluster name (${cluster}) to confirm:`,
      )
    ).trim() === cluster
  );
};
/** The user types a word that names the risk. Without a terminal only a flag accepts it, and --yes does not. */
export const hasTyped = async (
  { host, isInteractive, signal }: Context,
  word: string,
  question: string,
): Promise<boolean> =>
  isInteractive && (await host.terminal.prompts.text(question, { signal })).trim() === word;
export const confirmStart = async (
  context: Context,
  cluster: string,
  question: string,
  values: RunValues = {},
  { checksProbes = true } = {},
): Promise<void> => {
  await refuseWrongWindow(context, values, checksProbes);
  if (!context.isConfirmed && !context.isInteractive)
    throw usageError(
      `${question} Confirmation is required, but this is not an interactive terminal.`,
      [],
      ['add --yes to confirm without a prompt'],
    );
  if (!(await typedName(context, cluster, question))) throw makeDeclinedError();
};
