import { childPath, pathPart } from '../../core/file-name.ts';
import { createHash } from 'node:crypto';
import { AppError } from '../../core/problem.ts';
import { trailerCheck } from '../client/snapshot.ts';
import type { Verified } from '../client/snapshot.ts';
import type { Bytes, Host } from '../../platform/host.ts';
import { openDestination } from './destination.ts';
import type { BucketOptions, Destination } from './destination-types.ts';

/** The directory and the name of a snapshot that is named by a path or an `s3://` URL. */
export const splitPlace = (place: string): { readonly where: string; readonly name: string } => {
  const at = place.lastIndexOf('/');
  return at < 0
    ? { where: '.', name: place }
    : { where: place.slice(0, at) || '/', name: place.slice(at + 1) };
};

const missing = (place: string): AppError =>
  new AppError('not-found', `there is no snapshot ${place}`, {
    code: 'NO_SNAPSHOT',
    tryThis: ['opsctl kv snapshot list DESTINATION'],
  });

/** Reads a stored snapshot to its end and checks it on the way; nothing is kept, memory stays flat. */
export const verifyStream = async (
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
export const fetchFile = async (
  host: Host,
  destination: Destination,
  name: string,
  path: string,
): Promise<Verified> => {
  const chunks = await destination.stream(name);
  if (chunks === undefined) throw missing(destination.placeOf(name));
  let verified: Verified | undefined;
  const checked = async function* (): AsyncGenerator<Bytes> {
    const check = trailerCheck();
    for await (const bytes of chunks) {
      check.add(bytes);
      yield bytes;
    }
    verified = check.finish(destination.placeOf(name));
  };
  await host.files.replaceStream(path, checked(), 0o600);
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
