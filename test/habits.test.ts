/** Habits that hide mistakes. Each number may only fall: lower it with the last instance that you remove. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('./', import.meta.url).pathname;
const self = new URL(import.meta.url).pathname;
const texts = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((path) => path !== self && !path.includes('/fixtures/'))
  .map((path) => readFileSync(path, 'utf8'));
const count = (pattern: RegExp): number =>
  texts.reduce((sum, text) => sum + (text.match(pattern)?.length ?? 0), 0);

test.each([
  [
    'manual temporary directories',
    /\bmkdtempSync\(/g,
    40,
    'makeDirectory() of test/support/directory.ts removes its directory',
  ],
  [
    'contexts by a cast',
    /\bas unknown as Context\b/g,
    1,
    'contextWith() of test/support/context.ts checks the parts',
  ],
  ['casts through unknown', /\bas unknown as\b/g, 130, 'a helper in test/support can check the parts'],
  ['casts to never or any', /\bas (?:never|any)\b/g, 225, 'a helper in test/support can check the parts'],
])('%s do not become more', (_, pattern, limit, instead) => {
  expect(count(pattern), instead).toBeLessThanOrEqual(limit);
});

test('scripts without a check of their types do not become more', () => {
  const scripts = readdirSync(join(root, 'tooling'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.mjs'))
    .map((entry) => join(entry.parentPath, entry.name));
  const unchecked = scripts.filter((path) => !readFileSync(path, 'utf8').startsWith('// @ts-check\n'));
  expect(
    unchecked.length,
    `start each script with // @ts-check: ${unchecked.join(', ')}`,
  ).toBeLessThanOrEqual(18);
});
