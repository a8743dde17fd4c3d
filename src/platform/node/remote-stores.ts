/** The only file that knows the client libraries of stores: S3 for an `s3://` URL, and Redis for a shared rate limit. Each library is loaded by its first use. */
import { Readable } from 'node:stream';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { pageWatch } from '../../core/limits.ts';
import { AppError } from '../../core/problem.ts';
import { type Bucket, BucketError, type BucketPlace, type Bytes, type RunScript } from '../host.ts';
import { readFileNow } from './files.ts';

type Env = Readonly<Record<string, string | undefined>>;
type Library = typeof import('@aws-sdk/client-s3') & typeof import('@aws-sdk/lib-storage');

const mebibyte = 1024 ** 2;
/** An upload has 10,000 parts at most: large ones have larger parts, so that no size of a store is out of reach. */
const mostParts = 9000;
const partBytes = (sizeBytes: number): number =>
  Math.max(8 * mebibyte, Math.ceil(sizeBytes / mostParts / mebibyte) * mebibyte);
const partsAtOnce = 3;

/** Names given in the environment win; everything else is the client's own chain: profile, web identity, container, instance. */
const credentialsOf = (env: Env): Pick<S3ClientConfig, 'credentials'> => {
  const [id, secret, token] = [
    env['AWS_ACCESS_KEY_ID'],
    env['AWS_SECRET_ACCESS_KEY'],
    env['AWS_SESSION_TOKEN'],
  ];
  if (!id || !secret) return {};
  return {
    credentials: { accessKeyId: id, secretAccessKey: secret, ...(token ? { sessionToken: token } : {}) },
  };
};

const configOf = ({ endpoint, region, addressing }: BucketPlace, env: Env): S3ClientConfig => {
  const authorities = env['AWS_CA_BUNDLE'];
  return {
    ...credentialsOf(env),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(region === undefined ? {} : { region }),
    forcePathStyle: addressing === 'path',
    maxAttempts: 5,
    // A service in another region responds with a redirect. Following it would send the credentials to an
    // unknown host.
    followRegionRedirects: false,
    requestHandler: {
      connectionTimeout: 10_000,
      socketTimeout: 60_000,
      ...(authorities ? { httpsAgent: { ca: readFileNow(authorities) } } : {}),
    },
  };
};

type Failure = Error & {
  readonly code?: string;
  readonly Code?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number };
};
const throwFailure = (error: unknown): never => {
  const { name, code, Code, message, $metadata, $response } = error as Failure;
  const status = $metadata?.httpStatusCode ?? $response?.statusCode;
  // The library has no code for the missing region: neither a setting, a variable nor a profile names one.
  if (message === 'Region is missing') throw new BucketError('RegionMissing', '', status, error);
  throw new BucketError(Code ?? code ?? name, message, status, error);
};
const isMissing = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes((error as Failure).name) &&
  (error as Failure & { Code?: string }).Code !== 'NoSuchBucket';

const makeInterruptedError = (): Error =>
  Object.assign(new Error('the upload was interrupted'), { name: 'AbortError' });

const uploadOf = async (
  { Upload }: Library,
  client: S3Client,
  params: { readonly Bucket: string; readonly Key: string; readonly Body: Readable },
  sizeBytes: number,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const upload = new Upload({
    client,
    params,
    partSize: partBytes(sizeBytes),
    queueSize: partsAtOnce,
    leavePartsOnError: false,
  });
  // `upload.abort()` rejects immediately, and the process might exit before the parts are discarded.
  const stop = (): void => void params.Body.destroy(makeInterruptedError());
  signal?.addEventListener('abort', stop, { once: true });
  try {
    if (signal?.aborted === true) throw makeInterruptedError();
    await upload.done();
  } finally {
    signal?.removeEventListener('abort', stop);
    params.Body.destroy();
  }
};

async function* read(body: AsyncIterable<Bytes>): AsyncGenerator<Bytes> {
  try {
    yield* body;
  } catch (error) {
    throwFailure(error);
  }
}

async function* listPages(lib: Library, client: S3Client, Bucket: string, Prefix: string) {
  const pages = lib.paginateListObjectsV2({ client }, { Bucket, Prefix });
  const watch = pageWatch(`the list of s3://${Bucket}/${Prefix}`, 'token');
  try {
    for await (const { Contents = [], NextContinuationToken } of pages) {
      watch.refuseForEver(Contents.length);
      for (const { Key, Size = 0, LastModified } of Contents)
        if (Key !== undefined) yield { key: Key, sizeBytes: Size, modifiedMs: LastModified?.getTime() ?? 0 };
      if (NextContinuationToken !== undefined) watch.refuseAgain(NextContinuationToken);
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throwFailure(error);
  }
}

/** Smaller services leave this part of the API out. */
const isUnknownCall = (error: unknown): boolean => {
  const { name, Code, $metadata } = error as Failure;
  return (
    [name, Code].some((word) => word === 'NotImplemented' || word === 'MethodNotAllowed') ||
    [405, 501].includes($metadata?.httpStatusCode ?? 0)
  );
};

const discardUploads = async (
  lib: Library,
  client: S3Client,
  place: { readonly Bucket: string; readonly Prefix: string },
  beforeMs: number,
): Promise<number | undefined> => {
  const listing = await client
    .send(new lib.ListMultipartUploadsCommand(place))
    .catch((error: unknown) => (isUnknownCall(error) ? undefined : throwFailure(error)));
  if (listing === undefined) return undefined;
  const old = (listing.Uploads ?? []).filter(
    ({ Initiated }) => (Initiated?.getTime() ?? beforeMs) < beforeMs,
  );
  for (const { Key, UploadId } of old)
    await client
      .send(new lib.AbortMultipartUploadCommand({ Bucket: place.Bucket, Key, UploadId }))
      .catch(throwFailure);
  return old.length;
};

/**
 * The library warns on stderr about future Node requirements. Users of this program cannot act on that
 * warning.
 */
const withoutAnnouncement = (make: () => S3Client): S3Client => {
  const name = 'AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED';
  const before = process.env[name];
  process.env[name] = 'true';
  try {
    return make();
  } finally {
    if (before === undefined) delete process.env[name];
    else process.env[name] = before;
  }
};

export const openBucket = async (place: BucketPlace, env: Env): Promise<Bucket> => {
  const [s3, storage] = await Promise.all([import('@aws-sdk/client-s3'), import('@aws-sdk/lib-storage')]);
  const lib: Library = { ...s3, ...storage };
  const client = withoutAnnouncement(() => new lib.S3Client(configOf(place, env)));
  const Bucket = place.bucket;
  const missing = (error: unknown): undefined => (isMissing(error) ? undefined : throwFailure(error));
  return {
    put: (Key, data, sizeBytes, signal) =>
      uploadOf(lib, client, { Bucket, Key, Body: Readable.from(data) }, sizeBytes, signal).catch(
        throwFailure,
      ),
    stream: async (Key, signal) => {
      const asked = client.send(
        new lib.GetObjectCommand({ Bucket, Key }),
        signal === undefined ? {} : { abortSignal: signal },
      );
      const body = (await asked.catch(missing))?.Body as AsyncIterable<Bytes> | undefined;
      return body === undefined ? undefined : read(body);
    },
    sizeOf: async (Key) =>
      (await client.send(new lib.HeadObjectCommand({ Bucket, Key })).catch(missing))?.ContentLength,
    list: (prefix) => listPages(lib, client, Bucket, prefix),
    remove: async (Key) =>
      void (await client.send(new lib.DeleteObjectCommand({ Bucket, Key })).catch(throwFailure)),
    discardUploads: (Prefix, beforeMs) => discardUploads(lib, client, { Bucket, Prefix }, beforeMs),
    close: () => client.destroy(),
  };
};

/** Connects to the server of a shared rate limit. */
export const connectRedis = async (url: string, timeoutMs: number): Promise<RunScript> => {
  const { createClient } = await import('@redis/client');
  const client = createClient({
    url,
    socket: { connectTimeout: timeoutMs, socketTimeout: timeoutMs, reconnectStrategy: false },
    disableOfflineQueue: true,
  });
  // Callers receive the error. Without a listener the process would exit.
  client.on('error', () => undefined);
  await client.connect();
  client.unref();
  // An idle connection must not keep the program running; a connection with an open request must.
  return async (script, keys, args) => {
    client.ref();
    try {
      return Number(await client.eval(script, { keys, arguments: args.map(String) }));
    } finally {
      client.unref();
    }
  };
};
