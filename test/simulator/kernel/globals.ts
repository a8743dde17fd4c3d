/** Replaces the clock, timers and randomness of the whole program with those of the active simulation. Loaded before the product. */
import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type Timer, kernelNow, running } from './kernel.ts';

const RealDate = Date;
class SimulatedDate extends RealDate {
  // biome-ignore lint/complexity/useArrowFunction: a constructor takes what Date takes
  constructor(...given: ConstructorParameters<typeof Date> | []) {
    if (given.length > 0) super(...(given as [number]));
    else super(SimulatedDate.now());
  }
  static override now(): number {
    return running.kernel?.nowMs ?? RealDate.now();
  }
}

const randomBytes = (count: number): Buffer => kernelNow().random.bytes(count);
const uuid = (): string => {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
};
const { openSync } = fs;
/** The real machine has no generator of random bytes, so that the product falls back to the functions above. */
const openWithoutGenerator: typeof openSync = (path, ...rest) => {
  if (path === '/dev/urandom') throw new Error('a simulation has no random bytes of the real machine');
  return openSync(path, ...rest);
};
const cancel = (timer: Timer | undefined): void => {
  if (timer !== undefined && timer !== null) timer.isCancelled = true;
};
const timer = (act: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
  const made = kernelNow().later(() => act(...given), ms);
  return Object.assign(made, { unref: () => made, ref: () => made });
};
const again = (act: () => void, ms: number): Timer => {
  const made: Timer = { isCancelled: false };
  const next = (): void => {
    kernelNow().later(() => {
      if (made.isCancelled) return;
      act();
      next();
    }, ms);
  };
  next();
  return Object.assign(made, { unref: () => made });
};

/**
 * Node keeps a combined signal as long as it has a listener. A killed process never removes its listener, so Node
 * would keep its whole history in memory.
 */
const anyOf = (signals: Iterable<AbortSignal>): AbortSignal => {
  const either = new AbortController();
  for (const signal of signals) {
    if (signal.aborted) either.abort(signal.reason);
    else signal.addEventListener('abort', () => either.abort(signal.reason), { once: true });
  }
  return either.signal;
};

export const replaceGlobals = (): void => {
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: timer,
    setImmediate: (act: (...given: unknown[]) => void, ...given: unknown[]) => timer(act, 0, ...given),
    setInterval: again,
    clearTimeout: cancel,
    clearImmediate: cancel,
    clearInterval: cancel,
  });
  AbortSignal.any = anyOf;
  Math.random = () => kernelNow().random.next();
  Object.assign(crypto, { randomBytes, randomUUID: uuid });
  Object.assign(fs, { openSync: openWithoutGenerator });
  Object.defineProperty(process, 'pid', { get: () => running.kernel?.current?.pid ?? 1 });
  syncBuiltinESMExports();
};
