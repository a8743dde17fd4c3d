import { type Method, type Named, type Table, operations } from '../core/operation.ts';
import { template } from '../core/path.ts';

type Node = {
  readonly literals: Map<string, Node>;
  any?: Node;
  /** Operations that end here: `GET`, `POST:publish`. */
  readonly ends: Map<string, End>;
};
/** How to name the matched segments: `{name=labels/*}` covers segments 0 to 1. */
type End = {
  readonly named: Named;
  readonly params: readonly { readonly name: string; readonly from: number; readonly to: number }[];
};

export type Match =
  | { readonly kind: 'operation'; readonly named: Named; readonly params: Readonly<Record<string, string>> }
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

const add = (root: Node, named: Named): void => {
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

const found = (end: End, segments: readonly string[]): Match => {
  const params: Record<string, string> = {};
  for (const { name, from, to } of end.params)
    params[name] = to - from === 1 ? (segments[from] ?? '') : segments.slice(from, to).join('/');
  return { kind: 'operation', named: end.named, params };
};

const plainPath = /^[^{:]*$/;
/** Paths without parameters by text: a literal always wins, so one look-up is the whole answer for them. */
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
  if (end) return found(end, bare);
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
    if (end) return found(end, segments);
    const allow = [...at.ends.keys()].filter((key) => !key.includes(':'));
    return allow.length > 0 ? { kind: 'wrong-method', allow } : { kind: 'no-path' };
  };
};
