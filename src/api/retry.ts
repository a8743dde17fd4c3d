import { limits } from '../core/limits.ts';

/** What happened to one try. `sent` is false only when no byte can have reached the service. */
export type Outcome =
  | { readonly kind: 'reply'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'failed'; readonly sent: boolean };
export type RetryPolicy = { readonly maxTries: number; readonly baseMs: number; readonly windowMs: number };
export const defaultPolicy: RetryPolicy = { maxTries: 4, baseMs: 200, windowMs: 60_000 };

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `Retry-After` as milliseconds: seconds or an HTTP date. */
export const retryAfterMs = (header: string | undefined, nowMs: number): number | undefined => {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs);
};

/**
 * Milliseconds to wait before the next try, or undefined to give up. A write is repeated only after 429 (the excess request
 * is not processed, spec/tracker#limits) or when it was provably not sent; a bare 429 waits for the end of the window (spec/tracker#errors-4).
 */
export const retryDelay = (
  method: string,
  tries: number,
  outcome: Outcome,
  at: { readonly nowMs: number; readonly jitter: () => number },
  policy: RetryPolicy = defaultPolicy,
): number | undefined => {
  if (tries >= policy.maxTries) return undefined;
  const backoff = () => policy.baseMs * 2 ** (tries - 1) * (0.5 + at.jitter());
  if (outcome.kind === 'failed') return SAFE.has(method) || !outcome.sent ? backoff() : undefined;
  const asked = retryAfterMs(outcome.retryAfter, at.nowMs);
  if (asked !== undefined && asked > limits.retryAfterMs) return undefined;
  // A sliding window frees places one by one: a quarter, a half, then the whole of it.
  if (outcome.status === 429)
    return asked ?? Math.min(policy.windowMs, policy.windowMs * 2 ** (tries - 3)) + 1000 * at.jitter();
  const mayHelp =
    outcome.status === 502 || outcome.status === 503 || outcome.status === 504 || outcome.status === 500;
  return mayHelp && SAFE.has(method) ? (asked ?? backoff()) : undefined;
};
