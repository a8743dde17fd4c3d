import type { Host } from '../platform/host.ts';
import { type Ticket, aliveOn, queueOf, ticketFiles, turnIn } from './rate-queue.ts';
import { type Rule, WINDOW_MS } from './rate-turns.ts';

/** How long a service's word that it has no limit is taken for true. */
const OPEN_MS = 10 * 60_000;

/**
 * How a request came to its end here. `lost`: it was sent, and no answer came; the service may count it later, when it gets to it.
 * `unsent`: it never left.
 */
export type RequestEnd = 'answered' | 'lost' | 'unsent';
/** Told to the bucket when the answer has begun or failed. */
export type Ended = (end: RequestEnd) => unknown;
export type Bucket = {
  /**
   * Resolves when this request may go, with what must be called at its end. `onWait` hears how long, once, when it is more than a
   * moment.
   */
  admit(onWait?: (ms: number) => void): Promise<Ended>;
  /** The service said no: nobody of this profile asks again before then. */
  block(untilMs: number): void;
  /** The service says that it has no limit. */
  open(): void;
};

type Options = { readonly signal?: AbortSignal | undefined; readonly windowMs?: number };

/** One bucket for all processes that use the same directory and key. A directory that cannot be written limits nothing. */
export const makeBucket = (
  host: Host,
  directory: string,
  key: string,
  limit: number,
  { signal, windowMs = WINDOW_MS }: Options = {},
): Bucket => {
  const files = ticketFiles(host, directory, key);
  const queue = queueOf(host, directory, files, signal);
  const rule: Rule = { limit, windowMs, isAlive: aliveOn(host) };
  let openUntil = 0;
  const endOf =
    (ticket: Ticket): Ended =>
    (end) =>
      void (end === 'unsent'
        ? queue.note('x', ticket)
        : queue.note('d', ticket, end === 'lost' ? windowMs : 0));

  return {
    admit: async (onWait) => {
      let hasSaid = false;
      const say = (ms: number): void => {
        if (!hasSaid) onWait?.(ms);
        hasSaid = true;
      };
      const ticket = host.now() < openUntil ? undefined : await turnIn(host, { files, queue }, rule, say);
      if (ticket === undefined) return () => undefined;
      await files.prune(ticket.epoch);
      return endOf(ticket);
    },
    block: (untilMs) => {
      files.add(files.now(), `b ${Math.round(untilMs)}\n`);
    },
    open: () => {
      if (host.now() < openUntil) return;
      openUntil = host.now() + OPEN_MS / 2;
      files.add(files.now(), `o ${Math.round(host.now() + OPEN_MS)}\n`);
    },
  };
};
