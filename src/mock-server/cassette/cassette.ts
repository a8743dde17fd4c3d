import { Buffer } from 'node:buffer';
import { AppError } from '../../core/problem.ts';
import { isRecord, misfit } from '../../core/shape.ts';
import type { Bytes, Files } from '../../platform/host.ts';
import { redactedBody, redactedHeaders, redactedUrl } from '../../core/redact-secrets.ts';
import { limits } from '../../core/limits.ts';

/** A body as a cassette keeps it: JSON with its secrets masked, text, or bytes in base64. */
export type KeptBody = { readonly json: unknown } | { readonly text: string } | { readonly base64: string };
export type KeptRequest = {
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

/** Headers of one connection or one moment: they mean nothing when a response is replayed. */
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

const OMITTED = '(omitted: not JSON and not a form)';

const isText = (bytes: Bytes): boolean => Buffer.from(Buffer.from(bytes).toString('utf8')).equals(bytes);

export const keptBody = (bytes: Bytes, type = ''): KeptBody | undefined => {
  if (bytes.length === 0) return undefined;
  if (!isText(bytes)) return { base64: Buffer.from(bytes).toString('base64') };
  const text = Buffer.from(bytes).toString('utf8');
  const shown = redactedBody(text, type);
  // Only JSON and forms can be searched for secrets.
  if (shown === undefined) return { text: OMITTED };
  try {
    return { json: JSON.parse(shown) };
  } catch {
    return { text: shown };
  }
};

export const bodyBytes = (body: KeptBody | undefined): string | Bytes | undefined => {
  if (body === undefined) return undefined;
  if ('json' in body) return JSON.stringify(body.json);
  return 'text' in body ? body.text : Buffer.from(body.base64, 'base64');
};

export const headerLine = (upstream: string, nowMs: number): string =>
  `${JSON.stringify({ opsctl_cassette: 1, upstream: redactedUrl(upstream), recorded_at: new Date(nowMs).toISOString() })}\n`;

const damaged = (path: string, line: number, why: string): AppError =>
  new AppError('usage', `${path}:${line}: ${why}`, {
    code: 'BAD_CASSETTE',
    tryThis: ['opsctl mock record --upstream URL --out FILE'],
  });

const lineOf = (path: string, text: string, number: number): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw damaged(path, number, 'this line is not JSON');
  }
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
export const readCassette = async (files: Files, path: string): Promise<Cassette> => {
  const info = await files.info(path);
  if (info === undefined)
    throw new AppError('usage', `there is no cassette ${path}`, { code: 'NO_CASSETTE' });
  if (info.kind !== 'file') throw damaged(path, 1, 'this is not a file');
  if (info.sizeBytes > limits.cassetteBytes)
    throw damaged(path, 1, `a cassette has at most ${limits.cassetteBytes} bytes`);
  const text = (await files.read(path)) ?? '';
  const lines = text.split('\n').slice(0, -1);
  const head = lineOf(path, lines[0] ?? '', 1) as { opsctl_cassette?: unknown; upstream?: unknown } | null;
  if (head?.opsctl_cassette !== 1 || typeof head.upstream !== 'string')
    throw damaged(path, 1, 'this is not a cassette of `opsctl mock record`');
  const exchanges = lines.slice(1).map((line, at) => {
    const value = lineOf(path, line, at + 2);
    if (!isExchange(value)) throw damaged(path, at + 2, 'this line is not a request with its response');
    return value;
  });
  return { upstream: head.upstream, exchanges };
};
