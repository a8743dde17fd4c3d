import type { Gate } from './gate-verdict.ts';
import { keyOf } from './gate-verdict.ts';

/** A start that takes longer than this does not wait for a heartbeat. */
const forMs = 1000;
const everyMs = 15;

/**
 * Linearizable reads through the other members, one at a time, until `over` or for a second. A member that starts serves clients once it has
 * heard its leader. The leader sends a heartbeat every interval (100 ms), and at once for a read that needs a quorum: with
 * them the member is down for a shorter time (spec/store#measured-upgrade-6). What they answer is of no interest.
 */
export const readThroughOthers = async (gate: Gate, over: AbortSignal): Promise<void> => {
  const { host } = gate.run;
  const until = host.elapsed() + forMs;
  for (let at = 0; gate.others.length > 0 && !over.aborted && host.elapsed() < until; ) {
    const began = host.elapsed();
    const { store } = gate.others[at % gate.others.length] as Gate['others'][number];
    const isAnswered = await store.range(keyOf(gate)).then(
      () => true,
      () => false,
    );
    if (!isAnswered) at += 1;
    // On a busy machine the member needs the time itself.
    await host.sleep(Math.max(everyMs, host.elapsed() - began), over).catch(() => {});
  }
};
