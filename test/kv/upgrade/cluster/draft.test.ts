import { describe, expect, it } from 'vitest';
import {
  findCtlNextTo,
  describeMembers,
  draftCluster,
  draftText,
  nameFor,
} from '../../../../src/kv/upgrade/cluster/draft.ts';
import { fakeHost } from '../../../support/fake-host.ts';

const listed = (n: number) => ({
  ...{ id: String(n), name: `n${n}`, is_learner: false },
  ...{ peer_urls: [`http://10.0.0.${n}:2380`], client_urls: [`http://10.0.0.${n}:2379`] },
});
const words = (...all: string[]): string => `${all.join('\0')}\0`;
/** A machine that runs n1 as process 71. `unit` is set if a service manager started it. */
const machine = (unit?: string, config?: string) => {
  const exe = '/usr/bin/etcd';
  const flags = ['--name=n1', '--data-dir=/var/n1', '--advertise-client-urls=http://10.0.0.1:2379'];
  const host = fakeHost({
    files: {
      '/proc/71/cmdline': words('etcd', ...(config === undefined ? flags : ['--config-file=/etc/n1.yaml'])),
      ...(config === undefined ? {} : { '/etc/n1.yaml': config }),
      ...(unit === undefined ? {} : { '/proc/71/cgroup': `0::/system.slice/${unit}\n` }),
      '/usr/bin/etcdctl': 'ctl',
    },
    run: ({ args }) => ({ stdout: args.join(' ').includes('MainPID') ? '71\n' : '' }),
  });
  const known: Record<string, string> = { '/proc/71/cwd': '/srv', '/proc/71/exe': exe };
  return { ...host, files: { ...host.files, realPath: async (path: string) => known[path] } };
};

describe('members that are found', () => {
  it('members on this machine are described with all flags, others only with URLs', async () => {
    const host = machine();
    const { driver, members } = await describeMembers(host, [listed(1), listed(2)], {
      ...{ directory: '/place', newBinary: 'new/etcd', oldBinary: undefined },
    });
    expect(driver).toBe('local');
    expect(members[0]).toMatchObject({
      isSeen: true,
      left: [],
      spec: {
        ...{ name: 'n1', client_url: 'http://10.0.0.1:2379', peer_url: 'http://10.0.0.1:2380' },
        ...{ old_binary: '/usr/bin/etcd', new_binary: '/place/new/etcd', data_dir: '/var/n1' },
        ...{ pid_file: '/place/n1.pid', log_file: '/place/n1.log' },
      },
    });
    expect(members[0]?.spec.old_command).toEqual(members[0]?.spec.new_command);
    expect(members[0]?.spec).not.toHaveProperty('env');
    expect(await host.files.read('/place/n1.pid')).toBe('71\n');
    expect(members[1]).toEqual({
      ...{ isSeen: false, left: [] },
      spec: {
        ...{ name: 'n2', client_url: 'http://10.0.0.2:2379', peer_url: 'http://10.0.0.2:2380' },
        new_binary: '/place/new/etcd',
      },
    });
  });

  it('members of units are described with the configuration that they read', async () => {
    const config = 'name: n1\ndata-dir: /var/n1\nadvertise-client-urls: http://10.0.0.1:2379\n';
    const { driver, members } = await describeMembers(machine('etcd.service', config), [listed(1)], {
      directory: '/place',
    });
    expect(driver).toBe('systemd');
    expect(members[0]?.spec).toMatchObject({
      ...{ unit: 'etcd.service', data_dir: '/var/n1', config_file: '/etc/n1.yaml' },
    });
  });

  it('members on other machines are not searched here', async () => {
    const { driver, members } = await describeMembers(machine(), [listed(1)], {
      ...{ directory: '/place', driver: 'ssh' as const, oldBinary: 'old/etcd' },
    });
    expect([driver, members[0]?.isSeen]).toEqual(['ssh', false]);
    expect(members[0]?.spec.old_binary).toBe('/place/old/etcd');
  });

  it('members without URLs are still named', async () => {
    const none = { ...listed(1), peer_urls: [], client_urls: [] };
    const { members } = await describeMembers(fakeHost(), [none], { directory: '/place' });
    expect(members[0]?.spec).toEqual({ name: 'n1', client_url: '' });
  });
});

it('the ctl program is next to a server', async () => {
  const host = fakeHost({ files: { '/opt/a/etcdctl': '', '/opt/b/etcdctl/x': '' } });
  const spec = (patch: object) => ({ name: 'n', client_url: '', ...patch });
  expect(await findCtlNextTo(host, [spec({}), spec({ old_binary: '/opt/a/etcd' })])).toBe('/opt/a/etcdctl');
  expect(await findCtlNextTo(host, [spec({ binary_path: '/opt/a/etcd' })])).toBe('/opt/a/etcdctl');
  expect(await findCtlNextTo(host, [spec({ old_binary: '/opt/b/etcd' })])).toBeUndefined();
  expect(await findCtlNextTo(host, [])).toBeUndefined();
});

it.each([
  [undefined, 'cluster'],
  ['/etc/shop.yaml', 'shop'],
  ['/etc/shop.yml', 'shop'],
  ['/etc/shop/cluster.yaml', 'shop'],
  ['/etc/a b.yaml', 'cluster'],
  ['/cluster.yaml', 'cluster'],
])('the name of a cluster whose file is %s is %s', (file, name) => {
  expect(nameFor(file)).toBe(name);
});

it('a draft lists its members in order, the values to fill in, and its schema', async () => {
  const host = machine();
  const given = { directory: '/place', file: '/etc/shop/cluster.yaml', name: undefined };
  const draft = await draftCluster(host, [listed(10), listed(2), listed(1)], {}, given);
  expect(draft.members).toEqual(['n1', 'n2', 'n10']);
  expect(draft.unseen).toEqual(['n2', 'n10']);
  expect(draft.left.length).toBeGreaterThan(0);
  expect(draft.content).toMatchObject({ name: 'shop', driver: 'local', ctl_binary: '/usr/bin/etcdctl' });
  expect((await draftCluster(host, [], {}, { ...given, name: 'own' })).content).toMatchObject({
    name: 'own',
  });
  const text = await draftText(host, '/cache', draft);
  expect(text.split('\n')[0]).toBe('# yaml-language-server: $schema=/cache/cluster.schema.json');
  expect(text).toContain('name: shop\n');
  expect(host.files.readNow('/cache/cluster.schema.json')).toMatch(/^\{\n {2}"/);
});

it('the schema of a cluster file is in a private directory', async () => {
  const host = fakeHost();
  const text = await draftText(host, '/home/user/cache/kv', { content: { name: 'c' }, unseen: [] } as never);
  expect(text).toContain('$schema=/home/user/cache/kv/cluster.schema.json');
  expect((await host.files.info('/home/user/cache/kv'))?.mode).toBe(0o700);
});
