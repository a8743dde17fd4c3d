import { recordResult } from '../../core/result.ts';
import { AppError } from '../../core/problem.ts';
import { minorOf, rowOf } from '../../api-specs/etcd/versions.ts';
import { crosses, newWay, oldWay } from '../../kv-upgrade/plan-kind.ts';
import type { MemberSeen } from '../../kv-upgrade/types.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { clusterFlags, driverFor } from './cluster.ts';
import { type Unfinished, conducted, confirmStart, runFlags, unfinished } from './running.ts';

export const rollback = defineCommand({
  path: ['kv', 'rollback'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Bring every upgraded member back to the old version, while one still runs it',
  about:
    'Only while the cluster still reports the old version. After the last member there is no rollback; see kv restore. Exit code 12 when it is done.',
  flags: { ...clusterFlags, ...runFlags },
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

/** A member that the run stopped would stay down. */
const refuseWhileDown = (members: readonly MemberSeen[]): void => {
  const away = members.filter(({ is_reachable }) => !is_reachable).map(({ name }) => name);
  if (away.length > 0)
    throw new AppError(
      'unsafe',
      `${away.join(', ')} ${away.length === 1 ? 'is' : 'are'} down: the run cannot be given up like this`,
      {
        code: 'MEMBER_DOWN',
        tryThis: ['opsctl kv resume', 'opsctl kv rollback'],
      },
    );
};

/** Closes the journal and removes what the run left on the members and in the store. */
const closeAborted = async (
  context: Context,
  { opened: { cluster, access }, found }: Unfinished,
  members: readonly MemberSeen[],
  message: string,
): Promise<void> => {
  const { host } = context;
  const { openJournal } = await import('../../kv-upgrade/journal/journal.ts');
  const journal = await openJournal(host, found.directory);
  const { discardStaged } = await import('../../kv-upgrade/placement/discard-staged.ts');
  const driver = await driverFor(context, cluster);
  await discardStaged({ driver, cluster }, journal.entries, 'aborted');
  journal.write({ kind: 'closed', outcome: 'aborted', message });
  journal.close();
  const { removeOwnKeys } = await import('../../etcd-client/own-keys.ts');
  const stores = members.map(({ client_url }) => access.store(client_url));
  await removeOwnKeys(stores, found.run);
  const { removeShared } = await import('../../kv-upgrade/journal/shared-progress.ts');
  await removeShared({ host, cluster, stores });
};

export const abort = defineCommand({
  path: ['kv', 'abort'],
  noDryRun: 'opsctl kv status and opsctl kv report show where the upgrade stands',
  summary: 'Give an unfinished run up and leave the cluster as it is',
  about:
    'Changes nothing in the cluster. Refused while a member is down by the hand of the run: resume or roll back first.',
  flags: clusterFlags,
  run: async (context, values) => {
    const open = await unfinished(context, values);
    const { opened, found, plan } = open;
    const { observe } = await import('../../kv-upgrade/observe/observe.ts');
    const { members } = await observe({ host: context.host, cluster: opened.cluster, access: opened.access });
    refuseWhileDown(members);
    await context.confirm(`Give run ${found.run} up? Members stay as they are.`);
    const { takeLocks } = await import('../../kv-upgrade/locks/take-locks.ts');
    const { host, settings, log } = context;
    const lock = await takeLocks({
      host,
      state: settings.directories.clusters,
      ...opened,
      run: found.run,
      warn: log.warn,
    });
    const { progressOf } = await import('../../kv-upgrade/journal/progress.ts');
    const { upgradedIn } = await import('../../kv-upgrade/decide.ts');
    const upgraded = upgradedIn(plan, progressOf(found.entries), { members });
    const message = `run ${found.run} given up; on ${newWay(plan)}: ${upgraded.length === 0 ? 'nobody' : upgraded.join(', ')}`;
    try {
      await closeAborted(context, open, members, message);
    } finally {
      await lock.release();
    }
    return recordResult(
      { run: found.run, outcome: 'aborted', upgraded, message },
      { text: message, message },
    );
  },
});
