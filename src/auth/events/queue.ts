import type { Received } from './receiver.ts';

/** Received events in the order of their arrival, as they arrive. */
export const queue = (signal: AbortSignal, most: number) => {
  const waiting: Received[] = [];
  let wake: () => void = () => undefined;
  signal.addEventListener('abort', () => wake(), { once: true });
  return {
    push: (event: Received): void => {
      waiting.push(event);
      wake();
    },
    async *events(): AsyncGenerator<Received> {
      for (let given = 0; given < most; ) {
        const next = waiting.shift();
        if (next !== undefined) {
          given++;
          yield next;
          continue;
        }
        if (signal.aborted) throw signal.reason;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
};
