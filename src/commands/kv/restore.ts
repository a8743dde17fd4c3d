import { defineCommand, type Context } from '../../cli/command.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { RestoreSource } from '../../kv/upgrade/restore/source.ts';
import { confirmStart } from './confirm-start.ts';
import { driverFor } from './driver-for.ts';
import { openCluster, type Opened } from './open-cluster.ts';
import { restoreFlags, type RestoreValues } from './restore-flags.ts';
import { bucketOptions } from './snapshot-flags.ts';

const rebuilt = async (
  context: Context,
  { cluster, access }: Opened,
  source: RestoreSource,
): Promise<Result> => {
  const [{ observe }, { restorePlan, restoreText }, { carryOutRestore }] = await Promise.all([
    import('../../kv/upgrade/observe/observe.ts'),
    import('../../kv/upgrade/restore/plan.ts'),
    import('../../kv/upgrade/restore/carry-out.ts'),
  ]);
  const { host, settings, log } = context;
  const driver = await driverFor(context, cluster);
  const observation = await observe({ host, cluster, access, driver });
  const plan = restorePlan({ cluster, observation, ...source });
  if (context.isDryRun) return recordResult(plan, { text: restoreText(plan) });
  log.warn(restoreText(plan));
  await confirmStart(context, cluster.name, `Rebuild ${cluster.name} on ${plan.to}?`);
  const { revision, kept } = await carryOutRestore(
    { host, directories: settings.directories, log },
    { cluster, access, plan, driver },
  );
  const message = `${cluster.name} runs ${plan.to} again, at revision ${revision}`;
  const clients = [
    'restart every client that watches or caches: revisions went back, and a watch waits for one that it has seen',
    'clients with a user have to log in again; leases start anew with their whole time',
    ...(plan.lost_revisions === 0 ? [] : ['what was written after the snapshot has to be written again']),
  ];
  return recordResult(
    { outcome: 'restored', revision, lost_revisions: plan.lost_revisions, members: kept, clients, message },
    { text: [message, 'Clients:', ...clients.map((line) => `  ${line}`)].join('\n') },
  );
};

const restored = async (context: Context, values: RestoreValues): Promise<Result> => {
  const opened = await openCluster(context, values, 'upgrade');
  const { restoreSource } = await import('../../kv/upgrade/restore/source.ts');
  const { snapshot, to } = values;
  const { host, settings } = context;
  const wanted = { snapshot, to, bucket: bucketOptions(values) };
  const source = await restoreSource(host, settings.directories, wanted, opened.cluster);
  try {
    return await rebuilt(context, opened, source);
  } finally {
    if (source.copy !== undefined) await host.files.remove(source.copy);
  }
};

export const restore = defineCommand({
  path: ['kv', 'restore'],
  summary: 'Rebuild the cluster on its old version from a verified snapshot',
  about:
    'Rebuilds the cluster from its snapshots, after the point of no return too. Says first how many revisions would be lost, and asks. The present data directories are kept aside. ' +
    'Needs ctl_binary in the cluster file: the ctl program of the old version, on the host of every member.',
  flags: restoreFlags,
  examples: [
    { line: 'opsctl kv restore --cluster cluster.yaml --dry-run', says: 'what would be done and lost' },
  ],
  run: async (context, values) => restored(context, values),
});
