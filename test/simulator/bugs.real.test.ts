import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { bugs, huntFor, WITHIN } from './bugs.mjs';
import { testSeed } from '../support/seeded.ts';

const isSoak = process.env['OPSCTL_SOAK'] === '1';
const seed = String(testSeed);
/** Bugs that appear quickly. The soak plants all bugs. */
const quick = bugs.filter(({ name }) =>
  /^(the credentials are read before|a replaced file is readable|.* is synced before the rename)/.test(name),
);

test('there are twenty mistakes, in most operations', () => {
  expect(bugs.length).toBeGreaterThanOrEqual(20);
  expect(new Set(bugs.map(({ operation }) => operation)).size).toBeGreaterThanOrEqual(5);
});

test.each(bugs)('can still be planted: $name', ({ file, find }) => {
  const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
  expect(source.split(find), `the text that is replaced stands once in ${file}`).toHaveLength(2);
});

test.each(isSoak ? bugs : quick)(
  `a planted mistake is found within ${WITHIN} histories: $name`,
  { timeout: 7_200_000 },
  async (bug) => {
    const { played, broken } = await huntFor(bug, seed, isSoak ? WITHIN : 300);
    expect(broken, `${played} histories`).toBeDefined();
  },
);
