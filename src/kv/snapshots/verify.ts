import { next } from '../../core/next.ts';
import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError } from '../../core/problem.ts';
import type { Bytes, Host } from '../../platform/host.ts';
import { trailerCheck, type Verified, verifySnapshot } from '../client/snapshot.ts';
import {
  type BucketOptions,
  type Destination,
  manifestName,
  parseManifest,
  type SnapshotManifest,
  writeManifest,
} from './catalog.ts';
import { isBucketUrl, openDestination } from './destination.ts';
import { type Comparison, type Trial, trialRestore } from './trial-restore.ts';

/** The directory and the name of a snapshot that is named by a path or an `s3://` URL. */
const splitPlace = (place: string): { readonly where: string; readonly name: string } => {
  const at = place.lastIndexOf('/');
  return at < 0
    ? { where: '.', name: place }
    : { where: place.slice(0, at) || '/', name: place.slice(at + 1) };
};
const missing = (place: string): AppError =>
  new AppError('not-found', `there is no snapshot ${place}`, {
    code: 'NO_SNAPSHOT',
    tryThis: [next(['kv', 'snapshot', 'list', 'DESTINATION'])],
  });
/** Reads a stored snapshot to its end and checks it on the way; nothing is kept, memory stays flat. */
const verifyStream = async (
  destination: Destination,
  name: string,
  signal: AbortSignal,
): Promise<Verified> => {
  const chunks = await destination.stream(name, signal);
  if (chunks === undefined) throw missing(destination.placeOf(name));
  const check = trailerCheck();
  for await (const bytes of chunks) {
    signal.throwIfAborted();
    check.add(bytes);
  }
  return check.finish(destination.placeOf(name));
};
/** A copy of a stored snapshot in a file of this machine, checked while it arrives: a bad one leaves nothing. */
const fetchFile = async (
  host: Host,
  destination: Destination,
  name: string,
  path: string,
): Promise<Verified> => {
  const chunks = await destination.stream(name);
  if (chunks === undefined) throw missing(destination.placeOf(name));
  let verified: Verified | undefined;
  const checkChunks = async function* (): AsyncGenerator<Bytes> {
    const check = trailerCheck();
    for await (const bytes of chunks) {
      check.add(bytes);
      yield bytes;
    }
    verified = check.finish(destination.placeOf(name));
  };
  await host.files.replaceStream(path, checkChunks(), 0o600);
  return verified as unknown as Verified;
};
/** The snapshot as a file of this machine: itself, or a copy below `directory` of what is in a bucket. */
export const asLocalFile = async (
  host: Host,
  place: string,
  { directory, ...bucket }: BucketOptions & { readonly directory: string },
): Promise<string> => {
  const { where, name } = splitPlace(place);
  const destination = await openDestination(host, where, {
    ...bucket,
    workDirectory: directory,
    flag: '--snapshot',
  });
  try {
    const path = childPath(
      directory,
      pathPart(`${createHash('sha256').update(place).digest('hex').slice(0, 8)}-${name}`),
    );
    await host.files.makeDirectory(directory, 0o700);
    await fetchFile(host, destination, name, path);
    return path;
  } finally {
    destination.close();
  }
};

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
    {
      code: 'SNAPSHOT_DAMAGED',
      tryThis: [next(['kv', 'snapshot', 'list', 'DESTINATION'], ', and take another one')],
    },
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
