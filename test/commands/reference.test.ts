import { beforeAll, expect, test } from 'vitest';
import { groups } from '../../src/commands/program.ts';
import { commandTree } from '../../src/cli/list-commands.ts';
import { opsctl } from '../support/program.ts';
import { makeDirectory } from '../support/directory.ts';

let home = '';
beforeAll(async () => {
  home = makeDirectory();
});
const read = async (...words: string[]) =>
  (await opsctl(['reference', ...words, '-o', 'json'], { home })).json();

test('every endpoint of the label service is under the words of its command', async () => {
  const tree = await commandTree(groups);
  const entries: { command: string }[] = await read();
  expect(entries.filter(({ command }) => command.startsWith('opsctl labels '))).toHaveLength(26);
  for (const { command } of entries.filter((entry) => entry.command.startsWith('opsctl labels '))) {
    let at: any = tree;
    for (const word of command.split(' ').slice(1)) at = at?.sub?.[word];
    expect([command, typeof at?.summary]).toEqual([command, 'string']);
  }
});

test('fields that only the service sets are not part of a request', async () => {
  const { body, errors } = await read('labels', 'create');
  expect(body.map(({ name }: { name: string }) => name)).toEqual([
    'enabledAppSettings',
    'fields',
    'labelType',
    'learnMoreUri',
    'properties',
  ]);
  expect(errors).toEqual(['400', '401', '403', '404', '409', '429']);
});
