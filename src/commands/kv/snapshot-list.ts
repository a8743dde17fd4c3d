import { invalidArguments, problem } from '../../core/problem.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import type { StoredSnapshot } from '../../kv-snapshots/snapshot-manifest.ts';
import { defineCommand, type Context, type ValuesOf } from '../../cli/command.ts';
import { clusterFlags, openCluster } from './cluster.ts';
import {
  bucketFlags,
  destinationArgument,
  nameFlag,
  retentionFlags,
  retentionOf,
  withDestination,
} from './snapshot-flags.ts';

const row = ({ manifest, ...seen }: StoredSnapshot, place: string) => ({
  ...seen,
  hash: manifest?.hash ?? null,
  file_sha256: manifest?.file_sha256 ?? null,
  total_key: manifest?.total_key ?? null,
  member: manifest?.member ?? null,
  verified_at: manifest?.verified_at ?? null,
  verified_by: manifest?.verified_by ?? null,
  place,
});

export const snapshotList = defineCommand({
  path: ['kv', 'snapshot', 'list'],
  summary: 'List the snapshots of a directory or a bucket, oldest first',
  about: 'A snapshot without a time under VERIFIED has no manifest beside it: nobody has verified it there.',
  args: [destinationArgument],
  flags: { ...nameFlag, ...bucketFlags },
  examples: [
    {
      line: 'opsctl kv snapshot list /var/backups/etcd',
      says: 'size, revision, hash, when taken and verified',
    },
  ],
  run: async (context, values) => {
    const { catalogue } = await import('../../kv-snapshots/catalogue.ts');
    const rows = await withDestination(context, values.destination, values, async (destination) =>
      (await catalogue(destination, values.name)).map((one) => row(one, destination.placeOf(one.name))),
    );
    return rowsResult(rows, {
      columns: ['name', 'taken_at', 'revision', 'size_bytes', 'hash', 'verified_at', 'verified_by'],
      name: 'place',
    });
  },
});

const pruneFlags = { ...clusterFlags, ...nameFlag, ...retentionFlags, ...bucketFlags };
type Given = ValuesOf<typeof pruneFlags, readonly [typeof destinationArgument]>;

const pruned = async (context: Context, values: Given) => {
  const retention = retentionOf(values);
  if (retention === undefined)
    throw invalidArguments([
      problem('--keep-last', 'required', 'or --keep-daily, --keep-weekly or --max-age must say what stays'),
    ]);
  const cluster = values.name ?? (await openCluster(context, values)).cluster.name;
  const { prunePlan, removeSnapshots } = await import('../../kv-snapshots/catalogue.ts');
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
