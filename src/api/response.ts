import type { LooseInput, Operation } from '../core/operation.ts';
import { AppError, type Category, type Problem, problem } from '../core/problem.ts';
import { excerptOf } from '../core/excerpt.ts';
import { expectProof } from './proof.ts';

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

const parsed = (reply: WireReply): unknown => {
  try {
    return JSON.parse(reply.text);
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

/** The service's own words, whatever shape they have (spec/program#choices: the client accepts any). */
const messageOf = (body: Record<string, unknown> | undefined, reply: WireReply): string | undefined => {
  const inner = object(body?.error);
  const found =
    text(inner?.message) ?? text(body?.message) ?? text(body?.error_description) ?? text(body?.error);
  if (found !== undefined || body !== undefined) return found;
  const plain = reply.text.trim();
  return plain === '' || plain.startsWith('<') ? undefined : plain.slice(0, 300);
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
        `the service asks for a pause (Retry-After: ${headers['retry-after'].slice(0, 60)}); run it again after it`,
      ]
    : hints[category];

/** What an answer that is not a success means. Pure. */
export const errorFrom = (reply: WireReply, what: string): AppError => {
  const body = object(parsed(reply));
  const category = categoryOf(reply.status);
  const said = messageOf(body, reply);
  const requestId = reply.headers['x-request-id'];
  return new AppError(category, `${what}: ${said ?? `the service answered ${reply.status}`}`, {
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
    `${what}: the service redirects to ${reply.headers.location ?? 'another address'}; is the base URL right?`,
    {
      httpStatus: reply.status,
    },
  );
};

const notJson = (reply: WireReply, what: string): AppError =>
  new AppError(
    'network',
    `${what}: the answer (${reply.status}) is not JSON but ${isJson(reply) ? 'broken off' : (reply.headers['content-type'] ?? 'of no stated type')}: ${excerptOf(reply.text)}`,
    {
      httpStatus: reply.status,
      code: 'NOT_JSON',
      tryThis: [WRONG_SERVER],
    },
  );

/** RFC 9110 15: only 2xx says that a request was carried out. 304 answers a question that was never asked; 000 is no status. */
const noSuccess = (reply: WireReply, what: string): AppError =>
  new AppError('network', `${what}: the service answered ${reply.status}, which is no success`, {
    httpStatus: reply.status,
    code: 'NO_SUCCESS',
    tryThis: [WRONG_SERVER],
  });

/** Whatever is no refusal has to be a success: a redirect and an odd status are none. */
export const refuseNoSuccess = (reply: WireReply, what: string): void => {
  refuseRedirect(reply, what);
  if (!isSuccess(reply)) throw noSuccess(reply, what);
};

const emptyAnswer = (reply: WireReply, what: string): AppError =>
  new AppError('network', `${what}: the answer (${reply.status}) is empty`, {
    httpStatus: reply.status,
    code: 'NOT_JSON',
    tryThis: [WRONG_SERVER],
  });

/** The body of a success as JSON. */
export const jsonOf = (reply: WireReply, what: string): unknown => {
  const value = isJson(reply) ? parsed(reply) : undefined;
  if (value === undefined) throw notJson(reply, what);
  return value;
};

/**
 * spec/program#choices: a registration answers 204, and `Location` carries the id that a 204 cannot. spec/tracker#webhooks: real services
 * may send the record all the same.
 */
const madeWithoutBody = (reply: WireReply): unknown => {
  const record = object(parsed(reply));
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
    return operation.method === 'POST' ? madeWithoutBody(reply) : object(parsed(reply));
  return reply.text === '' ? undefined : jsonOf(reply, what);
};

const isSuccess = ({ status }: WireReply): boolean => status >= 200 && status < 300;

/** The value of a success, or the error that the answer means; it names the path that was asked for. Pure. */
export const answerFrom = (
  operation: Operation,
  reply: WireReply,
  url: string,
  input: LooseInput = {},
): unknown => {
  const value = isSuccess(reply) && operation.ok !== 204 && isJson(reply) ? parsed(reply) : undefined;
  const answer =
    value === undefined ? unusual(operation, reply, `${operation.method} ${new URL(url).pathname}`) : value;
  if (operation.method !== 'GET') expectProof(operation, reply, answer, url, input);
  // What a deleted or switched record was is no result of these.
  return operation.ok === 204 && operation.method !== 'POST' ? undefined : answer;
};
