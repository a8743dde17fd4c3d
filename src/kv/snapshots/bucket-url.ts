import { invalidArguments, problem } from '../../core/problem.ts';

export const isBucketUrl = (where: string): boolean => /^s3:\/\//i.test(where);

/** A bucket's name is a host name of one or more labels; the prefix has no part that stands for another. */
const bucketUrl = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/;
export type BucketUrl = { readonly bucket: string; readonly prefix: string };

const parsed = (where: string): BucketUrl | undefined => {
  const [, bucket, rest = ''] = bucketUrl.exec(where) ?? [];
  const prefix = rest.replace(/\/+$/, '');
  const isPlain = prefix === '' || prefix.split('/').every((part) => !['', '.', '..'].includes(part));
  return bucket === undefined || !isPlain ? undefined : { bucket, prefix: prefix === '' ? '' : `${prefix}/` };
};

/** What is wrong with the URL, as a sentence; undefined when it can be used. Pure. */
export const bucketUrlProblem = (where: string): string | undefined =>
  parsed(where) === undefined
    ? `must be s3://BUCKET or s3://BUCKET/PREFIX; got ${JSON.stringify(where)}`
    : undefined;

/** Bucket and prefix, with a slash at its end. Throws invalid arguments that name where the URL came from. */
export const parseBucketUrl = (where: string, from: string): BucketUrl => {
  const found = parsed(where);
  if (found !== undefined) return found;
  throw invalidArguments([
    problem(
      from,
      'format',
      bucketUrlProblem(where) ?? '',
      'a bucket has 3 to 63 lower-case letters, digits, dots and hyphens; credentials never stand in the URL',
    ),
  ]);
};
