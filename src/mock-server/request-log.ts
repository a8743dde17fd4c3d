import { redactedBody, redactedForm, redactedHeaders, redactedJson } from '../core/redact-secrets.ts';
import { bodyNoter, bodyText } from './noted-body.ts';
import type { Noted } from './noted.ts';
import { type RequestQuery, requestMatcher } from './request-query.ts';

const KEPT = 10_000;

const bodyOf = (noted: Noted): unknown => {
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

const shown = (noted: Noted, id: string) => ({
  id,
  time: new Date(noted.atMs).toISOString(),
  method: noted.method,
  path: noted.path,
  ...(noted.query === '' ? {} : { query: redactedForm(noted.query) }),
  status: noted.status ?? null,
  ms: noted.tookUs === undefined ? null : Math.round(noted.tookUs / 10) / 100,
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
  readonly #run: string;
  readonly #ring: Noted[] = [];
  #count = 0;
  readonly noteBody = bodyNoter();
  /** `run` is another one at each start of the server. */
  constructor(run: string) {
    this.#run = run;
  }
  /** What answers and messages name a request by. */
  idOf({ number }: Noted): string {
    return `${this.#run}-${number}`;
  }
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
      (noted) => (noted ? [shown(noted, this.idOf(noted))] : []),
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
      rows: found.slice(-limit).map((noted) => shown(noted, this.idOf(noted))),
    };
  }
  clear(): void {
    this.#ring.length = 0;
    this.#count = 0;
  }
}
