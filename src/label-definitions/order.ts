/** The positions that may stay: a longest rising run of them. */
const staying = (positions: readonly number[]): Set<number> => {
  const length: number[] = [];
  const before: number[] = [];
  for (const [i, position] of positions.entries()) {
    length[i] = 1;
    before[i] = -1;
    for (let j = 0; j < i; j++) {
      if ((positions[j] ?? 0) < position && (length[j] ?? 0) + 1 > (length[i] ?? 0)) {
        length[i] = (length[j] ?? 0) + 1;
        before[i] = j;
      }
    }
  }
  let at = length.indexOf(Math.max(...length));
  const kept = new Set<number>();
  while (at >= 0) {
    kept.add(at);
    at = before[at] ?? -1;
  }
  return kept;
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
