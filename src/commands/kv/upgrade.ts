import { next } from '../../core/next.ts';
import { type Minor, minorOf, nextMinor } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError, problem } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { PlanKind } from '../../kv/engine/model.ts';
import type { OperationPlan, OperationRefusal } from '../../kv/operations/journal.ts';
import { acceptable, consentsOf } from '../../kv/upgrade/guards/guard.ts';
import { downgradeLimits } from '../../kv/upgrade/plan-kind.ts';
import { crossingFlags, planFlags, runFlags, type RunValues } from './flags.ts';
import {
  announce,
  clearedPlan,
  reportArrival,
  digestError,
  driverFor,
  openCluster,
  type Opened,
  optionsOf,
  plannedResult,
  prepare,
} from './prepare.ts';
import { confirmStart, hasTyped, runUpgrade } from './run.ts';
import { runOperation } from './space.ts';

const { to: _, 'hold-last': __, 'stable-before-last': ___, ...switchFlags } = planFlags;
/** Flags for rolling operations without a point of no return. */
const memberByMemberFlags = { ...switchFlags, ...runFlags } as const satisfies Flags;
type MemberByMember = ValuesOf<typeof memberByMemberFlags> & {
  readonly 'keep-program'?: boolean | undefined;
};
/** Inspects, plans, confirms and runs a downgrade or a restart. */
const begin = async (
  context: Context,
  values: MemberByMember,
  kind: Exclude<PlanKind, 'upgrade'>,
  question: (cluster: string, from: string, to: string) => string,
): Promise<Result> => {
  const prepared = await prepare(context, values, undefined, kind);
  const { opened, driver, run } = prepared;
  const made = await clearedPlan(context, prepared);
  if (context.isDryRun) return plannedResult(context, made);
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
    summary: 'Apply this saved plan; fails if the cluster no longer matches the plan',
    value: 'file',
    complete: 'file',
  },
  offline: {
    field: bool(),
    summary: 'Upgrade a stopped cluster: copy all data, then start every member with the new version',
  },
} as const satisfies Flags;

export const upgrade = defineCommand({
  path: ['kv', 'upgrade'],
  summary: 'Run a rolling upgrade to the next version',
  about:
    'Checks, plans, asks for confirmation, and then replaces one member after another: verified snapshot, stop, start, health check. Rolls a failed member back immediately. Before the last old member it asks again, because a rollback is not possible afterwards. The first Ctrl-C finishes the current member and stops; `kv resume` continues. Exit codes: 0 finished, 8 stopped part-way, 10 refused without changes, 12 rolled back.',
  flags: upgradeFlags,
  examples: [
    { line: 'opsctl kv upgrade --cluster cluster.yaml', says: 'Show the plan and ask for confirmation' },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --hold-after 1 --yes',
      says: 'Upgrade one member and hold; continue later with kv resume',
    },
    {
      line: 'opsctl kv upgrade --cluster cluster.yaml --yes --accept-point-of-no-return -o ndjson',
      says: 'Run unattended to the end, with one event per line',
    },
  ],
  check: (values) => {
    const unused = (['plan', 'hold-last', 'hold-after', 'until', 'confirm-each', 'soak'] as const).filter(
      (name) => values.offline === true && values[name] !== undefined && values[name] !== false,
    );
    if (unused.length > 0)
      return unused.map((name) => problem(`--${name}`, 'exclusive', 'cannot be combined with --offline'));
    const decided = (Object.keys(planFlags) as (keyof typeof planFlags)[]).filter(
      (name) => name !== 'cluster' && values.plan !== undefined && values[name] !== undefined,
    );
    return decided.map((name) =>
      problem(
        `--${name}`,
        'exclusive',
        'is part of the plan and cannot be combined with --plan',
        next(['kv', 'plan', `--${name}`, '…', '--out', 'FILE'], 'puts it there'),
      ),
    );
  },
  run: async (context, values) =>
    values.offline === true ? offlineRun(context, values) : upgradeRun(context, values),
});
/** The start of the new version is the point of no return, so --yes alone does not confirm it. */
const confirmOffline = async (
  context: Context,
  values: RunValues,
  cluster: string,
  question: string,
): Promise<void> => {
  if (context.isConfirmed && values['accept-point-of-no-return'] !== true)
    throw new AppError('unsafe', `${question} No changes were made.`, {
      code: 'NOT_CONFIRMED',
      tryThis: ['--accept-point-of-no-return confirms it without a prompt'],
    });
  await confirmStart(context, cluster, question);
};
/** With a table of versions, the programs of the two versions replace the programs of the file. */
const viewOf = async (opened: Opened, from: Minor | undefined, to: string | undefined): Promise<Opened> => {
  const { hasVersions, hopView } = await import('../../kv/upgrade/plan-kind.ts');
  const { cluster } = opened;
  return from === undefined || to === undefined || !hasVersions(cluster)
    ? opened
    : { ...opened, cluster: hopView(cluster, from, to) };
};
/** The database of a stopped member shows which row of the table the members ran. */
const offlineView = async ({ host }: Context, opened: Opened, to: string | undefined): Promise<Opened> => {
  const { storedVersions } = await import('../../kv/operations/offline-plan.ts');
  const { cluster } = opened;
  const [version] = storedVersions({ host, cluster }).values();
  const from = minorOf(version);
  return viewOf(opened, from, to ?? cluster.to ?? (from === undefined ? undefined : nextMinor(from)));
};
/** Returns the interrupted upgrade that this command continues, with the programs of its own plan. */
const interruptedOffline = async (context: Context, written: Opened, to: string | undefined) => {
  const { host, settings } = context;
  const [{ unfinishedOperation }, { offlineToContinue }] = await Promise.all([
    import('../../kv/operations/journal.ts'),
    import('../../kv/operations/offline-plan.ts'),
  ]);
  const found = await unfinishedOperation(host, settings.directories.clusters, written.cluster.name);
  if (found === undefined || found.plan.operation !== 'upgrade-offline') return undefined;
  const { values } = found.plan;
  const opened = await viewOf(written, values.from, values.to);
  const { cluster, access } = opened;
  const driver = await driverFor(context, cluster);
  const plan = await offlineToContinue({ host, cluster, access, driver }, found, to);
  return plan === undefined ? undefined : { id: plan.id, opened };
};
/** At a terminal, the user types the name of each check that opsctl could not perform. Otherwise the plan is refused. */
const acceptMissing = async (
  context: Context,
  made: OperationPlan | OperationRefusal,
  missing: readonly string[],
): Promise<readonly string[]> => {
  if (!('refused' in made) || !context.isInteractive || context.isDryRun) return [];
  for (const word of missing) {
    const said = made.refused.filter(({ guard }) => guard === word).map(({ message }) => message);
    const question = `${said.join('\n')}\n  Type the name of the check (${word}) to accept it:`;
    if (!(await hasTyped(context, word, question))) return [];
  }
  return missing;
};
const offlineRun = async (context: Context, values: ValuesOf<typeof upgradeFlags>): Promise<Result> => {
  const { host, settings, signal } = context;
  const state = settings.directories.clusters;
  const written = await openCluster(context, values, 'upgrade');
  const left = await interruptedOffline(context, written, values.to);
  const opened = left?.opened ?? (await offlineView(context, written, values.to));
  const { cluster, access } = opened;
  const [{ runDirectory }, offline, driver, options] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/operations/offline-plan.ts'),
    driverFor(context, cluster),
    optionsOf(context, opened, values, [...acceptable, ...consentsOf('upgrade --offline')]),
  ]);
  const input = { host, cluster, access, driver, options, signal };
  const { name } = cluster;
  return runOperation(context, opened, {
    operation: 'upgrade-offline',
    observe: (id) => offline.observeStopped(input, runDirectory(state, name, id)),
    continues: async ({ id }) => id === left?.id,
    plan: async (observation, id) => {
      const made = await offline.offlinePlan(input, id, observation);
      const accept = await acceptMissing(context, made, offline.missingConsents(made));
      const more = { ...input, options: { ...options, accept: [...options.accept, ...accept] } };
      return accept.length === 0 ? made : offline.offlinePlan(more, id, observation);
    },
    acts: async () => (await import('../../kv/operations/offline.ts')).makeOfflineActs(),
    question: ({ values: { from, to } }) =>
      `Start every member of ${name} with ${to}? Afterwards you can return to ${from} only with the copies of the data.`,
    confirm: async (question, isResumed) => {
      await confirmOffline(context, values, name, question);
      if (!isResumed) await offline.refuseStarted(input);
    },
  });
};
const upgradeRun = async (context: Context, values: ValuesOf<typeof upgradeFlags>) => {
  const { readPlan } = await import('../../kv/upgrade/plan-kind.ts');
  const given = values.plan === undefined ? undefined : await readPlan(context.host, values.plan);
  const prepared = await prepare(context, values, given?.options);
  const { opened, driver, run } = prepared;
  const done = await reportArrival(context, prepared);
  if (done !== undefined) return done;
  const made = await clearedPlan(context, prepared);
  if (given !== undefined && given.digest !== made.digest) throw digestError(given, made);
  if (context.isDryRun) return plannedResult(context, made);
  const { name } = opened.cluster;
  const last = made.options.path?.to ?? made.to;
  const question = `Upgrade ${name} from ${made.from} to ${last}?`;
  await announce(context, made, question);
  await confirmStart(context, name, question, values);
  return runUpgrade(context, values, { opened, driver, plan: made, run, action: 'upgrade' });
};

export const restart = defineCommand({
  path: ['kv', 'restart'],
  summary: 'Run a rolling restart for a new configuration, certificate or patch',
  about:
    'Uses the checks and the rollback of kv upgrade, within one minor version. Starts new_binary and new_command of the cluster file, and replaces config_file with new_config_file. If a member does not become healthy, restores its previous program, command and configuration. Store new certificates next to the old ones and reference them in the new configuration, so that a rollback finds the old certificates.',
  flags: {
    ...memberByMemberFlags,
    'keep-program': {
      effects: ['runs'],
      field: bool(),
      summary: 'Restart the current program and command (old_binary, old_command)',
    },
  },
  examples: [
    {
      line: 'opsctl kv restart --cluster cluster.yaml',
      says: 'Apply a patch release or a new configuration',
    },
    {
      line: 'opsctl kv restart --cluster cluster.yaml --keep-program --yes',
      says: 'Apply only new_config_file, or files that the servers read at the start',
    },
  ],
  run: async (context, values) =>
    begin(context, values, 'restart', (name, from) => `Restart every member of ${name} (${from})?`),
});

/** Cancels a downgrade before the first member is replaced. */
const cancel = async (context: Context, values: MemberByMember): Promise<Result> => {
  const { host } = context;
  const { cluster, access } = await openCluster(context, values, 'upgrade');
  const { observe } = await import('../../kv/upgrade/observe/observe.ts');
  const { members, highest } = await observe({ host, cluster, access });
  const older = members.find(({ server_version }) => minorOf(server_version) !== highest);
  if (older !== undefined || highest === undefined)
    throw new AppError(
      'unsafe',
      `${older?.name ?? cluster.name} ${older?.is_reachable === true ? `runs ${older.server_version}` : 'does not respond'}: no downgrade was canceled`,
      { code: 'MIXED', tryThis: [next(['kv', 'rollback'], 'brings every member back first, then cancels')] },
    );
  const isOver = members.every(
    ({ downgrade_to, cluster_version }) => downgrade_to === undefined && minorOf(cluster_version) === highest,
  );
  const message = `no downgrade of ${cluster.name} is enabled; the cluster runs ${highest}`;
  if (isOver)
    return recordResult(
      { outcome: 'unchanged', cluster_version: `${highest}.0`, message },
      { text: message, isProse: true },
    );
  if (context.isDryRun) {
    const message = `would cancel the downgrade of ${cluster.name}; the cluster stays at ${highest}`;
    return recordResult(
      { outcome: 'planned', cluster_version: `${highest}.0`, message },
      { text: message, isProse: true },
    );
  }
  await confirmStart(context, cluster.name, `Cancel the downgrade of ${cluster.name}?`);
  const { cancelDowngrade } = await import('../../kv/upgrade/execute/confirm.ts');
  await cancelDowngrade({ host, cluster, access }, highest);
  return recordResult(
    { outcome: 'cancelled', cluster_version: `${highest}.0`, message },
    { text: message, isProse: true },
  );
};
export const downgrade = defineCommand({
  path: ['kv', 'downgrade'],
  summary: 'Run a rolling downgrade by one minor version',
  about: `Uses old_binary and old_command of the cluster file for the older version, for example 3.5, and new_binary and new_command for the newer version. Validates and enables the downgrade in the cluster, waits until every member reports the older cluster and storage version, and replaces one member after another. \`kv resume\` continues; \`kv rollback\` returns every member to the newer version and cancels the downgrade. Limits: ${downgradeLimits.join('; ')}.`,
  flags: {
    ...memberByMemberFlags,
    cancel: { field: bool(), summary: 'Cancel a downgrade before the first member is replaced' },
  },
  examples: [
    {
      line: 'opsctl kv downgrade --cluster cluster.yaml',
      says: 'Show the plan with its limits and ask for confirmation',
    },
    { line: 'opsctl kv downgrade --cluster cluster.yaml --cancel', says: 'Cancel before the first member' },
  ],
  run: async (context, values) =>
    values.cancel === true
      ? cancel(context, values)
      : begin(context, values, 'downgrade', (name, from, to) => `Downgrade ${name} from ${from} to ${to}?`),
});
