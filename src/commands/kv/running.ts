import { bool, int } from '../../core/field.ts';
import { AppError, usageError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import type { Result } from '../../core/result.ts';
import { columnsOf, wrap } from '../../core/wrap.ts';
import type { FoundRun } from '../../kv-upgrade/journal/journal.ts';
import type { Crossing } from '../../kv-upgrade/live/crossing-text.ts';
import type { SessionInput } from '../../kv-upgrade/execute/session.ts';
import { crosses, viewFor } from '../../kv-upgrade/plan-kind.ts';
import type { Plan } from '../../kv-upgrade/types.ts';
import type { Context, Flags, ValuesOf } from '../../cli/command.ts';
import { outsideFlags, withListeners } from './outside-flags.ts';
import { confirmFlags, refuseWrongWindow, windowFlags, windowOf } from './window-flags.ts';
import { driverFor, openCluster } from './cluster.ts';
import type { EndpointValues, Opened } from './cluster.ts';
import { watched } from './watching.ts';
import type { Ask } from './watching.ts';

/** Of a rollback, which has no window: once begun it goes to its end. */
export const rollbackFlags = {
  ...confirmFlags,
  ...outsideFlags,
  canary: {
    field: bool(),
    negated: true,
    summary: 'Write nothing to the store to measure what its clients see',
  },
  'canary-rate': {
    field: int({ min: 1, max: 200 }),
    summary: 'Canary writes a second while a member is replaced (default 50); 1 while nothing is',
    value: 'n',
  },
  'kill-after-grace': {
    field: bool(),
    summary: 'End a member with SIGKILL when it ignores the stop for the whole grace',
  },
} as const satisfies Flags;

export const runFlags = { ...rollbackFlags, ...windowFlags } as const satisfies Flags;

export type RunValues = ValuesOf<typeof runFlags> & CrossingValues;

/** Typed, not clicked: the name of the cluster. With --yes nobody is asked. */
const typedName = async (context: Context, cluster: string, question: string): Promise<boolean> => {
  if (context.isConfirmed) return true;
  if (!context.isInteractive) return false;
  const asked = wrap(question, columnsOf(context.host.terminal.stderr) - 2, '  ');
  return (
    (await context.host.terminal.prompts.text(`${asked}\n  Type ${cluster} to go on:`)).trim() === cluster
  );
};

export const confirmStart = async (
  context: Context,
  cluster: string,
  question: string,
  values: RunValues = {},
): Promise<void> => {
  await refuseWrongWindow(context, values);
  if (!context.isConfirmed && !context.isInteractive)
    throw usageError(`${question} Nobody can be asked here.`, [], ['add --yes to go on without a question']);
  if (!(await typedName(context, cluster, question)))
    throw new AppError('unsafe', 'not confirmed; nothing was changed', { code: 'NOT_CONFIRMED' });
};

export const crossingFlags = {
  'accept-point-of-no-return': {
    field: bool(),
    summary: 'Replace the last member of the old version without a question; --yes alone holds before it',
  },
} as const satisfies Flags;
type CrossingValues = ValuesOf<typeof crossingFlags>;

/**
 * Before the last member of the old version. --yes starts a run and no more: only a person at a terminal or the flag made for it lets it cross,
 * so that nothing that repeats a command can. The word to type is another one than the one that started the run.
 */
const confirmCrossing = async (
  context: Context,
  values: CrossingValues,
  plan: Plan,
  crossing: Crossing,
  ask: Ask,
  withdrawn: AbortSignal,
): Promise<boolean> => {
  if (values['accept-point-of-no-return'] === true) return true;
  if (!context.isInteractive || context.isConfirmed) return false;
  const { terminal } = context.host;
  const { crossingText } = await import('../../kv-upgrade/live/crossing-text.ts');
  const text = crossingText(plan, crossing, columnsOf(terminal.stderr));
  const question = `${text}\n  Type ${plan.to} to cross it, anything else to hold:`;
  return ask(async () => (await terminal.prompts.text(question, { signal: withdrawn })).trim() === plan.to);
};

/** Better said at the start than after an hour. */
const tellUnattended = (
  { isInteractive, isConfirmed, log }: Context,
  values: CrossingValues,
  plan: Plan,
): void => {
  const { options, from } = plan;
  if (!crosses(plan)) return;
  if ((isInteractive && !isConfirmed) || values['accept-point-of-no-return'] === true) return;
  if (options.hold_last || options.hold_after !== undefined) return;
  log.info(
    `nobody will be asked: this run holds before the last member on ${from}; --accept-point-of-no-return lets it go on`,
  );
};

export type Start = {
  readonly opened: Opened;
  readonly plan: Plan;
  readonly run: string;
  readonly action: SessionInput['action'];
  readonly loop?: SessionInput['loop'];
};

export const conducted = async (
  context: Context,
  values: RunValues,
  { opened, plan, run, action, loop }: Start,
): Promise<Result> => {
  const { host, settings } = context;
  const { conduct } = await import('../../kv-upgrade/execute/session.ts');
  const driver = await driverFor(context, opened.cluster);
  const common = {
    host,
    cluster: opened.cluster,
    clusterFile: opened.file ?? '',
    access: opened.access,
    driver,
    state: settings.directories.clusters,
  };
  if (action !== 'rollback') tellUnattended(context, values, plan);
  return watched(context, async (sink, ask, signal) => {
    const window = await windowOf(context, values, plan.cluster, ask);
    return withListeners(context, values, { plan, run, action }, sink, (all) =>
      conduct({
        ...common,
        ...{ plan, run, action, sink: all, signal, window },
        confirmed: (crossing, withdrawn) => confirmCrossing(context, values, plan, crossing, ask, withdrawn),
        hasCanary: values.canary !== false,
        canaryRate: values['canary-rate'],
        canKill: values['kill-after-grace'] ?? false,
        ...(loop === undefined ? {} : { loop }),
      }),
    );
  });
};

/** Runs are kept by the cluster's name: a run of another cluster of that name must not go on here. */
const refuseOtherMembers = ({ cluster }: Opened, { run }: FoundRun, { observation }: Plan): void => {
  const urls = (members: readonly { readonly name: string; readonly client_url: string }[]): string =>
    members
      .map(({ name, client_url }) => `${name} ${client_url}`)
      .sort()
      .join(', ');
  const [then, now] = [urls(observation.members), urls(cluster.members)];
  if (then === now) return;
  throw new AppError(
    'unsafe',
    `run ${run} of a cluster ${cluster.name} was made for other members (${then}) than the cluster file names (${now})`,
    {
      code: 'OTHER_CLUSTER',
      tryThis: [
        'give each cluster file a name of its own',
        'take the cluster file that the run was made with',
      ],
    },
  );
};

/** A run that another machine began, or went on with, is known here from now on. */
export const adopted = async (
  { host, settings, log }: Context,
  { cluster, access }: Opened,
): Promise<void> => {
  const [{ adoptRun, sharedRun }, { refuseOther }] = await Promise.all([
    import('../../kv-upgrade/journal/shared-progress.ts'),
    import('../../kv-upgrade/locks/take-locks.ts'),
  ]);
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  const state = settings.directories.clusters;
  if ((await sharedRun({ host, cluster, stores }, state)) === undefined) return;
  // Whoever is at work there still has it.
  await refuseOther(
    host,
    state,
    cluster,
    access,
    cluster.members.map(({ client_url }) => client_url),
  );
  const found = await adoptRun({ host, cluster, stores }, state);
  if (found === undefined) return;
  const by = found.owner === undefined ? '' : ` of ${found.owner.user ?? 'somebody'} on ${found.owner.host}`;
  log.info(
    `run ${found.run}${by} was taken over: its progress was read from the store or from beside the snapshots`,
  );
};

export type Unfinished = {
  readonly opened: Opened;
  readonly found: FoundRun;
  readonly plan: Plan;
  readonly isRollback: boolean;
};
/** The newest run of the cluster that can go on. */
export const unfinished = async (context: Context, values: EndpointValues): Promise<Unfinished> => {
  const opened = await openCluster(context, values, 'upgrade');
  await adopted(context, opened);
  const { findRuns, openRun } = await import('../../kv-upgrade/journal/journal.ts');
  const found = openRun(
    await findRuns(context.host, context.settings.directories.clusters, opened.cluster.name),
  );
  const first = found?.entries[0];
  if (found === undefined || first?.kind !== 'opened') {
    throw new AppError('not-found', `there is no unfinished run of cluster ${opened.cluster.name} here`, {
      code: 'NO_RUN',
      tryThis: ['opsctl kv status', 'opsctl kv upgrade'],
    });
  }
  refuseOtherMembers(opened, found, first.plan);
  const last = found.entries.findLast(
    (entry) => entry.kind === 'resumed' || entry.kind === 'closed' || entry.kind === 'opened',
  );
  const isRollback = (last?.kind === 'resumed' || last?.kind === 'opened') && last.action === 'rollback';
  // A downgrade reads the cluster file the other way round.
  const view = { ...opened, cluster: viewFor(opened.cluster, first.plan) };
  return { opened: view, found, plan: first.plan, isRollback };
};

/** Killed after its last line, it could not take its lock away; nobody waits for its lease. */
const dropLockOf = async ({ cluster, access }: Opened, run: string): Promise<void> => {
  const { dropLock } = await import('../../kv-upgrade/locks/store-lock.ts');
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  await dropLock(stores, run).catch(() => {});
};

/** The newest run, when it came to its end: a script that resumes after a crash may have been killed just after the last line. */
export const endedRun = async (context: Context, values: EndpointValues): Promise<Result | undefined> => {
  const opened = await openCluster(context, values, 'upgrade');
  await adopted(context, opened);
  const { findRuns, isRolledBack } = await import('../../kv-upgrade/journal/journal.ts');
  const [newest] = await findRuns(context.host, context.settings.directories.clusters, opened.cluster.name);
  if (newest === undefined) return undefined;
  const { run, entries } = newest;
  const last = entries.at(-1);
  const isDone = last?.kind === 'closed' && last.outcome === 'done';
  if (isDone || isRolledBack(entries)) await dropLockOf(opened, run);
  if (isDone)
    return recordResult({ run, outcome: 'done' }, { message: `nothing to go on with: run ${run} is done` });
  if (!isRolledBack(entries)) return undefined;
  const message = `nothing to go on with: run ${run} was rolled back to its end; opsctl kv upgrade begins a new one`;
  return recordResult({ run, outcome: 'rolled-back' }, { message, namesCommands: true }, 'rolled-back');
};
