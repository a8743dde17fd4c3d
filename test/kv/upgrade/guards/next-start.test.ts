/** Settings of the next start that stop a member, and parts of it that were not read. */
import { describe, expect, it } from 'vitest';
import type { HostFacts, MemberSpec } from '../../../../src/kv/engine/model.ts';
import { clusterFile, seen } from '../../../support/observations.ts';
import { said, second } from './said.ts';

const listen = '--listen-client-urls=http://127.0.0.1:2379';
const advertise = '--advertise-client-urls=http://127.0.0.1:2379';
/** Returns the findings about a start that the member has after a start with `running`. */
const found = (next: Partial<MemberSpec>, host: HostFacts = { environment: {} }): string[] => {
  const { members, ...others } = clusterFile();
  const facts = { command: ['/usr/bin/etcd', '--name=n2', listen, advertise], ...host };
  const given = {
    members: second({ host: { ...seen('n2').host, ...facts } }),
    cluster: { ...others, members: members.map((one) => (one.name === 'n2' ? { ...one, ...next } : one)) },
  };
  return said('configuration-fits', given)
    .filter((one) => one.includes(' n2: ') && /would not start/.test(one))
    .map((one) => one.replace(/^(\w+) n2: n2: (\S+) .*$/, '$1 $2'));
};
const start = (...flags: string[]): Partial<MemberSpec> => ({
  new_command: ['/opt/etcd', '--name=n2', ...flags],
});
const missing = ['fail advertise-client-urls'];

describe('settings that stop the next start together', () => {
  it.each([
    ['no advertised URL', start(listen), missing],
    ['an advertised URL', start(listen, advertise), []],
    ['an advertised URL in env', { ...start(listen), env: { ETCD_ADVERTISE_CLIENT_URLS: 'http://h:1' } }, []],
    [
      'two ways to find members',
      start('--discovery-srv=e', '--initial-cluster=n2=h'),
      ['fail discovery-srv'],
    ],
    ['one port', start('--listen-peer-urls=http://0.0.0.0:2379'), ['fail listen-client-urls']],
    ['a script', { new_command: ['/opt/start.sh', listen] }, []],
    [
      'an unread file of variables',
      { new_command: ['docker', 'run', '--env-file=/e', 'i', 'etcd', listen] },
      [],
    ],
    [
      'an image',
      { new_command: ['docker', 'run', 'img', 'etcd', listen] },
      ['unknown advertise-client-urls'],
    ],
  ] as const)('%s', (_, next, expected) => {
    expect(found(next)).toEqual(expected);
  });
  it('the variables of the process reach its successor, and those of an image may', () => {
    const environment = { ETCD_ADVERTISE_CLIENT_URLS: 'http://127.0.0.1:2379' };
    expect(found(start(listen), { environment })).toEqual([]);
    const container = { new_command: ['docker', 'run', 'img', 'etcd', listen] };
    expect(found(container, { environment })).toEqual(['unknown advertise-client-urls']);
  });
  it('a process whose environment was not read may pass the missing variable on', () => {
    expect(found(start(listen), {})).toEqual(['unknown advertise-client-urls']);
  });
  it('a configuration file is read alone', () => {
    const next = { ...start('--config-file=/c.yml', listen), config_file: '/c.yml' };
    expect(found(next, { environment: {}, config: { 'data-dir': '/data/n2' } })).toEqual([]);
    const config = { 'discovery-srv': 'e', 'initial-cluster': 'n2=http://h:1' };
    expect(found(next, { environment: {}, config })).toEqual(['fail discovery-srv']);
  });
});

describe('the name and the directory of the next start', () => {
  const next = (running: readonly string[], words: readonly string[], host: HostFacts = {}): string[] => {
    const { members, ...others } = clusterFile();
    const facts = { command: ['/usr/bin/etcd', ...running], environment: {}, ...host };
    const given = {
      members: second({ host: { ...seen('n2').host, ...facts } }),
      cluster: {
        ...others,
        members: members.map((one) => (one.name === 'n2' ? { ...one, new_command: words } : one)),
      },
    };
    return said('configuration-fits', given)
      .filter((one) => one.includes(' n2: ') && /next start/.test(one))
      .map((one) => one.replace(/^(\w+) n2: n2: (\S+) .*$/, '$1 $2'));
  };
  const data = '--data-dir=/data/n2';
  it.each([
    ['the same', ['--name=n2', data], ['/opt/etcd', '--name=n2', data], []],
    ['another name', ['--name=n2', data], ['/opt/etcd', '--name=n9', data], ['warn name']],
    ['no name', ['--name=n2', data], ['/opt/etcd', data], []],
    ['another name in a script', ['--name=n2', data], ['/opt/start.sh', '--name=n9', data], []],
    ['a name that a shell inserts', ['--name=n2', data], ['/opt/etcd', '--name=$HOST', data], []],
    ['no directory', ['--name=n2', data], ['/opt/etcd', '--name=n2'], ['fail data-dir']],
    ['no directory in a script', ['--name=n2', data], ['/opt/start.sh', '--name=n2'], []],
    ['the default directory', ['--name=n2'], ['/opt/etcd', '--name=n2'], []],
    ['the default directory of another name', ['--name=n2'], ['/opt/etcd', '--name=n9'], ['warn name']],
    [
      'other peer URLs',
      ['--name=n2', data],
      ['/opt/etcd', '--name=n2', data, '--initial-advertise-peer-urls=http://h:1'],
      [],
    ],
  ] as const)('%s', (_, running, words, expected) => {
    expect(next(running, words)).toEqual(expected);
  });
  it('the variables of the process contain them', () => {
    const environment = { ETCD_NAME: 'n2', ETCD_DATA_DIR: '/data/n2' };
    expect(next([], ['/opt/etcd'], { environment })).toEqual([]);
  });
});
