import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isTurn, slice } from '../support/slice.ts';
import { namedTests } from './covered.mjs';

const root = new URL('../../', import.meta.url).pathname;

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

test('each turn comes once in as many seeds as there are turns, and a soak has all turns', () => {
  for (const turn of [1, 2, 3])
    expect([10, 11, 12].filter((seed) => isTurn(turn, 3, { seed, isWhole: false }))).toHaveLength(1);
  expect([1, 2, 3].every((turn) => isTurn(turn, 3, { seed: 10, isWhole: true }))).toBe(true);
});

/** Returns whether a document names one cell of a matrix: the title with a value where the source has a placeholder. */
const isCellOf = (written: string, named: string): boolean => {
  const [pattern] = namedTests([`test\nx > ${written}`]).map((one) => one.pattern.source);
  return !written.includes(named) && new RegExp(`^${pattern}$`).test(named);
};

test('a named cell of a matrix differs from the title of the matrix and from other tests', () => {
  const written = '%s to $to ($how)';
  expect(isCellOf(written, '3.2 to 3.3 (slowly)')).toBe(true);
  expect(isCellOf(written, written)).toBe(false);
  expect(isCellOf(written, '3.2 to 3.3 (slowly), and back')).toBe(false);
});

test('no cell that only some runs try is named by a document', () => {
  const named = namedTests(
    ['sentences', 'rows'].map((table) => readFileSync(join(root, `test/spec/${table}.tsv`), 'utf8')),
  );
  const sampled = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.test.ts'))
    .flatMap((path) => {
      const text = readFileSync(join(root, 'test', path), 'utf8');
      const found = text.matchAll(
        /\.(?:each|for)\(\s*slice\((?:.(?!\.(?:each|for)\()){0,900}?\)\(\s*['"`](?<title>[^\n]+?)['"`],/gs,
      );
      return [...found].map(({ groups }) => ({ file: `test/${path}`, title: groups?.['title'] ?? '' }));
    });
  expect(sampled.map(({ file }) => file)).toEqual(
    expect.arrayContaining(['test/real/readme.real.test.ts', 'test/cluster/simulated.real.test.ts']),
  );
  // Some cell of a matrix runs each time, so a document may name the title, but not with the values of one cell.
  const only = sampled.filter(({ file, title }) =>
    named.some((one) => one.file === file && isCellOf(title, one.mark.split(' > ').slice(1).join(' > '))),
  );
  expect(only).toEqual([]);
});

test('no test that only some runs try is named by a document or in its title by a statement', () => {
  const named = namedTests(
    ['sentences', 'rows'].map((table) => readFileSync(join(root, `test/spec/${table}.tsv`), 'utf8')),
  );
  const inTurn = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.real.test.ts'))
    .flatMap((path) => {
      const text = readFileSync(join(root, 'test', path), 'utf8');
      const found = text.matchAll(/testInTurn\(\d+, \d+\)\(\s*['"`](?<title>[^\n]+)['"`],/g);
      return [...found].map(({ groups }) => ({ file: `test/${path}`, title: groups?.['title'] ?? '' }));
    });
  expect(inTurn.length).toBeGreaterThan(10);
  const only = inTurn.filter(
    ({ file, title }) =>
      /OAS-|spec\//.test(title) || named.some((one) => one.file === file && one.pattern.test(title)),
  );
  expect(only).toEqual([]);
});
