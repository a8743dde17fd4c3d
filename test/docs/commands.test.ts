/** Every command that the documentation shows exists, with its flags and arguments. */
import { expect, test } from 'vitest';
import { findCommand } from '../../src/cli/find.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { groups } from '../../src/commands/program.ts';
import { blocksOf, commandsOf, pages } from './pages.ts';

/** Splits a command line as a shell does, up to the first operator. */
const wordsOf = (line: string): string[] => {
  const words = line.match(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g) ?? [];
  const end = words.findIndex((word) => /^(?:\||\|\||&&|;|\d?>.*|<.*)$/.test(word));
  return words
    .slice(0, end === -1 ? undefined : end)
    .map((word) => word.replace(/'([^']*)'|"([^"]*)"/g, '$1$2'));
};

/** The calls of opsctl in a line: after variables, after a pipe, in `$(…)`. */
const callsOf = (line: string): string[][] =>
  [...line.matchAll(/(?:^|[|;&(] ?|\$\()(?:[A-Z_]+=\S+ )*opsctl ([^)]*)/g)].map(([, call = '']) =>
    wordsOf(call),
  );

const lines = pages.flatMap((page) =>
  blocksOf(page).flatMap((block) =>
    commandsOf(block)
      .flatMap((line) => callsOf(line).map((words) => ({ page, words })))
      .filter(({ words: [first = '--'] }) => !first.startsWith('--')),
  ),
);

test.each(lines)('$page: opsctl $words', async ({ words }) => {
  if (words[0] === 'help') return;
  const group = groups.find(({ name }) => name === words[0]);
  const found = group === undefined ? undefined : findCommand(await group.load(words), words);
  if (found?.kind !== 'command') throw new Error(`command not found: opsctl ${words.join(' ')}`);
  // Throws for an unknown flag, a missing argument or an invalid value.
  await parseCommand(found.command, words.slice(found.used));
});

test('the documentation shows many commands', () => {
  expect(lines.length).toBeGreaterThan(150);
});
