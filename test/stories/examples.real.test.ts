/** Every example in the help: the program accepts the arguments of each line, and the test runs the examples made from fields. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Command, findCommand } from '../../src/cli/command.ts';
import { examplesOf } from '../../src/cli/help.ts';
import { groups } from '../../src/commands/program.ts';
import { parseCommand } from '../../src/cli/parse.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

const commands = (await Promise.all(groups.map((group) => group.load())))
  .flat()
  .filter(({ hidden }) => !hidden);

/** Splits a line into arguments as a shell does, up to a pipe or a redirection. */
const wordsOf = (line: string): string[] =>
  [...(line.split(/ (?:\||>>?|&&) /)[0] ?? '').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"]+)+/g)].map(([word]) =>
    word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'),
  );
const isLine = (line: string): boolean => line.startsWith('opsctl ');

test('every command shows an example, and the program takes its words', async () => {
  const faults: string[] = [];
  for (const command of commands)
    for (const { line } of examplesOf(command).filter((one) => isLine(one.line))) {
      const words = wordsOf(line).slice(1);
      const group = groups.find(({ name }) => name === words[0]);
      const found = group === undefined ? undefined : findCommand(await group.load(words), words);
      if (found?.kind !== 'command') {
        faults.push(`${line}: no command`);
        continue;
      }
      await parseCommand(found.command, words.slice(found.used)).catch((error: Error) =>
        faults.push(`${line}: ${error.message} ${JSON.stringify((error as any).detail?.problems)}`),
      );
    }
  expect(faults).toEqual([]);
  expect(commands.filter((command) => examplesOf(command).length === 0)).toEqual([]);
});

describe('examples made from fields', () => {
  /** Examples that do not run here. Another test or the end of this test runs them. */
  const apart: Readonly<Record<string, string>> = {
    tour: 'the tour of the packed program',
    'mock stop': 'at the end',
    'mock kv stop': 'at the end',
  };
  /** Examples whose data is missing in the demo data, so the service returns an error. */
  const refused: Readonly<Record<string, readonly number[]>> = {
    'alias unset': [6],
    'kv abort': [6],
    'kv lease revoke': [6],
    'kv lease keep-alive': [6],
    'kv lease list': [5],
    // Only the leader can transfer its leadership, and the test does not determine the leader.
    'kv move-leader': [0, 5],
    'mock oauth clients get': [6],
    'mock oauth integrity get': [6],
    'mock webhooks resend': [6],
  };
  const made = commands.filter(({ examples = [], path }) => examples.length === 0 && !apart[path.join(' ')]);
  let home = '';
  beforeAll(async () => {
    home = makeDirectory();
    expect((await opsctl(['mock', 'kv', 'start'], { home })).code).toBe(0);
    expect((await opsctl(['mock', 'start'], { home })).code).toBe(0);
  });
  afterAll(async () => {
    const ends = [await opsctl(['mock', 'stop'], { home }), await opsctl(['mock', 'kv', 'stop'], { home })];
    expect(ends.map(({ code }) => code)).toEqual([0, 0]);
  });
  const argvOf = (command: Command): string[] => {
    const words = wordsOf(examplesOf(command)[0]?.line ?? '').slice(1);
    return [...words, command.noDryRun === undefined ? '--dry-run' : '--yes'];
  };

  test('every example is accepted: dry, or executed if it has no dry run', async () => {
    const faults: string[] = [];
    for (const command of made) {
      const argv = argvOf(command);
      const { code, stderr } = await opsctl(argv, { home });
      if (!(refused[command.path.join(' ')] ?? [0]).includes(code))
        faults.push(`opsctl ${argv.join(' ')}: ${code} ${stderr.slice(0, 300)}`);
    }
    expect(faults).toEqual([]);
    expect(made.length).toBeGreaterThan(150);
  });
});
