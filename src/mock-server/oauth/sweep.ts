import { isSessionOver } from './browser-session.ts';
import { isCodeOver } from './codes.ts';
import type { Collection } from '../store.ts';
import type { Auth, Family } from './state.ts';
import { rememberedMs } from './tokens.ts';

const PENDING_MS = 15 * 60_000;
type Bin<T> = { readonly records: Collection<T>; readonly most: number; isOver(record: T): boolean };

const sweeperOf = <T>(auth: Auth, { records, most, isOver }: Bin<T>): (() => void) => {
  let next = 1000;
  const sweep = (): void => {
    const all = [...records.entries()];
    let left = all.length;
    // A full bin loses a quarter at once, so that it is not swept at each request from then on.
    const room = left > most ? most * 0.75 : most;
    for (const [key, record] of all) {
      if (!isOver(record) && left <= room) continue;
      records.delete(key);
      left -= 1;
    }
  };
  return () => {
    if (records.size <= Math.min(next, most)) return;
    auth.env.store.transact(sweep);
    next = Math.max(1000, records.size * 2);
  };
};

/** A token that was pushed out is kept as long as one of its access tokens may live. */
const isFamilyOver =
  (auth: Auth) =>
  (family: Family): boolean => {
    const now = auth.env.now();
    const { access_token_seconds: access, revoke_delay_seconds: delay } = auth.settings();
    const kept = rememberedMs(auth);
    const isPast = (at: number | null, ms: number): boolean => at !== null && at + Math.max(ms, kept) <= now;
    return (
      isPast(family.ends_at, 0) ||
      isPast(family.stopped_at, access * 1000) ||
      isPast(family.revoked_at, delay * 1000)
    );
  };

/**
 * Keeps memory flat without a timer: a collection that has doubled since its last sweep is swept, so the cost for each
 * record is constant. Returns the function to call after a request.
 */
export const makeSweeper = (auth: Auth): (() => void) => {
  const isOld = (since: number): boolean => auth.env.now() - since > PENDING_MS;
  const all = [
    sweeperOf(auth, { records: auth.codes, isOver: (code) => isCodeOver(auth, code), most: 100_000 }),
    sweeperOf(auth, { records: auth.pending, isOver: (pending) => isOld(pending.created_at), most: 10_000 }),
    sweeperOf(auth, {
      records: auth.sessions,
      isOver: (session) => isSessionOver(auth, session),
      most: 10_000,
    }),
    sweeperOf(auth, { records: auth.devices, isOver: (device) => isOld(device.created_at), most: 10_000 }),
    sweeperOf(auth, { records: auth.challenges, isOver: isOld, most: 10_000 }),
    sweeperOf(auth, { records: auth.warnings, isOver: () => false, most: 1000 }),
    sweeperOf(auth, { records: auth.deliveries, isOver: () => false, most: 1000 }),
    sweeperOf(auth, { records: auth.families, isOver: isFamilyOver(auth), most: Number.POSITIVE_INFINITY }),
  ];
  return () => {
    for (const sweep of all) sweep();
  };
};
