import { testSeed } from './seeded.ts';
/** What a scenario is tried with in one run: all of it in a soak, else some of it by the seed that `npm test` prints, so that every one has its turn. */
const isSoak = process.env['OPSCTL_SOAK'] === '1';
const runSeed = testSeed;

/** `count` of the cells, in a ring from the one that the seed names. */
export const slice = <T>(
  cells: readonly T[],
  count: number,
  { seed = runSeed, isWhole = isSoak }: { readonly seed?: number; readonly isWhole?: boolean } = {},
): T[] => {
  if (isWhole || cells.length <= count) return [...cells];
  const first = seed % cells.length;
  return [...cells, ...cells].slice(first, first + count);
};
