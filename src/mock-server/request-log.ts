import { Buffer } from 'node:buffer';
import { countText } from '../core/format.ts';
import { invalidArguments, problem } from '../core/problem.ts';
import { redactedBody, redactedForm, redactedHeaders, redactedJson } from '../core/redact-secrets.ts';
import { isRecord } from '../core/shape.ts';
import type { Host, Incoming } from '../platform/host.ts';
import { pathPattern } from './faults.ts';
import type { LogEntry } from './service-set.ts';

const KEPT_BYTES = 4096;
const BLOCK_BYTES = 64 * 1024;
/**
 * Stores bodies consecutively in blocks. The garbage collector does not move a block, and it is freed with
 * the last request whose body it contains. Large bodies are counted, not stored.
 */
export const createBodyLog = (): ((noted: LogEntry, body: Uint8Array) => void) => {
  let block = new Uint8Array(0);
  let used = 0;
  return (noted, body) => {
    noted.bodyBytes = body.length;
    if (body.length > KEPT_BYTES) return;
    if (body.length > block.length - used) [block, used] = [new Uint8Array(BLOCK_BYTES), 0];
    block.set(body, used);
    noted.bodyIn = block;
    noted.bodyAt = used;
    used += body.length;
  };
};
/** Returns the body as text; undefined if none existed or it was not stored. */
export const bodyText = ({ bodyIn, bodyAt, bodyBytes }: LogEntry): string | undefined =>
  bodyIn === undefined || bodyBytes === undefined
    ? undefined
    : Buffer.from(bodyIn.buffer, bodyAt, bodyBytes).toString('utf8');

/** Which requests are meant; absent members match any. */
export type RequestQuery = {
  readonly method?: string;
  /** A path with `*` and `**`. */
  readonly path?: string;
  readonly status?: number;
  readonly service?: string;
  /** The tracker token it was sent with. */
  readonly token?: string;
  /** JSON: the body must contain it (objects may have more members). Other text: the body must contain it. */
  readonly body?: string;
};
/** `unknown`: the body was too large to be stored, so the result cannot be determined. */
export type Verdict = 'match' | 'other' | 'unknown';
const parseText = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
/** Whether `value` has everything that `part` has: objects member by member, lists entry by entry. */
export const contains = (value: unknown, part: unknown): boolean => {
  if (Array.isArray(part))
    return (
      Array.isArray(value) && part.length === value.length && part.every((one, i) => contains(value[i], one))
    );
  if (!isRecord(part)) return Object.is(value, part);
  return isRecord(value) && Object.keys(part).every((key) => key in value && contains(value[key], part[key]));
};
const bodyVerdict = (noted: LogEntry, wanted: string): Verdict => {
  const text = bodyText(noted);
  if (text === undefined) return noted.bodyBytes === undefined ? 'other' : 'unknown';
  const part = parseText(wanted);
  const isFound = part === undefined ? text.includes(wanted) : contains(parseText(text), part);
  return isFound ? 'match' : 'other';
};
/** Decides for one request after another whether the query means it. */
export const requestMatcher = (query: RequestQuery): ((noted: LogEntry) => Verdict) => {
  const pattern = query.path === undefined ? undefined : pathPattern(query.path);
  const method = query.method?.toUpperCase();
  const isMeant = (noted: LogEntry): boolean =>
    (method === undefined || noted.method === method) &&
    (pattern === undefined || pattern.test(noted.path)) &&
    (query.status === undefined || noted.status === query.status) &&
    (query.service === undefined || noted.service === query.service) &&
    (query.token === undefined || noted.headers['tracker-token'] === query.token);
  return (noted) => {
    if (!isMeant(noted)) return 'other';
    return query.body === undefined ? 'match' : bodyVerdict(noted, query.body);
  };
};

const KEPT = 10_000;
const bodyOf = (noted: LogEntry): unknown => {
  const text = bodyText(noted);
  if (text === undefined) return `${noted.bodyBytes} bytes`;
  const type = noted.headers['content-type'] ?? '';
  if (type.startsWith('application/x-www-form-urlencoded')) return redactedForm(text);
  try {
    return redactedJson(JSON.parse(text));
  } catch {
    return redactedBody(text, type) ?? `${noted.bodyBytes} bytes`;
  }
};
const showEntry = (noted: LogEntry, id: string) => ({
  id,
  time: new Date(noted.atMs).toISOString(),
  method: noted.method,
  path: noted.path,
  ...(noted.query === '' ? {} : { query: redactedForm(noted.query) }),
  status: noted.status ?? null,
  ms: noted.tookUs === undefined ? null : Math.round(noted.tookUs / 10) / 100,
  ...(noted.service === undefined ? {} : { service: noted.service }),
  ...(noted.isDeprecated ? { deprecated: true } : {}),
  ...(noted.fault === undefined ? {} : { fault: noted.fault }),
  headers: redactedHeaders(noted.headers),
  ...(noted.bodyBytes === undefined ? {} : { body: bodyOf(noted) }),
});
export type FoundRequests = {
  readonly matched: number;
  /** Requests that are older than the log reaches. */
  readonly forgotten: number;
  /** Requests that might match, but whose body was too large to be kept. */
  readonly bodies_not_kept: number;
  readonly rows: ReturnType<typeof showEntry>[];
};
/** The last requests, newest last. */
export class RequestLog {
  readonly #run: string;
  readonly #ring: LogEntry[] = [];
  #count = 0;
  readonly noteBody = createBodyLog();
  /** `run` is another one at each start of the server. */
  constructor(run: string) {
    this.#run = run;
  }
  /** The name of a request in responses and messages. */
  idOf({ number }: LogEntry): string {
    return `${this.#run}-${number}`;
  }
  add(noted: LogEntry): void {
    this.#ring[this.#count % KEPT] = noted;
    this.#count += 1;
  }
  get count(): number {
    return this.#count;
  }
  last(limit: number): ReturnType<typeof showEntry>[] {
    const from = Math.max(0, this.#count - Math.min(limit, KEPT));
    return Array.from({ length: this.#count - from }, (_, i) => this.#ring[(from + i) % KEPT]).flatMap(
      (noted) => (noted ? [showEntry(noted, this.idOf(noted))] : []),
    );
  }
  /** The newest `limit` requests that the query means, and what a reader must know to count on the number. */
  find(query: RequestQuery, limit: number): FoundRequests {
    const from = Math.max(0, this.#count - KEPT);
    const verdictOf = requestMatcher(query);
    const found: LogEntry[] = [];
    let unknown = 0;
    for (let at = from; at < this.#count; at += 1) {
      const noted = this.#ring[at % KEPT];
      const verdict = noted === undefined ? 'other' : verdictOf(noted);
      if (verdict === 'unknown') unknown += 1;
      else if (verdict === 'match' && noted !== undefined) found.push(noted);
    }
    return {
      matched: found.length,
      forgotten: from,
      bodies_not_kept: unknown,
      rows: found.slice(-limit).map((noted) => showEntry(noted, this.idOf(noted))),
    };
  }
  clear(): void {
    this.#ring.length = 0;
    this.#count = 0;
  }
}

type Headers = LogEntry['headers'];
/** A client sends the same headers with each request: the log then keeps them once, and the collector has a third of the work. */
export const headersOnce = (): ((headers: Headers) => Headers) => {
  let last: Headers = {};
  let size = 0;
  const isLast = (headers: Headers): boolean => {
    let count = 0;
    for (const name in headers) {
      if (headers[name] !== last[name]) return false;
      count += 1;
    }
    return count === size;
  };
  return (headers) => {
    if (!isLast(headers)) [last, size] = [headers, Object.keys(headers).length];
    return last;
  };
};
/** Like the function above, for a text. */
export const textOnce = (): ((text: string) => string) => {
  let last = '';
  return (text) => {
    if (text !== last) last = text;
    return last;
  };
};
const split = (url: string): { path: string; query: string } => {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: '' } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
};
/** Notes each request as it comes and gives it its number. */
export const createRequestLog = (now: () => number): ((incoming: Incoming) => LogEntry) => {
  const [headersOf, pathOf] = [headersOnce(), textOnce()];
  let count = 0;
  return ({ method, url, headers }) => {
    count += 1;
    const { path, query } = split(url);
    return {
      number: count,
      atMs: now(),
      method,
      path: pathOf(path),
      query,
      headers: headersOf(headers),
      bodyIn: undefined,
      bodyAt: 0,
      bodyBytes: undefined,
      service: undefined,
      fault: undefined,
      status: undefined,
      tookUs: undefined,
    };
  };
};

/** How many requests are expected; both ends are included. */
export type Expectation = { readonly min: number; readonly max: number };
const POLL_MS = 50;
/** `2` is exactly two, `1+` at least one, `1-3` one to three. */
export const expectationFrom = (text: string | undefined): Expectation | undefined => {
  const [, from, mark] = /^(\d+)(\+|-\d+)?$/.exec(text ?? '') ?? [];
  if (from === undefined) return undefined;
  const min = Number(from);
  const max = mark === undefined ? min : mark === '+' ? Number.POSITIVE_INFINITY : Number(mark.slice(1));
  if (max < min)
    throw invalidArguments([
      problem('--expect', 'format', `must be a range from the smaller to the larger number; got ${text}`),
    ]);
  return { min, max };
};
const isWithin = (count: number, { min, max }: Expectation): boolean => count >= min && count <= max;
/** Asks until the expectation is met, can no longer be met, or `waitMs` have passed. */
export const awaitCount = async (
  host: Host,
  ask: () => Promise<FoundRequests>,
  expected: Expectation | undefined,
  waitMs: number,
  signal: AbortSignal,
): Promise<FoundRequests> => {
  const until = host.elapsed() + waitMs;
  for (;;) {
    const found = await ask();
    const isSettled = expected === undefined || found.matched >= Math.max(1, expected.min);
    if (isSettled || host.elapsed() >= until) return found;
    await host.sleep(POLL_MS, signal);
  }
};
const rangeText = ({ min, max }: Expectation): string => {
  if (min === max) return String(min);
  return max === Number.POSITIVE_INFINITY ? `at least ${min}` : `${min} to ${max}`;
};
/** Whether the count proves the expectation; a count that may be incomplete proves only a minimum. */
export const evaluateCount = (
  { matched, forgotten, bodies_not_kept: unkept }: FoundRequests,
  expected: Expectation | undefined,
): { readonly isMet: boolean; readonly message: string | undefined; readonly doubts: readonly string[] } => {
  const doubts = [
    ...(forgotten === 0
      ? []
      : [`the log no longer holds the first ${forgotten} requests; clear it before a test`]),
    ...(unkept === 0
      ? []
      : [`${unkept} requests may match: their bodies are larger than 4 KiB and were not kept`]),
  ];
  if (expected === undefined) return { isMet: true, message: undefined, doubts };
  const isProven = doubts.length === 0 || expected.max === Number.POSITIVE_INFINITY;
  const isMet = isWithin(matched, expected) && isProven;
  const requests = countText(matched, 'request matches', 'requests match');
  return { isMet, doubts, message: `${requests}; expected ${rangeText(expected)}` };
};
