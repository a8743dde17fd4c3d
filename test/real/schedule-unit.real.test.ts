/** A real systemd runs the unit of `kv snapshot schedule` with hostile program paths and words. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { calendarOf, schedulerFiles } from '../../src/kv/snapshots/schedule.ts';
import { makeDirectory } from '../support/directory.ts';
import { type SystemdHost, startSystemd } from '../support/systemd-host.ts';

const words = [
  ...['$HOME', '${HOME}', '$$', '%h', '%%', 'a b', 'a"b', "a'b", '\\n', '\\x41', ';', '', '*', 'é'],
  ...['-x', '@x', '$', '!x', '\\', '#'],
];
const programs = [
  'plain',
  'a$b',
  'a$$b',
  'a${HOME}b',
  '$b',
  'a%hb',
  'a b',
  'a;b',
  '@a',
  '-a',
  'é',
  'a\u00a0b',
];
const calendar = calendarOf(3_600_000, 'prod');
let [directory, systemd]: [string, SystemdHost | undefined] = ['', undefined];
beforeAll(async () => {
  directory = makeDirectory();
  systemd = await startSystemd(directory);
});
afterAll(() => systemd?.close());

const serviceOf = async (program: string): Promise<string> => {
  if (calendar === undefined) throw new Error('no calendar');
  const [service] = await schedulerFiles('systemd', { cluster: 'prod', words, calendar, program: [program] });
  return service?.text ?? '';
};

test.each(programs)('systemd runs the program %j with every word unchanged', async (name) => {
  if (systemd === undefined) return;
  const program = join(directory, 'bin', name);
  mkdirSync(dirname(program), { recursive: true });
  const out = join(directory, 'words');
  writeFileSync(out, '');
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\0' "$@" > ${out}\n`, { mode: 0o755 });
  // The command line is under test: the directories of the unit are read-only for the program.
  const exec = (await serviceOf(program)).split('\n').filter((line) => line.startsWith('ExecStart='));
  const unit = ['[Unit]', 'DefaultDependencies=no', '[Service]', 'Type=oneshot', ...exec, ''];
  writeFileSync(join(systemd.units, 'words.service'), unit.join('\n'));
  systemd.systemctl('daemon-reload');
  systemd.systemctl('start', 'words.service');
  expect(readFileSync(out, 'utf8').split('\0').slice(0, -1)).toEqual(words);
});

test.each(["a'b", 'a"b', 'a\\b'])('a program path that systemd refuses is refused: %j', async (name) => {
  await expect(serviceOf(`/opt/${name}`)).rejects.toMatchObject({ category: 'usage' });
});
