import { messageOf } from '../core/problem.ts';
import { randomShare } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';
import { type Bucket, type RequestEnd, WINDOW_MS } from './rate.ts';

type Options = {
  /** Connects to the store. */
  readonly open: () => Promise<RateStore>;
  readonly key: string;
  readonly limit: number;
  /** The limit of this machine if the store is unreachable. */
  readonly own: () => Bucket;
  /** Receives, once, the reason why the store is not used. */
  readonly onLost: (why: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly windowMs?: number;
};
/** For how many windows a request holds its place after its end: one that is lost may be counted a window later. */
const windowsOf: Readonly<Record<RequestEnd, number>> = { answered: 1, lost: 2, unsent: 0 };
/** Machines that found no place come back at different times. */
const jitterMs = (host: Host): number => 128 * randomShare(host);
/** One bucket for all machines that name the same store. A store that cannot be reached leaves each machine its share. */
export const storeBucket = (
  host: Host,
  { open, key, limit, own, onLost, signal, windowMs = WINDOW_MS }: Options,
): Bucket => {
  let store: Promise<RateStore> | undefined;
  let fallback: Bucket | undefined;
  const askStore = async <T>(ask: (to: RateStore) => Promise<T>): Promise<T | undefined> => {
    try {
      store ??= open();
      return await ask(await store);
    } catch (error) {
      if (signal?.aborted) throw error;
      if (fallback === undefined) onLost(messageOf(error));
      fallback ??= own();
      return undefined;
    }
  };
  return {
    admit: async (onWait) => {
      for (let hasSaid = false; fallback === undefined; ) {
        const taken = await askStore((to) => to.take(key, limit));
        if (taken === undefined) break;
        // Waited for: what the end of the program would cut off leaves the place taken for minutes.
        if ('place' in taken)
          return (end) =>
            askStore((to) => to.answered(key, taken.place, windowMs * windowsOf[end])).catch(() => undefined);
        if (!hasSaid) onWait?.(taken.waitMs);
        hasSaid = true;
        await host.sleep(taken.waitMs + jitterMs(host), signal);
      }
      return (fallback ?? own()).admit(onWait);
    },
    block: (untilMs) => {
      if (fallback !== undefined) fallback.block(untilMs);
      else askStore((to) => to.block(key, Math.max(1, untilMs - host.now()))).catch(() => undefined);
    },
    // Each machine finds out separately whether the service has a limit, and the store continues to count.
    open: () => fallback?.open(),
  };
};

/** A place in the window that several machines share: taken, or how long to wait for one. */
type Taken = { readonly place: string } | { readonly waitMs: number };
/** A store that counts requests for all machines by its own clock. Each call throws when the store cannot be reached. */
export type RateStore = {
  /** Takes one of `limit` places of a key. It is held while the request is under way, for `LEASE_MS` at most. */
  take(key: string, limit: number): Promise<Taken>;
  /** The request has ended: its place is free again so long from now. */
  answered(key: string, place: string, ms: number): Promise<void>;
  /** The service limits the rate: no process takes a place for this time. */
  block(key: string, ms: number): Promise<void>;
};
/** How long the place of an exited process stays occupied. No request takes longer. */
export const LEASE_MS = 10 * 60_000;
/** The interval of checks if all places are occupied and no place has a known end. */
export const AGAIN_MS = 250;
/** An unresponsive store must not delay a run. */
export const CALL_MS = 5000;
