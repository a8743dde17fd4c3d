import { cutText, messageOf } from '../core/problem.ts';
import { redactedBody, redactedHeaders, redactedUrl, secretsIn } from '../core/redact-secrets.ts';
import { type Host, type HttpReply, type HttpRequest, withRequest } from '../platform/host.ts';

/** One exchange as it went over the wire, timed from the first byte to the last. */
export type Exchange = {
  readonly startedMs: number;
  readonly tookMs: number;
  /** 1, and one more for each time that the same request was sent again after a failure. */
  readonly attempt: number;
  readonly method: string;
  readonly url: string;
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly requestBody: string | undefined;
  readonly status: number;
  readonly responseHeaders: Readonly<Record<string, string>>;
  readonly responseBody: string;
  /** Only the start of the body was kept, or the body was dropped because it is not text. */
  readonly isCut?: true;
  readonly error?: string;
};

const SHOWN_BYTES = 4096;

const sizeText = (bytes: number): string => `(${bytes} bytes)`;

/** A body without its secrets; of a text that is neither JSON nor a form only the size. */
const requestText = ({ body, headers = {} }: HttpRequest): string | undefined => {
  if (body === undefined) return undefined;
  if (typeof body !== 'string') return body instanceof Uint8Array ? sizeText(body.length) : '(a stream)';
  return redactedBody(body, typeOf(headers)) ?? sizeText(Buffer.byteLength(body));
};

const typeOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';

const shortenBody = (text: string): string =>
  text.length <= SHOWN_BYTES ? text : `${cutText(text, SHOWN_BYTES)} (${text.length} characters in all)`;
const quoteText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** A command line for curl. The reader must fill in the hidden values. */
const curlOf = ({ method, url, requestHeaders, requestBody }: Exchange): string =>
  [
    'curl',
    '-i',
    ...(method === 'GET' ? [] : ['-X', method]),
    ...Object.entries(requestHeaders).flatMap(([name, value]) => ['-H', quoteText(`${name}: ${value}`)]),
    ...(requestBody === undefined ? [] : ['--data-binary', quoteText(requestBody)]),
    quoteText(url),
  ].join(' ');

/** What --debug prints for one exchange. Pure. */
export const traceLines = (exchange: Exchange): string[] => {
  const { method, url, requestHeaders, requestBody, status, responseHeaders, responseBody, tookMs, error } =
    exchange;
  const headers = (mark: string, all: Readonly<Record<string, string>>): string[] =>
    Object.entries(all).map(([name, value]) => `${mark} ${name}: ${value}`);
  return [
    `> ${method} ${url}${exchange.attempt === 1 ? '' : ` (try ${exchange.attempt})`}`,
    ...headers('>', requestHeaders),
    ...(requestBody === undefined ? [] : [`> ${shortenBody(requestBody)}`]),
    ...(status === 0 ? [] : [`< ${status} in ${Math.round(tookMs)} ms`, ...headers('<', responseHeaders)]),
    ...(error === undefined ? [] : [`< ${error} after ${Math.round(tookMs)} ms`]),
    ...(responseBody === '' ? [] : [`< ${shortenBody(responseBody)}`]),
    `  ${curlOf(exchange)}`,
  ];
};

const readable = (headers: Readonly<Record<string, string>>): boolean =>
  /\b(json|text|xml|form)\b/i.test(headers['content-type'] ?? '');

const KEPT_BYTES = 256 * 1024;
const WHOLE_BYTES = 16 * 1024 * 1024;
/** How much of each body a trace keeps. */
const keptBytes = { none: 0, part: KEPT_BYTES, whole: WHOLE_BYTES } as const;
type TraceOptions = {
  readonly bodies?: keyof typeof keptBytes;
  readonly hide?: (secret: string) => void;
};

type ReadBody = { readonly body: Uint8Array; readonly size: number; readonly error?: string };
/** The same reply; `done` gets the beginning of its body when that has been read, or the error that ended it. */
const watchReply = (reply: HttpReply, mostBytes: number, done: (read: ReadBody) => void): HttpReply => {
  const whole = async (): Promise<Uint8Array<ArrayBuffer>> => {
    const bytes = (await reply.bytes().catch((error: unknown) => {
      done({ body: new Uint8Array(), size: 0, error: messageOf(error) });
      throw error;
    })) as Uint8Array<ArrayBuffer>;
    done({ body: bytes, size: bytes.length });
    return bytes;
  };
  return {
    ...reply,
    bytes: whole,
    text: async () => new TextDecoder().decode(await whole()),
    async *stream() {
      const kept: Uint8Array[] = [];
      let size = 0;
      let failed: { error?: string } = {};
      try {
        for await (const chunk of reply.stream()) {
          if (size < mostBytes) kept.push(chunk);
          size += chunk.length;
          yield chunk;
        }
      } catch (error) {
        failed = { error: messageOf(error) };
        throw error;
      } finally {
        done({ body: Buffer.concat(kept), size, ...failed });
      }
    },
  };
};

/**
 * Returns the part of a response body to keep: the redacted text, or its size if it is not text or cannot be
 * searched for secrets.
 */
const keptResponse = (
  headers: Readonly<Record<string, string>>,
  { body, size }: ReadBody,
  sentType: string,
): Pick<Exchange, 'responseBody' | 'isCut'> => {
  if (size === 0) return { responseBody: '' };
  const text = readable(headers)
    ? redactedBody(new TextDecoder().decode(body), typeOf(headers), sentType)
    : undefined;
  const isCut = body.length < size || text === undefined;
  return { responseBody: text ?? sizeText(size), ...(isCut ? { isCut: true } : {}) };
};

const readPart = (
  { status, headers }: HttpReply,
  read: ReadBody,
  bodies: keyof typeof keptBytes,
  sentType: string,
) => ({
  status,
  responseHeaders: redactedHeaders(headers),
  ...(bodies === 'none' ? { responseBody: '' } : keptResponse(headers, read, sentType)),
  ...(read.error === undefined ? {} : { error: read.error }),
});

/** How often each request was sent since it last succeeded. */
const attempts = () => {
  const failed = new Map<string, number>();
  return (method: string, url: string) => {
    const key = `${method} ${url}`;
    const attempt = (failed.get(key) ?? 0) + 1;
    return {
      attempt,
      end: (status: number) =>
        void (status > 0 && status < 400 ? failed.delete(key) : failed.set(key, attempt)),
    };
  };
};

/**
 * Returns the same host, which passes requests to `note` after their responses were read. Bodies are kept in part,
 * whole for a replay, or not at all, and `hide` receives the secrets of responses.
 */
export const tracedHost = (
  host: Host,
  note: (exchange: Exchange) => void,
  { bodies = 'part', hide }: TraceOptions = {},
): Host => {
  const sent = attempts();
  const request: Host['network']['request'] = async (given) => {
    const [startedMs, began] = [host.now(), host.elapsed()];
    const { attempt, end: ended } = sent(given.method, given.url);
    const common = {
      startedMs,
      attempt,
      method: given.method,
      url: redactedUrl(given.url),
      requestHeaders: redactedHeaders(given.headers ?? {}),
      requestBody: bodies === 'none' ? undefined : requestText(given),
    };
    const failed = { ...common, status: 0, responseHeaders: {}, responseBody: '' };
    try {
      const reply = await host.network.request(given);
      ended(reply.status);
      return watchReply(reply, keptBytes[bodies], (read) => {
        if (read.error !== undefined) ended(0);
        if (hide !== undefined)
          for (const secret of secretsIn(Buffer.from(read.body).toString())) hide(secret);
        note({
          ...common,
          tookMs: host.elapsed() - began,
          ...readPart(reply, read, bodies, typeOf(given.headers ?? {})),
        });
      });
    } catch (error) {
      const text = messageOf(error);
      ended(0);
      note({ ...failed, tookMs: host.elapsed() - began, error: text });
      throw error;
    }
  };
  return withRequest(host, request);
};

const pairs = (all: Readonly<Record<string, string>>) =>
  Object.entries(all).map(([name, value]) => ({ name, value }));

const harRequest = ({ method, url, requestHeaders, requestBody }: Exchange) => ({
  method,
  url,
  httpVersion: 'HTTP/1.1',
  cookies: [],
  headers: pairs(requestHeaders),
  queryString: [...new URL(url).searchParams].map(([name, value]) => ({ name, value })),
  headersSize: -1,
  bodySize: requestBody?.length ?? 0,
  ...(requestBody === undefined
    ? {}
    : { postData: { mimeType: requestHeaders['content-type'] ?? '', text: requestBody } }),
});

const harResponse = ({ status, error, responseHeaders, responseBody }: Exchange) => ({
  status,
  statusText: error ?? '',
  httpVersion: 'HTTP/1.1',
  cookies: [],
  headers: pairs(responseHeaders),
  content: {
    size: responseBody.length,
    mimeType: responseHeaders['content-type'] ?? '',
    text: responseBody,
  },
  redirectURL: '',
  headersSize: -1,
  bodySize: -1,
});

/** HAR 1.2, as browsers and proxies read it. Pure. */
export const harOf = (exchanges: readonly Exchange[], version: string): string => {
  const entries = exchanges.map((one) => ({
    startedDateTime: new Date(one.startedMs).toISOString(),
    time: one.tookMs,
    _attempt: one.attempt,
    request: harRequest(one),
    response: harResponse(one),
    cache: {},
    timings: { send: 0, wait: one.tookMs, receive: 0 },
  }));
  const log = { version: '1.2', creator: { name: 'opsctl', version }, entries };
  return `${JSON.stringify({ log }, null, 2)}\n`;
};
