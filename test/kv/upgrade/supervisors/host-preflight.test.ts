import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { placeProblems, startedProgram } from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { realHost, type RealHost } from '../../../support/real-host.ts';

let real: RealHost;
beforeEach(async () => {
  real = await realHost();
  mkdirSync(at('data'));
  for (const name of ['old', 'new']) {
    writeFileSync(at(name), '#!/bin/sh\n');
    chmodSync(at(name), 0o755);
  }
});
const at = (name: string): string => join(real.directory, name);
const spec = (more: Partial<MemberSpec> = {}): MemberSpec => ({
  name: 'n1',
  client_url: 'http://127.0.0.1:2379',
  data_dir: at('data'),
  pid_file: at('n1.pid'),
  log_file: at('n1.log'),
  old_binary: at('old'),
  new_binary: at('new'),
  old_command: [at('old'), '--data-dir', at('data')],
  new_command: [at('new'), '--data-dir', at('data')],
  ...more,
});

describe('requirements of a start', () => {
  it('the program exists', async () =>
    expect(await placeProblems(real.host.files, spec(), real.directory)).toEqual([]));
  it('the program exists at a relative path from the start directory', async () => {
    expect(
      await placeProblems(
        real.host.files,
        spec({ old_command: [at('old'), '--data-dir', './data/'] }),
        real.directory,
      ),
    ).toEqual([]);
  });
  it('the program exists under another name', async () => {
    symlinkSync(at('data'), at('link'));
    expect(
      await placeProblems(real.host.files, spec({ data_dir: `${at('link')}/`, log_file: '/dev/null' }), '/'),
    ).toEqual([]);
  });
  it.each<[string, () => Partial<MemberSpec>, () => string]>([
    [
      'no directory for the log',
      () => ({ log_file: at('no/n1.log') }),
      () => `log_file ${at('no/n1.log')}: directory not found: ${at('no')}`,
    ],
    ['a directory as log', () => ({ log_file: at('data') }), () => `log_file ${at('data')} is a directory`],
    [
      'no directory for the pid file',
      () => ({ pid_file: at('no/n1.pid') }),
      () => `pid_file ${at('no/n1.pid')}: directory not found: ${at('no')}`,
    ],
    [
      'another data directory in the command',
      () => ({ new_command: [at('new'), `--data-dir=${at('other')}`] }),
      () => `new_command runs on the data directory ${at('other')}; data_dir is ${at('data')}`,
    ],
    [
      'a relative data directory that is another one from here',
      () => ({ old_command: [at('old'), '--data-dir', 'data'] }),
      () =>
        `old_command runs on the data directory data, which is /data from here; data_dir is ${at('data')}`,
    ],
    [
      'a program that is not there',
      () => ({ old_command: [at('gone'), '--x'] }),
      () => `old_command starts ${at('gone')}, which does not exist`,
    ],
  ])('%s', async (_, more, said) =>
    expect(await placeProblems(real.host.files, spec(more()), '/')).toEqual([said()]),
  );
});

describe('version query of a program', () => {
  it.each<[string, Partial<MemberSpec>, string]>([
    ['the binary', { new_binary: '/a/kv', new_command: ['--x'] }, '/a/kv'],
    [
      'of the command, when it is another file of that name',
      { new_binary: '/a/kv', new_command: ['/b/kv', '--x'] },
      '/b/kv',
    ],
    [
      'the binary, when a wrapper starts it',
      { new_binary: '/a/kv', new_command: ['/usr/bin/nice', '/a/kv'] },
      '/a/kv',
    ],
    ['of the command, when no binary is named', { new_binary: undefined, new_command: ['/b/kv'] }, '/b/kv'],
  ])('%s', (_, more, program) =>
    expect(startedProgram({ name: 'n1', client_url: '', ...more } as MemberSpec, 'new')).toBe(program),
  );
});
