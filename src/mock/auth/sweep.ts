import { isSessionOver } from './browser-session.ts';
import { isCodeOver } from './codes.ts';
import type { Collection } from '../store.ts';
import type { Auth } from './state.ts';

const PENDING_MS = 15 * 60_000;
type Bin = { readonly records: Collection<any>; isOver(record: any): boolean; readonly most: number };

const bins = (auth: Auth): readonly Bin[] => {
  const now = () => auth.world.now();
  const accessMs = () => auth.settings().access_token_seconds * 1000;
  return [
    { records: auth.codes, isOver: (code) => isCodeOver(auth, code), most: 100_000 },
    { records: auth.pending, isOver: (pending) => now() - pending.created_at > PENDING_MS, most: 10_000 },
    { records: auth.sessions, isOver: (session) => isSessionOver(auth, session), most: 10_000 },
    { records: auth.challenges, isOver: (at) => now() - at > PENDING_MS, most: 10_000 },
    { records: auth.warnings, isOver: () => false, most: 1000 },
    { records: auth.deliveries, isOver: () => false, most: 1000 },
    {
      records: auth.families,
      // A token that was pushed out is kept as long as one of its access tokens may live.
      isOver: (family) =>
        (family.ends_at !== null && family.ends_at <= now()) ||
        (family.stopped_at !== null && family.stopped_at + accessMs() <= now()) ||
        (family.revoked_at !== null && family.revoked_at + auth.settings().revoke_delay_seconds * 1000 <= now()),
      most: Number.POSITIVE_INFINITY,
    },
  ];
};

/**
 * Keeps memory flat without a timer: a collection that has doubled since its last sweep is swept, so the cost for each
 * record is constant. Returns the function to call after a request.
 */
export const makeSweeper = (auth: Auth): (() => void) => {
  const all = bins(auth).map((bin) => ({ ...bin, next: 1000 }));
  const sweep = (bin: (typeof all)[number]): void => {
    auth.world.store.transact(() => {
      const keys = [...bin.records.entries()];
      let left = keys.length;
      // A full bin loses a quarter at once, so that it is not swept at each request from then on.
      const room = left > bin.most ? bin.most * 0.75 : bin.most;
      for (const [key, record] of keys) {
        if (!bin.isOver(record) && left <= room) continue;
        bin.records.delete(key);
        left -= 1;
      }
    });
    bin.next = Math.max(1000, bin.records.size * 2);
  };
  return () => {
    for (const bin of all) if (bin.records.size > Math.min(bin.next, bin.most)) sweep(bin);
  };
};
