import { isBucketUrl } from './catalog.ts';
import { dirname, resolve } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import { limits, heldRows } from '../../core/limits.ts';
import { cutText, AppError, type Category, invalidArguments, problem } from '../../core/problem.ts';
import {
  type Bucket,
  BucketError,
  type BucketPlace,
  type FileInfo,
  type Host,
  type StoredObject,
} from '../../platform/host.ts';
import type { BucketOptions, Destination } from './catalog.ts';

type Row = {
  readonly codes: readonly string[];
  readonly category: Category;
  readonly code: string;
  readonly says: (place: BucketPlace, where: string) => string;
  readonly tryThis: readonly string[];
  readonly retryable?: true;
};
const credentialHints = [
  'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, or AWS_PROFILE',
  'the key must belong to the service of --s3-endpoint',
];
/** S3 and connection errors with their category and hints. The codes are those of the S3 API. */
const rows: readonly Row[] = [
  {
    codes: ['NoSuchBucket'],
    category: 'not-found',
    code: 'NO_BUCKET',
    says: ({ bucket }, where) => `bucket not found: ${bucket} at ${where}`,
    tryThis: ['create the bucket, or correct its name', '--s3-endpoint URL, if it is at another service'],
  },
  {
    codes: ['PermanentRedirect', 'AuthorizationHeaderMalformed', 'IllegalLocationConstraintException', '301'],
    category: 'config',
    code: 'WRONG_REGION',
    says: ({ bucket, region }, where) =>
      `bucket ${bucket} is not in region ${region ?? 'of the environment'} of ${where}`,
    tryThis: ['--s3-region REGION, or AWS_REGION'],
  },
  {
    codes: ['RegionMissing'],
    category: 'config',
    code: 'NO_REGION',
    says: ({ bucket }) => `no region is set for bucket ${bucket}`,
    tryThis: ['--s3-region REGION, or AWS_REGION', '--s3-endpoint URL, if the bucket is not at AWS'],
  },
  {
    codes: ['AccessDenied', 'AllAccessDisabled', '403', 'Forbidden'],
    category: 'refused',
    code: 'ACCESS_DENIED',
    says: ({ bucket }, where) =>
      `${where} does not allow this request with these credentials for bucket ${bucket}`,
    tryThis: [
      'allow s3:ListBucket, s3:ListBucketMultipartUploads on the bucket; s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload on its objects',
    ],
  },
  {
    codes: ['SignatureDoesNotMatch'],
    category: 'auth',
    code: 'BAD_CREDENTIALS',
    says: ({ bucket }, where) =>
      `${where} does not accept the signature of a request to bucket ${bucket}: the secret does not belong to the access key`,
    tryThis: [
      'copy AWS_SECRET_ACCESS_KEY again: it is not the one of AWS_ACCESS_KEY_ID',
      '--s3-region REGION, if the service signs for another region',
    ],
  },
  {
    codes: ['InvalidAccessKeyId', 'InvalidClientTokenId', 'InvalidToken', 'AuthFailure'],
    category: 'auth',
    code: 'BAD_CREDENTIALS',
    says: ({ bucket }, where) => `${where}, bucket ${bucket}: unknown access key`,
    tryThis: credentialHints,
  },
  {
    codes: ['ExpiredToken', 'ExpiredTokenException'],
    category: 'auth',
    code: 'EXPIRED_CREDENTIALS',
    says: ({ bucket }, where) => `${where}, bucket ${bucket}: the session token has expired`,
    tryThis: ['fetch a new one, and set AWS_SESSION_TOKEN'],
  },
  {
    codes: ['CredentialsProviderError', 'NoCredentialsError'],
    category: 'auth',
    code: 'NO_CREDENTIALS',
    says: ({ bucket }, where) => `no credentials found for bucket ${bucket} at ${where}`,
    tryThis: credentialHints,
  },
  {
    codes: ['RequestTimeTooSkewed', 'RequestExpired'],
    category: 'config',
    code: 'CLOCK_SKEW',
    says: ({ bucket }, where) =>
      `${where}, bucket ${bucket}: the clocks of this machine and of the service differ too much for a signature`,
    tryThis: ['run timedatectl status, and correct the clock of this machine'],
  },
  {
    codes: [
      'ECONNREFUSED',
      'ENOTFOUND',
      'EAI_AGAIN',
      'EHOSTUNREACH',
      'ENETUNREACH',
      'ETIMEDOUT',
      'TimeoutError',
    ],
    category: 'network',
    code: 'UNREACHABLE',
    says: ({ bucket }, where) => `${where} (bucket ${bucket}) cannot be reached`,
    tryThis: ['--s3-endpoint URL, AWS_ENDPOINT_URL_S3', 'opsctl doctor'],
    retryable: true,
  },
  {
    codes: [
      'ECONNRESET',
      'EPIPE',
      'SlowDown',
      'ServiceUnavailable',
      'InternalError',
      'RequestTimeout',
      'BadDigest',
    ],
    category: 'network',
    code: 'STORAGE_FAILED',
    says: ({ bucket }, where) => `${where}, bucket ${bucket}, failed several times`,
    tryThis: ['run it again later; no partial upload remains'],
    retryable: true,
  },
  {
    codes: ['AbortError'],
    category: 'interrupted',
    code: 'INTERRUPTED',
    says: () => 'interrupted: the upload was aborted, and no partial upload remains',
    tryThis: [],
  },
];
/** Finds the row by the error code, then by the status. */
const rowOf = (error: BucketError): Row | undefined =>
  rows.find(({ codes }) => codes.includes(error.code)) ??
  rows.find(({ codes }) => codes.includes(String(error.status)));
const shortenText = (text: string): string => cutText(text, 200);
/** Converts a bucket error into an AppError. Returns other errors unchanged. */
export const bucketFailure = (place: BucketPlace, error: unknown): unknown => {
  if (!(error instanceof BucketError)) return error;
  const where = place.endpoint ?? `S3${place.region === undefined ? '' : ` in ${place.region}`}`;
  const row = rowOf(error);
  if (row === undefined)
    return new AppError(
      error.status === undefined || error.status >= 500 ? 'network' : 'refused',
      `${where}, bucket ${place.bucket}: ${error.code}: ${shortenText(error.message)}`,
      { code: 'STORAGE_FAILED', cause: error },
    );
  const reason =
    error.message === '' || error.message === error.code ? '' : `: ${shortenText(error.message)}`;
  return new AppError(row.category, `${row.says(place, where)} (${error.code}${reason})`, {
    code: row.code,
    tryThis: row.tryThis,
    ...(row.retryable === undefined ? {} : { retryable: true }),
    ...(error.status === undefined ? {} : { httpStatus: error.status }),
    cause: error,
  });
};

/** Wraps a bucket so that every failure is an AppError. */
const describedBucket = (bucket: Bucket, place: BucketPlace): Bucket => {
  const throwKnown = (error: unknown): never => {
    throw bucketFailure(place, error);
  };
  const read = async function* <T>(source: AsyncIterable<T>): AsyncGenerator<T> {
    try {
      yield* source;
    } catch (error) {
      throwKnown(error);
    }
  };
  return {
    put: (key, data, sizeBytes, signal) => bucket.put(key, data, sizeBytes, signal).catch(throwKnown),
    stream: async (key, signal) => {
      const chunks = await bucket.stream(key, signal).catch(throwKnown);
      return chunks === undefined ? undefined : read(chunks);
    },
    sizeOf: (key) => bucket.sizeOf(key).catch(throwKnown),
    list: (prefix) => read<StoredObject>(bucket.list(prefix)),
    remove: (key) => bucket.remove(key).catch(throwKnown),
    discardUploads: (prefix, beforeMs) => bucket.discardUploads(prefix, beforeMs).catch(throwKnown),
    close: bucket.close,
  };
};

const dayMs = 86_400_000;
/**
 * Returns the bucket settings: first the flag or the cluster file, then the standard AWS environment
 * variables.
 */
const placeOf = (
  { env }: Pick<Host, 'env'>,
  bucket: string,
  { endpoint, region, addressing }: BucketOptions,
): BucketPlace => {
  const firstVariable = (...names: string[]): string | undefined =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  const at = endpoint ?? firstVariable('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL');
  // Self-hosted services rarely have a host name per bucket and ignore the region.
  const where =
    region ??
    firstVariable('AWS_REGION', 'AWS_DEFAULT_REGION') ??
    (at === undefined ? undefined : 'us-east-1');
  return {
    bucket,
    addressing: addressing ?? (at === undefined ? 'virtual' : 'path'),
    ...(at === undefined ? {} : { endpoint: at }),
    ...(where === undefined ? {} : { region: where }),
  };
};
/**
 * Returns the text of a manifest; undefined if it is too long for one. One such file must not hide the other snapshots of
 * its directory.
 */
export const textOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string | undefined> => {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > limits.manifestBytes) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
};
type Part = {
  readonly bucket: Bucket;
  readonly prefix: string;
  readonly urlOf: (file: string) => string;
};
const namesIn = async ({ bucket, prefix, urlOf }: Part): ReturnType<Destination['names']> => {
  const found: { name: string; sizeBytes: number }[] = [];
  const held = heldRows(`the list of ${urlOf('')}`);
  for await (const { key, sizeBytes } of bucket.list(prefix)) {
    held.refuseMore(1);
    const file = key.slice(prefix.length);
    if (!file.includes('/')) found.push({ name: file, sizeBytes });
  }
  return found;
};
/** Uploads an object and verifies its size with a second request. */
const upload = async (
  { bucket, prefix, urlOf }: Part,
  file: string,
  data: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  signal?: AbortSignal,
): Promise<void> => {
  await bucket.put(`${prefix}${file}`, data, sizeBytes, signal);
  const size = await bucket.sizeOf(`${prefix}${file}`);
  if (size === sizeBytes) return;
  throw new AppError(
    'network',
    `${urlOf(file)} has ${size ?? 'no'} bytes after its upload, expected ${sizeBytes}`,
    {
      code: 'UPLOAD_INCOMPLETE',
      retryable: true,
    },
  );
};
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
/** Stores objects below a prefix. Converts service errors into errors with hints. */
export const bucketDestination = async (
  host: Host,
  { bucket: name, prefix }: BucketUrl,
  options: BucketOptions & { readonly workDirectory: string },
): Promise<Destination> => {
  const place = placeOf(host, name, options);
  const bucket = describedBucket(await host.bucket(place), place);
  const urlOf = (file: string): string => `s3://${name}/${prefix}${file}`;
  const part: Part = { bucket, prefix, urlOf };
  return {
    where: urlOf('').replace(/\/$/, ''),
    workDirectory: options.workDirectory,
    placeOf: urlOf,
    names: () => namesIn(part),
    put: (file, path, sizeBytes, signal) => upload(part, file, host.files.stream(path), sizeBytes, signal),
    putText: async (file, text) => {
      const bytes = Buffer.from(text);
      await upload(part, file, once(bytes), bytes.length);
    },
    text: async (file) => {
      const chunks = await bucket.stream(`${prefix}${file}`);
      return chunks === undefined ? undefined : textOf(chunks);
    },
    stream: (file, signal) => bucket.stream(`${prefix}${file}`, signal),
    remove: (file) => bucket.remove(`${prefix}${file}`),
    discardUnfinished: () => bucket.discardUploads(prefix, host.now() - dayMs),
    close: bucket.close,
  };
};

/** A bucket name is a host name with one or more labels. The prefix must not contain `.` or `..` segments. */
const bucketUrl = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;
export type BucketUrl = { readonly bucket: string; readonly prefix: string };
const parsePlace = (where: string): BucketUrl | undefined => {
  const [, bucket, rest = ''] = bucketUrl.exec(where) ?? [];
  const prefix = rest.replace(/\/+$/, '');
  const isPlain = prefix === '' || prefix.split('/').every((part) => !['', '.', '..'].includes(part));
  return bucket === undefined || !isPlain ? undefined : { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
};
/** Returns the problem with the URL as a sentence, or undefined if the URL is valid. Pure. */
export const bucketUrlProblem = (where: string): string | undefined =>
  parsePlace(where) === undefined
    ? `must be s3://BUCKET or s3://BUCKET/PREFIX; got ${JSON.stringify(where)}`
    : undefined;
/**
 * Returns the bucket and the prefix with a trailing slash. Throws invalid arguments that name the source of
 * the URL.
 */
const parseBucketUrl = (where: string, from: string): BucketUrl => {
  const found = parsePlace(where);
  if (found !== undefined) return found;
  throw invalidArguments([
    problem(
      from,
      'format',
      bucketUrlProblem(where) ?? '',
      'a bucket has 3 to 63 lower-case letters, digits, dots and hyphens; the URL must not contain credentials',
    ),
  ]);
};

const partialPattern = /^\..+\.partial(-\d+)?$/;
/**
 * Lists the files of the directory. Returns no names if the directory does not exist. Throws if the path is
 * not a directory.
 */
const namesInDirectoryDestination = async ({ files }: Host, directory: string): Promise<string[]> => {
  const real = await files.realPath(directory);
  if (real === undefined) return [];
  if ((await files.info(real))?.kind === 'directory') return files.list(real);
  throw new AppError('usage', `${directory} is not a directory`, {
    code: 'NOT_A_DIRECTORY',
    tryThis: ['use the directory that contains the snapshots'],
  });
};
const lookedUpAtOnce = 256;
type Entry = { readonly name: string; readonly info: FileInfo | undefined };
/** The files of a directory, which may contain any number of other files. */
const infosIn = async (
  host: Host,
  directory: string,
  isWanted: (name: string) => boolean,
): Promise<Entry[]> => {
  const names = (await namesInDirectoryDestination(host, directory)).filter(isWanted);
  heldRows(`the list of ${directory}`).refuseMore(names.length);
  const found: Entry[] = [];
  for (let i = 0; i < names.length; i += lookedUpAtOnce) {
    const some = names.slice(i, i + lookedUpAtOnce).map(async (name) => ({
      name,
      info: await host.files.info(childPath(directory, pathPart(name))),
    }));
    found.push(...(await Promise.all(some)));
  }
  return found;
};
/** Stores snapshots in a local directory with mode 0700. A file gets its name when it is complete. */
export const directoryDestination = (host: Host, directory: string): Destination => {
  const { files } = host;
  const pathOf = (name: string): string => childPath(directory, pathPart(name));
  return {
    where: directory,
    workDirectory: directory,
    placeOf: pathOf,
    names: async () => {
      const found: { name: string; sizeBytes: number }[] = [];
      for (const { name, info } of await infosIn(host, directory, () => true))
        if (info?.kind === 'file') found.push({ name, sizeBytes: info.sizeBytes });
      return found;
    },
    put: async (name, file) => {
      if (dirname(file) === directory) return files.rename(file, pathOf(name));
      await files.makeDirectory(directory, 0o700);
      await files.replaceStream(pathOf(name), files.stream(file), 0o600);
    },
    putText: (name, text) => files.replace(pathOf(name), text, 0o600),
    text: async (name) => {
      const path = pathOf(name);
      return (await files.info(path)) === undefined ? undefined : textOf(files.stream(path));
    },
    stream: async (name) =>
      (await files.info(pathOf(name))) === undefined ? undefined : files.stream(pathOf(name)),
    remove: (name) => files.remove(pathOf(name)),
    discardUnfinished: async () => {
      const infos = await infosIn(host, directory, (name) => partialPattern.test(name));
      const old = infos.filter(({ info }) => info !== undefined && info.modifiedMs < host.now() - dayMs);
      for (const { name } of old) await files.remove(pathOf(name));
      return old.length;
    },
    close: () => undefined,
  };
};

export const openDestination = async (
  host: Host,
  where: string,
  options: BucketOptions & { readonly workDirectory: string; readonly flag?: string },
): Promise<Destination> => {
  if (isBucketUrl(where))
    return bucketDestination(host, parseBucketUrl(where, options.flag ?? 'destination'), options);
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(where))
    throw new AppError('usage', `${where} is neither a directory nor an s3:// URL`, {
      code: 'UNKNOWN_DESTINATION',
      tryThis: ['a directory', 's3://BUCKET/PREFIX, with --s3-endpoint for a service other than AWS'],
    });
  return directoryDestination(host, resolve(host.cwd, where));
};
