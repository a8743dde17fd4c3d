import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LabelJson } from '../../src/labels/api-types.ts';
import { rememberTitles } from '../../src/labels/read-labels.ts';
import { type RealHost, realHost } from '../support/real-host.ts';
import { contextWith } from '../support/context.ts';

let machine: RealHost;
beforeEach(async () => {
  machine = await realHost();
});
afterEach(() => machine.close());

const said: string[] = [];
const remember = async (cache: string, ...titles: (string | undefined)[]): Promise<void> => {
  const context = contextWith({
    host: machine.host,
    settings: { directories: { cache } },
    log: { debug: (text: string) => said.push(text) },
  });
  const labels = titles.map((title) => ({ properties: title === undefined ? {} : { title } }) as LabelJson);
  await rememberTitles(context, labels);
};
const path = () => `${machine.directory}/names/label-title`;

test('titles are kept one a line, each once, for their owner only', async () => {
  await remember(machine.directory, 'Plan', undefined, 'Two\nlines', 'Plan', 'Ünïcödé');
  expect(await machine.host.files.read(path())).toBe('Plan\nÜnïcödé\n');
  expect((await machine.host.files.info(path()))?.mode).toBe(0o600);
  expect((await machine.host.files.info(`${machine.directory}/names`))?.mode).toBe(0o700);
});

test('equal titles are not written again, and an unwritable list is not a failure', async () => {
  await remember(machine.directory, 'Plan');
  let writes = 0;
  const { files } = machine.host;
  const replace: typeof files.replace = async () => {
    writes += 1;
    throw new Error('the disk is full');
  };
  machine = { ...machine, host: { ...machine.host, files: { ...files, replace } } };
  await remember(machine.directory, 'Plan');
  expect(writes).toBe(0);
  await remember(machine.directory, 'Other');
  expect([writes, said.at(-1)]).toEqual([1, expect.stringContaining('the disk is full')]);
});
