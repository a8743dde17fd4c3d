import type { Field, Fields, Value, Values } from './field.ts';
import { type Problem, problem, usageError } from './problem.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Hints for the command that is derived from a row; none is needed for a working one. */
type CommandHints = {
  /** The command's last word when the row's key is not it. */
  readonly verb?: string;
  /** Columns of the table view; the first five scalar fields otherwise. */
  readonly columns?: readonly string[];
  /** Question before an act that cannot be undone; `{id}` is replaced. */
  readonly confirm?: string;
  /** Lines to type; a second example needs its own caption. */
  readonly examples?: readonly (string | { readonly line: string; readonly says: string })[];
  /** No generated command, because a hand-written command covers this operation. */
  readonly hidden?: true;
};

/** One endpoint with all documented facts. */
export type Operation = {
  readonly method: Method;
  readonly path: string;
  /**
   * Name in the discovery document if it differs from the name in the table:
   * `labels.revisions.permissions.list`.
   */
  readonly id?: string;
  readonly summary: string;
  /** The line of the document that this row transcribes. */
  readonly cites: string;
  readonly params?: Fields;
  readonly query?: Fields;
  readonly body?: Fields;
  /** Groups of body keys of which at most one may be set. */
  readonly exclusive?: readonly (readonly string[])[];
  /** The name of the body's schema, if the service defines one. */
  readonly bodyName?: string;
  readonly encoding?: 'json' | 'form' | 'multipart';
  readonly ok: 200 | 201 | 204;
  readonly returns?: Field;
  /** Names of errors beyond the service's common ones. */
  readonly errors?: readonly string[];
  /** Replacement; empty if there is no replacement. */
  readonly deprecated?: string;
  /** Not in the documents; the real service has it and the mock needs it. */
  readonly extension?: true;
  readonly cli?: CommandHints;
};
/** A search is a read, although its method may be POST. A record whose ID is `search` is not a search. */
export const isSearch = (path: string): boolean => /[/:]search(\/[a-z]+)?$/.test(path.split('?')[0] ?? '');
/** Whether a request can change the service. `path` may be an address with a query. */
export const canChange = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
  method !== 'GET' && method !== 'HEAD' && !(method === 'POST' && isSearch(path));
export type Resource = { readonly [verb: string]: Operation };
export type Table = { readonly [resource: string]: Resource };

export type OperationError = { readonly status: number; readonly meaning: string; readonly body: Field };

/** Data for every request to a service, for any endpoint. */
export type ServiceInfo = {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  /** Path prefix of every operation: `/api/v3`. */
  readonly basePath: string;
  /** Default request header for the token, and the format of its value. */
  readonly tokenHeader: { readonly name: string; readonly prefix: string };
  readonly ratePerMinute?: number;
  /** What each status of a refusal means, and the body that comes with it. */
  readonly refusals?: { readonly meanings: Readonly<Record<number, string>>; readonly body: Field };
  /** Errors with a specific name, status and body. Rows refer to them in `errors`. */
  readonly namedErrors?: Readonly<Record<string, OperationError>>;
  /** Query parameters that every operation takes. */
  readonly everywhere?: Fields;
  /** Names of the scopes of which one is enough for a method. */
  readonly scopes?: (method: Method) => readonly string[];
};
export type Service = ServiceInfo & { readonly table: Table };

type ParamNames<P extends string> = P extends `${string}{${infer Name}}${infer Rest}`
  ? (Name extends `${infer Bare}=${string}` ? Bare : Name) | ParamNames<Rest>
  : never;
/** The compiler refuses a row whose path names a parameter that `params` lacks. */
type PathMatches<O extends Operation> = { params?: { [K in ParamNames<O['path']>]: Field } };
export const op = <const O extends Operation>(
  row: O & (ParamNames<O['path']> extends never ? unknown : Required<PathMatches<O>>),
): O => row;

type Part<O, K extends string> = O extends { [P in K]: infer F extends Fields }
  ? Values<F>
  : Record<never, never>;
/** What a caller hands over: each part under its own key, so that equal names never collide. */
export type Input<O extends Operation> = {
  params: Part<O, 'params'>;
  query: Part<O, 'query'>;
  body: Part<O, 'body'>;
};
export type Output<O extends Operation> = O extends { returns: infer F extends Field } ? Value<F> : undefined;
export type LooseInput = {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: Readonly<Record<string, unknown>>;
};
export type OperationName = {
  readonly resource: string;
  readonly verb: string;
  readonly operation: Operation;
};
export const operations = (table: Table): OperationName[] =>
  Object.entries(table).flatMap(([resource, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ resource, verb, operation })),
  );

/** Path templates of both dialects: `/labels/{label-public-id}` and `/{name=labels/*}:publish`. */
type Segment = { readonly literal: string } | { readonly param: string; readonly pattern: readonly string[] };
export type Template = { readonly segments: readonly Segment[]; readonly verb: string };

const VERB = /:([A-Za-z]+)$/;

/** Parses a template once; throws on a malformed one, which is a bug in a table. */
export const template = (path: string): Template => {
  const verb = VERB.exec(path)?.[1] ?? '';
  const body = verb === '' ? path : path.slice(0, -verb.length - 1);
  const segments: Segment[] = [];
  for (const part of body.slice(1).match(/\{[^}]*\}|[^/]+/g) ?? []) {
    if (!part.startsWith('{')) {
      segments.push({ literal: part });
      continue;
    }
    const [param = '', pattern = '*'] = part.slice(1, -1).split('=');
    segments.push({ param, pattern: pattern.split('/') });
  }
  return { segments, verb };
};

export const paramNames = (path: string): string[] =>
  template(path).segments.flatMap((s) => ('param' in s ? [s.param] : []));

/**
 * Keeps `@` and `:` readable: both are legal inside a path segment, and `:verb` is added after. Half of a character has
 * no encoding. A URL parser removes a segment of dots and the segment before it, so the request would reach another endpoint.
 */
const encodeSegment = (text: string): string => {
  if (/^\.\.?$/.test(text))
    throw usageError(`${JSON.stringify(text)} is not a name or an ID; no request was sent`);
  return encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, '\ufffd')).replaceAll('%40', '@');
};

/** The path with its parameters filled in and percent-encoded, for a template that is read once. A `labels/*` parameter keeps its slashes. */
export const filler = (path: string): ((params: Readonly<Record<string, unknown>>) => string) => {
  if (!path.includes('{')) return () => path;
  const { segments, verb } = template(path);
  const end = verb === '' ? '' : `:${verb}`;
  return (params) => {
    const parts = segments.map((s) => {
      if ('literal' in s) return s.literal;
      const value = String(params[s.param]);
      return s.pattern.length > 1 ? value.split('/').map(encodeSegment).join('/') : encodeSegment(value);
    });
    return `/${parts.join('/')}${end}`;
  };
};

export const fill = (path: string, params: Readonly<Record<string, unknown>>): string => filler(path)(params);

/** The characters of a field name (RFC 9110 5.1). */
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** The characters of a field value (RFC 9110 5.5): no NUL, CR, LF or other control character but the tab. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Headers that the HTTP client writes: a second value would contradict the body or the connection. */
const ownHeaders = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'proxy-connection', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade'],
]);
/** Headers that opsctl writes into every request. A setting that names one of them would replace its value. */
const requestHeaders = new Set([
  'accept',
  'accept-encoding',
  'content-encoding',
  'content-type',
  'user-agent',
]);
/** Returns whether opsctl or the HTTP client writes this header, so that a token cannot travel in it. */
export const isWrittenHeader = (name: string): boolean =>
  ownHeaders.has(name.toLowerCase()) || requestHeaders.has(name.toLowerCase());
/** Returns whether HTTP allows this name of a header (RFC 9110 5.1). */
export const isHeaderName = (text: string): boolean => NAME.test(text);
/** Returns whether HTTP allows this value of a header (RFC 9110 5.5): no line ends and no other control characters. */
export const isHeaderValue = (text: string): boolean => VALUE.test(text);
/** Returns the problem of a header that a flag sets. Never repeats the value, which may be a secret. Pure. */
export const headerProblem = (flag: string, name: string, value: string): Problem | undefined => {
  if (!isHeaderName(name))
    return problem(
      flag,
      'format',
      `must start with the name of a header; got ${JSON.stringify(name.replace(/^(\S+)\s.*/s, '$1 …'))}`,
    );
  if (ownHeaders.has(name.toLowerCase()))
    return problem(flag, 'rule', `cannot set ${name}: opsctl writes this header`);
  return isHeaderValue(value)
    ? undefined
    : problem(
        flag,
        'format',
        `must not contain line ends or characters beyond Latin-1 in the value of ${name}`,
      );
};
