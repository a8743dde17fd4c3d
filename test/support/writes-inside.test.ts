import fs, { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import { fakeHost } from './fake-host.ts';
import { mayChange, takeWritesOutside } from './writes-inside.ts';

test.each([
  [`${tmpdir()}/opsctl-test-1/config.json`, true],
  [`${tmpdir()}-other/config.json`, false],
  [`${tmpdir()}/../home/user/config.json`, false],
  ['/home/user/opsctl/config.json', false],
])('a fast test that changes %s is allowed: %s', (path, expected) => {
  expect(mayChange(path)).toBe(expected);
});

test('the record contains writes with each form of the functions', async () => {
  const path = `${import.meta.filename}/file`;
  expect(() => mkdirSync(path)).toThrow();
  expect(() => fs.writeFileSync(path, '')).toThrow();
  await expect(fs.promises.open(path, 'w')).rejects.toThrow();
  expect(() => fs.openSync(path, 'r')).toThrow();
  expect(takeWritesOutside()).toEqual([`mkdirSync ${path}`, `writeFileSync ${path}`, `open ${path}`]);
});

test('config set on a fake Host changes no real file outside the temporary directory', async () => {
  // A file has no directories below it, so a write that passes the Host fails here.
  const home = import.meta.filename;
  const host = fakeHost({ env: { HOME: home, OPSCTL_HOME: home } });
  const code = await runProgram(host, ['config', 'set', 'timeout', '5s', '--profile', 'work'], program);
  expect([code, takeWritesOutside()]).toEqual([0, []]);
  expect(host.files.all()).toMatchObject({ [`${home}/config/config.json`]: expect.stringContaining('5s') });
});
