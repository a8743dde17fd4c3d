import type { UpgradeEvent } from '../../engine/types.ts';

/** Events as they happen, for `-o ndjson`: the run goes on while the reader is slow. */
export const eventQueue = () => {
  const waiting: UpgradeEvent[] = [];
  let [isOver, wake] = [false, () => {}];
  return {
    push: (event: UpgradeEvent): void => {
      waiting.push(event);
      wake();
    },
    end: (): void => {
      isOver = true;
      wake();
    },
    async *rows(): AsyncGenerator<UpgradeEvent> {
      for (;;) {
        const event = waiting.shift();
        if (event !== undefined) yield event;
        else if (isOver) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
};
