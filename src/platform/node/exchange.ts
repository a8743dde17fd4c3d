import { assertPermitted } from '../../core/external-url.ts';
import { limits } from '../../core/limits.ts';
import { decodeUtf8 } from '../../core/text.ts';
import { type Bytes, type HttpReply, NetworkError, type TlsFailure } from '../host.ts';
import { heapKeeper } from './builtin.ts';
import type { Attempt, PreparedRequest, Progress, Transport, Wire } from './transport.ts';

type SystemError = {
  code?: string;
  message?: string;
  errors?: unknown[];
  cause?: unknown;
  reason?: string;
  cert?: { subjectaltname?: string };
};
type Kind = { readonly code: NetworkError['code']; readonly says: string };
const kinds: Readonly<Record<string, Kind>> = {
  ECONNREFUSED: { code: 'REFUSED', says: 'connection refused: no server is listening there' },
  EHOSTUNREACH: { code: 'REFUSED', says: 'no route to the host' },
  ENETUNREACH: { code: 'REFUSED', says: 'the network is unreachable' },
  EADDRNOTAVAIL: { code: 'REFUSED', says: 'the address is not available' },
  ENOTFOUND: { code: 'DNS', says: 'the host name is not known' },
  EAI_AGAIN: { code: 'DNS', says: 'the host name could not be resolved (the name server did not respond)' },
  ETIMEDOUT: { code: 'CONNECT_TIMEOUT', says: 'the connection could not be made in time' },
  UND_ERR_CONNECT_TIMEOUT: { code: 'CONNECT_TIMEOUT', says: 'the connection could not be made in time' },
  ECONNRESET: { code: 'RESET', says: 'the connection was closed before the response was complete' },
  EPIPE: { code: 'RESET', says: 'the connection was closed before the request was complete' },
  ERR_STREAM_PREMATURE_CLOSE: {
    code: 'RESET',
    says: 'the connection was closed before the response was complete',
  },
  UND_ERR_SOCKET: { code: 'RESET', says: 'the connection was closed before the response was complete' },
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: { code: 'RESET', says: 'the response is shorter than announced' },
  EPROTO: { code: 'TLS', says: 'no secure connection could be agreed on' },
};
const certificateCodes =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_|CRL_|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_|ERR_SSL_)/;
// A signature fails if an authority was recreated under the same name.
const untrusted =
  /^(UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO_SELF_SIGNED|CERT_UNTRUSTED|CERT_SIGNATURE_FAILURE|INVALID_CA)/;
const CA_HINT =
  'if your network uses its own certificate authority, name its file in NODE_EXTRA_CA_CERTS or in the setting `ca_file`';
const innermost = (error: SystemError): SystemError => {
  const first = error.errors?.[0] as SystemError | undefined;
  if (error.code === undefined && first !== undefined) return innermost(first);
  const cause = error.cause as SystemError | undefined;
  return error.code === undefined && typeof cause?.code === 'string' ? cause : error;
};
/** OpenSSL's own line has file names and addresses of its code in it: `…:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:…`. */
const reasonOf = ({ reason, message }: SystemError): string =>
  reason ??
  /SSL routines:[^:]*:([^:]+):/.exec(message ?? '')?.[1] ??
  message?.split('\n')[0] ??
  'the certificate was not accepted';
/** Alerts with which a server turns a client's certificate, or the lack of one, down (RFC 8446 6.2). */
const clientAlert =
  /alert (bad certificate|unsupported certificate|certificate (revoked|expired|unknown|required)|unknown ca|access denied|no certificate)/i;
const troubleIn = (error: SystemError): TlsFailure => {
  const [code, reason] = [error.code ?? '', reasonOf(error)];
  if (untrusted.test(code)) return { kind: 'untrusted', reason };
  if (code === 'CERT_HAS_EXPIRED') return { kind: 'expired', reason };
  if (code === 'CERT_NOT_YET_VALID') return { kind: 'too-early', reason };
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = error.cert?.subjectaltname
      ?.split(', ')
      .map((name) => name.replace(/^(DNS|IP Address|URI|email):/, ''));
    return { kind: 'name', reason, ...(names === undefined ? {} : { names }) };
  }
  return { kind: clientAlert.test(reason) ? 'client-certificate' : 'protocol', reason };
};
const says: Readonly<Partial<Record<TlsFailure['kind'], (reason: string) => string>>> = {
  untrusted: (reason) => `its certificate is not trusted (${reason}); ${CA_HINT}`,
  expired: () => 'its certificate has expired',
  'too-early': () => 'its certificate is not valid yet; check the clocks',
  name: (reason) => `its certificate is for another name (${reason})`,
  protocol: (reason) =>
    /wrong version number/.test(reason) ? `it does not speak TLS (${reason}); is its URL http://?` : reason,
};
/** A proxied request opens no connection but the one to the proxy. */
const isProxys = (code: NetworkError['code']): boolean =>
  code === 'REFUSED' || code === 'DNS' || code === 'CONNECT_TIMEOUT';
/** What a proxy did wrong; undefined when it is not the proxy's failure. `proxy` is absent once a byte was sent. */
const proxyFailure = (
  { code, message }: SystemError,
  kind: Kind | undefined,
  where: string,
  proxy: string | undefined,
): string | undefined => {
  const check = 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY';
  if (/^Proxy response|Proxy Authentication/.test(message ?? ''))
    return `cannot reach ${where}: the proxy refused (${message}); ${check}`;
  if (kind === undefined || proxy === undefined || !isProxys(kind.code)) return undefined;
  return `cannot reach ${where}: its proxy ${new URL(proxy).host} cannot be used: ${kind.says} (${code}); ${check}`;
};
/**
 * What happened on the wire, in words a user can act on. `where` is the origin only: paths and queries may hold secrets.
 * @param sent whether a byte of the request may have left this machine
 * @param proxy the proxy it went through, if any
 */
const networkErrorFrom = (thrown: unknown, where: string, sent: boolean, proxy?: string): NetworkError => {
  if (thrown instanceof NetworkError) return thrown;
  const error = innermost((thrown ?? {}) as SystemError);
  const code = error.code ?? '';
  const kind = kinds[code];
  const viaProxy = proxyFailure(error, kind, where, sent ? undefined : proxy);
  if (viaProxy !== undefined) return new NetworkError('PROXY', viaProxy, false, thrown);
  if (kind?.code === 'TLS' || (kind === undefined && certificateCodes.test(code))) {
    const trouble = troubleIn(error);
    const text = says[trouble.kind]?.(trouble.reason) ?? trouble.reason;
    return new NetworkError('TLS', `cannot reach ${where} safely: ${text}`, sent, thrown, trouble);
  }
  if (kind !== undefined)
    return new NetworkError(kind.code, `cannot reach ${where}: ${kind.says} (${code})`, sent, thrown);
  const text = error.message ?? String(thrown);
  return new NetworkError('OTHER', `the request to ${where} failed: ${text}`, sent, thrown);
};

/** The request data that a reply needs. */
export type ExchangeOptions = {
  readonly where: string;
  /** The timer that runs until the next bytes arrive. */
  wind(): void;
  unwind(): void;
  over(): void;
  /** The complete response must arrive in time, even if single bytes keep arriving. */
  limitWhole(): void;
  fail(error: unknown): NetworkError;
};
async function* bytesOf(
  body: AsyncIterable<Bytes>,
  asked: ExchangeOptions,
  read?: (bytes: number) => void,
): AsyncGenerator<Bytes> {
  const iterator = body[Symbol.asyncIterator]();
  let isDone = false;
  try {
    for (;;) {
      asked.wind();
      const next = await iterator.next();
      asked.unwind();
      if (next.done) {
        isDone = true;
        return;
      }
      read?.(next.value.length);
      yield next.value;
    }
  } catch (error) {
    isDone = true;
    throw asked.fail(error);
  } finally {
    asked.over();
    if (!isDone) await iterator.return?.();
  }
}
async function* whole(bytes: Bytes): AsyncGenerator<Bytes> {
  if (bytes.length > 0) yield bytes;
}
const collect = async (body: AsyncIterable<Bytes>, refuse: (size: number) => void): Promise<Bytes> => {
  const chunks: Bytes[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    refuse(size);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
};
const BOM = 0xfeff;
const utf8 = (bytes: Bytes): string => {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  return text.charCodeAt(0) === BOM ? text.slice(1) : text;
};
/** JSON of a success is shown and stored: a byte that is not UTF-8 would be replaced. An error page may have any encoding. */
const refuseOtherEncoding = (text: string, bytes: Bytes, status: number, where: string): string => {
  if (status < 400 && text.includes('\uFFFD') && /^\s*[[{]/.test(text)) decodeUtf8(bytes, where, 'network');
  return text;
};
/** A response whose head has arrived; see `HttpReply`. */
export class Reply implements HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly trailers?: () => Readonly<Record<string, string>>;
  readonly #body: Wire['body'];
  readonly #asked: ExchangeOptions;
  readonly #limit: number;

  constructor(
    { status, headers, body, trailers }: Wire,
    asked: ExchangeOptions,
    limit: number = limits.replyBytes,
  ) {
    this.status = status;
    this.headers = headers;
    if (trailers !== undefined) this.trailers = trailers;
    this.#body = body;
    this.#asked = asked;
    this.#limit = limit;
    if (body instanceof Uint8Array) asked.over();
  }
  stream(): AsyncIterable<Bytes> {
    if (this.#body instanceof Uint8Array) return whole(this.#body);
    return bytesOf(this.#body, this.#asked, heapKeeper());
  }
  limitWhole(): void {
    if (!(this.#body instanceof Uint8Array)) this.#asked.limitWhole();
  }
  async bytes(): Promise<Bytes> {
    const body = this.#body;
    if (!(body instanceof Uint8Array)) {
      this.limitWhole();
      return collect(bytesOf(body, this.#asked), (size) => this.#refuse(size));
    }
    this.#refuse(body.length);
    return body;
  }
  async text(): Promise<string> {
    const body = this.#body;
    const bytes = body instanceof Uint8Array ? body : await this.bytes();
    this.#refuse(bytes.length);
    return refuseOtherEncoding(utf8(bytes), bytes, this.status, this.#asked.where);
  }

  #refuse(size: number): void {
    if (size > this.#limit)
      throw new NetworkError(
        'TOO_LARGE',
        `the response of ${this.#asked.where} is larger than ${this.#limit} bytes`,
        true,
      );
  }
}

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
/**
 * One active request: the logic that all transports share. The request fails when its timer fires or its
 * signal is aborted.
 */
class Call implements Progress {
  readonly where: string;
  readonly #prepared: PreparedRequest;
  readonly #timeoutMs: number;
  readonly #calls: Set<Call> | undefined;
  #attempt: Attempt | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ringing: NodeJS.Immediate | undefined;
  #whole: NodeJS.Timeout | undefined;
  #isSent = false;
  #isAnswered = false;
  /** The reason why this side ended the request. It is more precise than the error of the transport. */
  #ended: NetworkError | undefined;

  /** `calls` are those that the signal of the request stops. */
  constructor(prepared: PreparedRequest, calls: Set<Call> | undefined) {
    // Kept connections need no host, so that this is the one place for every transport.
    assertPermitted(prepared);
    this.where = prepared.to.origin;
    this.#prepared = prepared;
    this.#timeoutMs = prepared.request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#calls = calls;
  }

  start(transport: Transport): Promise<Wire> {
    this.#calls?.add(this);
    // Throws immediately for a header that cannot be sent.
    this.#attempt = transport.start(this.#prepared, this);
    if (!this.#isSent) this.wind(this.#connectMs);
    return this.#attempt.reply;
  }
  onConnected(): void {
    this.#isSent = true;
    this.wind(this.#timeoutMs);
  }
  /** After an early response the upload may continue. The timer then applies to the response. */
  onMoved(): void {
    if (!this.#isAnswered) this.wind(this.#timeoutMs);
  }
  markAnswered(): void {
    this.#isAnswered = true;
    this.unwind();
  }
  /** No more data can arrive. */
  over(): void {
    this.markAnswered();
    clearTimeout(this.#whole);
    this.#calls?.delete(this);
  }
  fail(error: unknown): NetworkError {
    this.over();
    return this.#ended ?? networkErrorFrom(error, this.where, this.#isSent, this.#prepared.to.proxy);
  }
  abort(reason: unknown): void {
    this.#end(new NetworkError('ABORTED', `the request to ${this.where} was canceled`, this.#isSent, reason));
  }

  /** A clock that is wound up again at each sign of life. */
  wind(ms: number = this.#timeoutMs): void {
    this.unwind();
    this.#timer = setTimeout(() => this.#ring(), ms);
  }
  unwind(): void {
    clearTimeout(this.#timer);
    clearImmediate(this.#ringing);
  }
  /**
   * If this process was suspended, timers run before the data that has arrived in the meantime. That data is
   * processed first.
   */
  #ring(): void {
    this.#ringing = setImmediate(() => this.#end(this.#late()));
  }

  limitWhole(): void {
    const ms = this.#timeoutMs * limits.replyTimeouts;
    this.#whole = setTimeout(() => this.#end(this.#endless(ms)), ms);
  }

  get #connectMs(): number {
    return this.#prepared.request.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  }
  #late(): NetworkError {
    return this.#isSent
      ? new NetworkError(
          'TIMEOUT',
          `${this.where} did not respond within ${this.#timeoutMs / 1000} s; --timeout changes the limit`,
          true,
        )
      : new NetworkError(
          'CONNECT_TIMEOUT',
          `cannot reach ${this.where}: no connection within ${this.#connectMs / 1000} s`,
          false,
        );
  }
  #endless(ms: number): NetworkError {
    return new NetworkError(
      'TIMEOUT',
      `${this.where} did not finish its response within ${ms / 1000} s, ${limits.replyTimeouts} times --timeout`,
      true,
    );
  }
  #end(error: NetworkError): void {
    this.#ended ??= error;
    this.#attempt?.destroy(error);
  }
}
/** One signal stops all requests of a run: it is listened to once. */
const followers = (): ((signal: AbortSignal | undefined) => Set<Call> | undefined) => {
  const known = new WeakMap<AbortSignal, Set<Call>>();
  return (signal) => {
    if (signal === undefined) return undefined;
    const found = known.get(signal);
    if (found !== undefined) return found;
    const calls = new Set<Call>();
    known.set(signal, calls);
    signal.addEventListener('abort', () => {
      for (const call of calls) call.abort(signal.reason);
    });
    return calls;
  };
};
/** Sends requests with the limits of `HttpRequest` over any transport. Throws NetworkError only. */
export const exchanges = (): ((transport: Transport, prepared: PreparedRequest) => Promise<HttpReply>) => {
  const following = followers();
  return async (transport, prepared) => {
    const { signal } = prepared.request;
    const { origin } = prepared.to;
    if (signal?.aborted)
      throw new NetworkError('ABORTED', `the request to ${origin} was canceled`, false, signal.reason);
    const call = new Call(prepared, following(signal));
    try {
      const wire = await call.start(transport);
      call.markAnswered();
      return new Reply(wire, call, prepared.request.maxReplyBytes);
    } catch (error) {
      throw call.fail(error);
    }
  };
};
