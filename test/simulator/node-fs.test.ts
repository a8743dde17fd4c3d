/** A simulation runs the product on a replacement of `node:fs`. A function that it lacks would fail every history. */
import { constants, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import replacement from './kernel/node-fs.ts';

const source = readFileSync(new URL('../../src/platform/node/files.ts', import.meta.url), 'utf8');
const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
const isOffered = (path: string): boolean =>
  path.split('.').reduce<unknown>((at, name) => Reflect.get(Object(at), name), replacement) !== undefined;

test('the simulated disk offers every function of node:fs that the product calls', () => {
  const called = new Set([...code.matchAll(/\bfs\.((?:promises\.)?[a-z]\w*)/g)].map(([, name = '']) => name));
  expect(called).toContain('promises.open');
  expect([...called].filter((name) => !isOffered(name))).toEqual([]);
});
test('the simulated disk has every constant of node:fs that the product uses, with its value on Linux', () => {
  const used = new Set([...code.matchAll(/\b(?:[RWXF]_OK|O_[A-Z]+)\b/g)].map(([name]) => name));
  const known = [...used].filter((name) => Object.hasOwn(constants, name));
  expect(known).toContain('O_APPEND');
  const { constants: simulated } = replacement;
  expect(known.filter((name) => Reflect.get(simulated, name) !== Reflect.get(constants, name))).toEqual([]);
});
