import { firstAnswer } from './first-response.ts';
import type { Store } from './etcd-client.ts';

/** Keys that a run writes into the store; the lock's key goes with its lease. */
export const canaryKey = (run: string): string => `opsctl/canary/${run}`;
const probeDirectory = (run: string): string => `opsctl/probe/${run}`;
export const probeKey = (run: string, member: string): string => `${probeDirectory(run)}/${member}`;

/** Nothing of a run stays behind, also not what it wrote before it was killed. Where no member answers nothing can be done now. */
export const removeOwnKeys = (stores: readonly Store[], run: string): Promise<void> =>
  firstAnswer(stores, async (store) => {
    await Promise.all([
      store.del(canaryKey(run)),
      // `0` follows `/`: every key below the directory.
      store.del(`${probeDirectory(run)}/`, `${probeDirectory(run)}0`),
    ]);
  }).catch(() => {});
