import { Buffer } from 'node:buffer';
import { maskedForm, maskedHeaders, maskedJson } from './redaction.ts';

const KEPT = 1000;
const BODY_BYTES = 4096;

/** What the server notes while it works; shown (and masked) only when somebody asks, so that noting is cheap. */
export type Noted = {
  readonly id: string;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Bytes as text of one character each: a thousand small strings cost the collector less than a thousand buffers. */
  body?: string;
  bodyBytes?: number;
  service?: string;
  fault?: number;
  status?: number;
  ms?: number;
};

const bodyOf = ({ body, bodyBytes, headers }: Noted): unknown => {
  if (body === undefined) return bodyBytes === undefined ? undefined : `${bodyBytes} bytes`;
  const type = headers['content-type'] ?? '';
  const text = Buffer.from(body, 'latin1').toString('utf8');
  if (type.startsWith('application/x-www-form-urlencoded')) return maskedForm(text);
  try {
    return maskedJson(JSON.parse(text));
  } catch {
    return type.startsWith('text/') ? text : `${body.length} bytes`;
  }
};

export const shown = (noted: Noted) => ({
  id: noted.id,
  time: new Date(noted.atMs).toISOString(),
  method: noted.method,
  path: noted.path,
  ...(noted.query === '' ? {} : { query: maskedForm(noted.query) }),
  status: noted.status ?? null,
  ms: noted.ms === undefined ? null : Math.round(noted.ms * 100) / 100,
  ...(noted.service === undefined ? {} : { service: noted.service }),
  ...(noted.fault === undefined ? {} : { fault: noted.fault }),
  headers: maskedHeaders(noted.headers),
  ...(noted.bodyBytes === undefined ? {} : { body: bodyOf(noted) }),
});

/** The last thousand requests, newest last. */
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
