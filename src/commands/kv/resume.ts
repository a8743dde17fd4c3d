import { type Advice, after, next } from '../../core/next.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import type { Context } from '../../api/context.ts';
import { defineCommand } from '../../cli/command.ts';
import { bool } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { FoundRun } from '../../kv/engine/journal.ts';
import type { Plan } from '../../kv/engine/model.ts';
import { crosses, kindOf, oldWay, viewFor } from '../../kv/upgrade/plan-kind.ts';
import {
  clusterFlags,
  crossingFlags,
  type EndpointValues,
  planFlags,
  rollbackFlags,
  runFlags,
} from './flags.ts';
import { driverFor, openCluster, type Opened, findAdoptedRuns } from './prepare.ts';
import { confirmStart, type FinishedHop, runUpgrade } from './run.ts';

const resumeFlags = {
  ...clusterFlags,
  ...runFlags,
  ...crossingFlags,
  'past-hold': { field: bool(), summary: 'With --yes: continue a run that is held' },
  'hold-last': {
    field: bool(),
    summary: 'Hold before the last member, even if the run was already held there',
  },
  'hold-after': { ...planFlags['hold-after'], summary: 'Hold again after N more members' },
} as const satisfies Flags;
type Given = ValuesOf<typeof resumeFlags>;
/** Returns whether a flag acknowledges the hold of the run. */
const namesHold = (values: Given): boolean =>
  (['past-hold', 'accept-point-of-no-return', 'hold-after'] as const).some(
    (name) => values[name] !== undefined && values[name] !== false,
  );

/**
 * A process that was killed after its last line could not release its lock. The lease of that lock is not
 * awaited.
 */
const dropLockOf = async ({ cluster, access }: Opened, run: string): Promise<void> => {
  const { dropLock } = await import('../../kv/engine/locks.ts');
  const stores = cluster.members.map(({ client_url }) => access.store(client_url));
  await dropLock(stores, run).catch(() => {});
};
/** The newest run, if it finished a hop of a path whose next hop has not started. */
const finishedHop = async (
  opened: Opened,
  entries: FoundRun['entries'],
): Promise<FinishedHop | undefined> => {
  const { nextHopOf } = await import('../../kv/upgrade/plan-kind.ts');
  const [first, last] = [entries[0], entries.at(-1)];
  if (first?.kind !== 'opened' || last?.kind !== 'closed' || nextHopOf(first.plan) === undefined)
    return undefined;
  return { opened, plan: first.plan, endedMs: Date.parse(last.at) };
};
const continuePath = async (context: Context, values: Given, hop: FinishedHop): Promise<Result> => {
  const { plan, opened } = hop;
  const question = `Continue the upgrade of ${opened.cluster.name} from ${plan.to} to ${plan.options.path?.to}?`;
  await confirmStart(context, opened.cluster.name, question, values);
  return runUpgrade(context, values, hop);
};
/** The newest run, when it came to its end: a script that resumes after a crash may have been killed just after the last line. */
const endedRun = async (context: Context, values: Given): Promise<Result | undefined> => {
  const opened = await openCluster(context, values, 'upgrade');
  const { isRolledBack } = await import('../../kv/engine/journal.ts');
  const { runs, unread } = await findAdoptedRuns(context, opened);
  const [newest] = runs;
  // Another machine may have started a newer run.
  if (newest === undefined && unread !== undefined) throw unread;
  if (newest === undefined || unread !== undefined) return undefined;
  const { run, entries } = newest;
  const last = entries.at(-1);
  const isDone = last?.kind === 'closed' && last.outcome === 'done';
  if (isDone || isRolledBack(entries)) await dropLockOf(opened, run);
  const hop = isDone ? await finishedHop(opened, entries) : undefined;
  if (hop !== undefined) return continuePath(context, values, hop);
  if (isDone)
    return recordResult({ run, outcome: 'done' }, { message: `no run to resume: run ${run} is finished` });
  if (!isRolledBack(entries)) return undefined;
  const message = after(
    `no run to resume: run ${run} was rolled back;`,
    ['kv', 'upgrade'],
    'starts a new run',
  );
  return recordResult({ run, outcome: 'rolled-back' }, { message }, 'rolled-back');
};

export type Unfinished = {
  readonly opened: Opened;
  readonly found: FoundRun;
  readonly plan: Plan;
  readonly isRollback: boolean;
};
/** The newest run of the cluster that can be resumed. */
const findUnfinished = async (context: Context, values: EndpointValues): Promise<Unfinished> => {
  const opened = await openCluster(context, values, 'upgrade');
  const [{ openRun }, { refuseOtherMembers }] = await Promise.all([
    import('../../kv/engine/journal.ts'),
    import('../../kv/engine/progress.ts'),
  ]);
  const { runs, unread } = await findAdoptedRuns(context, opened);
  const found = openRun(runs);
  const first = found?.entries[0];
  if (found === undefined && unread !== undefined) throw unread;
  if (found === undefined || first?.kind !== 'opened') {
    throw new AppError('not-found', `cluster ${opened.cluster.name} has no unfinished run on this machine`, {
      code: 'NO_RUN',
      tryThis: [next(['kv', 'status']), next(['kv', 'upgrade'])],
    });
  }
  refuseOtherMembers(opened.cluster, found, first.plan);
  const last = found.entries.findLast(
    (entry) => entry.kind === 'resumed' || entry.kind === 'closed' || entry.kind === 'opened',
  );
  const isRollback = (last?.kind === 'resumed' || last?.kind === 'opened') && last.action === 'rollback';
  // A downgrade reads the cluster file the other way round.
  const view = { ...opened, cluster: viewFor(opened.cluster, first.plan), written: opened.cluster };
  return { opened: view, found, plan: first.plan, isRollback };
};

/** Names the repair of a failed member in the question. With --yes, the repair is a warning. */
const confirmResume = async (
  context: Context,
  values: Given,
  { opened, found, plan, isRollback }: Unfinished,
): Promise<void> => {
  const { host, log, isConfirmed } = context;
  const { cluster, access } = opened;
  const question = `Continue the ${isRollback ? 'rollback' : kindOf(plan)} of ${cluster.name}?`;
  // A rollback is not paused, so a probe that does not work must not keep it from its start.
  const unpaused = { ...values, 'pause-while-command': undefined, 'pause-while-query': undefined };
  if (isRollback) return confirmStart(context, cluster.name, question, unpaused);
  const { findFirstAct } = await import('../../kv/upgrade/execute/loop.ts');
  const driver = await driverFor(context, cluster);
  // The run repeats the observation, so a failed observation is no reason to stop here.
  const first = await findFirstAct({ host, cluster, access, driver }, plan, found.entries).catch(
    () => undefined,
  );
  const repair = first?.repair;
  if (repair !== undefined && isConfirmed) log.warn(repair);
  const asked = repair === undefined ? question : `${repair} ${question}`;
  // A member that the run stopped is started without a pause, so a probe that does not work must not keep it down.
  const checksProbes = first?.isNextMember === true;
  await confirmStart(context, cluster.name, asked, values, { checksProbes });
};
export const resume = defineCommand({
  path: ['kv', 'resume'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Resume an unfinished upgrade',
  about:
    'Compares the journal with the state of the members. Does not repeat completed steps, and runs every check again before it stops the next member. A held run continues after a confirmation at the terminal, or with --past-hold.',
  flags: resumeFlags,
  examples: [
    { line: 'opsctl kv resume --cluster cluster.yaml', says: 'Resume after a crash, a Ctrl-C or a hold' },
    {
      line: 'opsctl kv resume --cluster cluster.yaml --yes --accept-point-of-no-return',
      says: 'Resume unattended and run to the end',
    },
  ],
  run: async (context, values) => {
    const over = await endedRun(context, values);
    if (over) return over;
    const { opened, found, plan, isRollback } = await findUnfinished(context, values);
    const { refuseUnseenHold, resumedOptions } = await import('../../kv/engine/progress.ts');
    // The prompt on a terminal shows the hold.
    if (!context.isInteractive || context.isConfirmed)
      refuseUnseenHold(found, { isNamed: namesHold(values), hasWindow: values.until !== undefined });
    await confirmResume(context, values, { opened, found, plan, isRollback });
    if (!isRollback) {
      const holds = { last: values['hold-last'], after: values['hold-after'] };
      const options = { ...plan.options, ...resumedOptions(plan, found.entries, holds) };
      return runUpgrade(context, values, {
        opened,
        plan: { ...plan, options },
        original: plan,
        run: found.run,
        action: 'resume',
      });
    }
    const unused = (['until', 'pause-while-command', 'pause-while-query'] as const).filter(
      (name) => values[name] !== undefined,
    );
    if (unused.length > 0)
      context.log.warn(
        `a rollback cannot be held: ${unused.map((name) => `--${name}`).join(', ')} has no effect`,
      );
    const { rollBack } = await import('../../kv/upgrade/execute/rollback.ts');
    return runUpgrade(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});

/** spec/store#versions-2. `back`: the rollback of versions that support a downgrade. */
const pastReturn = ({ from, to }: Plan, back: readonly Advice[]): AppError =>
  new AppError('unsafe', `the cluster runs ${to}, and ${from} cannot start with its data`, {
    code: 'PAST_POINT_OF_NO_RETURN',
    tryThis: [
      ...(rowOf(to)?.can.downgrade === true ? back : []),
      next(['kv', 'restore'], 'rebuilds the cluster from the snapshots'),
    ],
  });
/** Returns the reason if there is no unfinished run because the newest upgrade is complete. */
const finishedUpgrade = async (
  context: Context,
  values: EndpointValues,
  error: unknown,
): Promise<AppError | undefined> => {
  if (!(error instanceof AppError) || error.detail.code !== 'NO_RUN') return undefined;
  const { findRuns, isRolledBack } = await import('../../kv/engine/journal.ts');
  const { cluster } = await openCluster(context, values, 'upgrade');
  const [newest] = await findRuns(context.host, context.settings.directories.clusters, cluster.name);
  const first = newest?.entries[0];
  const last = newest?.entries.at(-1);
  if (newest === undefined || first?.kind !== 'opened' || last?.kind !== 'closed') return undefined;
  if (!crosses(first.plan) || isRolledBack(newest.entries) || last.outcome !== 'done') return undefined;
  return pastReturn(first.plan, [next(['kv', 'downgrade'], 'goes back')]);
};
export const rollback = defineCommand({
  path: ['kv', 'rollback'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Roll back every upgraded member to the old version',
  about:
    'Works only while the cluster still reports the old version. After the last member a rollback is not possible; see kv restore. Maintenance windows do not apply: a rollback runs to the end. Exits with code 12 when it is finished.',
  flags: { ...clusterFlags, ...rollbackFlags },
  examples: [
    {
      line: 'opsctl kv rollback --cluster cluster.yaml',
      says: 'Roll back after --hold-last or a failed member',
    },
  ],
  run: async (context, values) => {
    const { opened, found, plan } = await findUnfinished(context, values).catch(async (error: unknown) => {
      throw (await finishedUpgrade(context, values, error)) ?? error;
    });
    const { observe } = await import('../../kv/upgrade/observe/observe.ts');
    const observation = await observe({ host: context.host, cluster: opened.cluster, access: opened.access });
    if (
      crosses(plan) &&
      observation.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to)
    ) {
      throw pastReturn(plan, [
        next(
          ['kv', 'resume'],
          after('brings the upgrade to its end, then', ['kv', 'downgrade'], 'goes back'),
        ),
      ]);
    }
    await confirmStart(
      context,
      opened.cluster.name,
      `Roll back every member of ${opened.cluster.name} to ${oldWay(plan)}?`,
      values,
    );
    const { rollBack } = await import('../../kv/upgrade/execute/rollback.ts');
    return runUpgrade(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});

export const abort = defineCommand({
  path: ['kv', 'abort'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Abandon an unfinished run without changing members',
  about:
    'Stops and starts no members. Cancels a downgrade that no member has started; otherwise the downgrade stays enabled, and the message names the command that finishes it. Refused while the run has stopped a member: resume or roll back first.',
  flags: clusterFlags,
  run: async (context, values) => {
    const { host, settings, log } = context;
    const { opened, found, plan } = await findUnfinished(context, values);
    const { observe } = await import('../../kv/upgrade/observe/observe.ts');
    const { giveUp, refuseWhileDown } = await import('../../kv/upgrade/execute/ending.ts');
    const look = async () => (await observe({ host, ...opened })).members;
    refuseWhileDown(await look());
    await context.confirm(`Abandon run ${found.run}? Members are not changed.`);
    const { takeLocks } = await import('../../kv/engine/locks.ts');
    const state = settings.directories.clusters;
    const lock = await takeLocks({ host, state, ...opened, run: found.run, warn: log.warn });
    try {
      const driver = await driverFor(context, opened.cluster);
      // Checked again, because the question may have been open for an hour.
      const members = await look();
      refuseWhileDown(members);
      const report = await giveUp({ host, ...opened, driver, found, plan, members });
      return recordResult(report, { text: report.message, isProse: true, message: report.message });
    } finally {
      await lock.release();
    }
  },
});
