/**
 * Limits for waits of tests on real parts. A wait ends with an event, and its limit only ends a hang: shortly before the time
 * limit of the test, so that the failure shows what the wait observed. A shorter limit assumes a speed, and fails on a loaded
 * machine. `expect.poll` has such limits in vitest.config.ts.
 */
export const hangMs = 540_000;
/** The same for services, whose tests have a shorter time limit. */
export const serviceHangMs = 270_000;
/**
 * The times of a cluster file whose members become healthy. With the 60 s of a cluster file without times, a busy machine can
 * exceed the limit of a health check, and the run rolls the member back (exit code 12).
 */
export const unhurried = { stable_before_last_seconds: 0, gate_seconds: 300 } as const;
/**
 * Starts the limit of one wait, and returns whether the wait has reached it. The limit is a time and not a number of looks,
 * because one look can take longer than the pause after it.
 */
export const hangTimer = (limitMs = hangMs): (() => boolean) => {
  const end = performance.now() + limitMs;
  return () => performance.now() >= end;
};
