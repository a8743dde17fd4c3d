import { defineCommand } from '../../cli/command.ts';
import { rowsResult } from '../../core/result.ts';
import type { StoredSnapshot } from '../../kv/snapshots/snapshot-manifest.ts';
import { bucketFlags, destinationArgument, nameFlag, withDestination } from './snapshot-flags.ts';

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
    const { catalogue } = await import('../../kv/snapshots/catalogue.ts');
    const rows = await withDestination(context, values.destination, values, async (destination) =>
      (await catalogue(destination, values.name)).map((one) => row(one, destination.placeOf(one.name))),
    );
    return rowsResult(rows, {
      columns: ['name', 'taken_at', 'revision', 'size_bytes', 'hash', 'verified_at', 'verified_by'],
      name: 'place',
    });
  },
});
