import { childPath, pathPart } from '../../core/file-name.ts';
import { resolve } from 'node:path';
import { AppError } from '../../core/problem.ts';
import { verifySnapshot } from '../client/snapshot.ts';
import type { Verified } from '../client/snapshot.ts';
import type { Host } from '../../platform/host.ts';
import { writeManifest } from './catalogue.ts';
import { isBucketUrl } from './bucket-url.ts';
import { openDestination } from './destination.ts';
import type { BucketOptions, Destination } from './destination-types.ts';
import { fetchFile, splitPlace, verifyStream } from './fetch.ts';
import { manifestName, parseManifest } from './snapshot-manifest.ts';
import type { SnapshotManifest } from './snapshot-manifest.ts';
import { trialRestore } from './trial-restore.ts';
import type { Comparison, Trial } from './trial-restore.ts';

export type Verifying = {
  readonly host: Host;
  /** A path or an `s3://` URL. */
  readonly place: string;
  readonly bucket: BucketOptions;
  readonly signal: AbortSignal;
  /** Absent: only the file itself is checked. */
  readonly trial?: Pick<Trial, 'ctl' | 'server' | 'user' | 'live'> | undefined;
};
export type Verification = Verified & {
  readonly path: string;
  readonly ok: boolean;
  readonly manifest: 'same' | 'none';
  readonly comparisons?: readonly Comparison[];
};

/** A whole file with a right checksum may still be another one than was stored. */
const refuseOtherFile = (
  place: string,
  { file_sha256 }: Verified,
  manifest: SnapshotManifest | undefined,
): void => {
  if (manifest === undefined || manifest.file_sha256 === file_sha256) return;
  throw new AppError(
    'no',
    `${place} is not the file that was stored: its sha256 is ${file_sha256}, the manifest says ${manifest.file_sha256}`,
    { code: 'SNAPSHOT_DAMAGED', tryThis: ['opsctl kv snapshot list DESTINATION, and take another one'] },
  );
};

type Read = { readonly verified: Verified; readonly file: string };
/** With a trial a copy of what is in a bucket is needed; without one it is only read. */
const readStored = async (
  { host, place, signal, trial }: Verifying,
  destination: Destination,
  name: string,
  directory: string,
): Promise<Read> => {
  if (!isBucketUrl(place)) {
    const file = resolve(host.cwd, place);
    return { verified: await verifySnapshot(host, file), file };
  }
  if (trial === undefined) return { verified: await verifyStream(destination, name, signal), file: '' };
  const file = childPath(directory, pathPart(name));
  await host.files.makeDirectory(directory, 0o700);
  return { verified: await fetchFile(host, destination, name, file), file };
};

/** Reads a stored snapshot to its end, compares it with its manifest, on request by a trial restore too; a success is noted in the manifest. */
export const verifyStored = async (verifying: Verifying): Promise<Verification> => {
  const { host, place, bucket, signal, trial } = verifying;
  const { where, name } = splitPlace(place);
  const directory = childPath(
    host.files.temporaryDirectory(),
    pathPart(`opsctl-verify-${Buffer.from(host.random(6)).toString('hex')}`),
  );
  const destination = await openDestination(host, where, {
    ...bucket,
    workDirectory: directory,
    flag: 'file',
  });
  try {
    const { verified, file } = await readStored(verifying, destination, name, directory);
    const manifest = parseManifest(await destination.text(manifestName(name)));
    refuseOtherFile(place, verified, manifest);
    const comparisons =
      trial === undefined ? undefined : await trialRestore({ ...trial, host, snapshot: file, signal });
    const ok = comparisons?.every((one) => one.ok !== false) ?? true;
    if (ok && manifest !== undefined)
      await writeManifest(destination, name, {
        ...manifest,
        verified_at: new Date(host.now()).toISOString(),
        verified_by: trial === undefined ? 'checksum' : 'trial restore',
      });
    return {
      path: isBucketUrl(place) ? place : resolve(host.cwd, place),
      ok,
      ...verified,
      manifest: manifest === undefined ? 'none' : 'same',
      ...(comparisons === undefined ? {} : { comparisons }),
    };
  } finally {
    destination.close();
    await host.files.remove(directory);
  }
};
