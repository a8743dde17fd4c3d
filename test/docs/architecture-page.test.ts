import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const page = readFileSync(`${root}src/ARCHITECTURE.md`, 'utf8');

test('the page names every directory of src, and no other', () => {
  const directories = readdirSync(`${root}src`, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  const rows = [...page.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+)\s*\|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name),
  );
  expect(rows.sort(), 'the table of src/ARCHITECTURE.md').toEqual(directories.map(({ name }) => name).sort());
});

test('every file that the page names exists', () => {
  const named = [...page.matchAll(/`((?:[a-z-]+\/)+[a-z-]+\.ts)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  const missing = named.filter((name) => !existsSync(`${root}src/${name}`) && !existsSync(`${root}${name}`));
  expect(missing).toEqual([]);
});

test('the architecture document is one page', () => {
  expect(page.split('\n').length).toBeLessThanOrEqual(75);
});

test.each(['Life of a request', 'Life of an upgrade'])('%s names at most ten files', (title) => {
  const [, section = ''] = page.split(`## ${title}`);
  const [own = ''] = section.split('\n## ');
  const named = new Set([...own.matchAll(/`([\w-]+(?:\/[\w-]+)*\.(?:ts|js))`/g)].map(([, name]) => name));
  expect(named.size).toBeGreaterThan(5);
  expect([...named].length, [...named].join(', ')).toBeLessThanOrEqual(10);
});

test('CONTRIBUTING.md names only files that exist', () => {
  const text = readFileSync(`${root}CONTRIBUTING.md`, 'utf8');
  const named = [...text.matchAll(/`((?:src|test|docs)\/[\w./-]+\.\w+)`/g)].map(([, name = '']) => name);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((name) => !existsSync(`${root}${name}`))).toEqual([]);
});
