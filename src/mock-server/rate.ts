import type { Environment } from './service-set.ts';

const WINDOW_MS = 60_000;
const FORGET_AT = 1000;

export type Rate = {
  /** Counts a request of this token, or returns the milliseconds until the next request is allowed. */
  take(token: string): { readonly waitMs: number } | undefined;
};

type Window = { readonly times: Float64Array; next: number; filled: number };

/**
 * spec/tracker#limits-1: at most `perMinute` requests of one token in any 60 seconds; those over it are not processed and not
 * counted. Keeps the times of the last `perMinute` requests, so the window slides exactly.
 */
export const makeRate = (perMinute: number, now: () => number): Rate => {
  const windows = new Map<string, Window>();
  const isIdle = (window: Window, at: number): boolean => at - newest(window) >= WINDOW_MS;
  const newest = ({ times, next }: Window): number => times[(next + times.length - 1) % times.length] ?? 0;
  const windowOf = (token: string, at: number): Window => {
    const found = windows.get(token);
    // A clock that was set back would keep a token out until it catches up.
    if (found !== undefined && (found.filled === 0 || newest(found) <= at)) return found;
    if (windows.size >= FORGET_AT)
      for (const [key, window] of windows) if (isIdle(window, at)) windows.delete(key);
    const made: Window = { times: new Float64Array(perMinute), next: 0, filled: 0 };
    windows.set(token, made);
    return made;
  };
  return {
    take: (token) => {
      const at = now();
      const window = windowOf(token, at);
      const oldest = window.times[window.next] ?? 0;
      if (window.filled === perMinute && at - oldest < WINDOW_MS)
        return { waitMs: WINDOW_MS - (at - oldest) };
      window.times[window.next] = at;
      window.next = (window.next + 1) % perMinute;
      window.filled = Math.min(window.filled + 1, perMinute);
      return undefined;
    },
  };
};

/**
 * The clock of the rate limit: it follows the machine even if the mock clock is frozen, and jumps when the
 * mock clock is set forward.
 */
export const rateClock = ({ host, now }: Environment): (() => number) => {
  let ahead = Number.NEGATIVE_INFINITY;
  return () => {
    ahead = Math.max(ahead, now() - host.now());
    return host.elapsed() + ahead;
  };
};
