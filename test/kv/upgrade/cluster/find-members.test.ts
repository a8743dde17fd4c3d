import { describe, expect, it, vi } from 'vitest';
import type { Minor } from '../../../../src/api-specs/etcd/versions.ts';
import { findProcess } from '../../../../src/kv/upgrade/cluster/draft.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { covers } from '../../../support/covers.ts';

const listed = {
  id: '1',
  name: 'n1',
  peer_urls: ['http://10.0.0.1:2380'],
  client_urls: ['http://10.0.0.1:2379'],
  is_learner: false,
};
const words = (...all: string[]): string => `${all.join('\0')}\0`;
const cwd = '/srv/n1';

/** A machine with process 71, which this command line started in /srv/n1. */
const found = (
  argv: string[],
  files: Record<string, string> = {},
  links: Record<string, string> = {},
  minor: Minor = '3.4',
  request = async (): Promise<Minor | undefined> => minor,
) => {
  const host = fakeHost({
    files: { '/proc/1/cmdline': words('/sbin/init'), '/proc/71/cmdline': words(...argv), ...files },
  });
  const known: Record<string, string> = { '/proc/71/cwd': cwd, '/proc/71/exe': '/usr/bin/etcd', ...links };
  return findProcess(
    { ...host, files: { ...host.files, realPath: async (path: string) => known[path] } },
    listed,
    request,
  );
};

describe('the process of a member is found by its client URL', () => {
  it('a process is found by its flags, whose paths become absolute', async () => {
    expect(
      await found([
        'etcd',
        '--name=n1',
        '--data-dir',
        'data',
        '--advertise-client-urls',
        'http://10.0.0.1:2379',
        '--key-file=k.pem',
      ]),
    ).toMatchObject({
      binary: '/usr/bin/etcd',
      data_dir: '/srv/n1/data',
      flags: [
        '--name=n1',
        '--data-dir',
        '/srv/n1/data',
        '--advertise-client-urls',
        'http://10.0.0.1:2379',
        '--key-file=/srv/n1/k.pem',
      ],
      env: {},
    });
  });
  it('a process is found by its configuration file', async () => {
    const text =
      'name: n1\ndata-dir: /var/n1\nadvertise-client-urls: http://127.0.0.1:2379, http://10.0.0.1:2379\n';
    expect(await found(['etcd', '--config-file', 'etcd.yml'], { '/srv/n1/etcd.yml': text })).toMatchObject({
      config_file: '/srv/n1/etcd.yml',
      data_dir: '/var/n1',
      flags: ['--config-file', '/srv/n1/etcd.yml'],
      relative: [],
    });
  });
  it(
    'a process is found by its environment, of which only server settings are kept, with absolute paths',
    covers('defect/U-9'),
    async () => {
      const environ = words(
        'PATH=/bin',
        'ETCD_NAME=n1',
        'ETCD_DATA_DIR=n1',
        'ETCD_ROOT_PASSWORD=s3cret',
        'ETCD_ON_K8S=yes',
        'ETCD_LISTEN_CLIENT_URLS=http://10.0.0.1:2379',
      );
      expect(await found(['/usr/bin/etcd'], { '/proc/71/environ': environ })).toMatchObject({
        data_dir: '/srv/n1/n1',
        env: {
          ETCD_NAME: 'n1',
          ETCD_DATA_DIR: '/srv/n1/n1',
          ETCD_LISTEN_CLIENT_URLS: 'http://10.0.0.1:2379',
        },
      });
    },
  );
});

it('a default data directory is relative to the start directory, and explicit from now on', async () => {
  const process = await found(['etcd', '--name', 'n1', '--listen-client-urls', 'http://10.0.0.1:2379']);
  expect(process?.data_dir).toBe('/srv/n1/n1.etcd');
  expect(process?.flags.slice(-2)).toEqual(['--data-dir', '/srv/n1/n1.etcd']);
});
it('a relative directory in the configuration file is reported, because the next start may use another base', async () => {
  const text = 'name: n1\ndata-dir: data\nlisten-client-urls: http://10.0.0.1:2379\n';
  expect(await found(['etcd', '--config-file=/etc/n1.yml'], { '/etc/n1.yml': text })).toMatchObject({
    data_dir: '/srv/n1/data',
    relative: ['data-dir'],
  });
});
it('a log and a pid file that name the member are kept', async () => {
  const argv = [
    'etcd',
    '--name',
    'n1',
    '--data-dir',
    '/var/n1',
    '--listen-client-urls',
    'http://10.0.0.1:2379',
  ];
  const files = { '/var/log/n1.log': 'started', '/var/log/other.pid': '72\n', '/srv/n1/server.pid': '71\n' };
  expect(await found(argv, files, { '/proc/71/fd/2': '/var/log/n1.log' })).toMatchObject({
    log_file: '/var/log/n1.log',
    pid_file: '/srv/n1/server.pid',
  });
});
it.each<[string, string[], Record<string, string>]>([
  [
    'another member on the same address',
    ['etcd', '--name', 'n2', '--listen-client-urls', 'http://10.0.0.1:2379'],
    {},
  ],
  ['another address', ['etcd', '--name', 'n1', '--listen-client-urls', 'http://10.0.0.2:2379'], {}],
  [
    'the shell of somebody who exported the settings',
    ['bash'],
    { '/proc/71/environ': words('ETCD_LISTEN_CLIENT_URLS=http://10.0.0.1:2379') },
  ],
])('%s is not it', async (_, argv, files) => {
  expect(await found(argv, files)).toBeUndefined();
});

it('3.3 does not read the file of ETCD_CONFIG_FILE, but its flags and variables', async () => {
  const [url, file] = ['http://10.0.0.1:2379', '/srv/other.yml'];
  const environ = words(`ETCD_CONFIG_FILE=${file}`, 'ETCD_DATA_DIR=/var/real');
  const text = `name: n1\ndata-dir: /var/other\nadvertise-client-urls: ${url}\n`;
  const files = { '/proc/71/environ': environ, [file]: text };
  const at = (minor: Minor) => found(['etcd', '--advertise-client-urls', url], files, {}, minor);
  expect(await at('3.3')).toMatchObject({ data_dir: '/var/real' });
  expect(await at('3.3')).not.toHaveProperty('config_file');
  expect(await at('3.4')).toMatchObject({ data_dir: '/var/other', config_file: file });
  // The client URL of an unread file identifies no process.
  expect(await found(['etcd'], files, {}, '3.3')).toBeUndefined();
  expect(await found(['etcd'], files, {}, '3.4')).toBeDefined();
});

it('the version is requested at most once, and only if a variable names a file', async () => {
  const [url, file] = ['http://10.0.0.1:2379', '/srv/n1.yml'];
  const text = `name: n1\nadvertise-client-urls: ${url}\n`;
  const request = vi.fn(async () => '3.4' as const);
  const flags = ['etcd', '--advertise-client-urls', url];
  for (const environ of ['ETCD_DATA_DIR=/var/n1', 'ETCD_CONFIG_FILE='])
    expect(await found(flags, { '/proc/71/environ': words(environ) }, {}, '3.4', request)).toBeDefined();
  expect(request).not.toHaveBeenCalled();
  const other = {
    '/proc/70/cmdline': words('etcd'),
    '/proc/70/environ': words('ETCD_CONFIG_FILE=/srv/n0.yml'),
  };
  const files = { ...other, '/proc/71/environ': words(`ETCD_CONFIG_FILE=${file}`), [file]: text };
  expect(await found(['etcd'], files, {}, '3.4', request)).toMatchObject({ config_file: file });
  expect(request).toHaveBeenCalledTimes(1);
});

describe('the unit of a member', () => {
  const group = (text: string) => ({ '/proc/71/cgroup': text });
  const argv = ['etcd', '--name', 'n1', '--advertise-client-urls', 'http://10.0.0.1:2379'];
  const unitOf = async (cgroup: Record<string, string>, mainPid: string): Promise<string | undefined> => {
    const host = fakeHost({
      files: { '/proc/71/cmdline': words(...argv), ...cgroup },
      run: ({ args }) => ({ stdout: args.at(-1) === 'etcd@n1.service' ? `${mainPid}\n` : '' }),
    });
    const known: Record<string, string> = { '/proc/71/cwd': cwd };
    return (
      await findProcess(
        { ...host, files: { ...host.files, realPath: async (path: string) => known[path] } },
        listed,
        async () => '3.4',
      )
    )?.unit;
  };
  it.each([
    ['in the one hierarchy', '0::/system.slice/system-etcd.slice/etcd@n1.service\n'],
    ['in those of before', '12:cpu:/system.slice\n1:name=systemd:/system.slice/etcd@n1.service\n'],
  ])('the unit of a member comes from its control group, %s', async (_, cgroup) =>
    expect(await unitOf(group(cgroup), '71')).toBe('etcd@n1.service'),
  );
  it('the unit is not the service of the shell or job that started the member', async () => {
    expect(await unitOf(group('0::/system.slice/etcd@n1.service\n'), '70')).toBeUndefined();
  });
  it.each([['0::/user.slice/user-0.slice/session-1.scope\n'], ['0::/\n'], ['']])(
    'unit not found: for %j',
    async (cgroup) => {
      expect(await unitOf(group(cgroup), '71')).toBeUndefined();
    },
  );
});
