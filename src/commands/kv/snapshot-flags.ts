import { int, oneOf, req, str } from '../../core/field.ts';
import { parseDuration } from '../../core/duration.ts';
import type { BucketOptions, Destination } from '../../kv-snapshots/destination-types.ts';
import type { Retention } from '../../kv-snapshots/retention.ts';
import type { Argument, Context, Flags, ValuesOf } from '../../cli/command.ts';

export const destinationArgument = {
  name: 'destination',
  field: req(str(4096, { min: 1 })),
  summary: 'A directory, or s3://BUCKET/PREFIX',
  complete: 'file',
} as const satisfies Argument;

/** Credentials have no flag: they come from the environment or the profile, role or instance that the client library finds. */
export const bucketFlags = {
  's3-endpoint': {
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'URL of an S3-compatible service (default: AWS_ENDPOINT_URL_S3, else AWS)',
    value: 'url',
  },
  's3-region': {
    field: str(64, { min: 1 }),
    summary: 'Region of the bucket (default: AWS_REGION)',
    value: 'region',
  },
  's3-addressing': {
    field: oneOf('path', 'virtual'),
    summary: 'Bucket in the path or in the host name (default: path with an endpoint, else virtual)',
    value: 'path|virtual',
  },
} as const satisfies Flags;
export type BucketValues = ValuesOf<typeof bucketFlags>;

export const nameFlag = {
  name: {
    field: str(128, { min: 1, pattern: '^[A-Za-z0-9._-]+$' }),
    summary: 'Name of the cluster in the names of snapshots (default: that of the cluster file)',
    value: 'name',
  },
} as const satisfies Flags;

const count = (summary: string) => ({ field: int({ min: 1, max: 10_000 }), summary, value: 'n' }) as const;
export const retentionFlags = {
  'keep-last': count('Keep the newest n snapshots'),
  'keep-daily': count('Keep the newest of each of the last n days (UTC) that have one'),
  'keep-weekly': count('Keep the newest of each of the last n weeks (UTC) that have one'),
  'max-age': {
    field: str(32, { min: 1 }),
    summary: 'Keep nothing older, like 90d; the newest verified snapshot stays all the same',
    value: 'duration',
  },
} as const satisfies Flags;
export type RetentionValues = ValuesOf<typeof retentionFlags>;

const longestAgeMs = 100 * 366 * 86_400_000;
/** Undefined without any of the flags: then nothing is pruned. */
export const retentionOf = (values: RetentionValues): Retention | undefined => {
  const names = ['keep-last', 'keep-daily', 'keep-weekly', 'max-age'] as const;
  if (names.every((name) => values[name] === undefined)) return undefined;
  const age = values['max-age'];
  return {
    keepLast: values['keep-last'],
    keepDaily: values['keep-daily'],
    keepWeekly: values['keep-weekly'],
    ...(age === undefined ? {} : { maxAgeMs: parseDuration(age, '--max-age', longestAgeMs) }),
  };
};

/** Only what was given: what is absent may stand in the cluster file. */
export const bucketOptions = (values: BucketValues): BucketOptions => ({
  ...(values['s3-endpoint'] === undefined ? {} : { endpoint: values['s3-endpoint'] }),
  ...(values['s3-region'] === undefined ? {} : { region: values['s3-region'] }),
  ...(values['s3-addressing'] === undefined ? {} : { addressing: values['s3-addressing'] }),
});

/** The destination of a command; it is closed when the work is done. */
export const withDestination = async <T>(
  { host, settings }: Pick<Context, 'host' | 'settings'>,
  where: string,
  values: BucketValues,
  work: (destination: Destination) => Promise<T>,
): Promise<T> => {
  const { openDestination } = await import('../../kv-snapshots/destination.ts');
  const workDirectory = `${settings.directories.state}/snapshots`;
  const destination = await openDestination(host, where, { ...bucketOptions(values), workDirectory });
  try {
    return await work(destination);
  } finally {
    destination.close();
  }
};
