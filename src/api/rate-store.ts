/** A place in the window that several machines share: taken, or how long to wait for one. */
export type Taken = { readonly place: string } | { readonly waitMs: number };

/** A store that counts requests for all machines by its own clock. Each call throws when the store cannot be reached. */
export type RateStore = {
  /** Takes one of `limit` places of a key. It is held while the request is under way, for `LEASE_MS` at most. */
  take(key: string, limit: number): Promise<Taken>;
  /** The request has ended: its place is free again so long from now. */
  answered(key: string, place: string, ms: number): Promise<void>;
  /** The service said no: nobody takes a place for so long. */
  block(key: string, ms: number): Promise<void>;
};

/** How long a place is held whose process died: no request is under way for longer. */
export const LEASE_MS = 10 * 60_000;
/** How soon to ask again when all places are taken and none has an end yet. */
export const AGAIN_MS = 250;
/** A store that does not answer must not hold a run up. */
export const CALL_MS = 5000;
