/** Random numbers from a seed (mulberry32). The same seed produces the same history. */
export type Random = {
  /** Returns a number in [0, 1). */
  next(): number;
  below(count: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly T[]): T;
  bytes(count: number): Buffer;
};

export const randomFrom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(next() * count);
  return {
    next,
    below,
    chance: (share) => next() < share,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    bytes: (count) => Buffer.from(Uint8Array.from({ length: count }, () => below(256))),
  };
};

/** Returns the seed of one history. Seeds of adjacent histories must not correlate. */
export const seedOf = (seed: number, history: number): number =>
  (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(history + 1, 0xc2b2ae35)) >>> 0;
