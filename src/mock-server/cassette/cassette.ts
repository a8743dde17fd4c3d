import { parseUrl } from '../../core/external-url.ts';
import { Buffer } from 'node:buffer';
import { limits } from '../../core/limits.ts';
import { parseExactJson, readJsonText, restoreNumbers, tooDeepAt } from '../../core/json.ts';
import { AppError, messageOf, problem } from '../../core/problem.ts';
import { decodeUtf8, withoutByteOrderMark } from '../../core/text.ts';
import type { JsonFault } from '../../core/json-scan.ts';
import { redactedBody, redactedForm, redactedHeaders, redactedUrl } from '../../core/redact-secrets.ts';
import { isRecord, misfit } from '../../core/shape.ts';
import {
  type AppendFile,
  type Bytes,
  type Files,
  type Host,
  type Incoming,
  NetworkError,
  type Outgoing,
} from '../../platform/host.ts';

/** A body as a cassette keeps it: JSON with its secrets masked, text, or bytes in base64. */
export type KeptBody = { readonly json: unknown } | { readonly text: string } | { readonly base64: string };
type KeptRequest = {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: KeptBody;
};
export type KeptResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: KeptBody;
};
/** One request with its response. */
export type Exchange = { readonly request: KeptRequest; readonly response: KeptResponse };
export type Cassette = { readonly upstream: string; readonly exchanges: readonly Exchange[] };
/** Headers of one connection or one moment. They have no meaning when a response is replayed. */
const TRANSIENT = new Set([
  'connection',
  'content-length',
  'date',
  'host',
  'keep-alive',
  'transfer-encoding',
  'x-request-id',
]);
export const keptHeaders = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(redactedHeaders(headers)).filter(([name]) => !TRANSIENT.has(name)));
const OMITTED = '(omitted: neither JSON nor a form)';
const isText = (bytes: Bytes): boolean => Buffer.from(Buffer.from(bytes).toString('utf8')).equals(bytes);
/** The reader of a cassette limits the depth of a line, in which a body stands three levels deep. */
const MOST_BODY_DEPTH = limits.yamlDepth - 3;
/** `sentType`: the content type of the request, for the body of a response. */
export const keptBody = (bytes: Bytes, type = '', sentType = ''): KeptBody | undefined => {
  if (bytes.length === 0) return undefined;
  if (!isText(bytes)) return { base64: Buffer.from(bytes).toString('base64') };
  const text = Buffer.from(bytes).toString('utf8');
  const shown = redactedBody(text, type, sentType);
  // Only JSON and forms can be searched for secrets.
  if (shown === undefined) return { text: OMITTED };
  try {
    const json = parseExactJson(shown);
    return tooDeepAt(shown, MOST_BODY_DEPTH) === undefined ? { json } : { text: shown };
  } catch {
    return { text: shown };
  }
};
export const bodyBytes = (body: KeptBody | undefined): string | Bytes | undefined => {
  if (body === undefined) return undefined;
  if ('json' in body) return restoreNumbers(JSON.stringify(body.json));
  return 'text' in body ? body.text : Buffer.from(body.base64, 'base64');
};
const headerLine = (upstream: string, nowMs: number): string =>
  `${JSON.stringify({ opsctl_cassette: 1, upstream: redactedUrl(upstream), recorded_at: new Date(nowMs).toISOString() })}\n`;
const makeDamagedError = (path: string, line: number, why: string): AppError =>
  new AppError('usage', `${path}:${line}: ${why}`, {
    code: 'BAD_CASSETTE',
    problems: [{ ...problem('', 'format', why), file: path, line }],
    tryThis: ['opsctl mock record --upstream URL --out FILE'],
  });
const lineOf = (path: string, text: string, number: number): unknown => {
  const fail = ({ what, column, isJson }: JsonFault): AppError => {
    const why = isJson ? 'cannot be used' : 'is not JSON';
    return makeDamagedError(path, number, `this line ${why}: column ${column}: ${what}`);
  };
  return readJsonText(text, fail, { exact: true, mayHaveNul: true });
};
const shape = {
  request: { method: 'text', path: 'text' },
  response: { status: 'number', headers: 'record?', body: 'record?' },
} as const;
/** Bodies of other kinds could not be sent. */
const isBody = (body: unknown): boolean =>
  body === undefined ||
  (isRecord(body) && ('json' in body || [body.text, body.base64].some((one) => typeof one === 'string')));
const isExchange = (value: unknown): value is Exchange =>
  misfit(value, shape) === undefined &&
  Number.isInteger((value as Exchange).response.status) &&
  isBody((value as Exchange).response.body);
/** Reads a cassette. A last line without its end was cut off while it was written, and is left out. */
export const readCassette = async (files: Files, path: string, name = path): Promise<Cassette> => {
  const info = await files.info(path);
  if (info === undefined) throw new AppError('usage', `cassette not found: ${name}`, { code: 'NO_CASSETTE' });
  if (info.kind !== 'file') throw makeDamagedError(name, 1, 'this is not a file');
  if (info.sizeBytes > limits.cassetteBytes)
    throw makeDamagedError(name, 1, `a cassette has at most ${limits.cassetteBytes} bytes`);
  const text = withoutByteOrderMark(
    decodeUtf8((await files.readBytes(path)) ?? new Uint8Array(), name, 'usage'),
  );
  const lines = text.split('\n').slice(0, -1);
  const head = lineOf(name, lines[0] ?? '', 1) as { opsctl_cassette?: unknown; upstream?: unknown } | null;
  if (head?.opsctl_cassette !== 1 || typeof head.upstream !== 'string')
    throw makeDamagedError(name, 1, 'this is not a cassette of `opsctl mock record`');
  const exchanges = lines.slice(1).map((line, at) => {
    const value = lineOf(name, line, at + 2);
    if (!isExchange(value))
      throw makeDamagedError(name, at + 2, 'this line is not a request with its response');
    return value;
  });
  return { upstream: head.upstream, exchanges };
};

const orderKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(orderKeys);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, orderKeys(inner)]));
};
const bodyKey = (body: KeptBody | undefined): string =>
  body === undefined ? '' : JSON.stringify('json' in body ? orderKeys(body.json) : body);
const queryKey = (query: string): string => query.split('&').sort().join('&');
/** Requests that are the same to a cassette: method, path, query in any order, and body with its keys in any order. */
const requestKey = ({
  method,
  path,
  query,
  body,
}: Pick<KeptRequest, 'method' | 'path' | 'query' | 'body'>): string =>
  [method, path, queryKey(query), bodyKey(body)].join('\n');
export type Player = {
  handle(incoming: Incoming): Promise<Outgoing>;
  /** Requests that the cassette does not have, as `METHOD /path`. */
  readonly unknown: readonly string[];
  /** The number of recorded exchanges that were never requested. */
  countUnused(): number;
};
const outgoing = ({ response }: Exchange): Outgoing => ({
  status: response.status,
  headers: response.headers,
  body: bodyBytes(response.body),
});
/**
 * Serves responses from a cassette: equal requests get their responses in the recorded order, then the last
 * response repeatedly.
 */
export const makePlayer = ({ exchanges }: Cassette): Player => {
  const queues = new Map<string, { readonly list: Exchange[]; next: number }>();
  for (const exchange of exchanges) {
    const key = requestKey(exchange.request);
    const queue = queues.get(key) ?? { list: [], next: 0 };
    queue.list.push(exchange);
    queues.set(key, queue);
  }
  const unknown: string[] = [];
  return {
    handle: async (incoming) => {
      const [path = '', query = ''] = incoming.url.split(/\?(.*)/s);
      const body = keptBody(await incoming.read(limits.cassetteBytes), incoming.headers['content-type']);
      const queue = queues.get(
        requestKey({ method: incoming.method, path, query: redactedForm(query), body }),
      );
      const found = queue?.list[Math.min(queue.next, queue.list.length - 1)];
      if (queue === undefined || found === undefined) {
        unknown.push(`${incoming.method} ${path}`);
        const message = `the cassette has no ${incoming.method} ${path} with this query and body`;
        return {
          status: 404,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ message }),
        };
      }
      queue.next += 1;
      return outgoing(found);
    },
    unknown,
    countUnused: () =>
      [...queues.values()].reduce((sum, { list, next }) => sum + Math.max(0, list.length - next), 0),
  };
};

const LOOPBACK = /^(127(\.\d+){3}|\[::1\]|localhost)$/;
/** Hop-by-hop headers (RFC 9110 7.6.1), and headers that each side sets itself. */
const OF_THE_HOP = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** The base URL of the service that is recorded; tokens must not travel in the clear. */
export const upstreamFrom = (text: string, flag = '--upstream'): string => {
  const url = parseUrl(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && LOOPBACK.test(url.hostname));
  if (url === undefined || !isSafe)
    throw new AppError(
      'usage',
      `${flag} ${redactedUrl(text)} must be an https:// URL, or http:// on this machine`,
      {
        code: 'BAD_UPSTREAM',
      },
    );
  return url.href.replace(/\/$/, '');
};
const passedOn = (headers: Readonly<Record<string, string | undefined>>): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !OF_THE_HOP.has(name)) kept[name] = value;
  // A cassette keeps plain bodies.
  return { ...kept, 'accept-encoding': 'identity' };
};
type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Bytes;
};
const exchangeOf = (incoming: Incoming, sent: Bytes, answer: Answer): Exchange => {
  const [path = '', query = ''] = incoming.url.split(/\?(.*)/s);
  return {
    request: {
      method: incoming.method,
      path,
      query: redactedForm(query),
      headers: keptHeaders(incoming.headers),
      body: keptBody(sent, incoming.headers['content-type']),
    },
    response: {
      status: answer.status,
      headers: keptHeaders(answer.headers),
      body: keptBody(answer.body, answer.headers['content-type'], incoming.headers['content-type']),
    },
  };
};
const failureText = (error: unknown): string => messageOf(error);
export type Recorder = {
  handle(incoming: Incoming): Promise<Outgoing>;
  readonly count: () => number;
  /** Why the cassette ends before the last exchange. */
  readonly failure: () => unknown;
  close(): void;
};
/**
 * A full disk stops the cassette. The service has already processed the request, so its response is still
 * forwarded. A gap would make a replay wrong.
 */
const tape = (file: AppendFile) => {
  let count = 0;
  let failure: unknown;
  return {
    keep: (exchange: Exchange): void => {
      if (failure !== undefined) return;
      try {
        file.write(`${restoreNumbers(JSON.stringify(exchange))}\n`);
        count += 1;
      } catch (error) {
        failure = error;
      }
    },
    count: () => count,
    failure: () => failure,
  };
};
/** Hands every request on to `upstream` and appends it with its response to the cassette; secrets are masked before they are written. */
export const makeRecorder = (host: Host, upstream: string, file: AppendFile): Recorder => {
  if (file.sizeBytes() === 0) file.write(headerLine(upstream, host.now()));
  const { keep, count, failure } = tape(file);
  return {
    handle: async (incoming) => {
      const sent = await incoming.read(limits.cassetteBytes);
      try {
        const reply = await host.network.request({
          method: incoming.method,
          url: `${upstream}${incoming.url}`,
          headers: passedOn(incoming.headers),
          body: sent.length === 0 ? undefined : sent,
          maxReplyBytes: limits.cassetteBytes,
        });
        const answer = { status: reply.status, headers: reply.headers, body: await reply.bytes() };
        keep(exchangeOf(incoming, sent, answer));
        return { status: answer.status, headers: passedBack(answer.headers), body: Buffer.from(answer.body) };
      } catch (error) {
        if (!(error instanceof NetworkError)) throw error;
        const message = `${upstream} did not answer: ${failureText(error)}`;
        return {
          status: 502,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ message }),
        };
      }
    },
    count,
    failure,
    close: () => {
      file.sync();
      file.close();
    },
  };
};
/** The recorder of a new or continued cassette. If it cannot start, it leaves no empty file. */
export const openRecorder = async (host: Host, upstream: string, path: string): Promise<Recorder> => {
  const isNew = (await host.files.info(path)) === undefined;
  const file = host.files.append(path, 0o600);
  try {
    return makeRecorder(host, upstream, file);
  } catch (error) {
    file.close();
    if (isNew) await host.files.remove(path);
    throw error;
  }
};
const passedBack = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_THE_HOP.has(name)));
