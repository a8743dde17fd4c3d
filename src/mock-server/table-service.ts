import { messageOf } from '../core/error-message.ts';
import type { Input, Named, Operation, Output, Service, Table } from '../core/operation.ts';
import { checkFields } from '../core/check.ts';
import { jsonOfAnyDepth } from '../core/json.ts';
import { type Problem, problem } from '../core/problem.ts';
import { pathValues, queryValues, withDefaults } from './coerce.ts';
import { HttpError } from './http-error.ts';
import { type Match, routerFor } from './router.ts';
import type { MockReply, MockRequest, Environment } from './service.ts';

/** What a handler gets: checked values, the state, and who asks. */
export type Call<S, O extends Operation = Operation> = Input<O> & {
  readonly state: S;
  readonly env: Environment;
  readonly request: MockRequest;
  readonly named: Named;
  /** Headers a handler adds to its answer (`location`). */
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
  /** What goes over the wire: an answer that is given again is encoded once and then copied by the system only. */
  body(): string | Uint8Array {
    if (this.#isReused) this.#bytes ??= new TextEncoder().encode(this.text);
    this.#isReused = true;
    return this.#bytes ?? this.text;
  }
}

/** An answer that is not JSON: the content of a file. */
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

const inputOf = (
  operation: Operation,
  params: Readonly<Record<string, string>>,
  request: MockRequest,
  body: Record<string, unknown>,
  common: ReadonlySet<string>,
) => {
  const values = {
    params: operation.params ? pathValues(operation.params, params) : (empty as Record<string, unknown>),
    query: queryValues(operation.query ?? empty, request.query),
    body,
  };
  if (request.query !== '') for (const name of common) delete values.query[name];
  const found: Problem[] = [];
  if (operation.params) found.push(...checkFields(operation.params, values.params));
  if (operation.query || request.query !== '')
    found.push(...checkFields(operation.query ?? empty, values.query));
  if (operation.body) found.push(...checkFields(operation.body, body, '', operation.exclusive));
  if (found.length > 0)
    throw new HttpError(400, 'The request included invalid or missing parameters.', { problems: found });
  if (operation.query) withDefaults(operation.query, values.query);
  return values;
};

async function* written(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** The length is known, so that a client sees a connection that was cut. */
const longAnswer = (status: number, pieces: Pieces, headers: Record<string, string>): MockReply => ({
  status,
  headers: { ...headers, 'content-length': String(pieces.length) },
  body: written(pieces.body()),
});

const answer = (operation: Operation, value: unknown, headers: Record<string, string>): MockReply => {
  if (operation.ok === 204) return { status: 204, headers };
  if (value === undefined) return { status: operation.ok, headers };
  if (value instanceof Bytes)
    return { status: operation.ok, headers: { ...headers, 'content-type': value.type }, body: value.bytes };
  headers['content-type'] = 'application/json; charset=utf-8';
  if (value instanceof Json && value.pieces !== undefined)
    return longAnswer(operation.ok, value.pieces, headers);
  return {
    status: operation.ok,
    headers,
    body: value instanceof Json ? value.body() : jsonOfAnyDepth(value),
  };
};

/** Which methods a path takes is no secret: asked for and told without a token. */
const methodsOf = (match: Match): MockReply => {
  if (match.kind !== 'wrong-method') throw new HttpError(404, 'Resource not found.');
  const allow = match.allow.includes('GET') ? ['HEAD', ...match.allow] : match.allow;
  return { status: 204, headers: { allow: ['OPTIONS', ...allow].join(', ') } };
};

/** The row that a request is for; 404 and 405 when there is none. */
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
};

/** Checks what was read, runs the row's handler (a change all or nothing), renders what it gave. */
const runner =
  ({ handlers, state, env, common }: Running) =>
  (request: MockRequest, named: Named, given: Params, body: Record<string, unknown>): MockReply => {
    const { params, query, body: checked } = inputOf(named.operation, given, request, body, common);
    const headers: Record<string, string> = {};
    const handler = handlers[named.resource]?.[named.verb];
    if (handler === undefined) throw new Error(`no handler for ${named.resource}.${named.verb}`);
    // Written out: spreading the input here takes longer than all its checks.
    const call = { params, query, body: checked, state, env, request, named, headers };
    const value = named.operation.method === 'GET' ? handler(call) : env.store.transact(() => handler(call));
    return answer(named.operation, value, headers);
  };

/** Turns a table and its handlers into an HTTP service: route, read, check, run all-or-nothing, render. */
export const tableService = <T extends Table, S>(options: TableServiceOptions<T, S>) => {
  const route = routerFor(options.service.table);
  const { basePath } = options.service;
  // Rows are looked up by name there, so the exact types of their inputs end at this line.
  const handlers: Running['handlers'] = options.handlers as any;
  const run = runner({
    handlers,
    state: options.state,
    env: options.env,
    common: options.commonQuery ?? new Set(),
  });
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
    if (operation.body === undefined) return run(request, named, params, {});
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
