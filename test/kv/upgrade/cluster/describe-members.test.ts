import { describe, expect, it } from 'vitest';
import {
  findCtlNextTo,
  describeMembers,
  nameFor,
  type Describing,
} from '../../../../src/kv/upgrade/cluster/draft.ts';
import { fakeHost } from '../../../support/fake-host.ts';

const words = (...all: string[]): string => `${all.join('\0')}\0`;
const listed = (name: string, patch: object = {}) => ({
  ...{ id: name, name, is_learner: false },
  ...{ peer_urls: [`http://${name}:2380`], client_urls: [`http://${name}:2379`] },
  ...patch,
});
type Process = { readonly argv: string[]; readonly unit?: string; readonly exe?: string };
/** A machine with these processes. Each was started in /srv. */
const machine = (processes: Record<number, Process>, files: Record<string, string> = {}) => {
  const shown = Object.entries(processes).flatMap(([pid, { argv, unit }]) => [
    [`/proc/${pid}/cmdline`, words(...argv)],
    ...(unit === undefined ? [] : [[`/proc/${pid}/cgroup`, `0::/system.slice/${unit}\n`]]),
  ]);
  const host = fakeHost({
    files: { ...Object.fromEntries(shown), ...files },
    run: ({ args }) => ({
      stdout: Object.entries(processes).find(([, { unit }]) => unit === args.at(-1))?.[0] ?? '',
    }),
  });
  const realPath = async (path: string) => {
    const [, pid = '', what] = /^\/proc\/(\d+)\/(cwd|exe)$/.exec(path) ?? [];
    return what === 'cwd'
      ? '/srv'
      : what === 'exe'
        ? (processes[Number(pid)]?.exe ?? '/usr/bin/etcd')
        : undefined;
  };
  return { ...host, files: { ...host.files, realPath } };
};
const server = (name: string, ...more: string[]): string[] => [
  ...['etcd', '--name', name, '--data-dir', `/var/${name}`],
  ...['--advertise-client-urls', `http://${name}:2379`, ...more],
];
const described = async (
  host: ReturnType<typeof machine>,
  names: string[],
  patch: Partial<Describing> = {},
) =>
  describeMembers(
    host,
    names.map((name) => listed(name)),
    { directory: '/etc/c', ...patch },
  );

describe('the members of a cluster that runs here', () => {
  const flags = server('n1').slice(1);
  const plain = {
    ...{ name: 'n1', client_url: 'http://n1:2379', peer_url: 'http://n1:2380' },
    ...{ old_binary: '/usr/bin/etcd', data_dir: '/var/n1' },
    ...{ pid_file: '/etc/c/n1.pid', log_file: '/etc/c/n1.log', old_command: flags, new_command: flags },
  };
  it('members are described with all flags, and get a pid file', async () => {
    const host = machine({ 71: { argv: server('n1') } });
    expect(await described(host, ['n1'])).toEqual({
      driver: 'local',
      members: [{ spec: plain, left: [], isSeen: true }],
    });
    expect(await host.files.read('/etc/c/n1.pid')).toBe('71\n');
  });
  it('keep the pid file that they have', async () => {
    const host = machine({ 71: { argv: server('n1') } }, { '/run/n1.pid': '71\n' });
    expect((await described(host, ['n1'])).members[0]?.spec.pid_file).toBe('/run/n1.pid');
    expect(await host.files.read('/etc/c/n1.pid')).toBeUndefined();
  });
  it('get the programs that the operator names', async () => {
    const host = machine({ 71: { argv: server('n1') } });
    const { members } = await described(host, ['n1'], { newBinary: 'new/etcd', oldBinary: '/old/etcd' });
    expect(members[0]?.spec).toMatchObject({ new_binary: '/place/new/etcd', old_binary: '/old/etcd' });
  });
  it('members have their environment and configuration file, with the parts to correct', async () => {
    const environ = words('PATH=/bin', 'ETCD_CONFIG_FILE=n1.yml');
    const text = 'name: n1\ndata-dir: n1\nwal-dir: /wal\nadvertise-client-urls: http://n1:2379\n';
    const host = machine({ 71: { argv: ['etcd'] } }, { '/proc/71/environ': environ, '/srv/n1.yml': text });
    const { members } = await described(host, ['n1']);
    expect(members).toEqual([
      {
        spec: {
          ...plain,
          ...{ config_file: '/srv/n1.yml', data_dir: '/srv/n1', env: { ETCD_CONFIG_FILE: '/srv/n1.yml' } },
          ...{ old_command: [], new_command: [] },
        },
        left: ['/srv/n1.yml: data-dir is relative; write the absolute path'],
        isSeen: true,
      },
    ]);
  });
  it.each(['../../../x', 'a/b', '..', '.x', '-x', 'n 1', 'n\n1', 'n\u202e1'])(
    'named %j are refused before a file is written',
    async (name) => {
      const host = machine({ 71: { argv: server(name) } });
      await expect(described(host, [name])).rejects.toMatchObject({
        category: 'unsafe',
        detail: { code: 'MEMBER_NAME' },
      });
      expect(await host.files.list('/etc/c')).toEqual([]);
    },
  );
  it('that never started are refused with their ID and peer URL, before a file is written', async () => {
    const host = machine({ 71: { argv: server('n1') } });
    await expect(described(host, ['n1', ''])).rejects.toMatchObject({
      category: 'unsafe',
      detail: { code: 'MEMBER_NOT_STARTED' },
    });
    expect(await host.files.list('/etc/c')).toEqual([]);
  });
  it('whose names differ only in case get different files', async () => {
    const host = machine({ 71: { argv: server('n1') }, 72: { argv: server('N1') } });
    const { members } = await described(host, ['n1', 'N1']);
    expect(members.map(({ spec }) => [spec.pid_file, spec.log_file])).toEqual([
      ['/etc/c/n1.pid', '/etc/c/n1.log'],
      ['/etc/c/N1-2.pid', '/etc/c/N1-2.log'],
    ]);
  });
  it('members on other machines have only their URLs', async () => {
    const host = machine({});
    const bare = listed('n2', { peer_urls: [], client_urls: [] });
    expect(await describeMembers(host, [listed('n1'), bare], { directory: '/etc/c' })).toEqual({
      driver: 'local',
      members: [
        {
          spec: { name: 'n1', client_url: 'http://n1:2379', peer_url: 'http://n1:2380' },
          left: [],
          isSeen: false,
        },
        { spec: { name: 'n2', client_url: '' }, left: [], isSeen: false },
      ],
    });
  });
});

describe('the driver', () => {
  const unit = (name: string): Process => ({ argv: server(name), unit: `etcd@${name}.service` });
  it('the driver is systemd if all visible processes belong to units', async () => {
    const host = machine({ 71: unit('n1'), 72: unit('n2') });
    const { driver, members } = await described(host, ['n1', 'n2', 'n3']);
    expect([driver, members[0]?.spec]).toEqual([
      'systemd',
      {
        ...{ name: 'n1', client_url: 'http://n1:2379', peer_url: 'http://n1:2380' },
        ...{ unit: 'etcd@n1.service', binary_path: '/usr/bin/etcd', data_dir: '/var/n1' },
      },
    ]);
  });
  it('the driver is local if one process belongs to no unit', async () => {
    const host = machine({ 71: unit('n1'), 72: { argv: server('n2') } });
    expect((await described(host, ['n1', 'n2'])).driver).toBe('local');
  });
  it('a named driver is used, and processes are searched where it may run them', async () => {
    const host = machine({ 71: unit('n1') });
    const named = async (driver: Describing['driver']) => {
      const { driver: made, members } = await described(host, ['n1'], { driver });
      return [made, members[0]?.isSeen, members[0]?.spec.unit];
    };
    expect(await named('local')).toEqual(['local', true, undefined]);
    expect(await named('systemd')).toEqual(['systemd', true, 'etcd@n1.service']);
    expect(await named('docker')).toEqual(['docker', false, undefined]);
  });
  it('a unit with a selected program has no path for another one', async () => {
    const exe = '/usr/bin/etcd.opsctl-3.4';
    const argv = ['etcd', '--config-file', '/etc/n1.yml'];
    const text = 'name: n1\ndata-dir: /var/n1\nadvertise-client-urls: http://n1:2379\n';
    const host = machine({ 71: { argv, exe, unit: 'etcd@n1.service' } }, { '/etc/n1.yml': text });
    const { members } = await described(host, ['n1']);
    expect(members[0]?.spec).not.toHaveProperty('binary_path');
    expect(members[0]?.spec.config_file).toBe('/etc/n1.yml');
    const plain = machine({ 71: { argv: server('n1') } });
    expect((await described(plain, ['n1'], { driver: 'systemd' })).members[0]?.spec).not.toHaveProperty(
      'unit',
    );
  });
});

it('the ctl program is searched next to the servers', async () => {
  const findIn = (host: Parameters<typeof findCtlNextTo>[0], programs: readonly object[]) =>
    findCtlNextTo(host, programs as never);
  const host = fakeHost({ files: { '/opt/b/etcdctl': '', '/opt/c/etcdctl': '' } });
  const of = (...programs: object[]) => findIn(host, programs);
  expect(await of({ old_binary: '/opt/a/etcd' }, { old_binary: '/opt/b/etcd' })).toBe('/opt/b/etcdctl');
  expect(await of({ binary_path: '/opt/c/etcd' })).toBe('/opt/c/etcdctl');
  // From 3.6 on, only etcdutl restores snapshots.
  const both = fakeHost({ files: { '/opt/b/etcdctl': '', '/opt/b/etcdutl': '' } });
  expect(await findIn(both, [{ old_binary: '/opt/b/etcd' }])).toBe('/opt/b/etcdutl');
  expect(await of({ old_binary: '/opt/etcd' }, {})).toBeUndefined();
});

it.each([
  [undefined, 'cluster'],
  ['/etc/shop.yaml', 'shop'],
  ['/etc/shop.yml', 'shop'],
  ['/etc/shop/cluster.yaml', 'shop'],
  ['/cluster.yaml', 'cluster'],
  ['/etc/my shop.yaml', 'cluster'],
])('a cluster of the file %s is called %s', (file, name) => expect(nameFor(file)).toBe(name));
