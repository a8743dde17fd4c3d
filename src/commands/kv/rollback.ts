import { AppError } from '../../core/problem.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { crosses, oldWay } from '../../kv-upgrade/plan-kind.ts';
import { defineCommand } from '../../cli/command.ts';
import { clusterFlags } from './cluster-flags.ts';
import { conducted } from './conducted.ts';
import { confirmStart } from './confirm-start.ts';
import { rollbackFlags } from './run-flags.ts';
import { unfinished } from './unfinished.ts';

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
    const { opened, found, plan } = await unfinished(context, values);
    const { observe } = await import('../../kv-upgrade/observe/observe.ts');
    const observation = await observe({ host: context.host, cluster: opened.cluster, access: opened.access });
    if (
      crosses(plan) &&
      observation.members.some(({ cluster_version }) => minorOf(cluster_version) === plan.to)
    ) {
      throw new AppError(
        'unsafe',
        `the cluster is ${plan.to} already: no member can start with ${plan.from} any more`,
        {
          code: 'PAST_POINT_OF_NO_RETURN',
          tryThis: [
            ...(rowOf(plan.to)?.can.downgrade === true
              ? ['opsctl kv resume brings the upgrade to its end, then opsctl kv downgrade goes back']
              : []),
            'opsctl kv restore rebuilds the cluster from the snapshots',
          ],
        },
      );
    }
    await confirmStart(
      context,
      opened.cluster.name,
      `Bring every member of ${opened.cluster.name} back to ${oldWay(plan)}?`,
      values,
    );
    const { rollBack } = await import('../../kv-upgrade/execute/rollback.ts');
    return conducted(context, values, { opened, plan, run: found.run, action: 'rollback', loop: rollBack });
  },
});
