/** A text that a command drew keeps its bytes at every width, unless its result marks it as prose. */
import { expect, test } from 'vitest';
import { extend } from '../../src/cli/command.ts';
import { isReadOnlyCommand } from '../../src/cli/read-only.ts';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { type Result, recordResult } from '../../src/core/result.ts';
import { makeRedactor } from '../../src/output/redact.ts';
import { render } from '../../src/output/render.ts';
import { fakeHost } from '../support/fake-host.ts';

const WIDTHS = [40, 60, 80] as const;
const rendered = async (result: Result, columns: number): Promise<string> => {
  const host = fakeHost({ tty: ['stdout'], columns });
  await render(result, { header: true, quiet: false, verbose: false, format: 'table' }, host, makeRedactor());
  return host.out();
};
const atWidths = (result: Result): Promise<string[]> =>
  Promise.all(WIDTHS.map((columns) => rendered(result, columns)));
const isJson = (text: string): boolean => {
  try {
    return typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
};
/** Code in a fence, a heading, a table of Markdown, a script, or the start of a YAML file. */
const isFile = (text: string): boolean => isJson(text) || /^(?:```|#+ |#!|\|.*\|$|---$|%YAML)/m.test(text);
/** The bytes of a raw result in memory, and the drawn text of a record. */
const textIn = (result: Result): string | undefined => {
  if (result.kind === 'record') return result.view?.text;
  return result.kind === 'raw' && Array.isArray(result.chunks) ? result.chunks.join('') : undefined;
};
const isProse = (result: Result): boolean => result.kind === 'record' && result.view?.isProse === true;

/** The results of all commands that read, and that run without arguments and without a service. */
const resultsOfCommands = async (): Promise<ReadonlyMap<string, Result>> => {
  const results = new Map<string, Result>();
  const commands = (await Promise.all(program.groups.map((group) => group.load()))).flat();
  const plain = commands.filter(
    ({ path, args = [], flags = {}, operation }) =>
      operation === undefined &&
      isReadOnlyCommand(path.join(' ')) &&
      args.every(({ optional }) => optional === true) &&
      Object.values(flags).every(({ required }) => required !== true),
  );
  for (const command of plain) {
    const name = command.path.join(' ');
    const run: typeof command.run = async (...given) => {
      const result = await command.run(...given);
      results.set(name, result);
      return result;
    };
    const groups = program.groups.map((group) =>
      group.name === command.path[0] ? { ...group, load: async () => [extend(command, { run })] } : group,
    );
    const host = fakeHost({ env: { HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl' } });
    await runProgram(host, [...command.path, '-o', 'table', '--max-time', '5s'], { ...program, groups });
  }
  return results;
};

test('the drawn text of a command has the same bytes at 40, 60 and 80 columns if it is a file or data', async () => {
  const results = await resultsOfCommands();
  const faults: string[] = [];
  for (const [name, result] of results) {
    const text = textIn(result);
    if (text === undefined) continue;
    if (isProse(result) && isFile(text)) faults.push(`${name} marks a file as prose`);
    if (isProse(result)) continue;
    const shown = await atWidths(result);
    if (shown.some((one) => one.trimEnd() !== text.trimEnd())) faults.push(`${name} changes with the width`);
  }
  expect(faults).toEqual([]);
  expect([...results.keys()]).toEqual(expect.arrayContaining(['kv schema', 'labels schema', 'version']));
});

test.each([
  ['JSON', JSON.stringify({ description: 'word '.repeat(40).trim() }, null, 2)],
  ['YAML', `description: ${'word '.repeat(40).trim()}`],
  ['Markdown', `| member | ${'word '.repeat(40).trim()} |`],
  ['a list of paths', `remove /var/lib/${'a directory '.repeat(20).trim()}`],
])('%s keeps its bytes at 40, 60 and 80 columns', async (_, text) => {
  expect(new Set(await atWidths(recordResult({}, { text })))).toEqual(new Set([`${text}\n`]));
});
test('a text that its result marks as prose is wrapped between words', async () => {
  const text = 'the label stays disabled until a person enables it in the settings of the service';
  for (const shown of await atWidths(recordResult({}, { text, isProse: true })))
    expect([shown.split('\n').length > 2, shown.replaceAll(/\s+/g, ' ').trim()]).toEqual([true, text]);
});
