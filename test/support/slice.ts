import { test } from 'vitest';
import { testSeed } from './seeded.ts';
/**
 * The part of a scenario that one run tries. A soak tries all cells; other runs select some cells by the seed that `npm test`
 * prints, so every cell is tried eventually.
 */
const isSoak = process.env['OPSCTL_SOAK'] === '1';
const runSeed = testSeed;

type Sampling = { readonly seed?: number; readonly isWhole?: boolean };
/** Returns `count` of the cells, in a ring that starts at the cell that the seed selects. */
export const slice = <T>(
  cells: readonly T[],
  count: number,
  { seed = runSeed, isWhole = isSoak }: Sampling = {},
): T[] => {
  if (isWhole || cells.length <= count) return [...cells];
  const first = seed % cells.length;
  return [...cells, ...cells].slice(first, first + count);
};

/** Returns whether the tests with this turn belong to the run. Pure. */
export const isTurn = (turn: number, of: number, { seed = runSeed, isWhole = isSoak }: Sampling = {}) =>
  isWhole || seed % of === turn % of;
/**
 * Declares a test that one of `of` runs tries and the others skip. It accepts no marks: the only test of a statement, an exit
 * code or a guard belongs to every run.
 */
export const testInTurn =
  (turn: number, of: number) =>
  (title: string, body: () => void | Promise<void>): void => {
    test.runIf(isTurn(turn, of))(title, body);
  };
