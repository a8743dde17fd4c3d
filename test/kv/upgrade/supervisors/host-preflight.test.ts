import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  findOtherDirectories,
  placeProblems,
  startedProgram,
} from '../../../../src/kv/upgrade/supervisors/host-facts.ts';
import { localDriver } from '../../../../src/kv/upgrade/supervisors/local.ts';
import type { HostFacts, MemberSpec } from '../../../../src/kv/engine/model.ts';
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

describe('the data directory of a start', () => {
  const others = (more: Partial<MemberSpec>, facts: HostFacts = {}) =>
    findOtherDirectories(real.host.files, spec(more), '/', facts).then((all) => all.map(({ path }) => path));
  const file = ['--config-file', '/etc/n1.yaml'];
  const withFile = { old_command: ['/bin/etcd', ...file], new_command: ['/bin/etcd', ...file] };
  it('a server with a configuration file ignores its flags and variables', async () => {
    const env = { ETCD_DATA_DIR: at('other') };
    const flags = ['--data-dir', at('other')];
    expect(await others({ ...withFile, env }, { config: { 'data-dir': at('data') } })).toEqual([]);
    expect(await others({ ...withFile, env })).toEqual([]);
    expect(await others({ old_command: [at('old'), ...file, ...flags] })).toEqual([]);
    expect(await others({ old_command: [at('old')], env })).toEqual([at('other')]);
    expect(await others(withFile, { config: { 'data-dir': at('other') } })).toEqual([at('other')]);
  });
  it('a variable names the configuration file', async () => {
    const env = { ETCD_CONFIG_FILE: '/etc/n1.yaml', ETCD_DATA_DIR: at('other') };
    const commands = { old_command: [at('old')], new_command: [at('new')] };
    expect(await others({ ...commands, env })).toEqual([]);
  });
  it('the command in a container uses paths of the container', async () => {
    const command = ['docker', 'run', '-v', `${at('data')}:/etcd-data`, 'IMAGE', 'etcd', '--data-dir'];
    expect(await others({ old_command: [...command, '/etcd-data'] })).toEqual([]);
  });
  it('a relative path of a stopped member belongs to the recorded working directory', async () => {
    const member = spec({ old_command: [at('old'), '--data-dir', './data'] });
    const driver = localDriver({ ...real.host, cwd: '/' });
    const found = async () => (await driver.facts(member, { sizes: false })).other_directories;
    expect(await found()).toMatchObject([{ path: '/data' }]);
    const record = JSON.stringify({ env: [], cwd: real.directory });
    writeFileSync(`${member.pid_file}.opsctl-process`, record, { mode: 0o600 });
    expect(await found()).toBeUndefined();
  });
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
