import { defineCommand, type Context, type ValuesOf } from '../../cli/command.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { clusterFlags } from './flags.ts';
import { openCluster } from './open-cluster.ts';
import { bucketFlags, destinationArgument, nameFlag, withDestination } from './snapshot-flags.ts';
import { retentionFlags, retentionOf } from './retention-flags.ts';

const pruneFlags = { ...clusterFlags, ...nameFlag, ...retentionFlags, ...bucketFlags };

type Given = ValuesOf<typeof pruneFlags, readonly [typeof destinationArgument]>;

const pruned = async (context: Context, values: Given) => {
  const retention = retentionOf(values);
  if (retention === undefined)
    throw invalidArguments([
      problem('--keep-last', 'required', 'or --keep-daily, --keep-weekly or --max-age must say what stays'),
    ]);
  const cluster = values.name ?? (await openCluster(context, values)).cluster.name;
  const { prunePlan, removeSnapshots } = await import('../../kv/snapshots/catalogue.ts');
  return withDestination(context, values.destination, values, async (destination) => {
    const { keep, prune } = await prunePlan(destination, cluster, retention, context.host.now());
    const names = prune.map(({ name }) => name);
    const kept = keep.map(({ snapshot: { name }, why }) => ({ name, why }));
    const count = `${names.length} of ${names.length + kept.length} snapshots of ${cluster}`;
    const data = {
      destination: destination.where,
      cluster,
      keep: kept,
      prune: names,
      is_dry_run: context.isDryRun,
    };
    const lines = [
      ...kept.map(({ name, why }) => `keep   ${name} (${why})`),
      ...names.map((name) => `remove ${name}`),
    ];
    if (context.isDryRun) return recordResult(data, { text: [`would remove ${count}`, ...lines].join('\n') });
    if (names.length > 0) {
      context.log.info(lines.join('\n'));
      await context.confirm(`Remove ${count} in ${destination.where}?`);
      await removeSnapshots(destination, prune);
    }
    const unfinished = await destination.discardUnfinished();
    return recordResult({ ...data, unfinished_uploads: unfinished ?? null }, { text: `removed ${count}` });
  });
};

export const snapshotPrune = defineCommand({
  path: ['kv', 'snapshot', 'prune'],
  summary: 'Remove old snapshots of a cluster by rules; the newest verified one always stays',
  about:
    'A snapshot stays when one of the rules keeps it and it is not older than --max-age. Files that are no snapshots of this cluster are left alone. Uploads that were killed more than a day ago are discarded.',
  args: [destinationArgument],
  flags: pruneFlags,
  examples: [
    {
      line: 'opsctl kv snapshot prune s3://backups/etcd --name prod --keep-last 8 --keep-daily 14 --keep-weekly 8 --dry-run',
      says: 'what would stay, why, and what would go',
    },
  ],
  run: pruned,
});
