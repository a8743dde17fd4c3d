import { bare, type Field, type ObjectField } from '../core/field.ts';
import { jsonRow, parseResponseJson, restoreNumbers, shownValue } from '../core/json.ts';
import { isSearch, type LooseInput, type Operation } from '../core/operation.ts';
import { cutText, AppError, type Category, type Problem, problem } from '../core/problem.ts';
import { excerptOf, redactedUrl } from '../core/redact-secrets.ts';
import { brokenPage } from '../core/limits.ts';
import { isRecord, structureFault } from '../core/shape.ts';

/**
 * `/labels/{label-public-id}` and `/{name=labels/*}:publish`: the last part of the path names the returned
 * record.
 */
const NAMED = /\/\{([\w-]+)(?:=labels\/\*)?\}(:\w+)?$/;
/** spec/tracker#webhooks: the documents do not show what a webhook reads as, so its id may be another kind of name. */
const OF_OTHER_SHAPE = /^\/integrations\//;
/** `labels/x@3` and `labels/x` are the label x; an id of 36 characters may be typed in capitals. */
const idIn = (given: unknown): string =>
  String(given)
    .replace(/^labels\/([^@/]+).*$/, '$1')
    .toLowerCase();
/**
 * Returns the record that the path of a request names. A POST without a verb creates another record below it
 * (a reply to a comment), and the response to a DELETE may contain any record.
 */
const askedFor = ({ method, path }: Operation, { params = {} }: LooseInput): string | undefined => {
  const [, name = '', verb] = NAMED.exec(path) ?? [];
  const given = params[name];
  if (given === undefined || OF_OTHER_SHAPE.test(path)) return undefined;
  return method === 'DELETE' || (method === 'POST' && verb === undefined) ? undefined : idIn(given);
};
/** Returns the expected ID if the response is about another record than the requested one. Pure. */
const otherThanAsked = (operation: Operation, input: LooseInput, value: unknown): string | undefined => {
  const asked = askedFor(operation, input);
  if (asked === undefined || !isRecord(value)) return undefined;
  // The response to a delta contains the label, in addition to the results of its edits.
  const { id } = isRecord(value.updatedLabel) ? value.updatedLabel : value;
  return id === undefined || id === null || idIn(id) === asked ? undefined : asked;
};
type Sent = { readonly name: string; readonly items: readonly unknown[] };
/**
 * The list in the body of a request. The response has an entry for each of its items. A search has filters,
 * and no filter is required.
 */
const sentIn = ({ body = {} }: Operation, input: LooseInput): Sent | undefined => {
  const name = Object.keys(body).find((key) => {
    const field = body[key];
    const isMain = field?.required === true || key === 'requests';
    return isMain && field !== undefined && bare(field).type === 'array';
  });
  const items = name === undefined ? undefined : input.body?.[name];
  return name !== undefined && Array.isArray(items) ? { name, items } : undefined;
};
const idsOf = (records: readonly unknown[]): ReadonlySet<string> =>
  new Set(records.map((one) => (isRecord(one) ? idIn(one.id) : '')));
/**
 * Returns what is missing in the response to a batch request: a record for each sent record, and for each ID
 * the record with that ID. A repeated ID counts as one record. Pure.
 */
const missingOfMany = (
  operation: Operation,
  input: LooseInput,
  records: readonly unknown[],
): string | undefined => {
  const sent = sentIn(operation, input);
  if (sent === undefined) return undefined;
  if (sent.items.every((one) => typeof one !== 'object')) {
    const found = idsOf(records);
    const missing = sent.items.filter((id) => !found.has(idIn(id)));
    return missing.length === 0
      ? undefined
      : `a record for each of \`${sent.name}\`; ${missing[0]} is not there`;
  }
  return records.length === sent.items.length
    ? undefined
    : `${sent.items.length} records, one for each of \`${sent.name}\`; there are ${records.length}`;
};
/**
 * Like the function above, for results in a field of a record: spec/labels#permissions, spec/labels#edits:
 * one result per request, in the same order.
 */
const missingOfRequests = (operation: Operation, input: LooseInput, value: unknown): string | undefined => {
  if (operation.body?.requests === undefined || !isRecord(value)) return undefined;
  const answers = value.responses ?? value.permissions;
  return Array.isArray(answers) ? missingOfMany(operation, input, answers) : undefined;
};

type Reply = { readonly status: number; readonly text: string };
type Row = Readonly<Record<string, unknown>>;
const isText = (value: unknown): boolean =>
  (typeof value === 'string' && value !== '') || typeof value === 'number';
/** The key that identifies a record of a row: `id`, or `name` if the row has no ID. */
const identityOf = ({ fields }: ObjectField): 'id' | 'name' | undefined =>
  Object.hasOwn(fields, 'id') ? 'id' : Object.hasOwn(fields, 'name') ? 'name' : undefined;
/**
 * A record without identity (a list of permissions) has at least one of its keys. A record without keys
 * counts as empty.
 */
const isOfRow = ({ fields }: ObjectField, value: Row): boolean => {
  const keys = Object.keys(value);
  return Object.keys(fields).length === 0
    ? keys.length === 0
    : keys.some((key) => Object.hasOwn(fields, key));
};
/** spec/tracker#webhooks: real services may send the record if the document specifies 204. */
const missingOfNothing = (ok: number, status: number, value: unknown): string | undefined =>
  ok !== 204 || status === 204 || (isRecord(value) && isText(value.id)) ? undefined : 'a 204 or the record';
const missingOfObject = (returns: ObjectField, value: unknown): string | undefined => {
  const key = identityOf(returns);
  if (key === undefined)
    return isRecord(value) && isOfRow(returns, value) ? undefined : 'the object of this endpoint';
  return isRecord(value) && isText(value[key]) ? undefined : `a record with \`${key}\``;
};
/**
 * Returns one row of a list whose rows a command interprets, with the structure and the identity that its operation
 * describes. A plan never meets a record of another shape, and a path never contains the ID `undefined`.
 */
export const parseLookupRow = (operation: Operation, text: Uint8Array): Row => {
  const value = jsonRow(text);
  const returns = operation.returns === undefined ? undefined : bare(operation.returns);
  const item = returns?.type === 'array' ? bare(returns.items) : undefined;
  const fault =
    item === undefined
      ? undefined
      : (structureFault(value, item) ?? (item.type === 'object' ? missingOfObject(item, value) : undefined));
  if (fault !== undefined) throw brokenPage(`${operation.method} ${operation.path}`, `a row: ${fault}`);
  return value as Row;
};
/** A search may return any records. For other requests, the list contains each created or changed record. */
const missingOfList = (
  operation: Operation,
  item: Field,
  value: unknown,
  input: LooseInput,
): string | undefined => {
  if (!Array.isArray(value)) return 'a list';
  if (value.length === 0)
    return isSearch(operation.path) ? undefined : 'a list with what was made or changed';
  const isProven = (one: unknown): boolean =>
    item.type !== 'object' || missingOfObject(item, one) === undefined;
  return value.every(isProven) ? missingOfMany(operation, input, value) : 'a list of records';
};
/** Describes the response that would confirm the write; undefined if this response confirms it. */
const missingProof = (
  operation: Operation,
  status: number,
  value: unknown,
  input: LooseInput,
): string | undefined => {
  const other = otherThanAsked(operation, input, value);
  if (other !== undefined) return `the record ${other}`;
  if (operation.returns === undefined) return missingOfNothing(operation.ok, status, value);
  const returns = bare(operation.returns);
  if (returns.type === 'object')
    return missingOfObject(returns, value) ?? missingOfRequests(operation, input, value);
  if (returns.type === 'array') return missingOfList(operation, bare(returns.items), value, input);
  return value === undefined ? 'a value' : undefined;
};
/**
 * A write succeeded if the record that its row returns has arrived, or its 204. Other responses do not
 * confirm it: a cache returns 304, a gateway `null`, a sign-in page 200. The record must be the requested
 * one, and there must be one for each record of the request.
 */
export const expectProof = (
  operation: Operation,
  reply: Reply,
  value: unknown,
  url: string,
  input: LooseInput = {},
): void => {
  const missing = missingProof(operation, reply.status, value, input);
  if (missing === undefined) return;
  const got = reply.text === '' ? 'is empty' : `reads ${excerptOf(reply.text)}`;
  throw new AppError(
    'network',
    `${operation.method} ${new URL(url).pathname}: the response (${reply.status}) does not confirm the change: it ${got}; expected ${missing}`,
    {
      code: 'NOT_PROVEN',
      httpStatus: reply.status,
      tryThis: [
        'check the base URL: a proxy or another service may be answering',
        'check whether the change was applied before you send it again',
      ],
    },
  );
};

export type WireReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};
const categoryOf = (status: number): Category => {
  if (status === 401) return 'auth';
  if (status === 404 || status === 410) return 'not-found';
  if (status === 429) return 'rate-limit';
  if (status >= 500) return 'network';
  return status >= 400 ? 'refused' : 'unknown';
};
const object = (value: unknown): Record<string, unknown> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined;
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const parseBody = (reply: WireReply): unknown => {
  try {
    return parseResponseJson(reply.text);
  } catch {
    return undefined;
  }
};
/** `errors: {field: what}` of the tracker, `details[].fieldViolations` of the label service. */
const problemsOf = (body: Record<string, unknown> | undefined): Problem[] => {
  const byField = Object.entries(object(body?.errors) ?? {}).map(([path, what]) =>
    problem(path, 'rule', text(what) ?? JSON.stringify(what)),
  );
  const details = object(body?.error)?.details;
  const violations = Array.isArray(details)
    ? details.flatMap((d) => (object(d)?.fieldViolations as unknown[] | undefined) ?? [])
    : [];
  return [
    ...byField,
    ...violations.map((v) =>
      problem(text(object(v)?.field) ?? '', 'rule', text(object(v)?.description) ?? 'is not accepted'),
    ),
  ];
};
/** The service's own error message, in any shape (spec/program#choices: the client accepts any). */
const messageOf = (body: Record<string, unknown> | undefined, reply: WireReply): string | undefined => {
  const inner = object(body?.error);
  const found =
    text(inner?.message) ?? text(body?.message) ?? text(body?.error_description) ?? text(body?.error);
  if (found !== undefined || body !== undefined) return found;
  const plain = reply.text.trim();
  return plain === '' || plain.startsWith('<') ? undefined : cutText(plain, 300);
};
const codeOf = (body: Record<string, unknown> | undefined): string | undefined =>
  text(object(body?.error)?.status) ??
  text(body?.tag) ??
  text(body?.reason_tag) ??
  text(body?.feature_tag) ??
  text(body?.error);
const WRONG_SERVER = 'check the base URL: a proxy or sign-in page may be answering';
const isPage = (reply: WireReply): boolean => reply.text.trimStart().startsWith('<');
const hints: Readonly<Partial<Record<Category, readonly string[]>>> = {
  'rate-limit': ['wait a minute and run it again (bulk: with a lower --concurrency)'],
};
const hintsFor = (category: Category, { headers }: WireReply): readonly string[] | undefined =>
  category === 'rate-limit' && headers['retry-after'] !== undefined
    ? [
        `the service requested a wait (Retry-After: ${cutText(headers['retry-after'], 60)}); run the command again after that time`,
      ]
    : hints[category];
/** Converts an unsuccessful response into an error. Pure. */
export const errorFrom = (reply: WireReply, what: string): AppError => {
  const body = object(parseBody(reply));
  const category = categoryOf(reply.status);
  const said = messageOf(body, reply);
  const requestId = reply.headers['x-request-id'];
  return new AppError(category, `${what}: ${said ?? `the service returned ${reply.status}`}`, {
    httpStatus: reply.status,
    code: codeOf(body),
    problems: problemsOf(body),
    retryable: category === 'rate-limit' || category === 'network',
    tryThis: hintsFor(category, reply) ?? (isPage(reply) ? [WRONG_SERVER] : []),
    ...(requestId === undefined ? {} : { requestId }),
    ...(body === undefined ? {} : { data: body }),
  });
};
const isJson = (reply: WireReply): boolean =>
  /\bjson\b/.test(reply.headers['content-type'] ?? '') || /^\s*[[{]/.test(reply.text);
/** A redirect is not followed: the token would go with it, and the base URL is wrong in most cases. */
export const refuseRedirect = (reply: WireReply, what: string): void => {
  if (reply.status < 300 || reply.status >= 400 || reply.status === 304) return;
  throw new AppError(
    'network',
    `${what}: the service redirects to ${redactedUrl(reply.headers.location ?? 'another address')}; is the base URL right?`,
    {
      httpStatus: reply.status,
    },
  );
};
const notJson = (reply: WireReply, what: string): AppError =>
  new AppError(
    'network',
    `${what}: the response (${reply.status}) is not valid JSON (${isJson(reply) ? 'incomplete' : (reply.headers['content-type'] ?? 'without a content type')}): ${excerptOf(reply.text)}`,
    {
      httpStatus: reply.status,
      code: 'NOT_JSON',
      tryThis: [WRONG_SERVER],
    },
  );
/**
 * RFC 9110 15: only 2xx means that a request succeeded. 304 responds to a conditional request, which opsctl
 * never sends; 000 is not a status.
 */
const noSuccess = (reply: WireReply, what: string): AppError =>
  new AppError(
    'network',
    `${what}: the service responded with status ${reply.status}, which does not indicate success`,
    {
      httpStatus: reply.status,
      code: 'NO_SUCCESS',
      tryThis: [WRONG_SERVER],
    },
  );
/** A response that is not an error must be a success. A redirect or an unknown status is not a success. */
export const refuseNoSuccess = (reply: WireReply, what: string): void => {
  refuseRedirect(reply, what);
  if (!isSuccess(reply)) throw noSuccess(reply, what);
};
const emptyAnswer = (reply: WireReply, what: string): AppError =>
  new AppError('network', `${what}: the response (${reply.status}) is empty`, {
    httpStatus: reply.status,
    code: 'NOT_JSON',
    tryThis: [WRONG_SERVER],
  });
/** The body of a success as JSON. */
export const jsonOf = (reply: WireReply, what: string): unknown => {
  const value = isJson(reply) ? parseBody(reply) : undefined;
  if (value === undefined) throw notJson(reply, what);
  return value;
};
/**
 * spec/program#choices: a registration returns 204, and `Location` contains the ID that a 204 cannot contain.
 * spec/tracker#webhooks: real services may still send the record.
 */
const madeWithoutBody = (reply: WireReply): unknown => {
  const record = object(parseBody(reply));
  if (record !== undefined) return record;
  const last = /([^/?#]+)\/?(?:[?#].*)?$/.exec(reply.headers.location ?? '')?.[1];
  return last === undefined ? undefined : { id: /^\d{1,15}$/.test(last) ? Number(last) : last };
};
const unusual = (operation: Operation, reply: WireReply, what: string): unknown => {
  if (reply.status >= 400) throw errorFrom(reply, what);
  refuseNoSuccess(reply, what);
  if (reply.text === '' && operation.method === 'GET' && operation.returns !== undefined)
    throw emptyAnswer(reply, what);
  if (operation.ok === 204)
    return operation.method === 'POST' ? madeWithoutBody(reply) : object(parseBody(reply));
  return reply.text === '' ? undefined : jsonOf(reply, what);
};
const isSuccess = ({ status }: WireReply): boolean => status >= 200 && status < 300;
/**
 * Returns the value of a successful response, or throws the error that the response means. The error names
 * the requested path. Pure.
 */
export const answerFrom = (
  operation: Operation,
  reply: WireReply,
  url: string,
  input: LooseInput = {},
): unknown => {
  const value = isSuccess(reply) && operation.ok !== 204 && isJson(reply) ? parseBody(reply) : undefined;
  const answer =
    value === undefined ? unusual(operation, reply, `${operation.method} ${new URL(url).pathname}`) : value;
  if (operation.method !== 'GET') expectProof(operation, reply, answer, url, input);
  // For these operations, the previous record in the response is not a result.
  return operation.ok === 204 && operation.method !== 'POST' ? undefined : answer;
};

const shapeOf = (value: unknown): 'list' | 'object' | 'null' | 'a plain value' =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'list'
      : typeof value === 'object'
        ? 'object'
        : 'a plain value';
/**
 * A cache that confuses responses returns a record for another request. A change that is based on it would be
 * wrong.
 */
const expectRecord = (operation: Operation, value: unknown, url: string, input: LooseInput): void => {
  const asked = otherThanAsked(operation, input, value);
  if (asked === undefined) return;
  throw new AppError(
    'network',
    `GET ${new URL(url).pathname}: unexpected record ${cutText(restoreNumbers(String((shownValue(value) as { id: unknown }).id)), 80)} in the response (expected ${asked})`,
    {
      code: 'OTHER_RECORD',
      tryThis: ['check the base URL: a proxy or another service may be answering'],
    },
  );
};
/**
 * The response must be a list if the row defines a list, and an object if it defines an object. Other JSON
 * with status 200 (the error of a sign-in page, a gateway's `null`) must not count as an empty list. The
 * content is not checked, and neither is the response to a change, because the change has already been made.
 */
export const expectShape = (
  operation: Operation,
  value: unknown,
  url: string,
  input: LooseInput = {},
): void => {
  if (operation.method !== 'GET' || value === undefined || operation.returns === undefined) return;
  const { type } = bare(operation.returns);
  const wanted = type === 'array' ? 'list' : type === 'object' ? 'object' : undefined;
  const got = shapeOf(value);
  if (wanted === undefined || got === wanted || (got === 'null' && operation.returns.nullable === true)) {
    expectRecord(operation, value, url, input);
    return;
  }
  throw new AppError(
    'network',
    `GET ${new URL(url).pathname}: the response is ${got === 'object' ? 'an object' : got === 'list' ? 'a list' : got}, not the ${wanted} that this endpoint returns`,
    {
      code: 'OTHER_SHAPE',
      tryThis: ['check the base URL: another service may be answering'],
      ...(got === 'object' ? { data: value } : {}),
    },
  );
};
