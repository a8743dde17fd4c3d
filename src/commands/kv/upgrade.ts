import { minorOf } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { FoundRun } from '../../kv/engine/journal.ts';
import type { Plan, PlanKind } from '../../kv/engine/model.ts';
import { downgradeLimits } from '../../kv/upgrade/decide.ts';
import { crossingFlags, planFlags, runFlags } from './flags.ts';
import {
  announce,
  reportArrival,
  digestError,
  noPlan,
  openCluster,
  type Opened,
  prepare,
  type Prepared,
  shownPlan,
} from './prepare.ts';
import { runUpgrade, confirmStart } from './run.ts';

export type TakenOver = {
  /** Newest first. */
  readonly runs: readonly FoundRun[];
  /** Why it is not known whether another machine has a newer one. */
  readonly unread?: AppError;
};
/** The runs of the cluster that this machine knows: those of other machines too, which are taken over. */
export const takenOver = async (
  { host, settings, log }: Context,
  { cluster, access }: Opened,
): Promise<TakenOver> => {
  const [{ takeOver }, { findRuns }, { PROGRESS_UNREAD }] = await Promise.all([
    import('../../kv/engine/locks.ts'),
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/shared-progress.ts'),
  ]);
  const state = settings.directories.clusters;
  let unread: AppError | undefined;
  const said = await takeOver(host, state, cluster, access).catch((error: unknown) => {
    // A run of this machine goes on, also where no member is there to ask.
    if (!(error instanceof AppError) || error.detail.code !== PROGRESS_UNREAD) throw error;
    unread = error;
    return undefined;
  });
  if (said !== undefined) log.info(said);
  const runs = await findRuns(host, state, cluster.name);
  return unread === undefined ? { runs } : { runs, unread };
};

/** A crashed run may have left a member down: it is brought to its end before anything new begins. */
const refuseOpenRun = async (context: Context, { opened }: Prepared): Promise<void> => {
  const [{ crashedRun, unfinishedError }, { refuseOtherHere }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/locks.ts'),
  ]);
  // A run that somebody is at work on has no end yet either.
  await refuseOtherHere(context.host, context.settings.directories.clusters, opened.cluster.name);
  await takenOver(context, opened);
  const left = await crashedRun(context.host, context.settings.directories.clusters, opened.cluster.name);
  if (left !== undefined) throw unfinishedError(left);
};
const refuseOthersWork = async (context: Context, { opened, observation }: Prepared): Promise<void> => {
  const { refuseOther } = await import('../../kv/engine/locks.ts');
  const urls = observation.members.flatMap(({ is_reachable, client_url }) =>
    is_reachable ? [client_url] : [],
  );
  await refuseOther(context.host, context.settings.directories.clusters, opened.cluster, opened.access, urls);
};
/** The plan, when nothing stands against it: no run that is open, no guard that refuses. */
export const clearedPlan = async (context: Context, prepared: Prepared): Promise<Plan> => {
  const { isRefusal } = await import('../../kv/upgrade/plan.ts');
  const { made } = prepared;
  await refuseOpenRun(context, prepared);
  if (!isRefusal(made)) return made;
  await refuseOthersWork(context, prepared);
  throw noPlan(made);
};
const { to: _, 'hold-last': __, 'stable-before-last': ___, ...switchFlags } = planFlags;
/** Flags of what is done member by member, without a point of no return. */
export const memberByMemberFlags = { ...switchFlags, ...runFlags } as const satisfies Flags;
export type MemberByMember = ValuesOf<typeof memberByMemberFlags> & {
  readonly 'keep-program'?: boolean | undefined;
};
/** Looks, plans, asks and carries out: a downgrade or a restart. */
export const begin = async (
  context: Context,
  values: MemberByMember,
  kind: Exclude<PlanKind, 'upgrade'>,
  question: (cluster: string, from: string, to: string) => string,
): Promise<Result> => {
  const prepared = await prepare(context, values, undefined, kind);
  const { opened, driver, run } = prepared;
  const made = await clearedPlan(context, prepared);
  if (context.isDryRun) return recordResult(made, { text: await shownPlan(context, made, 'stdout') });
  const { name } = opened.cluster;
  const asked = question(name, made.from, made.to);
  await announce(context, made, asked);
  await confirmStart(context, name, asked, values);
  return runUpgrade(context, values, { opened, driver, plan: made, run, action: 'upgrade' });
};

export const upgradeFlags = {
  ...planFlags,
  ...runFlags,
  ...crossingFlags,
  plan: {
    effects: ['reads'],
    field: str(undefined, { min: 1 }),
    summary: 'Carry out this plan; refused when the cluster no longer matches it',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

export const upgrade = defineCommand({
  path: ['kv', 'upgrade'],
  summary: 'Upgrade a cluster to the next version, member by member, without downtime',
  about:
    'Looks, plans, asks, and then replaces one member after another: verified snapshot, stop, start, proof that the member is good. A member that fails is rolled back at once. ' +
    'Before the last member of the old version it asks once more: after that member the cluster cannot go back. The first Ctrl-C finishes the member in progress and stops; kv resume goes on. Exit codes: 0 done, 8 stopped part-way, 10 refused and nothing changed, 12 rolled back.',
  flags: upgradeFlags,
  examples: [
    { line: 'opsctl kv upgrade --cluster cluster.yaml', says: 'shows the plan and asks' },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --hold-after 1 --yes',
      says: 'one member, then a soak; kv resume goes on',
    },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --yes --accept-point-of-no-return -o ndjson',
      says: 'for scripts: to the end, one event a line',
    },
  ],
  check: (values) => {
    const decided = (Object.keys(planFlags) as (keyof typeof planFlags)[]).filter(
      (name) => name !== 'cluster' && values.plan !== undefined && values[name] !== undefined,
    );
    return decided.map((name) =>
      problem(
        `--${name}`,
        'exclusive',
        'is part of the plan and cannot be given together with --plan',
        `opsctl kv plan --${name} … --out FILE puts it there`,
      ),
    );
  },
  run: async (context, values) => upgradeRun(context, values),
});
const upgradeRun = async (context: Context, values: ValuesOf<typeof upgradeFlags>) => {
  const { readPlan } = await import('../../kv/upgrade/plan-kind.ts');
  const given = values.plan === undefined ? undefined : await readPlan(context.host, values.plan);
  const prepared = await prepare(context, values, given?.options);
  const { opened, driver, run } = prepared;
  const done = await reportArrival(prepared);
  if (done !== undefined) return done;
  const made = await clearedPlan(context, prepared);
  if (given !== undefined && given.digest !== made.digest) throw digestError(given, made);
  if (context.isDryRun)
    return recordResult(made, {
      text: await shownPlan(context, made, 'stdout'),
    });
  const { name } = opened.cluster;
  const question = `Upgrade ${name} from ${made.from} to ${made.to}?`;
  await announce(context, made, question);
  await confirmStart(context, name, question, values);
  return runUpgrade(context, values, { opened, driver, plan: made, run, action: 'upgrade' });
};

export const restart = defineCommand({
  path: ['kv', 'restart'],
  summary: 'Restart every member, one after another: new configuration, certificates or patch',
  about:
    'The same guards, health checks and rollback as kv upgrade, within one minor. Starts new_binary and new_command of the cluster file, and puts new_config_file in the place of config_file. ' +
    'A member that does not become healthy gets its program, command and configuration before back. Put new certificates beside the old ones and name them in the new configuration: then a rollback has the old ones.',
  flags: {
    ...memberByMemberFlags,
    'keep-program': {
      effects: ['runs'],
      field: bool(),
      summary: 'Start the program and command that run (old_binary, old_command), not the new ones',
    },
  },
  examples: [
    { line: 'opsctl kv restart --cluster cluster.yaml', says: 'a patch upgrade or a new configuration' },
    {
      line: 'opsctl kv restart --cluster cluster.yaml --keep-program --yes',
      says: 'only new_config_file, or files that the servers read again',
    },
  ],
  run: async (context, values) =>
    begin(context, values, 'restart', (name, from) => `Restart every member of ${name} (${from})?`),
});

/** Takes a downgrade back that no member has followed yet. */
const cancel = async (context: Context, values: MemberByMember): Promise<Result> => {
  const { host } = context;
  const { cluster, access } = await openCluster(context, values, 'upgrade');
  const { observe } = await import('../../kv/upgrade/observe/observe.ts');
  const { members, highest } = await observe({ host, cluster, access });
  const older = members.find(({ server_version }) => minorOf(server_version) !== highest);
  if (older !== undefined || highest === undefined)
    throw new AppError(
      'unsafe',
      `${older?.name ?? cluster.name} ${older?.is_reachable === true ? `runs ${older.server_version}` : 'does not answer'}: nothing was cancelled`,
      { code: 'MIXED', tryThis: ['opsctl kv rollback brings every member back first, and cancels then'] },
    );
  if (context.isDryRun) {
    const message = `would cancel the downgrade of ${cluster.name}; the cluster stays ${highest}`;
    return recordResult({ outcome: 'planned', cluster_version: `${highest}.0`, message }, { message });
  }
  await confirmStart(context, cluster.name, `Cancel the downgrade of ${cluster.name}?`);
  const { cancelDowngrade } = await import('../../kv/upgrade/execute/confirm.ts');
  await cancelDowngrade({ host, cluster, access }, highest);
  const message = `no downgrade of ${cluster.name} is on; the cluster is ${highest}`;
  return recordResult({ outcome: 'cancelled', cluster_version: `${highest}.0`, message }, { message });
};
export const downgrade = defineCommand({
  path: ['kv', 'downgrade'],
  summary: "Bring a cluster of 3.6 back to 3.5, member by member, through the store's own downgrade",
  about: `Takes old_binary and old_command of the cluster file for 3.5, new_binary and new_command for 3.6. Validates and enables the downgrade at the store, waits until every member reports cluster and storage 3.5, and replaces one member after another like kv upgrade. kv resume goes on, kv rollback brings every member back to 3.6 and cancels. Limits: ${downgradeLimits.join('; ')}.`,
  flags: {
    ...memberByMemberFlags,
    cancel: { field: bool(), summary: 'Take a downgrade back that no member has followed yet' },
  },
  examples: [
    { line: 'opsctl kv downgrade --cluster cluster.yaml', says: 'shows the plan with its limits and asks' },
    { line: 'opsctl kv downgrade --cluster cluster.yaml --cancel', says: 'before the first member' },
  ],
  run: async (context, values) =>
    values.cancel === true
      ? cancel(context, values)
      : begin(
          context,
          values,
          'downgrade',
          (name, from, to) => `Downgrade ${name} from ${from} to ${to}? ${downgradeLimits.join('; ')}.`,
        ),
});
