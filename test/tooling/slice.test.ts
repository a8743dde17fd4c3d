import { expect, test } from 'vitest';
import { slice } from '../support/slice.ts';

const cells = ['a', 'b', 'c', 'd', 'e'];

test('a slice is determined by its seed, and every cell is selected within as many runs as there are cells', () => {
  expect(slice(cells, 2, { seed: 4, isWhole: false })).toEqual(['e', 'a']);
  expect(slice(cells, 2, { seed: 9, isWhole: false })).toEqual(['e', 'a']);
  const seen = [100, 101, 102, 103, 104].flatMap((seed) => slice(cells, 2, { seed, isWhole: false }));
  expect(seen.toSorted()).toEqual([...cells, ...cells].toSorted());
});

test('a soak has every cell, once and in order', () => {
  expect(slice(cells, 2, { seed: 4, isWhole: true })).toEqual(cells);
  expect(slice(cells, 9, { seed: 4, isWhole: false })).toEqual(cells);
});
