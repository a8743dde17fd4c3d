/** Positions that rise, by where they stand in the list. */
type Run = { readonly last: number; readonly places: readonly number[] };
const longest = (runs: readonly Run[]): readonly number[] =>
  runs.reduce<readonly number[]>((best, { places }) => (places.length > best.length ? places : best), []);

/** The positions that may stay: a longest rising run of them. */
const staying = (positions: readonly number[]): ReadonlySet<number> => {
  const runs: Run[] = [];
  for (const [i, position] of positions.entries()) {
    const before = longest(runs.filter(({ last }) => last < position));
    runs.push({ last: position, places: [...before, i] });
  }
  return new Set(longest(runs));
};

export type Place = {
  /** Id of the part that follows; '' is the end. */ readonly before: string;
  readonly isMoved: boolean;
};

/**
 * Where each wanted part goes, given where the existing ones stand now (undefined: new). As few existing parts as possible move.
 * Moves are to be sent from the last to the first, then the new parts from the first to the last: then every `before` stands right.
 */
export const placesFrom = (wanted: readonly (string | undefined)[], live: readonly string[]): Place[] => {
  const existing = wanted.flatMap((id, i) => (id === undefined ? [] : [{ id, i }]));
  const stays = staying(existing.map(({ id }) => live.indexOf(id)));
  const moved = new Set(existing.filter((_, n) => !stays.has(n)).map(({ i }) => i));
  return wanted.map((_, i) => ({
    before: wanted.slice(i + 1).find((id) => id !== undefined) ?? '',
    isMoved: moved.has(i),
  }));
};
