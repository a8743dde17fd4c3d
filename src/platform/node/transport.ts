import type { PermittedRequest } from '../../core/external-url.ts';
import type { Bytes, HttpRequest, Tls } from '../host.ts';
import { builtin } from './builtin.ts';
import { readFileNow } from './files.ts';

export type Wire = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Bytes when all of it is known with the head. */
  readonly body: AsyncIterable<Bytes> | Bytes;
  readonly trailers?: () => Readonly<Record<string, string>>;
};
export type Progress = {
  /** From here on a byte of the request may have left. */
  onConnected(): void;
  /** The peer took a piece of a streamed body. */
  onMoved(): void;
};
/** The target of a request. */
export type TransportTarget = {
  readonly url: URL;
  readonly origin: string;
  readonly host: string;
  /** Path and query. */
  readonly path: string;
  readonly proxy: string | undefined;
};
export type PreparedRequest = PermittedRequest & {
  readonly to: TransportTarget;
  readonly request: HttpRequest;
};
export type Attempt = { readonly reply: Promise<Wire>; destroy(reason: Error): void };
/**
 * One transport for requests. Timeouts, limits and error names are the same for all transports (exchange.ts).
 */
export type Transport = {
  start(prepared: PreparedRequest, progress: Progress): Attempt;
  close(): Promise<void>;
};
export const isStream = (body: HttpRequest['body']): body is AsyncIterable<Bytes> =>
  typeof body === 'object' && !(body instanceof Uint8Array);
/**
 * Methods whose requests announce that they have no body, because servers expect a length for them (RFC 9110
 * 8.6).
 */
export const statesItsLength = (method: string): boolean => /^(POST|PUT|PATCH)$/.test(method);
/** Headers of a request with names in lower case and the length of its body. */
export const headersWithLength = ({
  method,
  headers: given = {},
  body,
}: HttpRequest): Record<string, string> => {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) headers[name.toLowerCase()] = value;
  if (typeof body === 'string') headers['content-length'] = String(Buffer.byteLength(body));
  else if (body instanceof Uint8Array) headers['content-length'] = String(body.length);
  else if (body === undefined && statesItsLength(method)) headers['content-length'] = '0';
  return headers;
};
export const flatHeaders = (
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
): Record<string, string> => {
  const flat: Record<string, string> = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) flat[name.toLowerCase()] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
};
/** RFC 9112 6.3: these responses have no body, regardless of their headers. */
export const isBodyless = (method: string, status: number): boolean =>
  method === 'HEAD' || status === 204 || status === 304;
export const hasNoBody = (
  method: string,
  status: number,
  headers: Readonly<Record<string, string>>,
): boolean => isBodyless(method, status) || headers['content-length'] === '0';
export const emptyBytes: Bytes = new Uint8Array();
/**
 * The authorities a connection trusts: only `ca` when it is given, else the usual ones and `extraCa`. As in Go and curl,
 * each given certificate is sufficient: an intermediate one, or the self-signed one of a server.
 */
export const selectAuthorities = (
  given: Tls | undefined,
  usual: () => readonly string[],
): { ca?: string[]; allowPartialTrustChain?: true } => {
  if (given?.ca !== undefined) return { ca: [given.ca], allowPartialTrustChain: true };
  return given?.extraCa === undefined ? {} : { ca: [...usual(), given.extraCa] };
};
/** What a secure connection is made with: whom it trusts, who this side is, and the name that the certificate must have. */
export const tlsOptions = (tls: Tls | undefined, usual: () => readonly string[]) => ({
  ...selectAuthorities(tls, usual),
  ...(tls?.cert === undefined ? {} : { cert: tls.cert, key: tls.key }),
  ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
});

type Sink = {
  on(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
};
/** Resolves when the sink takes more, or never will. */
export const awaitDrain = (sink: Sink): Promise<void> =>
  new Promise((resolve) => {
    const finish = (): void => {
      sink.off('drain', finish);
      sink.off('close', finish);
      resolve();
    };
    sink.on('drain', finish);
    sink.on('close', finish);
  });

/** Servers close an idle connection after 2 to 5 s by default. */
const USUAL_IDLE_MS = 1000;
/** The margin by which this side closes earlier than the server. */
const EARLIER_MS = 1000;
/**
 * Returns how long a connection may be idle before its next request, in milliseconds, from the Keep-Alive header of
 * the last response. A request that is sent while the server closes the connection fails, and one that is not
 * idempotent, such as a code exchange after a sign-in of 5 s, cannot be repeated.
 */
export const idleLimitMs = (keepAlive: string | undefined): number => {
  const seconds = keepAlive === undefined ? undefined : /\btimeout=(\d+)/i.exec(keepAlive)?.[1];
  return seconds === undefined ? USUAL_IDLE_MS : Math.max(0, Number(seconds) * 1000 - EARLIER_MS);
};

/** Chunks that wait to be read before the sender is asked to pause. */
const MOST_BYTES = 64 * 1024;
type Source = { resume(): void; abort(why: Error): void };
type Step = IteratorResult<Bytes, undefined>;
type Reader = { resolve(step: Step): void; reject(error: Error): void };
/**
 * A body that is read once, at the speed of its consumer: like a Node stream, at a fraction of its cost per
 * request.
 */
export class ChunkQueue {
  readonly #source: Source;
  readonly #waiting: Bytes[] = [];
  #size = 0;
  #isOver = false;
  #failure: Error | undefined;
  #reader: Reader | undefined;
  readonly chunks: AsyncIterable<Bytes> = {
    [Symbol.asyncIterator]: () => ({ next: () => this.#next(), return: () => this.#close() }),
  };

  constructor(source: Source) {
    this.#source = source;
  }

  /** False when the sender should pause. */
  push(chunk: Bytes): boolean {
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#reader !== undefined) this.#wake();
    return this.#size < MOST_BYTES;
  }
  end(): void {
    this.#isOver = true;
    this.#wake();
  }
  fail(error: Error): void {
    if (this.#isOver) return;
    this.#failure ??= error;
    this.#wake();
  }

  #take(): Step | undefined {
    const value = this.#waiting.shift();
    if (value === undefined) return this.#isOver ? { done: true, value: undefined } : undefined;
    if (this.#size >= MOST_BYTES && this.#size - value.length < MOST_BYTES) this.#source.resume();
    this.#size -= value.length;
    return { done: false, value };
  }
  #next(): Promise<Step> {
    // What has arrived whole is given before the failure that follows it.
    const step = this.#waiting.length > 0 || this.#failure === undefined ? this.#take() : undefined;
    if (step !== undefined) return Promise.resolve(step);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }
  async #close(): Promise<Step> {
    if (!this.#isOver && this.#failure === undefined) this.#source.abort(new Error('closed'));
    this.#isOver = true;
    return { done: true, value: undefined };
  }
  #wake(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (this.#failure !== undefined) reader?.reject(this.#failure);
    else if (reader !== undefined) reader.resolve(this.#take() as Step);
  }
}

/** The default authorities of Node: its own list and NODE_EXTRA_CA_CERTS (Node reads both from 22.15 on). */
export const usualAuthorities = (): readonly string[] => {
  const tls = builtin.tls as typeof builtin.tls & { getCACertificates?(type: 'default'): string[] };
  if (tls.getCACertificates !== undefined) return tls.getCACertificates('default');
  const extra = process.env.NODE_EXTRA_CA_CERTS;
  if (!extra) return tls.rootCertificates;
  try {
    return [...tls.rootCertificates, readFileNow(extra)];
  } catch {
    // Node has already reported at startup that the file cannot be read.
    return tls.rootCertificates;
  }
};
