/**
 * Limits for waits of tests on real parts. A wait ends with an event, and its limit only ends a hang: shortly before the time
 * limit of the test, so that the failure shows what the wait observed. A shorter limit assumes a speed, and fails on a loaded
 * machine. `expect.poll` has such limits in vitest.config.ts.
 */
export const hangMs = 540_000;
/** Returns how often a wait with this pause may look. */
export const looksEvery = (pauseMs: number): number => Math.ceil(hangMs / pauseMs);
