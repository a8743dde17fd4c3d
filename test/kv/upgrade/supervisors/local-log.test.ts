import { execFileSync } from 'node:child_process';
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { localDriver } from '../../../../src/kv/upgrade/supervisors/local.ts';
import { nodeFiles } from '../../../../src/platform/node/files.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { makeDirectory } from '../../../support/directory.ts';

let directory = '';
beforeEach(() => {
  directory = makeDirectory();
});
const at = (name: string): string => join(directory, name);
const tail = (log_file: string, lines = 3): Promise<readonly string[]> => {
  const member = { name: 'n1', client_url: 'http://127.0.0.1:1', peer_url: 'http://127.0.0.1:2', log_file };
  return localDriver({ ...fakeHost(), files: nodeFiles }).logTail(member, lines);
};

test('the last lines of a log of any size, also through a link', async () => {
  writeFileSync(at('log'), 'x'.repeat(99).concat('\n').repeat(10_000));
  appendFileSync(at('log'), 'one\n\ntwo\nthree');
  symlinkSync(at('log'), at('link'));
  expect(await tail(at('log'))).toEqual(['one', 'two', 'three']);
  expect(await tail(at('link'), 2)).toEqual(['two', 'three']);
});

test('a missing log has no lines', async () => {
  expect(await tail(at('nothing'))).toEqual([]);
});

test.skipIf(process.platform === 'win32')('a log that is not a file is not awaited', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  mkdirSync(at('directory'));
  expect(await tail(at('pipe'))).toEqual([]);
  await expect(tail(at('directory'))).rejects.toThrow(/EISDIR/);
});
