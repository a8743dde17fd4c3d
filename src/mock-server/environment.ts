import type { Host } from '../platform/host.ts';
import { type Clock, makeClock } from './clock.ts';
import { randomFor, uuidFrom } from './randomness.ts';
import type { MockOptions, Environment } from './service.ts';
import type { Store } from './store.ts';

export type MadeEnvironment = {
  readonly env: Environment;
  readonly clock: Clock;
  listensAt(origin: string): void;
  /** Tells the work after answers that the server stops; resolves when none is left. */
  settled(): Promise<void>;
};

export const makeEnvironment = (
  host: Host,
  store: Store,
  options: MockOptions,
  idSeed: string | undefined,
): MadeEnvironment => {
  const clock = makeClock(store, host.now);
  const random = randomFor((bytes) => host.random(bytes), idSeed, store);
  const stop = new AbortController();
  const work = new Set<Promise<void>>();
  let origin = '';
  const env: Environment = {
    host,
    store,
    options,
    now: clock.now,
    random,
    uuid: () => uuidFrom(random),
    origin: () => origin,
    stopping: stop.signal,
    later: (start) => {
      // A delivery that fails is the receiver's affair; the one who starts it keeps account of it.
      const running = start()
        .catch(() => {})
        .finally(() => work.delete(running));
      work.add(running);
    },
  };
  return {
    env,
    clock,
    listensAt: (url) => {
      origin = url;
    },
    settled: async () => {
      stop.abort();
      while (work.size > 0) await Promise.all(work);
    },
  };
};
