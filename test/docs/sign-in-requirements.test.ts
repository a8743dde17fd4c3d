import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, textOf } from './pages.ts';

/** The rows of both tables: requirement, state, and the test that shows the state. */
const rows = [
  ...textOf('docs/reference/sign-in-requirements.md').matchAll(
    /^\| (?!requirement|other|-)(.+?) \| (.+?) \| (.+?) \|$/gm,
  ),
].map(([, requirement = '', state = '', shown = '']) => ({ requirement, state, shown }));

test('the page has a row for each requirement of the review', () => {
  expect(rows.length).toBeGreaterThanOrEqual(50);
});

test.each(rows)('$requirement: the named test exists', ({ shown }) => {
  const [, path = '', title = ''] = /^`(test\/[^`]+)`: (.+)$/.exec(shown) ?? [];
  expect(existsSync(join(root, path)), path).toBe(true);
  expect(readFileSync(join(root, path), 'utf8')).toContain(title);
});

test.each(rows)('$requirement: a requirement is met, or the row contains the reason', ({ state }) => {
  expect(state).toMatch(/^(?:yes(?:, .+)?|yes in .+|no: .{20,})$/);
});
