import { AppError } from '../../core/problem.ts';
import type { Category } from '../../core/problem.ts';
import { BucketError } from '../../platform/bucket.ts';
import type { BucketPlace } from '../../platform/bucket.ts';

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
/** What a service or a connection answers, in terms of who can fix it. The words are those of the S3 API. */
const rows: readonly Row[] = [
  {
    codes: ['NoSuchBucket'],
    category: 'not-found',
    code: 'NO_BUCKET',
    says: ({ bucket }, where) => `there is no bucket ${bucket} at ${where}`,
    tryThis: ['create the bucket, or correct its name', '--s3-endpoint URL, when it is at another service'],
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
    codes: ['AccessDenied', 'AllAccessDisabled', '403', 'Forbidden'],
    category: 'refused',
    code: 'ACCESS_DENIED',
    says: ({ bucket }, where) => `${where} does not let these credentials do that with bucket ${bucket}`,
    tryThis: [
      's3:ListBucket, s3:ListBucketMultipartUploads on the bucket; s3:GetObject, s3:PutObject, s3:DeleteObject, s3:AbortMultipartUpload on its objects',
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
      '--s3-region REGION, when the service signs for another one',
    ],
  },
  {
    codes: ['InvalidAccessKeyId', 'InvalidClientTokenId', 'InvalidToken', 'AuthFailure'],
    category: 'auth',
    code: 'BAD_CREDENTIALS',
    says: ({ bucket }, where) => `${where}, bucket ${bucket}: the access key is not known there`,
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
    says: ({ bucket }, where) => `there are no credentials for bucket ${bucket} at ${where}`,
    tryThis: credentialHints,
  },
  {
    codes: ['RequestTimeTooSkewed', 'RequestExpired'],
    category: 'config',
    code: 'CLOCK_SKEW',
    says: ({ bucket }, where) =>
      `${where}, bucket ${bucket}: the clocks of this machine and of the service differ too much for a signature`,
    tryThis: ['timedatectl status, and correct the clock of this machine'],
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
    tryThis: ['run it again later: nothing was left behind'],
    retryable: true,
  },
  {
    codes: ['AbortError'],
    category: 'interrupted',
    code: 'INTERRUPTED',
    says: () => 'interrupted: the upload was aborted and nothing was left behind',
    tryThis: [],
  },
];

/** The service's own code, then its status. */
const rowOf = (error: BucketError): Row | undefined =>
  rows.find(({ codes }) => codes.includes(error.code)) ??
  rows.find(({ codes }) => codes.includes(String(error.status)));

const shortened = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

/** An error of a bucket as a message with an exit code; anything else stays as it is. */
export const bucketFailure = (place: BucketPlace, error: unknown): unknown => {
  if (!(error instanceof BucketError)) return error;
  const where = place.endpoint ?? `S3${place.region === undefined ? '' : ` in ${place.region}`}`;
  const row = rowOf(error);
  if (row === undefined)
    return new AppError(
      error.status === undefined || error.status >= 500 ? 'network' : 'refused',
      `${where}, bucket ${place.bucket}: ${error.code}: ${shortened(error.message)}`,
      { code: 'STORAGE_FAILED', cause: error },
    );
  const reason = error.message === '' || error.message === error.code ? '' : `: ${shortened(error.message)}`;
  return new AppError(row.category, `${row.says(place, where)} (${error.code}${reason})`, {
    code: row.code,
    tryThis: row.tryThis,
    ...(row.retryable === undefined ? {} : { retryable: true }),
    ...(error.status === undefined ? {} : { httpStatus: error.status }),
    cause: error,
  });
};
