import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';

const source = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => `${entry.parentPath}/${entry.name}`);

/** Names of commands in the texts of a file: in messages, hints and examples, and in comments too. */
const named = (text: string): string[][] =>
  [...text.matchAll(/opsctl kv((?: [a-z][a-z-]*)+)/g)].map(([, words = '']) => words.trim().split(' '));

test('every kv command that a message names exists', async () => {
  const kv = groups.find(({ name }) => name === 'kv');
  const paths = new Set((await kv?.load())?.map(({ path }) => path.slice(1).join(' ')));
  const exists = (words: readonly string[]): boolean =>
    words.some((_, i) => paths.has(words.slice(0, i + 1).join(' ')));
  const all = files.flatMap((file) =>
    named(readFileSync(file, 'utf8')).map((words) => ({ file: file.replace(source, ''), words })),
  );
  expect(all.length).toBeGreaterThan(100);
  const missing = all.filter(({ words }) => !exists(words));
  expect(missing.map(({ file, words }) => `${file}: opsctl kv ${words.join(' ')}`)).toEqual([]);
});

test('what a hint asks for by hand has a command', () => {
  const byHand = [
    ['compact and defragment', 'opsctl kv recover-space'],
    ['remove it from the cluster', 'opsctl kv member remove'],
    ['add it again with an empty data directory', 'opsctl kv replace-member'],
  ] as const;
  const missing = files.flatMap((file) =>
    byHand.flatMap(([words, command]) =>
      readFileSync(file, 'utf8').includes(words)
        ? [`${file.replace(source, '')}: ${words}: say ${command}`]
        : [],
    ),
  );
  expect(missing).toEqual([]);
});
