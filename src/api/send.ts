import { randomShare } from '../core/random-share.ts';
import { type Host, type HttpReply, type HttpRequest, NetworkError } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import type { Ended } from './rate.ts';
import { type Outcome, type RetryPolicy, defaultPolicy, retryDelay } from './retry.ts';

export type SendOptions = {
  readonly policy?: RetryPolicy;
  readonly signal?: AbortSignal;
  /** Waits for a free place in the rate window before each try; calls back what it gave when the answer has begun or failed, and waits for that. */
  readonly admit?: () => Promise<Ended>;
  readonly onRetry?: (delayMs: number, why: string) => void;
};

const hints: Readonly<Partial<Record<NetworkError['code'], string>>> = {
  TLS: 'if the service uses a private certificate authority, name its file with NODE_EXTRA_CA_CERTS or `opsctl config set ca_file FILE`',
  DNS: 'check the host name and your network',
  REFUSED: 'check that the service runs and that the port is right',
  TIMEOUT: 'try again, or allow more time with --timeout',
  PROXY: 'check HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
};

/** A failed connection as the error that a user sees. */
export const unreachable = (error: NetworkError, url: string): AppError => {
  const { host } = new URL(url);
  // No authority fixes a server that speaks no TLS.
  const hint = error.trouble?.kind === 'protocol' ? undefined : hints[error.code];
  return new AppError(
    error.code === 'ABORTED' ? 'interrupted' : 'network',
    error.message.includes(host) ? error.message : `${host}: ${error.message}`,
    {
      code: error.code,
      retryable: error.code !== 'TLS',
      cause: error,
      tryThis: hint === undefined ? [] : [hint],
    },
  );
};

/** Trying again does not change a certificate, a proxy's mind or the size of an answer. */
const FINAL: ReadonlySet<NetworkError['code']> = new Set(['TLS', 'PROXY', 'TOO_LARGE']);

type Result = { readonly reply: HttpReply } | { readonly error: NetworkError };

const outcomeOf = (result: Result): Outcome =>
  'error' in result
    ? { kind: 'failed', sent: result.error.sent }
    : { kind: 'reply', status: result.reply.status, retryAfter: result.reply.headers['retry-after'] };

/** Milliseconds until the next try, or undefined when this was the last. */
const nextTry = (
  host: Host,
  request: HttpRequest,
  result: Result,
  tries: number,
  { signal, policy = defaultPolicy }: SendOptions,
): number | undefined => {
  if (signal?.aborted || ('error' in result && FINAL.has(result.error.code))) return undefined;
  // A body that is a stream cannot be sent twice.
  const isOnce = typeof request.body === 'object' && Symbol.asyncIterator in request.body;
  const at = { nowMs: host.now(), jitter: () => randomShare(host) };
  return retryDelay(
    request.method,
    tries,
    outcomeOf(result),
    at,
    isOnce ? { ...policy, maxTries: 1 } : policy,
  );
};

const failure = (error: unknown): Result => {
  if (error instanceof NetworkError) return { error };
  throw error;
};

const askedOnce = async (host: Host, request: HttpRequest, ended: Ended | undefined): Promise<HttpReply> => {
  let reply: HttpReply;
  try {
    reply = await host.network.request(request);
  } catch (error) {
    await ended?.(error instanceof NetworkError && !error.sent ? 'unsent' : 'lost');
    throw error;
  }
  await ended?.('answered');
  return reply;
};

/** Sends with the retries that are safe; the last answer, whatever its status, or AppError when nothing answered. */
export const send = async (host: Host, given: HttpRequest, options: SendOptions = {}): Promise<HttpReply> => {
  const request = { ...given, signal: options.signal };
  for (let tries = 1; ; tries++) {
    const ended = await options.admit?.();
    let result: Result;
    try {
      const reply = await askedOnce(host, request, ended);
      if (reply.status < 400) return reply;
      result = { reply };
    } catch (error) {
      result = failure(error);
    }
    const delay = nextTry(host, request, result, tries, options);
    if (delay === undefined) {
      if ('error' in result) throw unreachable(result.error, request.url);
      return result.reply;
    }
    options.onRetry?.(delay, 'error' in result ? result.error.message : `answer ${result.reply.status}`);
    if ('reply' in result) await result.reply.bytes();
    await host.sleep(delay, options.signal);
  }
};
