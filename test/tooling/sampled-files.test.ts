import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filesLeftOut, groups } from '../support/sampled-files.mjs';
import { namedTests } from './covered.mjs';

const root = new URL('../../', import.meta.url).pathname;
const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const sampled = groups.flatMap(({ files }) => files);

test('each file of a group runs once in as many seeds as its group has turns', () => {
  const group = { why: 'for this test', of: 3, files: ['a', 'b', 'c', 'd', 'e'] };
  const left = ['6', '7', '8'].map((seed) => filesLeftOut(seed, [group]));
  expect(left).toEqual([
    ['b', 'c', 'e'],
    ['a', 'c', 'd'],
    ['a', 'b', 'd', 'e'],
  ]);
});

test('each sampled file is listed once', () => {
  expect(sampled.toSorted()).toEqual([...new Set(sampled)].toSorted());
});

/** Returns the text of a test file and of the helpers that declare its tests. */
const textOf = (path: string): string => {
  const text = read(path);
  const helpers = [...text.matchAll(/from '\.\.\/support\/([\w-]+(?:scenes|matrix)\.ts)'/g)];
  return [text, ...helpers.map(([, name]) => read(`test/support/${name}`))].join('\n');
};

test.each(sampled)('%s proves no mark, and no document or list of tests names it', (path) => {
  expect(path).toMatch(/\.real\.test\.ts$/);
  expect(textOf(path)).not.toMatch(/\bcovers\(|\bmarkTest\(|OAS-\d|spec\/[a-z-]+#/);
  const short = path.replace('test/', '');
  const tables = ['sentences', 'rows'].map((table) => read(`test/spec/${table}.tsv`));
  expect(namedTests(tables).filter(({ file }) => file === short)).toEqual([]);
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((page) => page.endsWith('.md'))
    .map((page) => `docs/${page}`);
  const naming = [...pages, 'test/stories/defects.ts'].filter((page) => read(page).includes(short));
  expect(naming).toEqual([]);
});
