import { resolve } from 'node:path';
import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';
import { bucketDestination } from './bucket-destination.ts';
import { isBucketUrl, parseBucketUrl } from './bucket-url.ts';
import type { BucketOptions, Destination } from './destination-types.ts';
import { directoryDestination } from './directory-destination.ts';

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
