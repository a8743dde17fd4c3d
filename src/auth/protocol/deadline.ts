import type { Host } from '../../platform/host.ts';

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
