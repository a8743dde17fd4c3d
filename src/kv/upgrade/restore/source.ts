import { resolve } from 'node:path';
import type { Minor } from '../../../api-specs/etcd/versions.ts';
import { AppError } from '../../../core/problem.ts';
import { verifySnapshot } from '../../client/snapshot.ts';
import { snapshotRevision } from '../../client/snapshot-content.ts';
import { withSnapshot } from '../../client/snapshot-file.ts';
import { isBucketUrl } from '../../snapshots/bucket-url.ts';
import type { BucketOptions } from '../../snapshots/destination-types.ts';
import { asLocalFile } from '../../snapshots/fetch.ts';
import type { Host } from '../../../platform/host.ts';
import { findRuns } from '../../engine/journal.ts';
import type { ClusterFile, SnapshotRecord } from '../../engine/types.ts';
import { newestSnapshot } from './plan.ts';

export type RestoreSource = {
  readonly snapshot: SnapshotRecord;
  readonly to: Minor;
  readonly run: string;
  /** A copy of what is in a bucket, to be removed when the work is done. */
  readonly copy?: string;
};

type Wanted = {
  /** A file or a place in a bucket, instead of the newest snapshot of the last run. */
  readonly snapshot: string | undefined;
  readonly to: string | undefined;
  readonly bucket: BucketOptions;
};
type Directories = { readonly clusters: string; readonly state: string };
type Chosen = Pick<RestoreSource, 'to' | 'run'> & { readonly place: string; readonly member: string };

/** The newest snapshot of the last run, or the one that was named. */
const chosen = async (host: Host, clusters: string, wanted: Wanted, cluster: string): Promise<Chosen> => {
  const [run] = (await findRuns(host, clusters, cluster)).filter(({ entries }) =>
    entries.some(({ kind }) => kind === 'snapshot'),
  );
  const opened = run?.entries[0];
  const recorded = newestSnapshot(
    run?.entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : [])) ?? [],
  );
  const to = wanted.to ?? (opened?.kind === 'opened' ? opened.plan.from : undefined);
  const named = wanted.snapshot;
  const place =
    named === undefined || isBucketUrl(named) ? (named ?? recorded?.path) : resolve(host.cwd, named);
  if (place === undefined || to === undefined) {
    throw new AppError('not-found', 'no run of this cluster with snapshots is known here', {
      code: 'NO_SNAPSHOT',
      tryThis: ['--snapshot FILE --to MINOR'],
    });
  }
  const member = recorded?.path === place ? recorded.member : 'a file';
  return { place, member, to: to as Minor, run: run?.run ?? 'by-hand' };
};

/** The chosen snapshot as a file of this machine, verified again now. */
export const restoreSource = async (
  host: Host,
  { clusters, state }: Directories,
  wanted: Wanted,
  { name, s3 }: Pick<ClusterFile, 'name' | 's3'>,
): Promise<RestoreSource> => {
  const { place, member, to, run } = await chosen(host, clusters, wanted, name);
  const isStored = isBucketUrl(place);
  const bucket = { ...s3, ...wanted.bucket, directory: `${state}/snapshots` };
  const path = isStored ? await asLocalFile(host, place, bucket) : place;
  const verified = await verifySnapshot(host, path);
  const revision = withSnapshot(host.files, path, snapshotRevision);
  return {
    snapshot: { duration_ms: 0, member, path, ...verified, revision },
    to,
    run,
    ...(isStored ? { copy: path } : {}),
  };
};
