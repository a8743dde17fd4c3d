import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from 'node:zlib';
import { isUtf8 } from 'node:buffer';
import { ambiguityIn, tooDeepAt } from '../../core/json.ts';
import { AppError, cutText } from '../../core/problem.ts';
import { printable, withoutByteOrderMark } from '../../core/text.ts';
import { type Host, type HttpReply, NetworkError } from '../../platform/host.ts';
import type { HttpResponse, Tolerance } from './token-client.ts';

/** A compressed response must not fill the memory when it is unpacked. */
const limit = { maxOutputLength: 4 * 1024 * 1024 };
const MOST_CODINGS = 5;
const isTooLarge = (error: unknown): boolean => (error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE';
const inflate = (data: Uint8Array): Uint8Array => {
  try {
    return inflateSync(data, limit);
  } catch (error) {
    if (isTooLarge(error)) throw error;
    // Some servers send deflate without the zlib header.
    return inflateRawSync(data, limit);
  }
};
const decoders: Readonly<Record<string, (data: Uint8Array) => Uint8Array>> = {
  gzip: (data) => gunzipSync(data, limit),
  'x-gzip': (data) => gunzipSync(data, limit),
  deflate: inflate,
  br: (data) => brotliDecompressSync(data, limit),
  identity: (data) => data,
};
/**
 * The content in the order reverse to the codings; undefined for an unknown coding or damaged content. Throws if the
 * content is larger than the limit.
 */
const decode = (data: Uint8Array, codings: readonly string[]): Uint8Array | undefined => {
  // Content that unpacks to itself would be unpacked as often as the header names a coding.
  if (codings.length > MOST_CODINGS) return undefined;
  try {
    return codings.reduceRight((rest, coding) => {
      const decoder = decoders[coding];
      if (decoder === undefined) throw new Error(`unknown coding ${coding}`);
      return decoder(rest);
    }, data);
  } catch (error) {
    if (isTooLarge(error))
      throw new NetworkError(
        'TOO_LARGE',
        `the response is larger than ${limit.maxOutputLength} bytes after it is unpacked`,
        true,
      );
    return undefined;
  }
};
/** The text in the charset that the content type names; undefined if this machine does not know the charset. */
const decodeAs = (data: Uint8Array, charset: string): string | undefined => {
  try {
    return new TextDecoder(charset, { ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
};
/** UTF-8 has precedence, because servers announce a charset that their text does not have. */
const textOf = (data: Uint8Array, type: string | undefined): { text: string; isForeign: boolean } => {
  if (data[0] === 0xff && data[1] === 0xfe)
    return { text: decodeAs(data, 'utf-16le') ?? '', isForeign: false };
  if (isUtf8(data)) return { text: decodeAs(data, 'utf-8') ?? '', isForeign: false };
  const charset = /charset="?([\w.:-]+)/i.exec(type ?? '')?.[1];
  const text = charset === undefined ? undefined : decodeAs(data, charset);
  return { text: text ?? decodeAs(data, 'utf-8') ?? '', isForeign: text !== undefined };
};
/**
 * Reads a complete response in any coding. RFC 9110 12.5.3 allows a server to compress although the request
 * accepts only identity.
 */
export const readResponse = async (reply: HttpReply): Promise<HttpResponse> => {
  const codings = (reply.headers['content-encoding'] ?? '')
    .split(',')
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '');
  const data = await reply.bytes();
  const decoded = decode(data, codings);
  // A coding that the transport has already removed leaves plain text behind.
  const { text, isForeign } = textOf(decoded ?? data, reply.headers['content-type']);
  const deviations: readonly Tolerance[] = [
    ...(codings.some((coding) => coding !== 'identity') ? (['content-encoding'] as const) : []),
    ...(isForeign ? (['charset'] as const) : []),
  ];
  return {
    status: reply.status,
    headers: reply.headers,
    text,
    ...(deviations.length === 0 ? {} : { deviations }),
  };
};

/** spec/sign-in#token. */
const fields = [
  'access_token',
  'token_type',
  'expires_in',
  'refresh_token',
  'refresh_token_expires_in',
  'scope',
  'id_token',
];
/** Servers that issue none of these send an empty one instead of omitting it. */
const mayBeEmpty = ['refresh_token', 'id_token', 'scope', 'token_type'];
type Json = Readonly<Record<string, unknown>>;
const objectOf = (value: unknown): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
const isJsonType = (type: string | undefined): boolean =>
  /^application\/([a-z.+-]*\+)?json\b/i.test(type ?? '');
/** JSON of any response of an authorization server, and how it deviates from the standards. `value` is undefined if the content is not JSON. */
export type JsonRead = { readonly value: unknown; readonly deviations: readonly Tolerance[] };
/** `ambiguity`: why another reader of the content could see another value. */
type AnyRead = JsonRead & { readonly ambiguity?: string | undefined };
type Form = { readonly value: Json; readonly ambiguity: string | undefined };
/** Some servers send the fields as a form, as they do for other clients. */
const formIn = ({ text, headers }: HttpResponse): Form | undefined => {
  const isForm = /^(?:application\/x-www-form-urlencoded|text\/plain)\b/i.test(headers['content-type'] ?? '');
  if (!isForm || !/^[\w.-]+=[^<{]*$/.test(text.trim())) return undefined;
  const pairs = [...new URLSearchParams(text.trim())];
  // A form has no numbers: a lifetime in digits is not another deviation.
  const body: Json = Object.fromEntries(
    pairs.map(([name, value]) => [
      name,
      name.endsWith('expires_in') && /^\d{1,10}$/.test(value) ? Number(value) : value,
    ]),
  );
  if (body.access_token === undefined && body.error === undefined) return undefined;
  const repeated = pairs.find(([name], at) => pairs.findIndex(([other]) => other === name) < at)?.[0];
  return { value: body, ambiguity: repeated && `"${printable(cutText(repeated, 60))}" appears twice` };
};
const readAny = (read: HttpResponse): AnyRead => {
  const { headers, deviations = [] } = read;
  const found: Tolerance[] = [...deviations];
  const text = withoutByteOrderMark(read.text);
  // Functions that visit a value by recursion would exceed the stack.
  if (tooDeepAt(text) !== undefined) return { value: undefined, deviations: found };
  try {
    const value: unknown = JSON.parse(text);
    if (text !== read.text) found.push('byte-order-mark');
    if (!isJsonType(headers['content-type'])) found.push('content-type');
    return { value, deviations: found, ambiguity: ambiguityIn(text, value) };
  } catch {
    const form = formIn(read);
    if (form !== undefined) found.push('form-response');
    return { value: form?.value, deviations: found, ambiguity: form?.ambiguity };
  }
};
/**
 * Reads the JSON of any response of an authorization server. Throws if the content can mean two things: a proxy, a log or
 * another client could see another token, key or endpoint than opsctl.
 */
export const readJson = (read: HttpResponse): JsonRead => {
  const { value, deviations, ambiguity } = readAny(read);
  if (ambiguity === undefined) return { value, deviations };
  throw new AppError(
    'refused',
    `the response of the authorization server is not valid: ${ambiguity}; opsctl discarded the response`,
    {
      code: 'BAD_TOKEN_ANSWER',
      httpStatus: read.status,
      tryThis: ['report it to the operator of the server'],
    },
  );
};
/** The fields of a response that opsctl rejects, for messages and for the revocation of its tokens. Never use them otherwise. */
export const rejectedBody = (read: HttpResponse): Json => objectOf(readAny(read).value) ?? {};
/** The body of a response: a field that is null counts as omitted. Undefined if it is not JSON, for example cut off. */
export const bodyOf = (read: HttpResponse): unknown => {
  const { value } = readJson(read);
  const body = objectOf(value);
  if (body === undefined) return value;
  return Object.fromEntries(
    Object.entries(body).filter(
      ([name, value]) =>
        !(value === null && fields.includes(name)) && !(value === '' && mayBeEmpty.includes(name)),
    ),
  );
};
const firstText = (...values: readonly unknown[]): string | undefined => {
  const found = values.find(
    (value) => (typeof value === 'string' && value.trim() !== '') || typeof value === 'number',
  );
  return found === undefined ? undefined : String(found);
};
export type ErrorInBody = {
  readonly error: string;
  readonly description?: string;
  readonly isStandard: boolean;
};
/** Error objects of providers: `{error: {status, message}}`, `{errors: [{code, message}]}`, `{errorCode, errorSummary}`, `{status, message}`. */
const providerError = (body: Json): { error: string | undefined; description: string | undefined } => {
  const [first] = Array.isArray(body.errors) ? body.errors : [];
  const inner = objectOf(body.error) ?? objectOf(first) ?? {};
  const outer = [body.errorCode, body.error_code, body.errcode, body.code];
  return {
    error: firstText(inner.status, inner.type, inner.code, inner.error, ...outer, body.status),
    description: firstText(
      inner.message,
      inner.error_description,
      inner.description,
      inner.detail,
      typeof first === 'string' ? first : undefined,
      body.errorSummary,
      body.error_description,
      body.error_message,
      body.errorMessage,
      body.errmsg,
      body.message,
      body.msg,
      body.detail,
      body.title,
    ),
  };
};
/** RFC 6749 5.2, or the error format of a provider. Some servers send it with status 200. */
export const errorIn = (value: unknown): ErrorInBody | undefined => {
  const body = objectOf(value);
  if (body === undefined) return undefined;
  if (typeof body.error === 'string' && body.error !== '') {
    const description = firstText(
      body.error_description,
      body.errorDescription,
      body.error_message,
      body.errorMessage,
      body.message,
      body.detail,
    );
    return { error: body.error, ...(description === undefined ? {} : { description }), isStandard: true };
  }
  const { error, description } = providerError(body);
  const hasShape =
    objectOf(body.error) !== undefined || Array.isArray(body.errors) || description !== undefined;
  const isNumber = error === undefined || /^\d+$/.test(error);
  if (!hasShape || (isNumber && description === undefined)) return undefined;
  return { error: error ?? '', ...(description === undefined ? {} : { description }), isStandard: false };
};
/**
 * How an error response deviates. RFC 6749 5.2 defines 400 and 401. A rate limit and an outage have other
 * statuses.
 */
export const errorDeviations = (read: HttpResponse): readonly Tolerance[] => {
  const found: Tolerance[] = [...readJson(read).deviations];
  const said = errorIn(bodyOf(read));
  if (said === undefined) return found;
  if (!said.isStandard) found.push('error-object');
  if (![400, 401, 429].includes(read.status) && read.status < 500) found.push('error-status');
  return found;
};
/** Ten years: a longer lifetime is as good as none, and dates have an end. */
const longestS = 10 * 366 * 86_400;
const digits = /^\s*[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/;
/**
 * Servers send zero or less for a token without expiry, so the server decides when the token expires. If
 * there is a refresh token, the token is renewed, which is correct for both meanings.
 */
const lifetimeOf = (value: unknown, canRefresh: boolean): number | undefined => {
  const seconds = typeof value === 'string' && digits.test(value) ? Number(value) : value;
  if (typeof seconds !== 'number' || Number.isNaN(seconds)) return undefined;
  if (seconds <= 0) return canRefresh ? 0 : undefined;
  return Math.max(1, Math.floor(Math.min(seconds, longestS)));
};
/** A comma is legal in a scope, so a scope that was requested with its comma stays whole. */
const scopesIn = (text: string, requested: readonly string[]): string[] =>
  text
    .split(/\s+/)
    .flatMap((part) => (requested.includes(part) ? [part] : part.split(',')))
    .filter((scope) => scope !== '');
const scopeOf = (
  value: unknown,
  requested: readonly string[],
): { scope: unknown; deviation?: 'scope-array' | 'scope-commas' } => {
  if (Array.isArray(value) && value.every((each) => typeof each === 'string'))
    return { scope: value.flatMap((each) => scopesIn(each, requested)).join(' '), deviation: 'scope-array' };
  if (typeof value !== 'string') return { scope: value };
  const scope = scopesIn(value, requested).join(' ');
  return value.includes(',') && scope !== value ? { scope, deviation: 'scope-commas' } : { scope: value };
};
/** Puts both lifetimes into whole seconds, or removes them. */
const replaceLifetimes = (body: Record<string, unknown>): readonly Tolerance[] => {
  const given = body.expires_in;
  for (const name of ['expires_in', 'refresh_token_expires_in']) {
    const seconds = lifetimeOf(body[name], name === 'expires_in' && body.refresh_token !== undefined);
    if (seconds === undefined) delete body[name];
    else body[name] = seconds;
  }
  return given !== undefined && (given !== body.expires_in || given === 0) ? ['expires-in'] : [];
};
/**
 * Converts a token response to the form of RFC 6749 5.1, and lists the deviations of the server. Checks that
 * protect the user are not relaxed.
 */
export const normalizeTokens = (
  read: HttpResponse,
  requested: readonly string[] = [],
): { readonly body: unknown; readonly deviations: readonly Tolerance[] } => {
  const found: Tolerance[] = [...readJson(read).deviations];
  const raw = objectOf(readJson(read).value);
  const body = objectOf(bodyOf(read));
  if (raw === undefined || body === undefined) return { body: bodyOf(read), deviations: found };
  const next: Record<string, unknown> = { ...body };
  if (Object.keys(raw).some((name) => name !== 'token_type' && !(name in body))) found.push('null-field');
  if (read.status !== 200) found.push('success-status');
  if (body.token_type === undefined) {
    next.token_type = 'Bearer';
    found.push('missing-token-type');
  }
  const { scope, deviation } = scopeOf(body.scope, requested);
  if (scope !== undefined && scope !== '') next.scope = scope;
  else delete next.scope;
  if (deviation !== undefined) found.push(deviation);
  found.push(...replaceLifetimes(next));
  return { body: next, deviations: found };
};
/** RFC 6750 2.1: the value that goes into an Authorization header unchanged. */
export const isSendable = (token: string): boolean => /^[\x21-\x7e]+$/.test(token);

/** Work that ends after `ms` as a whole: the time limit of a request is one of silence, and a server may drip. */
export const withDeadline = async <T>(
  host: Pick<Host, 'sleep'>,
  ms: number,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const done = new AbortController();
  const stop = signal === undefined ? done.signal : AbortSignal.any([signal, done.signal]);
  host.sleep(ms, stop).then(
    () => done.abort(),
    () => undefined,
  );
  try {
    return await work(stop);
  } finally {
    done.abort();
  }
};
