import { retryAfterMs } from '../../api/send.ts';
import { durationText, parseDuration, secondsText } from '../../core/format.ts';
import { cutText, AppError, type Category } from '../../core/problem.ts';
import { redactedBody } from '../../core/redact-secrets.ts';
import { type Host, type HttpReply, type HttpRequest, NetworkError } from '../../platform/host.ts';
import { type AuthContext, safeText } from '../auth-context.ts';
import type { RequestProver } from '../../api/context.ts';
import { ruleFor, parseStep } from './hints.ts';
import { readResponse } from './read-response.ts';
import type { HttpResponse } from './token-client.ts';

/** An error code of the service as an expected failure. */
export const serviceFailure = (
  what: string,
  error: string,
  description: string | undefined,
  httpStatus?: number,
): AppError => {
  const code = safeText(error, 60);
  const rule = ruleFor(parseStep(what), error);
  const text = description === undefined || description === '' ? '' : ` (${safeText(description, 200)})`;
  return new AppError(rule.category, `${what}: ${code}${text}`, {
    code: code.toUpperCase(),
    tryThis: rule.tryThis,
    ...(httpStatus === undefined ? {} : { httpStatus }),
    retryable: rule.category === 'network',
  });
};
/** A certificate that is not valid yet, or not any more, mostly means that a clock is wrong. */
const tlsHelp = ({ trouble }: NetworkError): readonly string[] => {
  if (trouble?.kind === 'too-early') return ['set the clock of this machine', 'opsctl doctor auth'];
  if (trouble?.kind === 'expired')
    return [
      'check the clock of this machine; if it is right, the server needs a new certificate',
      'opsctl doctor auth',
    ];
  return ['set ca_file or NODE_EXTRA_CA_CERTS to the certificate of your company', 'opsctl doctor auth'];
};
/** The browser may get through where this process does not: proxies that open TLS are the usual cause. */
export const networkFailure = (what: string, error: unknown): unknown => {
  if (!(error instanceof NetworkError)) return error;
  if (error.code === 'ABORTED') return error;
  return new AppError(error.code === 'PLAIN_HTTP' ? 'config' : 'network', `${what}: ${error.message}`, {
    code: error.code,
    retryable: error.code !== 'PLAIN_HTTP',
    tryThis:
      error.code === 'PLAIN_HTTP'
        ? ['use an https address']
        : error.code === 'TLS'
          ? tlsHelp(error)
          : ['opsctl doctor auth'],
    cause: error,
  });
};
const waitLine = (read: HttpResponse, nowMs: number): string => {
  const ms = retryAfterMs(read.headers['retry-after'], nowMs);
  return ms === undefined || ms < 1000
    ? 'try again in a minute'
    : `try again in ${secondsText(ms)}, as the service asks`;
};
/** An outage or too many requests, regardless of the body. */
export const outage = (
  what: string,
  read: HttpResponse,
  said: string | undefined,
  nowMs: number,
): AppError => {
  const isLimit = read.status === 429;
  const text = said === undefined ? '' : ` ${safeText(said, 200)}`;
  return new AppError(
    isLimit ? 'rate-limit' : 'network',
    `${what}: ${isLimit ? 'too many requests' : 'the service fails'} (HTTP ${read.status}${text})`,
    {
      code: isLimit ? 'RATE_LIMITED' : 'SERVER_ERROR',
      httpStatus: read.status,
      retryable: true,
      tryThis: [waitLine(read, nowMs)],
    },
  );
};
const checkUrl = (what: string): readonly string[] =>
  what === 'revoke'
    ? ['name the revocation endpoint of the server with --revoke-url', 'opsctl logout --local']
    : ['check --token-url', 'opsctl doctor auth'];
const makeRedirectError = (what: string, read: HttpResponse): AppError => {
  const to = read.headers.location;
  const place = to === undefined ? 'another address' : safeText(to.split(/[?#]/)[0] ?? '', 80);
  return new AppError(
    'network',
    `${what}: HTTP ${read.status} leads to ${place}; a request that carries a secret is not sent on`,
    {
      code: 'REDIRECTED',
      httpStatus: read.status,
      tryThis: checkUrl(what),
    },
  );
};
const byStatus: Readonly<Record<number, Category>> = { 401: 'auth', 404: 'not-found', 410: 'not-found' };
/** An error in the format of a provider: its status decides, because its codes are known to that provider only. */
export const providerFailure = (
  what: string,
  read: HttpResponse,
  error: string,
  description: string | undefined,
): AppError => {
  const code = safeText(error, 60);
  const text = [code, safeText(description ?? '', 200)].filter((part) => part !== '').join(': ');
  return new AppError(byStatus[read.status] ?? 'refused', `${what}: HTTP ${read.status} (${text})`, {
    code: /^[A-Za-z]\w+$/.test(code) ? code.toUpperCase() : 'PROVIDER_ERROR',
    httpStatus: read.status,
    tryThis: checkUrl(what),
  });
};
/** The first words of a page or another text, without its markup: they often name the proxy or the cause. */
const excerptOf = (text: string): string => {
  const plain = cutText(redactedBody(text) ?? text, 4000)
    .replace(/<(script|style)\b[\s\S]*?<\/\1\s*>/gi, ' ')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return plain === '' ? '' : `: ${safeText(plain, 120)}`;
};
/** RFC 9110 11.6.1: some servers name the error of the client only there. It is shown, but never acted on. */
const challengeOf = ({ headers }: HttpResponse): string => {
  const challenge = headers['www-authenticate'] ?? '';
  return challenge === '' ? '' : `; WWW-Authenticate: ${safeText(challenge, 160)}`;
};
/** Responses that no OAuth error describes: a redirect, an incorrect URL, or a page of an intermediary. */
export const makeUnexpectedResponseError = (what: string, read: HttpResponse): AppError => {
  if (read.status >= 300 && read.status < 400) return makeRedirectError(what, read);
  const type = safeText(read.headers['content-type'] ?? 'no content type', 60);
  if (read.status >= 400)
    return new AppError(
      byStatus[read.status] ?? 'refused',
      `${what}: HTTP ${read.status} without an OAuth error in it (${type})${excerptOf(read.text)}${challengeOf(read)}`,
      {
        code: 'NO_OAUTH_ERROR',
        httpStatus: read.status,
        tryThis: checkUrl(what),
      },
    );
  return new AppError(
    'network',
    `${what}: HTTP ${read.status} with ${type}, which is not a token response (200 with JSON)`,
    {
      code: 'NOT_JSON',
      httpStatus: read.status,
      tryThis: checkUrl(what),
    },
  );
};

/** RFC 7009 2.2: the status is the complete result of a revocation, so the client ignores the body. */
const isResultInStatus = (what: string, { status }: HttpReply): boolean =>
  what === 'revoke' && (status === 200 || status === 204);
/** One request, read whole. A body that cannot be read hides no result that the status contains. */
export const send = async (
  host: Host,
  what: string,
  request: HttpRequest,
  signal?: AbortSignal,
): Promise<HttpResponse> => {
  try {
    const reply = await host.network.request(signal === undefined ? request : { ...request, signal });
    return await readResponse(reply).catch((error: unknown) => {
      if (!isResultInStatus(what, reply)) throw error;
      return { status: reply.status, headers: reply.headers, text: '' };
    });
  } catch (error) {
    throw networkFailure(what, error);
  }
};
/** What a request that may be repeated needs of the run it is part of. */
type Waiting = Pick<AuthContext, 'host' | 'log' | 'settings' | 'signal'>;
/** The maximum wait at a terminal. The error then contains the time that the service requested. */
const longestWaitMs = 15_000;
const pauseMs = (read: HttpResponse | undefined, attempt: number, nowMs: number): number =>
  retryAfterMs(read?.headers['retry-after'], nowMs) ?? 200 * 2 ** attempt;
const waitBeforeRetry = async (
  { host, log, signal }: Waiting,
  what: string,
  why: string,
  ms: number,
): Promise<void> => {
  if (ms >= 1000) log.info(`${what}: ${why}; trying again in ${durationText(ms)}`);
  await host.sleep(ms, signal);
};
const usualMs = 30_000;
const limitOf = ({ settings }: Waiting): number => {
  const limit = settings.get('timeout');
  return limit === undefined ? usualMs : parseDuration(limit.value, limit.origin);
};
/** The flag of `login` is the wait for the browser. */
const limitName = (what: string): string => (what === 'code exchange' ? 'OPSCTL_TIMEOUT' : '--timeout');
/**
 * A token response is small. A response that arrives byte by byte is aborted, because other processes wait
 * for the lock.
 */
const sendWithin = async (
  ms: number,
  host: Host,
  what: string,
  request: HttpRequest,
  signal: AbortSignal,
): Promise<HttpResponse> => {
  const [done, late] = [new AbortController(), new AbortController()];
  host.sleep(ms, done.signal).then(
    () => late.abort(),
    () => undefined,
  );
  try {
    return await send(host, what, request, AbortSignal.any([signal, late.signal]));
  } catch (error) {
    if (!late.signal.aborted || signal.aborted) throw error;
    const text = `${new URL(request.url).origin} did not respond completely within ${ms / 1000} s; ${limitName(what)} changes the limit`;
    throw networkFailure(what, new NetworkError('TIMEOUT', text, true));
  } finally {
    done.abort();
  }
};
/** The query stays out: a revoke carries its token there. */
const sendLogged = async (context: Waiting, what: string, asked: HttpRequest): Promise<HttpResponse> => {
  const { host, log, signal } = context;
  const ms = limitOf(context);
  const request = { ...asked, timeoutMs: ms };
  const line = `${request.method} ${request.url.split('?')[0]}`;
  log.debug(line);
  const read = await (request.method === 'POST'
    ? sendWithin(ms, host, what, request, signal)
    : send(host, what, request, signal));
  log.debug(`${read.status} ${line}`);
  return read;
};
/** A proof is good for one request (RFC 9449 4.3), so that each attempt gets its own. A server may ask once for a nonce in it. */
const sendProven = async (
  context: Waiting,
  what: string,
  asked: HttpRequest,
  prover: RequestProver | undefined,
): Promise<HttpResponse> => {
  if (prover === undefined) return sendLogged(context, what, asked);
  const read = await sendLogged(context, what, prover.prove(asked));
  return prover.notesNonce(asked.url, read) ? sendLogged(context, what, prover.prove(asked)) : read;
};
type Repeats = { status(status: number): boolean; cut(error: NetworkError): boolean };
const repeating = async (
  context: Waiting,
  what: string,
  request: HttpRequest,
  repeats: Repeats,
  prover: RequestProver | undefined,
): Promise<HttpResponse> => {
  for (let attempt = 0; ; attempt++) {
    try {
      const read = await sendProven(context, what, request, prover);
      const ms = pauseMs(read, attempt, context.host.now());
      if (!repeats.status(read.status) || attempt === 2 || ms > longestWaitMs) return read;
      await waitBeforeRetry(context, what, `the service returned ${read.status}`, ms);
    } catch (error) {
      const cause = (error as { cause?: unknown }).cause;
      if (!(cause instanceof NetworkError) || !repeats.cut(cause) || attempt >= 1) throw error;
      await waitBeforeRetry(context, what, cause.message, pauseMs(undefined, attempt, context.host.now()));
    }
  }
};
const patiently: Repeats = {
  status: (status) => status === 429 || status >= 500,
  cut: ({ code }) => code === 'RESET' || code === 'REFUSED',
};
/**
 * For requests that may be repeated safely (refresh, revoke): three attempts for an outage, two for a lost
 * connection.
 */
export const sendWithRetry = (
  context: Waiting,
  what: string,
  request: HttpRequest,
  prover?: RequestProver,
): Promise<HttpResponse> => repeating(context, what, request, patiently, prover);
/**
 * RFC 6749 4.1.2: a code is valid for one use, so a request that may have reached the service is not
 * repeated. A 429 or 503 shows that the service did not process it, and an error before the first byte shows
 * that the service did not receive it.
 */
const unread: Repeats = {
  status: (status) => status === 429 || status === 503,
  cut: ({ code, sent }) => !sent && code !== 'ABORTED' && code !== 'TLS',
};
export const sendCode = (
  context: Waiting,
  what: string,
  request: HttpRequest,
  prover?: RequestProver,
): Promise<HttpResponse> => repeating(context, what, request, unread, prover);
