import { bool } from '../../core/field.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { minorOf } from '../../api-specs/etcd/versions.ts';
import { downgradeLimits } from '../../kv/upgrade/downgrade.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { begin, memberByMemberFlags, type MemberByMember } from './begin.ts';
import { openCluster } from './open-cluster.ts';
import { confirmStart } from './confirm-start.ts';

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
  const { cancelDowngrade } = await import('../../kv/upgrade/execute/enable-downgrade.ts');
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
