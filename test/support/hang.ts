/**
 * Limits for waits of tests on real parts. A wait ends with an event, and its limit only ends a hang: shortly before the time
 * limit of the test, so that the failure shows what the wait observed. A shorter limit assumes a speed, and fails on a loaded
 * machine. `expect.poll` has such limits in vitest.config.ts.
 */
export const hangMs = 540_000;
/**
 * Starts the limit of one wait, and returns whether the wait has reached it. The limit is a time and not a number of looks,
 * because one look can take longer than the pause after it.
 */
export const hangTimer = (): (() => boolean) => {
  const end = performance.now() + hangMs;
  return () => performance.now() >= end;
};
