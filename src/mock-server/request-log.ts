import { Buffer } from 'node:buffer';
import { redactedForm, redactedHeaders, redactedJson } from './redaction.ts';
import type { Noted } from './noted.ts';
import { type RequestQuery, requestMatcher } from './request-query.ts';

const KEPT = 10_000;
const BODY_BYTES = 4096;

const bodyOf = ({ body, bodyBytes, headers }: Noted): unknown => {
  if (body === undefined) return bodyBytes === undefined ? undefined : `${bodyBytes} bytes`;
  const type = headers['content-type'] ?? '';
  const text = Buffer.from(body, 'latin1').toString('utf8');
  if (type.startsWith('application/x-www-form-urlencoded')) return redactedForm(text);
  try {
    return redactedJson(JSON.parse(text));
  } catch {
    return type.startsWith('text/') ? text : `${body.length} bytes`;
  }
};

export const shown = (noted: Noted) => ({
  id: noted.id,
  time: new Date(noted.atMs).toISOString(),
  method: noted.method,
  path: noted.path,
  ...(noted.query === '' ? {} : { query: redactedForm(noted.query) }),
  status: noted.status ?? null,
  ms: noted.ms === undefined ? null : Math.round(noted.ms * 100) / 100,
  ...(noted.service === undefined ? {} : { service: noted.service }),
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
  readonly rows: ReturnType<typeof shown>[];
};

/** The last requests, newest last. */
export class RequestLog {
  readonly #ring: Noted[] = [];
  #count = 0;
  add(noted: Noted): void {
    this.#ring[this.#count % KEPT] = noted;
    this.#count += 1;
  }
  get count(): number {
    return this.#count;
  }
  last(limit: number): ReturnType<typeof shown>[] {
    const from = Math.max(0, this.#count - Math.min(limit, KEPT));
    return Array.from({ length: this.#count - from }, (_, i) => this.#ring[(from + i) % KEPT]).flatMap(
      (noted) => (noted ? [shown(noted)] : []),
    );
  }
  /** The newest `limit` requests that the query means, and what a reader must know to count on the number. */
  find(query: RequestQuery, limit: number): FoundRequests {
    const from = Math.max(0, this.#count - KEPT);
    const verdictOf = requestMatcher(query);
    const found: Noted[] = [];
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
      rows: found.slice(-limit).map(shown),
    };
  }
  clear(): void {
    this.#ring.length = 0;
    this.#count = 0;
  }
}

/** Large bodies are counted, not kept. */
export const noteBody = (noted: Noted, body: Uint8Array): void => {
  noted.bodyBytes = body.length;
  if (body.length <= BODY_BYTES)
    noted.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1');
};

type Headers = Noted['headers'];

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
