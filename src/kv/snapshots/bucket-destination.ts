import { heldRows } from '../../core/held-rows.ts';
import { AppError } from '../../core/problem.ts';
import type { Bucket, BucketPlace } from '../../platform/bucket.ts';
import type { Host } from '../../platform/host.ts';
import type { BucketUrl } from './bucket-url.ts';
import { describedBucket } from './described-bucket.ts';
import type { BucketOptions, Destination } from './destination-types.ts';
import { limits } from '../../core/limits.ts';

const dayMs = 86_400_000;

/** A flag or the cluster file first, then the names that every client of such a service reads. */
const placeOf = (
  { env }: Pick<Host, 'env'>,
  bucket: string,
  { endpoint, region, addressing }: BucketOptions,
): BucketPlace => {
  const given = (...names: string[]): string | undefined =>
    names.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  const at = endpoint ?? given('AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL');
  // A service of one's own has seldom a name for each bucket, and does not care for the region.
  const where =
    region ?? given('AWS_REGION', 'AWS_DEFAULT_REGION') ?? (at === undefined ? undefined : 'us-east-1');
  return {
    bucket,
    addressing: addressing ?? (at === undefined ? 'virtual' : 'path'),
    ...(at === undefined ? {} : { endpoint: at }),
    ...(where === undefined ? {} : { region: where }),
  };
};

async function* limited(chunks: AsyncIterable<Uint8Array>, what: string): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > limits.manifestBytes)
      throw new AppError(
        'refused',
        `${what} has more than ${limits.manifestBytes} bytes: it is no manifest of a snapshot`,
      );
    yield chunk;
  }
}
/** The text of a manifest; `what` names it where it is too long to be one. */
export const textOf = async (chunks: AsyncIterable<Uint8Array>, what: string): Promise<string> => {
  const parts: Uint8Array[] = [];
  for await (const part of limited(chunks, what)) parts.push(part);
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

/** An upload is believed when the service says how large the object is now. */
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
    `${urlOf(file)} has ${size ?? 'no'} bytes after its upload, not ${sizeBytes}`,
    {
      code: 'UPLOAD_INCOMPLETE',
      retryable: true,
    },
  );
};
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** Objects below a prefix. What the service refuses becomes a message with a way out. */
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
      return chunks === undefined ? undefined : textOf(chunks, urlOf(file));
    },
    stream: (file, signal) => bucket.stream(`${prefix}${file}`, signal),
    remove: (file) => bucket.remove(`${prefix}${file}`),
    discardUnfinished: () => bucket.discardUploads(prefix, host.now() - dayMs),
    close: bucket.close,
  };
};
