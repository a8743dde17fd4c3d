import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { exponentOf, growthOf } from '../bench/growth.mjs';

const root = new URL('../../', import.meta.url).pathname;
const costs = (cost: (size: number) => number) =>
  [1000, 4000, 16_000].map((size) => [size, cost(size)] as const);

test.each([
  ['constant', 0, (_: number) => 5],
  ['linear', 1, (size: number) => size / 100],
  ['quadratic', 2, (size: number) => size ** 2 / 1e6],
])('a %s cost has the growth exponent %i', (_, exponent, cost) => {
  expect(exponentOf(costs(cost))).toBeCloseTo(exponent);
  expect(growthOf(costs(cost)).isOver).toBe(exponent > 1.1);
});
test('the start of a process does not hide the growth of its work', () => {
  const points = costs((size) => 100 + size ** 2 / 1e7);
  expect(growthOf(points).isOver).toBe(false);
  expect(growthOf(points, { base: 100 })).toMatchObject({
    isOver: true,
    text: 'growth: size^2.00 (limit 1.1)  OVER',
  });
});
test('two sizes prove no growth', () => {
  expect(growthOf(costs((size) => size).slice(1)).text).toBe('growth: fewer than three sizes');
});
test('every product source that a benchmark names exists', () => {
  const named = readdirSync(`${root}test/bench`, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .flatMap((entry) => [
      ...readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8').matchAll(
        /(?:\.\/|\/)(src\/[\w./-]+\.ts)'/g,
      ),
    ])
    .map(([, path]) => path as string);
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter((path) => !existsSync(root + path))).toEqual([]);
});
