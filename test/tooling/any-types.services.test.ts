import { execFileSync } from 'node:child_process';
import { realpathSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDirectory } from '../support/directory.ts';

const tool = fileURLToPath(new URL('any-types.mjs', import.meta.url));
const directory = realpathSync(makeDirectory('opsctl-any-types-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
/** The compiler runs in another process, because its interface blocks the thread. */
const find = (...config: string[]): string[] =>
  execFileSync(process.execPath, [tool, ...config], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')
    .slice(0, -1);

let sample: string[] = [];
beforeAll(() => {
  writeFileSync(
    `${directory}/tsconfig.json`,
    JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, target: 'es2023', module: 'nodenext', types: [] },
      include: ['.'],
    }),
  );
  writeFileSync(
    `${directory}/sample.ts`,
    [
      'export const parsed: { a: number } = JSON.parse("{}");',
      'export const pair = [1, "two"] as const;',
      'export const count = (list: unknown): number => (Array.isArray(list) ? list.length : 0);',
      'export const firstOf = (list: any[]): unknown => list[0];',
      'export const text: string = String(parsed.a);',
      '',
    ].join('\n'),
  );
  sample = find(`${directory}/tsconfig.json`);
});

test('an expression of type any is found where it is, and tuples do not hide others', () => {
  expect(sample).toEqual(['sample.ts:1 JSON.parse("{}")', 'sample.ts:4 list[0]']);
});

test('at most 45 expressions of src have the type any', () => {
  const found = find();
  // The remaining ones are values that a library or Node.js declares as any, such as the reason of a signal.
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(45);
});
