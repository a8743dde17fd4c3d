import { checkFields } from '../core/check.ts';
import { bare, type Fields } from '../core/field.ts';
import { changeResponse } from '../core/json.ts';
import { type LooseInput, type Operation, type ServiceInfo, filler } from '../core/operation.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';
import { redactedBody, redactedUrl } from '../core/redact-secrets.ts';

/** Where requests go: base URL without the service's path prefix, and the headers that let the caller in. */
export type Destination = { readonly baseUrl: string; readonly headers: Readonly<Record<string, string>> };
/** The exact request. `--dry-run` prints this value and the transport sends it. */
export type WireRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** The parts of a multipart body, as values of `-F` of curl. */
  readonly form?: readonly string[];
};
/** A record has one position: the documents do not state which of the two a service uses. */
const positionProblems = ({
  before_id: before,
  after_id: after,
}: NonNullable<LooseInput['body']>): Problem[] =>
  before === undefined || after === undefined
    ? []
    : [problem('after_id', 'exclusive', 'cannot be combined with before_id')];
/**
 * Every problem of an input, before anything is sent. The same rules run in the service, except the rule of positions.
 */
export const inputProblems = (operation: Operation, input: LooseInput): Problem[] => [
  ...positionProblems(input.body ?? {}),
  ...checkFields(operation.params ?? {}, input.params ?? {}),
  ...checkFields(operation.query ?? {}, input.query ?? {}),
  ...(operation.body || Object.keys(input.body ?? {}).length > 0
    ? checkFields(operation.body ?? {}, input.body ?? {}, '', operation.exclusive)
    : []),
];
const queryText = (fields: Fields, query: Readonly<Record<string, unknown>> | undefined): string => {
  if (query === undefined) return '';
  const pairs = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const field = fields[name];
    // A list is a repeated name (spec/tracker#search).
    if (Array.isArray(value) && field && bare(field).type === 'array')
      for (const item of value) pairs.append(name, String(item));
    else pairs.append(name, String(value));
  }
  const text = pairs.toString();
  return text === '' ? '' : `?${text}`;
};
const FORM = 'application/x-www-form-urlencoded';
const bodyOf = (operation: Operation, body: Readonly<Record<string, unknown>> = {}): string | undefined => {
  if (operation.body === undefined) return undefined;
  if (operation.encoding !== 'form') return JSON.stringify(body);
  const pairs = Object.entries(body).filter(([, value]) => value !== undefined);
  return new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
};
/** Joins base URL and path. A base URL that already ends with the service's prefix is used unchanged. */
export const joinUrl = (baseUrl: string, prefix: string, path: string): string => {
  const base = baseUrl.replace(/\/+$/, '');
  return `${prefix !== '' && base.endsWith(prefix) ? base : base + prefix}${path}`;
};
/** Throws a usage error that lists every problem of the input. Pure. */
export const checkInput = (operation: Operation, input: LooseInput): void => {
  const problems = inputProblems(operation, input);
  if (problems.length > 0) throw usageError(`${operation.method} ${operation.path} cannot be sent`, problems);
};
/**
 * Makes the requests of one row from checked inputs. The parts that all of them share are built once. Pure.
 */
export const requestMaker = (
  service: ServiceInfo,
  operation: Operation,
  to: Destination,
): ((input: LooseInput) => WireRequest) => {
  const base = joinUrl(to.baseUrl, service.basePath, '');
  const pathOf = filler(operation.path);
  const { method, query = {} } = operation;
  // spec/tracker#authentication-6: requests send Content-Type: application/json.
  const type = operation.body !== undefined && operation.encoding === 'form' ? FORM : 'application/json';
  const headers = { accept: 'application/json', ...to.headers, 'content-type': type };
  return (input) => {
    const url = base + pathOf(input.params ?? {}) + queryText(query, input.query);
    const body = bodyOf(operation, input.body);
    return body === undefined ? { method, url, headers } : { method, url, headers, body };
  };
};
/** The request of one row. Throws a usage error that lists every problem of the input. Pure. */
export const requestFrom = (
  service: ServiceInfo,
  operation: Operation,
  input: LooseInput,
  to: Destination,
): WireRequest => {
  checkInput(operation, input);
  return requestMaker(service, operation, to)(input);
};

const SECRET_HEADERS = /^(authorization|dpop|cookie|proxy-authorization|.*token.*|.*secret.*|x-api-key)$/i;
const quoteText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** What would be sent, with secrets masked, and the same as a curl line. */
export type DryRun = {
  readonly dry_run: true;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: unknown;
  readonly curl: string;
};
const maskHeaders = (headers: WireRequest['headers']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      SECRET_HEADERS.test(name) ? value.replace(/[^ ]+$/, '***') : value,
    ]),
  );
/** A request as `--dry-run` shows it. The body is the very text that would be sent, parsed when it is JSON. */
export const dryRun = (request: WireRequest): DryRun => {
  const headers = maskHeaders(request.headers);
  const type = request.headers['content-type'];
  const isJson = type === 'application/json';
  const url = redactedUrl(request.url);
  const body =
    request.body === undefined
      ? undefined
      : (redactedBody(request.body, type) ?? `(${Buffer.byteLength(request.body)} bytes)`);
  const { form = [] } = request;
  // curl makes the boundary of a form, and with it the type and the length.
  const isShown = (name: string) => form.length === 0 || !/^content-(type|length)$/i.test(name);
  const lines = [
    `curl -X ${request.method} ${quoteText(url)}`,
    ...Object.entries(headers)
      .filter(([name]) => isShown(name))
      .map(([name, value]) => `-H ${quoteText(`${name}: ${value}`)}`),
    ...form.map((part) => `-F ${quoteText(part)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoteText(body)}`]),
  ];
  return {
    dry_run: true,
    method: request.method,
    url,
    headers,
    ...(body === undefined ? {} : { body: isJson ? JSON.parse(body) : body }),
    curl: lines.join(' '),
  };
};

/** How a real deployment differs from the documents (spec/program#settings): its path prefix, and its word for `planningtool`. */
export type DeploymentWords = { readonly basePath?: string; readonly planningWord?: string };
const NEUTRAL = 'planningtool';
/** Normalizes `v3`, `/api/v3/` and `/` to a prefix for a path. */
export const prefixOf = (text: string): string => {
  const path = text.replace(/^\/+|\/+$/g, '');
  return path === '' ? '' : `/${path}`;
};
const renameKey = (value: unknown, from: string, to: string): unknown => {
  if (Array.isArray(value)) return value.map((item) => renameKey(item, from, to));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.startsWith(`${from}_`) ? to + key.slice(from.length) : key,
      renameKey(item, from, to),
    ]),
  );
};
const isPlain = (word: string | undefined): word is undefined | typeof NEUTRAL =>
  word === undefined || word === '' || word === NEUTRAL;
/** The deployment has the words of the documents. */
export const isUsual = ({ planningWord }: DeploymentWords): boolean => isPlain(planningWord);
/** A row in the words of the deployment. Pure. */
export const operationInDialect = (operation: Operation, { planningWord }: DeploymentWords): Operation =>
  isPlain(planningWord)
    ? operation
    : { ...operation, path: operation.path.replaceAll(NEUTRAL, planningWord) };
/** An input in the words of the deployment; it was checked before. Pure. */
export const inputInDialect = (input: LooseInput, { planningWord }: DeploymentWords): LooseInput =>
  isPlain(planningWord) || input.body === undefined
    ? input
    : { ...input, body: renameKey(input.body, NEUTRAL, planningWord) as Record<string, unknown> };
/** Converts a response into the terms of the documentation. Pure. */
export const normalizeResponse = (answer: unknown, { planningWord }: DeploymentWords): unknown =>
  isPlain(planningWord) ? answer : changeResponse(answer, (value) => renameKey(value, planningWord, NEUTRAL));
