/** SECURITY.md names the tests that attack its properties: each of them exists under its title. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = new URL('../../', import.meta.url).pathname;
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');
/** `test/…`: title, in the last cell of a row. */
const named = [...page.matchAll(/\| `(test\/[^`]+)`: ([^|]+) \|$/gm)].map(([, file = '', title = '']) => ({
  file,
  title,
}));
const sources = [
  ...page.matchAll(/`(\w+)`(?: and `(\w+)`)? in `(src\/[^`]+)`|the tag `(\w+)` in `(src\/[^`]+)`/g),
];

test('every property, function and reader of SECURITY.md names a test that exists', () => {
  expect(named.length).toBeGreaterThan(20);
  const missing = named.filter(({ file, title }) => {
    if (!existsSync(join(root, file))) return true;
    const text = readFileSync(join(root, file), 'utf8');
    return !["'", '"', '`'].some((quote) => text.includes(`${quote}${title}${quote}`));
  });
  expect(missing).toEqual([]);
});

test('every function of SECURITY.md is exported by its file', () => {
  expect(sources.length).toBeGreaterThan(5);
  const missing = sources.flatMap(([, first, second, file, tag, tagFile]) => {
    const text = readFileSync(join(root, file ?? tagFile ?? ''), 'utf8');
    return [first, second, tag].filter(
      (name) => name !== undefined && !text.includes(`export const ${name} `),
    );
  });
  expect(missing).toEqual([]);
});
