/**
 * Follows every next step in the source: `next([…])`, `after('…', […])`, and command lines in texts. Each one names a
 * command that exists, with flags that it has and at most its arguments.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Command, findCommand } from '../../src/cli/command.ts';
import { topics } from '../../src/cli/help.ts';
import { globalFlags } from '../../src/cli/options.ts';
import { groups } from '../../src/commands/program.ts';
import type { Flags } from '../../src/core/flag.ts';
import { trackerInMemory } from '../support/in-memory.ts';

const root = new URL('../../src/', import.meta.url).pathname;
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));

/** A value that is known only when the program runs. */
const some = '\0';
/** Any number of words that are known only when the program runs. */
const rest = '\0\0';
type Hint = { readonly at: string; readonly words: readonly string[] };

/** Returns the end of the bracket that opens at `open`, and the positions of the commas directly inside it. */
const bracketAt = (text: string, open: number): { readonly end: number; readonly commas: number[] } => {
  const commas: number[] = [];
  let depth = 0;
  for (let i = open; i < text.length; i += 1) {
    const one = text[i] as string;
    if ("'`".includes(one)) {
      // A template inside a template does not occur in these calls.
      for (i += 1; text[i] !== one; i += 1) if (text[i] === '\\') i += 1;
    } else if ('([{'.includes(one)) depth += 1;
    else if (')]}'.includes(one)) {
      depth -= 1;
      if (depth === 0) return { end: i, commas };
    } else if (one === ',' && depth === 1) commas.push(i);
  }
  throw new Error(`a bracket has no end: ${text.slice(open, open + 80)}`);
};
const wordOf = (element: string): string => {
  const [, single] = /^'((?:[^'\\]|\\.)*)'$/s.exec(element) ?? [];
  if (single !== undefined) return single;
  if (element.startsWith('...')) return rest;
  const [, template] = /^`(.*)`$/s.exec(element) ?? [];
  return template === undefined ? some : template.replace(/\$\{[^}]*\}/g, some);
};
const callsIn = ({ path, text }: (typeof sources)[number]): Hint[] =>
  [...text.matchAll(/\b(?:next|after)\(\s*(?:'(?:[^'\\]|\\.)*',\s*|`[^`]*`,\s*)?(?=\[)/g)].map((match) => {
    const open = match.index + match[0].length;
    const { end, commas } = bracketAt(text, open);
    const cuts = [open, ...commas, end];
    const words = cuts
      .slice(1)
      .map((cut, i) => text.slice((cuts[i] as number) + 1, cut).trim())
      .filter((element) => element !== '')
      .map(wordOf);
    return { at: `${path}:${text.slice(0, open).split('\n').length}`, words };
  });
const calls = sources.filter(({ path }) => path !== 'core/next.ts').flatMap(callsIn);

const names = new Set(groups.map(({ name }) => name));
/** Names of the parts of the embedded services, in certificates and on pages. */
const titles = new Set(['mock authority', 'mock server', 'mock tracker']);
const withoutEnd = (word: string): string => word.replace(/[,;:.)\\]+$/, '');
/** Command lines that start a text, a line of it, or a part in backquotes. Prose starts with another word. */
const linesIn = ({ path, text }: (typeof sources)[number]): Hint[] =>
  [...text.matchAll(/(['`\n])\\?`?opsctl ([a-z][^'`\n]*)/g)].flatMap((match) => {
    const all = (match[2] as string).replace(/\$\{[^}]*\}/g, some).split(/\s+/);
    const ending = all.findIndex((word) => withoutEnd(word) !== word || /^[|&;<>(]/.test(word));
    const words = (ending < 0 ? all : all.slice(0, ending + 1)).map(withoutEnd).filter(Boolean);
    if (!names.has(words[0] as string) || titles.has(words.slice(0, 2).join(' '))) return [];
    return [{ at: `${path}:${text.slice(0, match.index).split('\n').length}`, words }];
  });
const lines = sources.flatMap(linesIn);

const isSwitch = ({ field }: Flags[string]): boolean => field.type === 'boolean';
const flagOf = (flags: Flags, word: string): Flags[string] | undefined => {
  const name = word.replace(/^--/, '').replace(/=.*$/s, '');
  if (/^-[a-zA-Z]$/.test(word)) return Object.values(flags).find(({ short }) => short === word[1]);
  const switched = name.startsWith('no-') ? flags[name.slice(3)] : undefined;
  return flags[name] ?? (switched !== undefined && isSwitch(switched) ? switched : undefined);
};
/** Returns what is wrong with the words behind a command. `isProse`: other words may follow the command. */
const problemsOf = (command: Command, words: readonly string[], isProse: boolean): string[] => {
  const flags: Flags = { ...globalFlags, ...command.flags };
  const found: string[] = [];
  let values = 0;
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] as string;
    // The words behind -- belong to another program.
    if (word === '--') return found;
    if (['--help', '-h'].includes(word)) continue;
    const flag = word.startsWith('-') ? flagOf(flags, word) : undefined;
    if (word === rest || (word.startsWith('-') && word.includes(some)) || word === '…') return found;
    if (word.startsWith('-') && flag === undefined) found.push(`${word} is not a flag`);
    else if (flag !== undefined && !isSwitch(flag) && !word.includes('=')) i += 1;
    else if (flag === undefined) values += 1;
  }
  const args = command.args ?? [];
  if (!isProse && values > args.length && args.at(-1)?.rest !== true) found.push('has too many arguments');
  return found;
};
const wrongIn = async ({ words }: Hint, isProse: boolean): Promise<string[]> => {
  const [first = ''] = words;
  if (first === 'help')
    return topics.some(({ name }) => name === words[1]) || words.length === 1 ? [] : ['topic'];
  const group = groups.find(({ name }) => name === first);
  if (group === undefined) return first === some || first === rest ? [] : [`${first} is not a command`];
  const known = words.findIndex((word) => /[\0…$]/.test(word) || word === '--help');
  try {
    const match = findCommand(await group.load(words), known < 0 ? words : words.slice(0, known));
    if (match.kind === 'command') return problemsOf(match.command, words.slice(match.used), isProse);
    return known < 0 && !isProse && words.length > 1 ? ['names a group, not a command'] : [];
  } catch (error) {
    // The name of a group may be a word of a sentence: `opsctl labels that …`.
    return [(error as Error).message];
  }
};
const wrong = async (hints: readonly Hint[], isProse: boolean): Promise<string[]> =>
  (
    await Promise.all(
      hints.map(async (hint) =>
        (await wrongIn(hint, isProse)).map((what) => `${hint.at}: opsctl ${hint.words.join(' ')}: ${what}`),
      ),
    )
  ).flat();

test('every next step names a command with its flags and arguments', async () => {
  expect(calls.length).toBeGreaterThan(150);
  expect(await wrong(calls, false)).toEqual([]);
});
test('every command line in a text names a command with its flags', async () => {
  expect(lines.length).toBeGreaterThan(300);
  expect(await wrong(lines, true)).toEqual([]);
});

/** Flags of the tracker that name another record, by the kind of record. */
const references = async (): Promise<Map<string, { readonly command: Command; readonly flag: string }[]>> => {
  const found = new Map<string, { readonly command: Command; readonly flag: string }[]>();
  const tracker = groups.find(({ name }) => name === 'tracker');
  for (const words of [
    'stories',
    'epics',
    'objectives',
    'projects',
    'iterations',
    'labels',
    'documents',
    'milestones',
  ])
    for (const command of (await tracker?.load(['tracker', words])) ?? [])
      for (const [flag, { complete }] of Object.entries(command.flags ?? {}))
        if (complete !== undefined && command.hidden !== true)
          found.set(complete, [...(found.get(complete) ?? []), { command, flag }]);
  return found;
};
test('the hint of an unknown name leads to a command that shows the names', async () => {
  const shown = new Set<string>();
  for (const [kind, all] of await references())
    for (const { command, flag } of all.slice(0, 6)) {
      const memory = trackerInMemory({}, 'demo');
      const args = (command.args ?? []).filter(({ optional }) => optional !== true).map(() => '107');
      const line = [...command.path.slice(1), ...args, `--${flag}`, 'nosuch', '--dry-run', '-o', 'json'];
      const ran = await memory.run(line);
      const error = ran.code === 0 ? undefined : ran.error();
      if (error?.code !== 'NO_SUCH_NAME') continue;
      const [, list = ''] = /one of: (.*)$/.exec(error.message) ?? [];
      for (const hint of error.hints as string[]) {
        const next = await memory.run(hint.split(' ').slice(2));
        expect([hint, next.code]).toEqual([hint, 0]);
        for (const name of list.split(', ').filter(Boolean)) expect(next.out, hint).toContain(name);
        shown.add(kind);
      }
    }
  expect([...shown].sort()).toEqual([
    'epic',
    'epic-state',
    'group',
    'iteration',
    'label',
    'member',
    'objective',
    'project',
    'workflow',
    'workflow-state',
  ]);
});
