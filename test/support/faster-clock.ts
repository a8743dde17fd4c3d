import type { Host } from '../../src/platform/host.ts';

/** A machine whose clock moves by its sleeps alone, each of them shown `times` as long: what waits for seconds is over sooner, however busy the machine is. */
export const withFasterClock = (host: Host, times: number): Host => {
  let sleptMs = 0;
  return {
    ...host,
    elapsed: () => sleptMs * times,
    sleep: async (ms, signal) => {
      await host.sleep(ms, signal);
      sleptMs += ms;
    },
  };
};
