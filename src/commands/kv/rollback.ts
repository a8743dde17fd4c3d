import { AppError } from '../../core/problem.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { crosses, oldWay } from '../../kv/upgrade/plan-kind.ts';
import { type Context, defineCommand } from '../../cli/command.ts';
import type { Plan } from '../../kv/engine/types.ts';
import { clusterFlags, type EndpointValues } from './flags.ts';
import { conducted } from './conducted.ts';
import { confirmStart } from './confirm-start.ts';
import { openCluster } from './open-cluster.ts';
import { rollbackFlags } from './run-flags.ts';
import { unfinished } from './unfinished.ts';

/** spec/store#versions-2. `back`: the way back of versions that can be downgraded. */
const pastReturn = ({ from, to }: Plan, back: readonly string[]): AppError =>
  new AppError('unsafe', `the cluster runs ${to}, and ${from} does not start on its data`, {
    code: 'PAST_POINT_OF_NO_RETURN',
    tryThis: [
      ...(rowOf(to)?.can.downgrade === true ? back : []),
      'opsctl kv restore rebuilds the cluster from the snapshots',
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
  return pastReturn(first.plan, ['opsctl kv downgrade goes back']);
};

export const rollback = defineCommand({
  path: ['kv', 'rollback'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Bring every upgraded member back to the old version, while one still runs it',
  about:
    'Only while the cluster still reports the old version. After the last member there is no rollback; see kv restore. It has no window: once begun it goes to its end. Exit code 12 when it is done.',
  flags: { ...clusterFlags, ...rollbackFlags },
  examples: [
    { line: 'opsctl kv rollback --cluster cluster.yaml', says: 'after --hold-last or a failed member' },
  ],
  run: async (context, values) => {
    const { opened, found, plan } = await unfinished(context, values).catch(async (error: unknown) => {
      throw (await finishedUpgrade(context, values, error)) ?? error;
    });
    const { observe } = await import('../../kv/upgrade/observe/observe.ts');
    const observation = await observe({ host: context.host, cluster: opened.cluster, access: opened.access });
    if (
      crosses(plan) &&
      observation.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to)
    ) {
      throw pastReturn(plan, [
        'opsctl kv resume brings the upgrade to its end, then opsctl kv downgrade goes back',
      ]);
    }
    await confirmStart(
      context,
      opened.cluster.name,
      `Bring every member of ${opened.cluster.name} back to ${oldWay(plan)}?`,
      values,
    );
    const { rollBack } = await import('../../kv/upgrade/execute/rollback.ts');
    return conducted(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});
