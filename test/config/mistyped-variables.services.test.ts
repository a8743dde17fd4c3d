/** A variable whose name is nearly that of a setting has no effect, and opsctl reports it. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { environmentRows, mistypedVariables } from '../../src/config/load.ts';
import { makeDirectory } from '../support/directory.ts';
import { opsctl } from '../support/program.ts';
import { errorOf } from '../support/facts.ts';

const known = environmentRows()
  .flatMap(([names]) => names.split(', '))
  .filter((name) => name.startsWith('OPSCTL_'));
/** The name with its third-last and second-last letters exchanged, or with one letter more if they are the same. */
const mistyped = (name: string): string => {
  const [head, x = '', y = '', end] = [name.slice(0, -3), name.at(-3), name.at(-2), name.slice(-1)];
  return x === y ? `${name}X` : `${head}${y}${x}${end}`;
};

test('no warning for any variable that opsctl reads', () => {
  expect(known.length).toBeGreaterThan(40);
  expect(mistypedVariables(Object.fromEntries(known.map((name) => [name, 'x'])))).toEqual([]);
});
test.each(known)('%s with two letters exchanged: a warning names a variable', (name) => {
  const wrong = mistyped(name);
  const [text, ...others] = mistypedVariables({ [wrong]: 'x' });
  expect(others).toEqual([]);
  expect(text).toContain(`${wrong} has no effect`);
  expect(known).toContain(/did you mean (\w+)\?/.exec(text ?? '')?.[1]);
});
test('no warning for the variables of an extension, or for those that opsctl gives to other programs', () => {
  const sources = readdirSync(new URL('../../src', import.meta.url), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => readFileSync(join(import.meta.dirname, '../../src', path), 'utf8'));
  const named = sources.flatMap((text) =>
    [...text.matchAll(/\bOPSCTL_[A-Z_]*[A-Z]\b/g)].map(([name]) => name),
  );
  const own = ['OPSCTL_STANDUP_TEAM', 'OPSCTL_', 'OPSCTL_DIST', 'OPSCTL_TEST_BIN', 'HOME', 'PATH'];
  const env = Object.fromEntries([...named, ...own].map((name) => [name, 'x']));
  expect(Object.keys(env).length).toBeGreaterThan(50);
  expect(mistypedVariables(env)).toEqual([]);
});
test('a command warns on standard error, and its output stays the same', async () => {
  const home = makeDirectory();
  const run = (env: Record<string, string>) => opsctl(['config', 'path'], { home, env });
  const [plain, warned] = [await run({}), await run({ OPSCTL_TRAKCER_URL: 'https://tracker.example.com' })];
  expect(warned.stdout).toBe(plain.stdout);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toBe(
    `${plain.stderr}warning: OPSCTL_TRAKCER_URL has no effect: opsctl does not read this variable; did you mean OPSCTL_TRACKER_URL?\n`,
  );
});

test.each([
  ['OPSCTL_UPDATE_NOTICE', '1'],
  ['OPSCTL_UPDATE_NOTICE', 'of'],
])('the fix for a wrong value of a variable changes the variable: %s=%s', async (name, value) => {
  const env = { [name]: value };
  const { code, stderr } = await opsctl(['whoami', '-o', 'json'], { home: makeDirectory(), env });
  expect([code, errorOf({ stderr })]).toMatchObject([3, { hints: [`unset ${name}`] }]);
});
