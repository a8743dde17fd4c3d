import { type Host, type HttpReply, type HttpRequest, NetworkError } from '../host/host.ts';
import { AppError } from '../kernel/problem.ts';
import { type Outcome, type RetryPolicy, defaultPolicy, retryDelay } from './retry.ts';

export type SendOptions = {
  readonly policy?: RetryPolicy;
  readonly signal?: AbortSignal;
  /** Waits for a free place in the rate window before each try. */
  readonly admit?: () => Promise<void>;
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
  const hint = hints[error.code];
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

const tryOnce = async (
  host: Host,
  request: HttpRequest,
): Promise<{ reply: HttpReply; outcome: Outcome } | { error: NetworkError; outcome: Outcome }> => {
  try {
    const reply = await host.network.request(request);
    return { reply, outcome: { kind: 'reply', status: reply.status, retryAfter: reply.headers['retry-after'] } };
  } catch (error) {
    if (error instanceof NetworkError) return { error, outcome: { kind: 'failed', sent: error.sent } };
    throw error;
  }
};

/** Trying again does not change a certificate, a proxy's mind or the size of an answer. */
const FINAL: ReadonlySet<NetworkError['code']> = new Set(['TLS', 'PROXY', 'TOO_LARGE']);
const isFinal = (result: object): boolean => 'error' in result && result.error instanceof NetworkError && FINAL.has(result.error.code);

const jitter = (host: Host): number => (host.random(1)[0] ?? 0) / 256;

/** Sends with the retries that are safe; the last answer, whatever its status, or AppError when nothing answered. */
export const send = async (host: Host, request: HttpRequest, options: SendOptions = {}): Promise<HttpReply> => {
  // A body that is a stream cannot be sent twice.
  const policy =
    typeof request.body === 'object' && Symbol.asyncIterator in request.body ? { ...defaultPolicy, maxTries: 1 } : (options.policy ?? defaultPolicy);
  for (let tries = 1; ; tries++) {
    await options.admit?.();
    const result = await tryOnce(host, { ...request, signal: options.signal });
    const delay =
      options.signal?.aborted || isFinal(result)
        ? undefined
        : retryDelay(request.method, tries, result.outcome, { nowMs: host.now(), jitter: () => jitter(host) }, policy);
    if (delay === undefined) {
      if ('error' in result) throw unreachable(result.error, request.url);
      return result.reply;
    }
    options.onRetry?.(delay, 'error' in result ? result.error.message : `answer ${result.reply.status}`);
    if ('reply' in result) await result.reply.bytes();
    await host.sleep(delay, options.signal);
  }
};
