import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { makeCompiler } from './mutation/compiler.mjs';
import { makeDirectory } from '../support/directory.ts';

const trees: string[] = [];
afterAll(() => {
  for (const tree of trees) rmSync(tree, { recursive: true });
});
const treeOf = (source: string) => {
  const tree = makeDirectory('opsctl-compiler-');
  trees.push(tree);
  symlinkSync(resolve('node_modules'), join(tree, 'node_modules'));
  mkdirSync(join(tree, 'src'));
  writeFileSync(
    join(tree, 'tsconfig.json'),
    JSON.stringify({ compilerOptions: { strict: true, types: [], noEmit: true }, include: ['src'] }),
  );
  writeFileSync(
    join(tree, 'src/tsconfig.json'),
    JSON.stringify({ extends: '../tsconfig.json', include: ['.'] }),
  );
  const file = join(tree, 'src/a.ts');
  const put = (text: string) => () => writeFileSync(file, text);
  put(source)();
  return { compiler: makeCompiler(tree), file, put };
};

test('a change that does not compile is rejected with the first error, and a compiling one is not', () => {
  const good = 'export const f = (a?: string): number => (a === undefined ? 0 : a.length);\n';
  const { compiler, file, put } = treeOf(good);
  const refusal = (text: string) => compiler.refusal(put(text), put(good));
  expect(refusal(good.replace('===', '!=='))).toMatch(/^src\/a\.ts\(1,.*error TS18048:/);
  expect(refusal(good.replace('0', '1'))).toBeUndefined();
  expect(refusal(good.replace('===', '!=='))).toMatch(/error TS18048:/);
  expect(readFileSync(file, 'utf8')).toBe(good);
});

test('a tree that does not compile without a change is an error, and no change is judged by it', () => {
  const bad = "export const n: number = '';\n";
  const { compiler, put } = treeOf(bad);
  expect(() => compiler.refusal(put(bad), put(bad))).toThrow(/without a change: src\/a\.ts\(1,.*TS2322/);
});
