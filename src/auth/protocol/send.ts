import { retryAfterMs } from '../../api/retry.ts';
import { type Host, type HttpRequest, NetworkError } from '../../platform/host.ts';
import { parseDuration } from '../../core/duration.ts';
import { readResponse } from './read-response.ts';
import { networkFailure } from './failure.ts';
import type { HttpResponse } from './token-client.ts';
import type { AuthContext } from '../auth-context.ts';

/** One request, read whole. */
export const send = async (
  host: Host,
  what: string,
  request: HttpRequest,
  signal?: AbortSignal,
): Promise<HttpResponse> => {
  try {
    const reply = await host.network.request(signal === undefined ? request : { ...request, signal });
    return await readResponse(reply);
  } catch (error) {
    throw networkFailure(what, error);
  }
};

/** What a request that may be repeated needs of the run it is part of. */
type Waiting = Pick<AuthContext, 'host' | 'log' | 'settings' | 'signal'>;

/** Longer than this nobody waits in front of a terminal; the error then says how long the service asked for. */
const longestWaitMs = 15_000;
const pauseMs = (read: HttpResponse | undefined, attempt: number, nowMs: number): number =>
  retryAfterMs(read?.headers['retry-after'], nowMs) ?? 200 * 2 ** attempt;

const waited = async (
  { host, log, signal }: Waiting,
  what: string,
  why: string,
  ms: number,
): Promise<void> => {
  if (ms >= 1000) log.info(`${what}: ${why}; trying again in ${(ms / 1000).toFixed(1)} s`);
  await host.sleep(ms, signal);
};

const usualMs = 30_000;
const limitOf = ({ settings }: Waiting): number => {
  const limit = settings.get('timeout');
  return limit === undefined ? usualMs : parseDuration(limit.value, limit.origin);
};
/** The flag of `login` is the wait for the browser. */
const limitName = (what: string): string => (what === 'code exchange' ? 'OPSCTL_TIMEOUT' : '--timeout');
/** A token answer is small: one that drips byte by byte is given up as a whole, because others wait for the lock that is held meanwhile. */
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
    const text = `${new URL(request.url).origin} did not answer completely within ${ms / 1000} s; ${limitName(what)} changes the limit`;
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

type Repeats = { status(status: number): boolean; cut(error: NetworkError): boolean };
const repeating = async (
  context: Waiting,
  what: string,
  request: HttpRequest,
  repeats: Repeats,
): Promise<HttpResponse> => {
  for (let attempt = 0; ; attempt++) {
    try {
      const read = await sendLogged(context, what, request);
      const ms = pauseMs(read, attempt, context.host.now());
      if (!repeats.status(read.status) || attempt === 2 || ms > longestWaitMs) return read;
      await waited(context, what, `the service answered ${read.status}`, ms);
    } catch (error) {
      const cause = (error as { cause?: unknown }).cause;
      if (!(cause instanceof NetworkError) || !repeats.cut(cause) || attempt >= 1) throw error;
      await waited(context, what, cause.message, pauseMs(undefined, attempt, context.host.now()));
    }
  }
};

const patiently: Repeats = {
  status: (status) => status === 429 || status >= 500,
  cut: ({ code }) => code === 'RESET' || code === 'REFUSED',
};
/** For requests that may be sent again without harm (refresh, revoke): three attempts at an outage, two when the line was cut. */
export const sendPatiently = (context: Waiting, what: string, request: HttpRequest): Promise<HttpResponse> =>
  repeating(context, what, request, patiently);

/**
 * RFC 6749 4.1.2: a code is good for one use, so what may have reached the service is not sent again. A 429 or 503 says that
 * it was not looked at, and an error before the first byte left that nobody read it.
 */
const unread: Repeats = {
  status: (status) => status === 429 || status === 503,
  cut: ({ code, sent }) => !sent && code !== 'ABORTED' && code !== 'TLS',
};
export const sendCode = (context: Waiting, what: string, request: HttpRequest): Promise<HttpResponse> =>
  repeating(context, what, request, unread);
