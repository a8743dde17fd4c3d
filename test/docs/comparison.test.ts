/** The table that compares opsctl with other programs claims only properties that a test shows. */
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { findCommand } from '../../src/cli/command.ts';
import { groups } from '../../src/commands/program.ts';
import { topics } from '../../src/cli/help.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { comparison, leads, rows } from '../tooling/comparison.mjs';
import { kvComparison, kvRows } from '../tooling/kv-comparison.mjs';

const root = new URL('../../', import.meta.url).pathname;

const isProved = (file: string, title: string): void => {
  expect(existsSync(`${root}${file}`), file).toBe(true);
  expect(title).not.toBe('');
  expect(readFileSync(`${root}${file}`, 'utf8')).toContain(title);
};

test.each([
  ['docs/comparison.md', comparison],
  ['docs/kv-comparison.md', kvComparison],
])('%s matches the table (npm run docs writes it)', (file, text) => {
  expect(readFileSync(`${root}${file}`, 'utf8')).toBe(text());
});

test('40 different rows, each best or equal, and a list of what others do better', () => {
  expect(rows.length).toBe(40);
  expect(new Set([...rows, ...leads].map(([row]) => row)).size).toBe(40 + leads.length);
  expect(leads.length).toBeGreaterThan(3);
  expect(rows.filter(([, , verdict]) => !['best', 'equal'].includes(verdict))).toEqual([]);
});

test.each(rows)('%s: the test that proves it is there', (_, __, ___, ____, file, title) => {
  isProved(file, title);
});

test.each(rows)('%s: the program has the command %s', async (_, command) => {
  const [, line] = /\bopsctl ([a-z][^'"()|>]*)/.exec(command) ?? [];
  const words = (line ?? '').trim().split(/\s+/);
  const [first = ''] = words;
  // A mistyped command, an extension, and lines of other programs.
  if (line === undefined || ['trcker', 'hello'].includes(first)) return;
  if (first === 'help') return expect(topics.map(({ name }) => name)).toContain(words[1]);
  const group = groups.find(({ name }) => name === first);
  const found = group === undefined ? undefined : findCommand(await group.load(words), words);
  expect(found?.kind, command).toBe('command');
});

test.each(kvRows)('kv: %s', async (_, command, __, file, title) => {
  isProved(file, title);
  const [program, ...words] = command.split(' ');
  expect(program).toBe('opsctl');
  const group = groups.find(({ name }) => name === words[0]);
  const found = group === undefined ? undefined : findCommand(await group.load(words), words);
  if (found?.kind !== 'command') throw new Error(`there is no command ${command}`);
  // Throws for a flag, an argument or a value that the command does not accept.
  await parseCommand(found.command, words.slice(found.used));
});

test('the page of 40 rows counts its own verdicts, and its commands exist', async () => {
  const text = readFileSync(`${root}docs/explanation/peers.md`, 'utf8');
  const verdicts = [...text.matchAll(/^\| \d+ \|.*\| (\w+) \|$/gm)].map(([, verdict]) => verdict);
  const count = (verdict: string): number => verdicts.filter((one) => one === verdict).length;
  expect(verdicts).toHaveLength(40);
  expect(text).toContain(
    `opsctl is best in ${count('best')} rows, equal in ${count('equal')} and behind in ${count('behind')}.`,
  );
  expect(count('missing')).toBe(1);
  for (const [, line = ''] of text.matchAll(/`(?:\w+=\S+ )?opsctl ((?!-)[^`]+)`/g)) {
    const words = line.split(' ');
    const group = groups.find(({ name }) => name === words[0]);
    if (words[0] === 'help') continue;
    expect(group === undefined ? undefined : findCommand(await group.load(words), words).kind, line).toBe(
      'command',
    );
  }
});
