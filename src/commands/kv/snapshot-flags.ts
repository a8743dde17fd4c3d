import { namePattern } from '../../kv/upgrade/cluster/cluster-fields.ts';
import type { Argument, Context, Flags, ValuesOf } from '../../cli/command.ts';
import { oneOf, req, str } from '../../core/field.ts';
import type { BucketOptions, Destination } from '../../kv/snapshots/destination-types.ts';

export const destinationArgument = {
  name: 'destination',
  effects: ['reads', 'writes'],
  field: req(str(4096, { min: 1 })),
  summary: 'A directory, or s3://BUCKET/PREFIX',
  complete: 'file',
} as const satisfies Argument;

/** Credentials have no flag: they come from the environment or the profile, role or instance that the client library finds. */
export const bucketFlags = {
  's3-endpoint': {
    effects: ['sends'],
    field: str(2048, { min: 1, pattern: '^https?://' }),
    summary: 'URL of an S3-compatible service (default: AWS_ENDPOINT_URL_S3, else AWS)',
    value: 'url',
  },
  's3-region': {
    effects: ['sends'],
    field: str(64, { min: 1 }),
    summary: 'Region of the bucket (default: AWS_REGION)',
    value: 'region',
  },
  's3-addressing': {
    effects: [],
    field: oneOf('path', 'virtual'),
    summary: 'Bucket in the path or in the host name (default: path with an endpoint, else virtual)',
    value: 'path|virtual',
  },
} as const satisfies Flags;

export type BucketValues = ValuesOf<typeof bucketFlags>;

export const nameFlag = {
  name: {
    effects: [],
    field: str(128, { min: 1, pattern: namePattern }),
    summary: 'Name of the cluster in the names of snapshots (default: that of the cluster file)',
    value: 'name',
  },
} as const satisfies Flags;

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
  const { openDestination } = await import('../../kv/snapshots/destination.ts');
  const workDirectory = `${settings.directories.state}/snapshots`;
  const destination = await openDestination(host, where, { ...bucketOptions(values), workDirectory });
  try {
    return await work(destination);
  } finally {
    destination.close();
  }
};
