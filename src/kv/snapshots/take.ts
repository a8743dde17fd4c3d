import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError } from '../../core/problem.ts';
import type { Store } from '../client/etcd-client.ts';
import { snapshotContent } from '../client/snapshot-content.ts';
import { withSnapshot } from '../client/snapshot-file.ts';
import { saveSnapshot, verifySnapshot } from '../client/snapshot.ts';
import type { Host } from '../../platform/host.ts';
import { writeManifest } from './catalogue.ts';
import type { Destination } from './destination-types.ts';
import { snapshotName } from './snapshot-manifest.ts';
import type { SnapshotManifest } from './snapshot-manifest.ts';

export type Taking = {
  readonly host: Host;
  readonly cluster: string;
  readonly member: string;
  readonly store: Store;
  readonly destination: Destination;
  readonly signal: AbortSignal;
};
export type Taken = { readonly name: string; readonly place: string; readonly manifest: SnapshotManifest };

/** What a verified file on this machine holds. Throws with code SNAPSHOT_DAMAGED. */
const describeFile = async (
  host: Host,
  path: string,
): Promise<Pick<SnapshotManifest, 'revision' | 'total_key' | 'hash' | 'size_bytes' | 'file_sha256'>> => {
  const { size_bytes, file_sha256 } = await verifySnapshot(host, path);
  const { hash, revision, total_key } = withSnapshot(host.files, path, snapshotContent);
  return { revision, total_key, hash: hash.toString(16), size_bytes, file_sha256 };
};

/** The store keeps every page that a snapshot in progress may still read: what cannot be older than it was when the snapshot began was not read from this member. */
const refuseOlder = (member: string, revision: number, atStart: number): void => {
  if (revision >= atStart) return;
  throw new AppError(
    'no',
    `the snapshot of ${member} holds revision ${revision}, and ${member} was at ${atStart} when it began`,
    { code: 'SNAPSHOT_OLD', tryThis: ['opsctl kv status', 'take it from another member: --member NAME'] },
  );
};

export type Storing = Pick<Taking, 'host' | 'cluster' | 'member' | 'destination' | 'signal'> & {
  readonly takenMs: number;
  /** Revision of the member when the snapshot began. */
  readonly atStart: number;
};
/** Stores a verified file of this machine with its manifest. The file may be gone afterwards. */
export const storeFile = async (storing: Storing, file: string): Promise<Taken> => {
  const { host, cluster, member, destination, signal, takenMs, atStart } = storing;
  const described = await describeFile(host, file);
  refuseOlder(member, described.revision, atStart);
  const name = snapshotName(cluster, takenMs, described.revision);
  await destination.put(name, file, described.size_bytes, signal);
  const manifest: SnapshotManifest = {
    format: 1,
    cluster,
    member,
    taken_at: new Date(takenMs).toISOString(),
    ...described,
    verified_at: new Date(host.now()).toISOString(),
    verified_by: 'checksum',
  };
  await writeManifest(destination, name, manifest);
  return { name, place: destination.placeOf(name), manifest };
};

/**
 * One snapshot: read from the member into a file of this machine, verified there, then stored under its name. It is not streamed on
 * while it is read: a member keeps its free pages for as long as a snapshot of it is read, so the reader must not wait for a slow upload.
 */
export const takeStored = async (taking: Taking): Promise<Taken> => {
  const { host, cluster, store, destination } = taking;
  const takenMs = host.now();
  await host.files.makeDirectory(destination.workDirectory, 0o700);
  const file = childPath(destination.workDirectory, pathPart(`.${cluster}-${takenMs}.partial-${host.pid}`));
  try {
    const { revision: atStart } = await store.status();
    await saveSnapshot(host, store, file);
    return await storeFile({ ...taking, takenMs, atStart }, file);
  } finally {
    await host.files.remove(file);
  }
};
