/** Every command that the documentation shows exists, with its flags and arguments. */
import { expect, test } from 'vitest';
import { findCommand } from '../../src/cli/command.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { groups } from '../../src/commands/program.ts';
import { blocksOf, commandsOf, pages, proseOf } from './pages.ts';

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

type Line = { readonly page: string; readonly words: readonly string[] };
const linesOf = (page: string, commands: readonly string[]): Line[] =>
  commands
    .flatMap(callsOf)
    .filter(([first = '--']) => first !== 'help' && !first.startsWith('--'))
    .map((words) => ({ page, words }));

const find = async (words: readonly string[]) => {
  const group = groups.find(({ name }) => name === words[0]);
  return group === undefined ? undefined : findCommand(await group.load(words), words);
};

const lines = pages.flatMap((page) => linesOf(page, blocksOf(page).flatMap(commandsOf)));

test.each(lines)('$page: opsctl $words', async ({ words }) => {
  const found = await find(words);
  if (found?.kind !== 'command') throw new Error(`command not found: opsctl ${words.join(' ')}`);
  // Throws for an unknown flag, a missing argument or an invalid value.
  await parseCommand(found.command, words.slice(found.used));
});

/** The commands in the prose of a page, such as `opsctl kv resume`; comparison.test.ts covers the comparison pages. */
const mentions = pages
  .filter((page) => !/^CHANGELOG|comparison\.md$/.test(page))
  .flatMap((page) =>
    linesOf(
      page,
      [...proseOf(page).matchAll(/`(opsctl [a-z][^`]*)`/g)].map(([, command = '']) => command),
    ),
  )
  .filter(({ words }) => words.every((word) => !/^[A-Z]+$/.test(word)));

test.each(mentions)('$page mentions opsctl $words', async ({ words }) => {
  const found = await find(words);
  const name = words.filter((word) => !word.startsWith('-'));
  expect(found ?? groups.find((group) => group.name === name[0] && name.length === 1)).toBeDefined();
  const flags = words.filter((word) => word.startsWith('--') && word !== '--help');
  if (found?.kind === 'command' && flags.length > 0)
    await parseCommand(found.command, words.slice(found.used));
});

test('the documentation shows many commands', () => {
  expect(lines.length).toBeGreaterThan(150);
});
