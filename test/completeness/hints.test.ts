/** Every command in a message, hint or example exists with these flags, and shows the object that the message reports as missing. */
import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { globalFlags } from '../../src/cli/options.ts';
import { groups } from '../../src/commands/program.ts';
import { kinds } from '../../src/tracker/names/resolve.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const source = new URL('../../src/', import.meta.url).pathname;
const files = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => `${entry.parentPath}/${entry.name}`);

type Named = { readonly file: string; readonly line: string };
/** String literals that start with a command line, or contain a command line in backticks. X replaces the values. */
const namedLines = (): Named[] =>
  files.flatMap((path) => {
    const code = readFileSync(path, 'utf8').replace(/\/\*\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
    const texts = [...code.matchAll(/(?<=['"`])opsctl ([^'"`\n]*)|(?:\\`)opsctl ([^`\n]*?)\\`/g)];
    return texts.map(([, whole, quoted]) => ({
      file: path.replace(source, ''),
      line: (whole ?? quoted ?? '').replaceAll(/\$\{[^}]*\}/g, 'X').replaceAll('\\', ''),
    }));
  });
const isWord = (text: string): boolean => /^[a-z][a-z0-9-]*$/.test(text);
/** Splits a line into the tokens that name a group or a command, and the rest up to the prose. */
const splitLine = (line: string, prefixes: ReadonlySet<string>): [string, string[]] => {
  const words = line.split(/[,;)]\s|\s/);
  let used = 0;
  while (isWord(words[used] ?? '') && prefixes.has(words.slice(0, used + 1).join(' '))) used++;
  return [words.slice(0, used).join(' '), words.slice(used)];
};
const unknownFlags = ({ flags = {} }: Command, words: readonly string[]): string[] => {
  const known = new Set([...Object.keys(flags), ...Object.keys(globalFlags)]);
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
  return own.flatMap((word) => {
    const name = /^\[?--([a-z0-9-]+)/.exec(word)?.[1];
    return name === undefined || known.has(name) || known.has(name.replace(/^no-/, '')) ? [] : [`--${name}`];
  });
};

test('every command line in the code names a command and flags that exist', async () => {
  const commands = (await Promise.all(groups.map((group) => group.load()))).flat();
  const byPath = new Map(commands.map((command) => [command.path.join(' '), command]));
  const prefixes = new Set(
    commands.flatMap(({ path }) => path.map((_, at) => path.slice(0, at + 1).join(' '))),
  );
  const faults = namedLines().flatMap(({ file, line }) => {
    // A flag behind a semicolon or "shows" belongs to another command.
    const [path, words] = splitLine(line.split(/; |shows|, which/)[0] ?? '', prefixes);
    const command = byPath.get(path);
    const unknown = command === undefined ? [] : unknownFlags(command, words);
    const isDeadEnd =
      command === undefined && path !== '' && isWord(words[0] ?? '') && /kv|labels/.test(path);
    return unknown.length > 0 || isDeadEnd ? [`${file}: opsctl ${line}: ${unknown.join(' ')}`] : [];
  });
  expect(namedLines().length).toBeGreaterThan(800);
  expect(faults).toEqual([]);
});

/** Commands that look up a name of each kind. */
const lookUps: Readonly<Record<string, readonly string[]>> = {
  category: ['categories', 'get'],
  'custom-field': ['custom-fields', 'get'],
  'entity-template': ['entity-templates', 'get'],
  epic: ['epics', 'get'],
  'epic-state': ['epics', 'create', '--name', 'x', '--epic-state'],
  group: ['groups', 'get'],
  iteration: ['iterations', 'get'],
  label: ['labels', 'get'],
  member: ['members', 'get'],
  objective: ['objectives', 'get'],
  project: ['projects', 'get'],
  repository: ['repositories', 'get'],
  workflow: ['groups', 'create', '--name', 'x', '--mention-name', 'x', '--workflow-ids'],
  'workflow-state': ['stories', 'create', '--name', 'x', '--workflow-state'],
};
test('there is a look-up for every kind of name', () => {
  expect(Object.keys(lookUps).sort()).toEqual(Object.keys(kinds).sort());
});
test.each(Object.entries(lookUps))(
  'the error about an unknown %s lists the names, and each hint shows them',
  async (kind, line) => {
    const at = trackerInMemory({}, 'demo');
    const { code, error, writes } = await at.run([...line, 'nothing like it', '-o', 'json']);
    const { message, hint } = error();
    expect([code, writes]).toEqual([6, []]);
    const answer = at.send('GET', kinds[kind]?.list.path ?? '');
    const names = (kinds[kind]?.read(answer) ?? []).map(({ names: [first = ''] }) => first);
    for (const name of names.slice(0, 12)) expect(message).toContain(name);
    expect(hint).toMatch(/^opsctl tracker /);
    const shown = await at.run([...hint.split(' ').slice(2), '-o', 'table']);
    expect(shown.code).toBe(0);
    for (const name of names) expect(shown.out).toContain(name);
  },
);

test('a hint for manual work has a command', () => {
  const byHand = [
    ['compact and defragment', 'opsctl kv recover-space'],
    ['remove it from the cluster', 'opsctl kv member remove'],
    ['add it again with an empty data directory', 'opsctl kv replace-member'],
  ] as const;
  const missing = files.flatMap((file) =>
    byHand.flatMap(([words, command]) =>
      readFileSync(file, 'utf8').includes(words)
        ? [`${file.replace(source, '')}: ${words}: name ${command}`]
        : [],
    ),
  );
  expect(missing).toEqual([]);
});
