import type { MockReply } from '../service-set.ts';

/** spec/labels#errors: names of states and their HTTP numbers. */
const httpStatus = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  RESOURCE_EXHAUSTED: 429,
} as const;
export type StatusName = keyof typeof httpStatus;
export type Violation = { readonly field: string; readonly description: string };
type More = {
  /** A stable word: ErrorInfo.reason. */
  readonly reason?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** Seconds after which another try may succeed. */
  readonly retryAfter?: number;
  /** Members of the request that are wrong. */
  readonly fields?: readonly Violation[];
  /** Headers of the response, in place of the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
};

/** A refusal of the label service; becomes the JSON error body. */
export class LabelError extends Error {
  readonly status: StatusName;
  readonly more: More;
  constructor(status: StatusName, message: string, more: More = {}) {
    super(message);
    this.name = 'LabelError';
    this.status = status;
    this.more = more;
  }
}

/** The path of a nested key; at the root of a body it is only the name. */
export const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

export const invalid = (field: string, description: string, reason = 'INVALID_VALUE'): LabelError =>
  new LabelError(
    'INVALID_ARGUMENT',
    field === '' ? description : `Invalid value at '${field}': ${description}`,
    {
      reason,
      fields: [{ field, description }],
    },
  );
export const makePreconditionError = (reason: string, subject: string, message: string): LabelError =>
  new LabelError('FAILED_PRECONDITION', message, { reason, metadata: { subject } });
export const makeDeniedError = (
  reason: string,
  message: string,
  metadata: Readonly<Record<string, string>> = {},
): LabelError => new LabelError('PERMISSION_DENIED', message, { reason, metadata });
export const makeNotFoundError = (what: string): LabelError =>
  new LabelError('NOT_FOUND', `Requested entity was not found: ${what}`, {
    reason: 'NOT_FOUND',
    metadata: { resource: what },
  });

const details = (error: LabelError): unknown[] => [
  {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: error.more.reason ?? error.status,
    domain: 'labels',
    metadata: error.more.metadata ?? {},
  },
  ...(error.more.fields
    ? [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: error.more.fields }]
    : []),
  ...(error.status === 'FAILED_PRECONDITION'
    ? [
        {
          '@type': 'type.googleapis.com/google.rpc.PreconditionFailure',
          violations: [
            {
              type: error.more.reason ?? '',
              subject: error.more.metadata?.subject ?? '',
              description: error.message,
            },
          ],
        },
      ]
    : []),
];

/** The older form of error entries, which clients that send `$.xgafv=1` still read (spec/labels#errors: error.errors[]). */
const olderReason: Readonly<Record<StatusName, string>> = {
  INVALID_ARGUMENT: 'badRequest',
  FAILED_PRECONDITION: 'failedPrecondition',
  UNAUTHENTICATED: 'authError',
  PERMISSION_DENIED: 'forbidden',
  NOT_FOUND: 'notFound',
  ALREADY_EXISTS: 'alreadyExists',
  RESOURCE_EXHAUSTED: 'rateLimitExceeded',
};

/** spec/labels#errors: HTTP status line plus {"error":{code,message,status,details}}. */
export const errorReply = (error: LabelError, olderForm = false): MockReply => {
  const code = httpStatus[error.status];
  const body = {
    error: {
      code,
      message: error.message,
      ...(olderForm
        ? { errors: [{ message: error.message, domain: 'global', reason: olderReason[error.status] }] }
        : {}),
      status: error.status,
      details: details(error),
    },
  };
  return {
    status: code,
    headers: {
      'content-type': 'application/json; charset=UTF-8',
      ...(error.more.retryAfter === undefined ? {} : { 'retry-after': String(error.more.retryAfter) }),
      ...(code === 401 ? { 'www-authenticate': 'Bearer realm="labels", error="invalid_token"' } : {}),
      ...error.more.headers,
    },
    body: `${JSON.stringify(body, undefined, 2)}\n`,
  };
};
