import { checkFields, readMoments } from '../core/check.ts';
import { bare, type Field, type Fields } from '../core/field.ts';
import { formats, momentOf } from '../core/format.ts';
import { jsonOfAnyDepth } from '../core/json.ts';
import {
  type Input,
  type Method,
  type OperationName,
  type Operation,
  operations,
  type Output,
  type Service,
  type Table,
  template,
} from '../core/operation.ts';
import { messageOf, type Problem, problem } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';
import { pathValues, queryValues, withDefaults, HttpError, JSON_TYPE } from './body.ts';
import type { Environment, MockReply, MockRequest } from './service-set.ts';

type Node = {
  readonly literals: Map<string, Node>;
  any?: Node;
  /** Operations that end here: `GET`, `POST:publish`. */
  readonly ends: Map<string, End>;
};
/** How to name the matched segments: `{name=labels/*}` covers segments 0 to 1. */
type End = {
  readonly named: OperationName;
  readonly params: readonly { readonly name: string; readonly from: number; readonly to: number }[];
};
export type Match =
  | {
      readonly kind: 'operation';
      readonly named: OperationName;
      readonly params: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'wrong-method'; readonly allow: readonly string[] }
  | { readonly kind: 'no-path' };
export type Router = (method: string, path: string) => Match;
const node = (): Node => ({ literals: new Map(), ends: new Map() });
const next = (at: Node, literal: string | undefined): Node => {
  if (literal === undefined) {
    at.any ??= node();
    return at.any;
  }
  const found = at.literals.get(literal) ?? node();
  at.literals.set(literal, found);
  return found;
};
const add = (root: Node, named: OperationName): void => {
  const { segments, verb } = template(named.operation.path);
  const params: { name: string; from: number; to: number }[] = [];
  let at = root;
  let depth = 0;
  for (const segment of segments) {
    const parts = 'param' in segment ? segment.pattern : [segment.literal];
    if ('param' in segment) params.push({ name: segment.param, from: depth, to: depth + parts.length });
    for (const part of parts) at = next(at, part === '*' ? undefined : part);
    depth += parts.length;
  }
  at.ends.set(verb === '' ? named.operation.method : `${named.operation.method}:${verb}`, { named, params });
};
const decode = (segment: string): string | undefined => {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
};
/** A literal segment always wins over a parameter (spec/tracker#every-endpoint-3: `/epics/paginated` over `/epics/{id}`). */
const walk = (at: Node, segments: readonly string[], depth: number): Node | undefined => {
  const segment = segments[depth];
  if (segment === undefined) return at.ends.size > 0 ? at : undefined;
  const literal = at.literals.get(segment);
  const found = literal && walk(literal, segments, depth + 1);
  if (found !== undefined) return found;
  return segment !== '' && at.any ? walk(at.any, segments, depth + 1) : undefined;
};
const matchEnd = (end: End, segments: readonly string[]): Match => {
  const params: Record<string, string> = {};
  for (const { name, from, to } of end.params)
    params[name] = to - from === 1 ? (segments[from] ?? '') : segments.slice(from, to).join('/');
  return { kind: 'operation', named: end.named, params };
};
const plainPath = /^[^{:]*$/;
/** Paths without parameters by text: a literal always wins, so one lookup is enough for them. */
const literals = (table: Table): ReadonlyMap<string, ReadonlyMap<string, Match>> => {
  const found = new Map<string, Map<string, Match>>();
  for (const named of operations(table)) {
    const { method, path } = named.operation;
    if (!plainPath.test(path)) continue;
    const methods = found.get(path) ?? new Map<string, Match>();
    found.set(path, methods.set(method, { kind: 'operation', named, params: {} }));
  }
  return found;
};
/** The decoded segments of a path; undefined when one is not well encoded. */
const segmentsOf = (path: string): string[] | undefined => {
  const segments: string[] = [];
  for (const part of path.split('/').slice(1)) {
    const text = decode(part);
    if (text === undefined) return undefined;
    segments.push(text);
  }
  return segments;
};
/** `POST /labels/x:publish`; undefined where no operation of that name ends, for the colon may be part of a name. */
const customMethod = (root: Node, method: string, segments: readonly string[]): Match | undefined => {
  const last = segments[segments.length - 1] ?? '';
  const colon = last.lastIndexOf(':');
  if (colon <= 0) return undefined;
  const verb = last.slice(colon + 1);
  const bare = [...segments.slice(0, -1), last.slice(0, colon)];
  const at = walk(root, bare, 0);
  const end = at?.ends.get(`${method}:${verb}`);
  if (end) return matchEnd(end, bare);
  const allow = [...(at?.ends.keys() ?? [])]
    .filter((key) => key.endsWith(`:${verb}`))
    .map((key) => key.split(':')[0] ?? '');
  return allow.length > 0 ? { kind: 'wrong-method', allow } : undefined;
};
/** Makes the matcher of one table; built once, used per request. `path` is below the base path and still percent-encoded. */
export const routerFor = (table: Table): Router => {
  const root = node();
  for (const named of operations(table)) add(root, named);
  const exact = literals(table);
  return (method, path) => {
    const literal = exact.get(path)?.get(method);
    if (literal !== undefined) return literal;
    const segments = segmentsOf(path);
    if (segments === undefined) return { kind: 'no-path' };
    const custom = customMethod(root, method, segments);
    if (custom !== undefined) return custom;
    const at = walk(root, segments, 0);
    if (at === undefined) return { kind: 'no-path' };
    const end = at.ends.get(method as Method);
    if (end) return matchEnd(end, segments);
    const allow = [...at.ends.keys()].filter((key) => !key.includes(':'));
    return allow.length > 0 ? { kind: 'wrong-method', allow } : { kind: 'no-path' };
  };
};

/** The input of a handler: checked values, the state, and the caller. */
export type Call<S, O extends Operation = Operation> = Input<O> & {
  readonly state: S;
  readonly env: Environment;
  readonly request: MockRequest;
  readonly named: OperationName;
  /** Headers that a handler adds to its response (`location`). */
  readonly headers: Record<string, string>;
};
/** The compiler demands a handler for every row. A handler may return `Json` when it has the text already. */
export type Handlers<T extends Table, S> = {
  readonly [R in keyof T]: {
    readonly [V in keyof T[R]]: (call: Call<S, T[R][V]>) => Output<T[R][V]> | Json | Bytes;
  };
};
/** JSON in UTF-8 that is written piece by piece. */
type Pieces = { body(): Iterable<Uint8Array>; readonly length: number };
/** JSON text that was rendered before (lists keep the text of each record). */
export class Json {
  readonly text: string;
  readonly pieces: Pieces | undefined;
  #isReused = false;
  #bytes: Uint8Array | undefined;
  constructor(text: string, pieces?: Pieces) {
    this.text = text;
    this.pieces = pieces;
  }
  /** The bytes of a response: a repeated response is encoded once and then only copied by the system. */
  body(): string | Uint8Array {
    if (this.#isReused) this.#bytes ??= new TextEncoder().encode(this.text);
    this.#isReused = true;
    return this.#bytes ?? this.text;
  }
}
/** A response that is not JSON: the content of a file. */
export class Bytes {
  readonly bytes: Uint8Array;
  readonly type: string;
  constructor(bytes: Uint8Array, type: string) {
    this.bytes = bytes;
    this.type = type;
  }
}
export type TableServiceOptions<T extends Table, S> = {
  readonly service: Service & { readonly table: T };
  readonly handlers: Handlers<T, S>;
  readonly state: S;
  readonly env: Environment;
  /** Judged before routing (spec/tracker#errors-4: an unknown path without a token is 401, not 404). */
  admit(request: MockRequest): void;
  /** The wire shape of a refusal. */
  refusal(refused: HttpError): MockReply;
  /** Query parameters that every operation takes and no row names (`token`, `alt`). */
  readonly commonQuery?: ReadonlySet<string>;
  /** Fields by method and path that the real service accepts and the documents do not list. */
  readonly alsoAccepted?: Readonly<Record<string, Fields>>;
  /** Rejects times without a zone. */
  readonly isStrict?: boolean;
  /** A read accepts its query parameters as a JSON body as well. */
  readonly queryInBody?: true;
  /** Refuses a body that is not what the service takes, before it is read. */
  admitBody?(request: MockRequest): void;
  /** Reads a body that is not JSON. */
  readMultipart?(request: MockRequest, operation: Operation): Promise<Record<string, unknown>>;
};
const empty: Readonly<Record<string, never>> = Object.freeze({});
const decoder = new TextDecoder('utf-8', { fatal: true });
const jsonBody = (request: MockRequest): Record<string, unknown> => {
  if (request.body.length === 0) return {};
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(request.body));
  } catch (error) {
    const why = messageOf(error);
    throw new HttpError(400, `The request body is not valid JSON: ${why}`, {
      problems: [problem('body', 'type', `is not valid JSON: ${why}`)],
    });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new HttpError(400, 'The request body must be a JSON object.', {
      problems: [problem('body', 'type', 'must be a JSON object')],
    });
  }
  return value as Record<string, unknown>;
};
/** spec/tracker#values: ISO 8601 has times without a zone; the service reads them as UTC, as its importer relies on. */
const withZone = (text: string): string => (/^.{10}T/.test(text) ? momentOf(text) : text);
/** The values of these fields that have this format, with their paths. */
const valuesOfFormat = (
  fields: Fields,
  body: Readonly<Record<string, unknown>>,
  format: string,
  prefix = '',
): { readonly path: string; readonly text: string }[] =>
  Object.entries(body).flatMap(([name, value]) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return field === undefined ? [] : valueOfFormat(field, value, format, `${prefix}${name}`);
  });
const valueOfFormat = (
  field: Field,
  value: unknown,
  format: string,
  path: string,
): { readonly path: string; readonly text: string }[] => {
  const inner = bare(field);
  if (inner.type === 'array' && Array.isArray(value))
    return value.flatMap((item, i) => valueOfFormat(inner.items, item, format, `${path}[${i}]`));
  if (inner.type === 'object' && isRecord(value))
    return valuesOfFormat(inner.fields, value, format, `${path}.`);
  return inner.type === 'string' && inner.format === format && typeof value === 'string'
    ? [{ path, text: value }]
    : [];
};
/** spec/tracker#choices-20: the strict mode rejects times without a zone, which the default mode reads as UTC. */
const zoneProblems = (fields: Fields, body: Record<string, unknown>): Problem[] =>
  valuesOfFormat(fields, body, 'datetime')
    .filter(({ text }) => !formats.datetime.holds(text) && momentOf(text) !== text)
    .map(({ path, text }) =>
      problem(path, 'format', `must have a zone such as Z in strict mode; got ${JSON.stringify(text)}`),
    );
/** `checked` is the body with zones, `sent` as it arrived. */
const bodyProblems = (
  { body: fields, exclusive }: Operation,
  checked: Record<string, unknown>,
  sent: Record<string, unknown>,
  isStrict: boolean,
): Problem[] => {
  if (fields === undefined) return [];
  const found = checkFields(fields, checked, '', exclusive);
  return found.length === 0 && isStrict ? zoneProblems(fields, sent) : found;
};
const inputOf = (
  operation: Operation,
  params: Readonly<Record<string, string>>,
  request: MockRequest,
  body: Record<string, unknown>,
  common: ReadonlySet<string>,
  isStrict: boolean,
) => {
  const values = {
    params: operation.params ? pathValues(operation.params, params) : (empty as Record<string, unknown>),
    query: queryValues(operation.query ?? empty, request.query),
    body: operation.body ? readMoments(operation.body, body, withZone) : {},
  };
  if (operation.body === undefined) Object.assign(values.query, { ...body, ...values.query });
  if (request.query !== '') for (const name of common) delete values.query[name];
  const found: Problem[] = [];
  if (operation.params) found.push(...checkFields(operation.params, values.params));
  if (operation.query || request.query !== '')
    found.push(...checkFields(operation.query ?? empty, values.query));
  for (const one of bodyProblems(operation, values.body, body, isStrict)) found.push(one);
  if (found.length > 0)
    throw new HttpError(400, 'The request included invalid or missing parameters.', { problems: found });
  if (operation.query) withDefaults(operation.query, values.query);
  return values;
};
async function* writePieces(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}
/** The length is known, so that a client sees a connection that was cut. */
const longAnswer = (status: number, pieces: Pieces, headers: Record<string, string>): MockReply => ({
  status,
  headers: { ...headers, 'content-length': String(pieces.length) },
  body: writePieces(pieces.body()),
});
const answer = (operation: Operation, value: unknown, headers: Record<string, string>): MockReply => {
  if (operation.ok === 204) return { status: 204, headers };
  if (value === undefined) return { status: operation.ok, headers };
  if (value instanceof Bytes)
    return { status: operation.ok, headers: { ...headers, 'content-type': value.type }, body: value.bytes };
  headers['content-type'] = JSON_TYPE;
  if (value instanceof Json && value.pieces !== undefined)
    return longAnswer(operation.ok, value.pieces, headers);
  return {
    status: operation.ok,
    headers,
    body: value instanceof Json ? value.body() : jsonOfAnyDepth(value),
  };
};
/** The supported methods of a path are public and returned without a token. */
const methodsOf = (match: Match): MockReply => {
  if (match.kind !== 'wrong-method') throw new HttpError(404, 'Resource not found.');
  const allow = match.allow.includes('GET') ? ['HEAD', ...match.allow] : match.allow;
  return { status: 204, headers: { allow: ['OPTIONS', ...allow].join(', ') } };
};
/** Returns the row for a request; 404 or 405 if none exists. */
const rowFor = (match: Match): Extract<Match, { kind: 'operation' }> => {
  if (match.kind === 'no-path') throw new HttpError(404, 'Resource not found.');
  if (match.kind === 'wrong-method')
    throw new HttpError(405, `Method Not Allowed. Allowed: ${match.allow.join(', ')}.`, {
      body: { allow: match.allow },
    });
  return match;
};
type AnyHandler = (call: Record<string, unknown>) => unknown;
type Params = Readonly<Record<string, string>>;
type Running = {
  readonly handlers: Readonly<Record<string, Readonly<Record<string, AnyHandler>>>>;
  readonly state: unknown;
  readonly env: Environment;
  readonly common: ReadonlySet<string>;
  readonly alsoAccepted: Readonly<Record<string, Fields>>;
  readonly isStrict: boolean;
};
/** The operation with more fields, in its query if it has no body. */
const withFields = (operation: Operation, more: Fields): Operation =>
  operation.body === undefined
    ? { ...operation, query: { ...operation.query, ...more } }
    : { ...operation, body: { ...operation.body, ...more } };
/** Checks the parsed request, runs the row's handler (atomically), and renders its result. */
const runner =
  ({ handlers, state, env, common, alsoAccepted, isStrict }: Running) =>
  (request: MockRequest, named: OperationName, given: Params, sent: Record<string, unknown>): MockReply => {
    const more = isStrict ? undefined : alsoAccepted[`${named.operation.method} ${named.operation.path}`];
    const operation = more === undefined ? named.operation : withFields(named.operation, more);
    const { params, query, body } = inputOf(operation, given, request, sent, common, isStrict);
    const headers: Record<string, string> = {};
    const handler = handlers[named.resource]?.[named.verb];
    if (handler === undefined) throw new Error(`no handler for ${named.resource}.${named.verb}`);
    // Written out: spreading the input here takes longer than all its checks.
    const call = { params, query, body, state, env, request, named, headers };
    const value = named.operation.method === 'GET' ? handler(call) : env.store.transact(() => handler(call));
    return answer(named.operation, value, headers);
  };
/** Converts a table and its handlers into an HTTP service: route, parse, check, run atomically, render. */
export const tableService = <T extends Table, S>(options: TableServiceOptions<T, S>) => {
  const route = routerFor(options.service.table);
  const { basePath } = options.service;
  // Rows are looked up by name there, so the exact types of their inputs end at this line.
  const handlers: Running['handlers'] = options.handlers as any;
  const { state, env, commonQuery: common = new Set(), alsoAccepted = {}, isStrict = false } = options;
  const run = runner({ handlers, state, env, common, alsoAccepted, isStrict });
  const refuse = (error: unknown): MockReply => {
    if (error instanceof HttpError) return options.refusal(error);
    throw error;
  };
  const handle = (request: MockRequest): MockReply | Promise<MockReply> => {
    const path = request.path.slice(basePath.length);
    if (request.method === 'OPTIONS') return methodsOf(route('OPTIONS', path));
    options.admit(request);
    const { named, params } = rowFor(route(request.method, path));
    const { operation } = named;
    if (operation.body === undefined)
      return run(request, named, params, options.queryInBody && operation.query ? jsonBody(request) : {});
    if (operation.encoding === 'multipart' && options.readMultipart) {
      return options
        .readMultipart(request, operation)
        .then((body) => run(request, named, params, body))
        .catch(refuse);
    }
    options.admitBody?.(request);
    return run(request, named, params, jsonBody(request));
  };
  return (request: MockRequest): MockReply | Promise<MockReply> => {
    try {
      return handle(request);
    } catch (error) {
      return refuse(error);
    }
  };
};
