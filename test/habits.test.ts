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
    // The only call is in makeDirectory(). A test that fails or is interrupted does not remove its directory.
    /\bmkdtemp(?:Sync)?\(/g,
    1,
    'makeDirectory() of test/support/directory.ts removes its directory',
  ],
  [
    'clients of agents with the limit of the SDK',
    /from '@modelcontextprotocol\/sdk\/client\/index\.js'/g,
    1,
    'connectToServer() of test/support/mcp-client.ts ends a request with its test',
  ],
  [
    'contexts by a cast',
    /\bas unknown as Context\b/g,
    0,
    'contextWith() of test/support/context.ts checks the parts',
  ],
  [
    'casts through unknown',
    /\bas unknown as\b/g,
    50,
    'partlyMade() of test/support/context.ts checks the parts',
  ],
  [
    'waits that assume a speed',
    // Options before a function belong to a test, and all others to a poll.
    /\{(?: interval: [\d_]+,)? timeout: \d[\d_]{3,8}(?:, interval: [\d_]+)? \}(?!,\s+(?:async )?[(\w])|; \w+ < [^;\n]+; \w+ \+= 1\) (?:\{[^}]{0,300}?)?await pause\(/g,
    0,
    'a poll needs no limit, and hangTimer() of test/support/hang.ts has the limit of other waits',
  ],
  [
    'waits without an end',
    // Files of one process share it, so such a loop continues after the limit of its test.
    /\bwhile \([^\n]*\) await /g,
    0,
    'expect.poll ends before its test',
  ],
  [
    'limits of single tests below the limit of all tests',
    // A limit ends a test that hangs, so a shorter one fails only on a busy machine. The one that remains is a timer.
    /^\s*\}, (?:\d{1,2}|[12]\d\d)_000\);$/gm,
    1,
    'vitest.config.ts has the limit of all tests',
  ],
  [
    'errors read from all of stderr',
    // Progress precedes the error of a run that is slower than a second. Some tests require that nothing precedes the error.
    /JSON\.parse\((?:\w+\.)?stderr\b/g,
    5,
    'errorOf() of test/support/facts.ts reads the last line',
  ],
  ['casts to never or any', /\bas (?:never|any)\b/g, 220, 'a helper in test/support can check the parts'],
])('%s do not become more', (_, pattern, limit, instead) => {
  expect(count(pattern), instead).toBeLessThanOrEqual(limit);
});

test('no test of real parts has a time limit below the limit of its project', () => {
  const limits = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.real.test.ts'))
    .flatMap((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const found = text.matchAll(
        /^\s*\}, (?<same>\d+_000)\);$|^\s*(?<own>\d+_000),\n\s*\);$|\{\s{0,9}timeout: (?<option>\d+_000),?\s{0,9}\}, (?:async )?\(|^const \w*LIMIT\w* = (?<named>\d+_000);$/gm,
      );
      return [...found].map(({ groups }) => ({
        path,
        ms: Number(
          Object.values(groups ?? {})
            .find((one) => one !== undefined)
            ?.replaceAll('_', ''),
        ),
      }));
    });
  expect(limits.length).toBeGreaterThan(0);
  // A shorter time belongs to a timer within a test.
  expect(limits.filter(({ ms }) => ms >= 20_000 && ms < 600_000)).toEqual([]);
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
