import { AppError } from '../../core/problem.ts';
import type { Host } from '../../platform/host.ts';

/** spec/store#errors: a snapshot read with an expired deadline is a deadline-exceeded error, a cancelled one a canceled error. */
export const withDeadline = async <T>(
  host: Pick<Host, 'sleep'>,
  { signal, limitMs }: { readonly signal: AbortSignal; readonly limitMs: number | undefined },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const [over, expired] = [new AbortController(), new AbortController()];
  const both = AbortSignal.any([signal, expired.signal]);
  const ticking =
    limitMs === undefined
      ? Promise.resolve()
      : host.sleep(limitMs, over.signal).then(
          () => expired.abort(),
          () => {},
        );
  try {
    return await work(both);
  } catch (error) {
    if (!expired.signal.aborted) throw error;
    throw new AppError(
      'network',
      `context deadline exceeded: no whole snapshot within ${(limitMs ?? 0) / 1000} s; nothing was written`,
      {
        code: 'DEADLINE_EXCEEDED',
        retryable: true,
        tryThis: ['--timeout with more time'],
        cause: error,
      },
    );
  } finally {
    over.abort();
    await ticking;
  }
};
