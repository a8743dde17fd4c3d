/** The mock server stores its state, compacts it into snapshots, crashes and restarts. */
import { openState } from '../../../src/mock-server/journal.ts';
import type { Host } from '../../../src/platform/host.ts';
import { type History, type Operation, breakDisk } from '../history.ts';
import {
  afterACrashTheNextCommandSucceeds,
  whatIsKeptHasNoGap,
  whatWasAcknowledgedIsKept,
} from '../invariants.ts';
import { HOME } from '../kernel/machine.ts';

const STATE = `${HOME}/mock`;
const COMPACT_AT_BYTES = 400;
type Ledger = { tried: number; acknowledged: number; lost: number };

const serve =
  ({ kernel }: History, ledger: Ledger, round: number) =>
  async (host: Host, process: { isDead: boolean }): Promise<number[]> => {
    const { store, journal } = await openState(host.files, STATE, COMPACT_AT_BYTES);
    const notes = store.collection<string>('notes');
    const found = [...notes.values()].map((note) => Number(note.split(' ')[0]));
    ledger.tried = Math.max(ledger.tried, ...found);
    for (let i = 0; i < 6; i += 1) {
      const together = 1 + kernel.random.below(3);
      const from = ledger.tried + 1;
      ledger.tried += together;
      for (let n = from; n < from + together; n += 1)
        store.transact(() => notes.put(n, `${n} ${'x'.repeat(kernel.random.below(60))}`));
      await journal.whenWritten();
      if (!process.isDead) ledger.acknowledged = from + together - 1;
    }
    // The first server always stops cleanly, so that a walk through the effects includes the effects of a stop.
    if (round === 0 || kernel.random.chance(0.5)) await journal.close();
    return found;
  };
const reopen = async (host: Host): Promise<number[]> => {
  const { store, journal } = await openState(host.files, STATE, COMPACT_AT_BYTES);
  const found = [...store.collection<string>('notes').values()].map((note) => Number(note.split(' ')[0]));
  await journal.close();
  return found.sort((a, b) => a - b);
};

export const mockJournal: Operation = {
  name: 'mock journal',
  effectsFail: false,
  run: async (history) => {
    const { kernel, act, calm, desk } = history;
    const ledger: Ledger = { tried: 0, acknowledged: 0, lost: 0 };
    for (let round = 0; round < 3; round += 1) {
      // A full disk discards changes that were not acknowledged. The IDs then continue after the discarded changes.
      if (round === 1 && kernel.random.chance(0.1)) breakDisk(history);
      const before = kernel.faults['power loss'] ?? 0;
      const ended = await kernel.until(
        act(`server ${round}`, serve(history, ledger, round), { mostEffects: 30 }),
      );
      // docs/decisions/0022: a crash of the machine may lose the last changes, but no change in the middle.
      const isPower = (kernel.faults['power loss'] ?? 0) > before;
      const isBroken = Object.keys(kernel.faults).some((name) => name.startsWith('disk'));
      calm2(desk);
      const seen = await kernel.until(act('look', reopen, { isSafe: true }));
      if (seen.kind !== 'done') return afterACrashTheNextCommandSucceeds('opening the state', seen);
      const last = Math.max(0, ...seen.value);
      if (!isBroken) {
        const broken = [
          ...whatIsKeptHasNoGap('the state', seen.value),
          ...(isPower ? [] : whatWasAcknowledgedIsKept('the state', ledger.acknowledged, ledger.tried, last)),
        ];
        if (broken.length > 0) return broken;
      } else {
        const lost = isPower
          ? []
          : ledger.acknowledged > 0 && !seen.value.includes(ledger.acknowledged)
            ? ['an acknowledged change is lost']
            : [];
        return lost;
      }
      ledger.tried = last;
      ledger.acknowledged = last;
      if (ended.kind === 'failed') return afterACrashTheNextCommandSucceeds('the server', ended);
    }
    calm();
    return [];
  },
};
const calm2 = (desk: History['desk']): void => {
  desk.disk.freeBytes = Number.POSITIVE_INFINITY;
  desk.disk.isReadOnly = false;
  desk.disk.failsSync = false;
};
