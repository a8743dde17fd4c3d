import { testSeed } from './seeded.ts';
/**
 * The part of a scenario that one run tries. A soak tries all cells; other runs select some cells by the seed that `npm test`
 * prints, so every cell is tried eventually.
 */
const isSoak = process.env['OPSCTL_SOAK'] === '1';
const runSeed = testSeed;

/** Returns `count` of the cells, in a ring that starts at the cell that the seed selects. */
export const slice = <T>(
  cells: readonly T[],
  count: number,
  { seed = runSeed, isWhole = isSoak }: { readonly seed?: number; readonly isWhole?: boolean } = {},
): T[] => {
  if (isWhole || cells.length <= count) return [...cells];
  const first = seed % cells.length;
  return [...cells, ...cells].slice(first, first + count);
};
