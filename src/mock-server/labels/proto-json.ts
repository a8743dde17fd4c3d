import { type Field, type Fields, type NumberField, type StringField, bare } from '../../core/field.ts';
import { formats } from '../../core/format.ts';
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

export type Json = { readonly [key: string]: unknown };
/** A request body after the mapping, with its errors. */
export type Mapped = { readonly value: Json; readonly violations: readonly Violation[] };

const join = (path: string, key: string): string => (path === '' ? key : `${path}.${key}`);
const at = (path: string): string => (path === '' ? '' : ` at '${path}'`);
/** spec/labels#errors: lowerCamel and snake_case are both read. */
export const camel = (name: string): string =>
  name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

const wrong = (path: string, type: string, value: unknown): Violation => ({
  field: path,
  description: `Invalid value${at(path)} (${type}), ${JSON.stringify(value)}`,
});

const INT32 = 2147483647;
const readNumber = (field: NumberField, value: unknown, path: string, bad: Violation[]): unknown => {
  const parsed =
    typeof value === 'string' && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(value) ? Number(value) : value;
  const type = field.type === 'integer' ? 'TYPE_INT32' : 'TYPE_FLOAT';
  if (typeof parsed !== 'number' || !Number.isFinite(parsed)) bad.push(wrong(path, type, value));
  else if (field.type === 'integer' && (!Number.isInteger(parsed) || Math.abs(parsed) > INT32))
    bad.push(wrong(path, type, value));
  return parsed;
};

const MAX64 = 9223372036854775807n;
const readInt64 = (value: unknown, path: string, bad: Violation[]): unknown => {
  const text = typeof value === 'number' && Number.isInteger(value) ? BigInt(value).toString() : value;
  if (typeof text !== 'string' || !/^-?\d{1,19}$/.test(text)) {
    bad.push(wrong(path, 'TYPE_INT64', value));
    return value;
  }
  const big = BigInt(text);
  if (big > MAX64 || big < -MAX64 - 1n) bad.push(wrong(path, 'TYPE_INT64', value));
  return big.toString();
};

/** spec/labels#edits: the mask is one string; the guide's own sample sends {paths:[…]}, which is tolerated. */
const readMask = (value: unknown, path: string, bad: Violation[]): unknown => {
  const paths =
    typeof value === 'object' && value !== null ? (value as { paths?: unknown }).paths : undefined;
  const text = Array.isArray(paths) && paths.every((p) => typeof p === 'string') ? paths.join(',') : value;
  if (typeof text !== 'string' || !formats.fieldmask.holds(text)) {
    bad.push(wrong(path, 'FieldMask', value));
    return value;
  }
  return text.split(',').map(camel).join(',');
};

const readString = (field: StringField, value: unknown, path: string, bad: Violation[]): unknown => {
  if (field.format === 'int64') return readInt64(value, path, bad);
  if (field.format === 'fieldmask') return readMask(value, path, bad);
  if (field.enum !== undefined) {
    // Proto JSON takes the number of an enum value as well as its name.
    const name = typeof value === 'number' ? field.enum[value] : value;
    if (typeof name !== 'string' || !field.enum.includes(name)) bad.push(wrong(path, 'TYPE_ENUM', value));
    return name;
  }
  if (typeof value !== 'string') bad.push(wrong(path, 'TYPE_STRING', value));
  else if (field.format === 'datetime' && !formats.datetime.holds(value))
    bad.push(wrong(path, 'Timestamp', value));
  return value;
};

const readValue = (outer: Field, value: unknown, path: string, bad: Violation[]): unknown => {
  const field = bare(outer);
  switch (field.type) {
    case 'string':
      return readString(field, value, path, bad);
    case 'integer':
    case 'number':
      return readNumber(field, value, path, bad);
    case 'boolean':
      if (typeof value !== 'boolean') bad.push(wrong(path, 'TYPE_BOOL', value));
      return value;
    case 'array':
      if (!Array.isArray(value)) {
        bad.push({
          field: path,
          description: `Invalid JSON payload received. A list was expected${at(path)}, got ${JSON.stringify(value)}`,
        });
        return value;
      }
      return value.map((item, i) => readValue(field.items, item, `${path}[${i}]`, bad));
    case 'object':
      return readFields(field.fields, field.exclusive, value, path, bad);
    default:
      return value;
  }
};

type Reading = { readonly read: Record<string, unknown>; readonly path: string; readonly bad: Violation[] };

/** One member of a message, under either of its names. */
const readMember = (fields: Fields, name: string, given: unknown, { read, path, bad }: Reading): void => {
  const key = Object.hasOwn(fields, name) ? name : camel(name);
  const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
  if (field === undefined) {
    const description = `Invalid JSON payload received. Unknown name "${name}"${at(path)}: Cannot find field.`;
    bad.push({ field: join(path, name), description });
    return;
  }
  // spec/labels#errors: null is absent; members that only the service sets are checked like others and then ignored.
  if (given === null) return;
  if (Object.hasOwn(read, key)) {
    bad.push({ field: join(path, key), description: `Invalid value${at(path)}: '${key}' is given twice.` });
    return;
  }
  const value = readValue(field, given, join(path, key), bad);
  if (!field.outputOnly) read[key] = value;
};

const readFields = (
  fields: Fields,
  exclusive: readonly (readonly string[])[] = [],
  value: unknown,
  path: string,
  bad: Violation[],
): unknown => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    bad.push({
      field: path,
      description: `Invalid JSON payload received. A message was expected${at(path)}, got ${JSON.stringify(value)}`,
    });
    return {};
  }
  const read: Record<string, unknown> = {};
  for (const [name, given] of Object.entries(value)) readMember(fields, name, given, { read, path, bad });
  bad.push(...oneofViolations(exclusive, read, path));
  return read;
};

/** At most one of each group may be set. */
const oneofViolations = (
  exclusive: readonly (readonly string[])[],
  read: Readonly<Record<string, unknown>>,
  path: string,
): Violation[] =>
  exclusive.flatMap((group) => {
    const [first, second] = group.filter((key) => read[key] !== undefined);
    if (second === undefined) return [];
    const description = `Invalid value${at(path)} (oneof), oneof is already set by '${first}'. Cannot set '${second}'.`;
    return [{ field: join(path, second), description }];
  });

/**
 * The JSON mapping of spec/labels#errors: strict about names, types, enums and oneofs. Reports all errors.
 * Pure.
 */
export const mapJson = (
  fields: Fields,
  exclusive: readonly (readonly string[])[] | undefined,
  value: unknown,
): Mapped => {
  const violations: Violation[] = [];
  const mapped = readFields(fields, exclusive, value, '', violations);
  return { value: mapped as Json, violations };
};
