/** An unread configuration is never a pass, and a change of access is always a failure. */
import { describe, expect, it } from 'vitest';
import type { ClusterFile, HostFacts, MemberSpec, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { clusterFile, seen } from '../../../support/observations.ts';
import { hints, said, second } from './said.ts';
import { naming } from '../../../support/facts.ts';

const facts = (patch: HostFacts) => second({ host: { ...seen('n2').host, ...patch } });
const only = (found: string[]): string[] => found.filter((one) => one.includes(' n2: '));
const cluster = (patch: Partial<ClusterFile>, spec: Partial<MemberSpec> = {}): ClusterFile => {
  const made = clusterFile(3, patch);
  return {
    ...made,
    members: made.members.map((one) => {
      const { new_command: _, old_command: __, ...rest } = one;
      return patch.driver === undefined ? { ...one, ...spec } : { ...rest, ...spec };
    }),
  };
};
const section = { 'client-transport-security': { 'ca-file': '/ca' }, 'enable-grpc-gateway': true };

const times = { changed_at: '2026-01-02T00:00:00.000Z', started_at: '2026-01-01T00:00:00.000Z' };
const changedFile = (path: string) => ({ path, ...times });

describe('access by other users', () => {
  it('an access finding is a failure, whether the plan would rewrite the file or not', () => {
    for (const spec of [{}, { config_file: '/etc/n2.yml' }]) {
      const given = { members: facts({ config: section }), cluster: cluster({}, spec) };
      expect(only(said('configuration-fits', given))).toEqual([
        naming('n2', 'client-transport-security.ca-file', '3.4', 'ignored', 'certificate'),
      ]);
      expect(hints('configuration-fits', given).join()).toContain('client-cert-auth: true');
    }
  });
  it('a member that runs the new version already has no finding', () => {
    const given = { members: facts({ config: { 'client-transport-security': { 'trusted-ca-file': 'x' } } }) };
    expect(only(said('configuration-fits', given, { from: '3.5', to: '3.5' }))).toEqual([]);
    expect(only(said('configuration-fits', given))[0]).toMatch(/^fail n2: .*3\.4 rejects clients without/);
  });
});

describe.each(['systemd', 'docker', 'podman', 'static-pod'] as const)('driver %s', (driver) => {
  const look = (patch: HostFacts) =>
    only(said('configuration-fits', { members: facts(patch), cluster: cluster({ driver }) }));
  it('flags and variables come from the running process', () => {
    expect(
      look({
        command: ['/usr/bin/etcd', '--ca-file=/ca', '--cors=https://c.example:443'],
        environment: { ETCD_PEER_CA_FILE: '/ca' },
      }),
    ).toEqual([
      naming('n2', '--ca-file', '3.4', 'server'),
      naming('n2', 'ETCD_PEER_CA_FILE', '3.4', 'ignored', 'port', 'certificate'),
    ]);
    expect(
      look({ command: ['/usr/bin/etcd', '--name=n2'], environment: { ETCD_CORS: 'https://c:443' } }),
    ).toEqual([]);
    // From 3.4 on, every web page may call a gateway without configured origins.
    expect(look({ command: ['/usr/bin/etcd', '--name=n2'], environment: {} })).toEqual([
      expect.stringMatching(/^warn: n2: cors /),
    ]);
  });
  it('unreadable settings are unknown, with the reason', () => {
    expect(look({ command_error: 'the environment of process 7 cannot be read' })).toEqual([
      'unknown n2: n2: cannot check its flags and variables for 3.4: the environment of process 7 cannot be read',
    ]);
    expect(look({ command: ['/usr/bin/etcd'] })[0]).toMatch(/^unknown n2: /);
  });
});

describe('driver local', () => {
  it('a script without flags is unknown', () => {
    const look = (spec: Partial<MemberSpec>) =>
      only(said('configuration-fits', { members: facts({}), cluster: cluster({}, spec) }));
    expect(look({ new_command: ['/opt/run-new.sh'] })[0]).toMatch(
      /^unknown n2: .*new_command \/opt\/run-new\.sh contains neither/,
    );
    expect(look({ new_command: ['/opt/run-new.sh'], env: { ETCD_NAME: 'n2' } })).toEqual([]);
    expect(look({ new_command: ['/opt/etcd', '--name', 'n2'] })).toEqual([]);
  });
  it('its variables come from the cluster file', () => {
    const given = { members: facts({}), cluster: cluster({}, { env: { ETCD_CA_FILE: '/ca' } }) };
    expect(only(said('configuration-fits', given))).toEqual([
      naming('n2', 'ETCD_CA_FILE', '3.4', 'ignored', 'certificate'),
    ]);
  });
});

describe('a server behind wrappers in new_command', () => {
  const server = ['/opt/etcd', '--name', 'n2', '--debug'];
  const look = (spec: Partial<MemberSpec>, to: '3.4' | '3.5' = '3.4') =>
    only(
      said('configuration-fits', { cluster: cluster({}, spec) }, { from: to === '3.5' ? '3.4' : '3.3', to }),
    ).filter((row) => !row.includes('cors'));
  it.each([
    [['env', 'GOGC=50', ...server]],
    [['nice', '-n', '-5', 'ionice', '-c2', '-n0', ...server]],
    [['taskset', '-c', '0', 'chroot', '--userspec=etcd', '/srv', ...server]],
    [['setpriv', '--reuid', 'etcd', '--init-groups', ...server]],
    [['sudo', '-u', 'etcd', ...server]],
    [['runuser', '-u', 'etcd', '--', ...server]],
    [['su', '-s', '/bin/sh', 'etcd', '-c', `exec ${server.join(' ')} >>/l 2>&1`]],
    [['systemd-run', '--unit', 'etcd', '-p', 'User=etcd', ...server]],
    [['tini', '-g', '--', 'dumb-init', '--', ...server]],
    [['/bin/sh', '-c', `ulimit -n 65536; exec ${server.join(' ')}`]],
    [['docker', 'run', '-d', '--name', 'etcd', '-v', '/d:/d', 'etcd:3.5', ...server]],
  ])('%j: each flag is checked, and no flag of the wrapper', (new_command) => {
    expect(look({ new_command }, '3.5')).toEqual([expect.stringMatching(/^fail n2: n2: --debug/)]);
  });
  it('checks the variables of a wrapper that decide who may connect', () => {
    for (const wrapper of ['env', 'sudo', 'exec env'])
      expect(
        look({ new_command: [...wrapper.split(' '), 'ETCD_CA_FILE=/ca.pem', '/opt/etcd', '--name', 'n2'] }),
      ).toEqual([expect.stringMatching(/^fail n2: n2: ETCD_CA_FILE/)]);
  });
  it('reports parts of the command that are unknown before it runs', () => {
    const unknown = (...new_command: string[]) =>
      look({ new_command }).filter((row) => row.startsWith('unknown'));
    expect(unknown('sh', '-c', 'exec /opt/etcd --name $NAME $(cat /args)')).toEqual([
      expect.stringContaining('variable NAME'),
      expect.stringContaining('output of $(cat /args)'),
    ]);
    expect(unknown('sh', '-c', '. /etc/etcd.env; exec /opt/etcd --name n2')).toEqual([
      expect.stringContaining('/etc/etcd.env'),
    ]);
    expect(unknown('/opt/wrap', '/opt/etcd', '--name', 'n2')).toEqual([expect.stringContaining('wrap')]);
    expect(unknown('docker', 'run', '-e', 'ETCD_NAME', 'img', 'etcd', '--name', 'n2')).toEqual([
      expect.stringContaining('variable ETCD_NAME'),
    ]);
  });
});

describe('a next start that drops a setting about access', () => {
  const tls = ['--client-cert-auth', '--trusted-ca-file=/ca', '--listen-client-urls=https://h:2379'];
  const looked = (
    running: readonly string[],
    next: Partial<MemberSpec>,
    host: HostFacts = {},
    more: Parameters<typeof said>[2] = {},
  ) =>
    only(
      said(
        'configuration-fits',
        {
          members: facts({ command: ['/usr/bin/etcd', '--name=n2', ...running], environment: {}, ...host }),
          cluster: cluster({}, next),
        },
        more,
      ),
    ).filter((one) => one.includes('next start') && !one.includes(' cors '));
  const start = (...flags: string[]): Partial<MemberSpec> => ({
    new_command: ['/opt/etcd', '--name=n2', ...flags],
  });
  const levels = (found: readonly string[]): string[] => found.map((one) => one.split(' ')[0] ?? '');
  const https = '--listen-client-urls=https://h:2379';
  const dropped = [naming('n2: client-cert-auth', 'next')];
  it.each([
    ['the certificates of clients', tls, start(https), dropped],
    ['nothing', tls, start(...tls), []],
    ['the variable form', tls, { ...start(https), env: { ETCD_CLIENT_CERT_AUTH: 'true' } }, []],
    ['the switch that is off', tls, start('--client-cert-auth=false', ...tls.slice(2)), dropped],
    ['plain listeners have no certificates', ['--client-cert-auth'], start(), []],
    [
      'the certificates of peers',
      ['--peer-client-cert-auth', '--listen-peer-urls=https://h:2380'],
      start('--listen-peer-urls=https://h:2380'),
      [naming('n2: peer-client-cert-auth', 'next')],
    ],
    [
      'listeners without TLS',
      ['--client-cert-auth', '--listen-client-urls=http://h:1'],
      start('--listen-client-urls=http://h:1'),
      [],
    ],
    [
      'a generated certificate, with which the server ignores the switch',
      tls,
      start('--auto-tls', ...tls),
      [naming('n2: auto-tls', 'cert-file', 'client-cert-auth')],
    ],
    ['auto-tls beside an own certificate', tls, start('--auto-tls', '--key-file=/k', ...tls), []],
    ['a generated certificate of the process', ['--auto-tls', ...tls], start(https), []],
    ['any host', ['--host-whitelist=*'], start(), []],
    ['hosts', ['--host-whitelist=a'], start(), [naming('n2', 'host-whitelist')]],
    ['simple tokens', ['--auth-token=simple'], start(), []],
    ['signed tokens', ['--auth-token=jwt,x=y'], start(), [naming('n2: auth-token', 'simple')]],
    ['the names of peers', ['--peer-cert-allowed-cn=a'], start(), [naming('n2', 'peer-cert-allowed-cn')]],
    ['the default command', tls, { new_command: ['etcd', '--name=n2', https] }, dropped],
  ] as const)('%s', (_, running, next, found) => {
    expect(looked(running, next, {}, { from: '3.4', to: '3.5' })).toEqual(found);
  });
  it('the variables of the process reach its successor', () => {
    const host = { environment: { ETCD_CLIENT_CERT_AUTH: 'true' } };
    expect(looked([https], start(https), host)).toEqual([]);
    const emptied = { new_command: ['env', '-i', '/opt/etcd', '--name=n2', https] };
    expect(looked([https], emptied, host)).toEqual(dropped);
  });
  it('a unit starts with the settings of its process, and a finished member does not start again', () => {
    const running = facts({ command: ['/usr/bin/etcd', ...tls], environment: {} });
    const unit = { members: running, cluster: cluster({ driver: 'systemd' }) };
    expect(only(said('configuration-fits', unit)).join()).not.toContain('client-cert-auth is not');
    const done = second({
      server_version: '3.4.23',
      host: { ...seen('n2').host, command: ['/usr/bin/etcd', ...tls], environment: {} },
    });
    const finished = { members: done, cluster: cluster({}, start()) };
    expect(only(said('configuration-fits', finished)).join()).not.toContain('next start');
    const restarted = said('configuration-fits', finished, { from: '3.4', to: '3.4', kind: 'restart' });
    expect(only(restarted).join()).toContain('client-cert-auth is not');
  });
  it.each([
    [['/opt/start-3.5.sh']],
    [['sh', '/opt/start-3.5.sh']],
    [['/opt/start-3.5.sh', '--name', 'n2']],
    [['/opt/start-3.5.sh', '--client-cert-auth=$AUTH', https]],
  ])('a script may add the setting to its arguments, so %j is unknown', (new_command) => {
    const found = looked(tls, { new_command }, { environment: { ETCD_NAME: 'n2' } });
    expect(levels(found)).toEqual(['unknown']);
    expect(found).toEqual([naming('n2', 'client-cert-auth')]);
  });
  it('the settings in the arguments of a script are known', () => {
    const script = (...flags: string[]) => ({ new_command: ['/opt/start-3.5.sh', ...flags] });
    expect(looked(tls, script(...tls))).toEqual([]);
    expect(levels(looked(['--host-whitelist=a'], script('--host-whitelist=*')))).toEqual(['fail']);
    // The binary of the cluster file is a server with any name.
    const renamed = { new_binary: '/opt/database', new_command: ['/opt/database', '--name=n2', https] };
    expect(looked(tls, renamed)).toEqual(dropped);
  });
  it('the image of a container may contain a variable of the process', () => {
    const run = { new_command: ['docker', 'run', '-d', 'img', 'etcd', '--name=n2', https] };
    const host = { environment: { ETCD_CLIENT_CERT_AUTH: 'true' } };
    expect(levels(looked([https], run, host))).toEqual(['unknown']);
    expect(looked(tls, run)).toEqual(dropped);
  });
  const auth = ['--client-cert-auth', '--trusted-ca-file=/ca'];
  const listening = (urls: string, key = 'client'): string => `--listen-${key}-urls=${urls}`;
  it.each([
    ['http://10.0.0.1:2379', ['http://10.0.0.1:2379']],
    ['https://10.0.0.1:2379,http://10.0.0.2:2379', ['http://10.0.0.2:2379']],
    ['https://10.0.0.1:2379,http://127.0.0.1:9999', []],
    ['https://10.0.0.1:2379', []],
  ])('a next start that listens at %s names its addresses without TLS', (urls, opened) => {
    const running = [...auth, listening('https://10.0.0.1:2379,http://127.0.0.1:2379')];
    const found = looked(running, start(...auth, listening(urls)));
    expect(found).toEqual(opened.map((url) => naming('n2: listen-client-urls', url)));
  });
  it('a listener that the next start does not have opens nothing', () => {
    const plain = listening('http://h:2379');
    const metrics = listening('https://h:2381', 'metrics');
    expect(looked([...auth, plain, metrics], start(...auth, plain))).toEqual([]);
    expect(looked([...auth, plain, metrics], start(plain))).toEqual([]);
    expect(looked([...auth, plain, metrics], start(plain, metrics))).toEqual(dropped);
    const opened = looked(
      [...auth, plain, metrics],
      start(...auth, plain, '--listen-metrics-urls=http://h:1'),
    );
    expect(opened).toEqual([naming('n2: listen-metrics-urls')]);
  });
  it('a CA that only the next version applies rejects the same clients', () =>
    expect(looked(tls, start('--trusted-ca-file=/ca', https))).toEqual([]));
  const withAuth = {
    'client-transport-security': { 'client-cert-auth': true },
    'listen-client-urls': 'https://h:1',
  };
  const without = { 'listen-client-urls': 'https://h:1' };
  it.each(['/etc/etcd.yml', 'etcd.yml'])('a running file %s that was not read is unknown', (path) => {
    const running = [`--config-file=${path}`];
    expect(looked(running, start(https))).toEqual([naming('n2', path)]);
    expect(levels(looked(running, start(https)))).toEqual(['unknown']);
    expect(looked(running, start(https), { running_config: withAuth })).toEqual([
      ...dropped,
      naming('n2', path, 'client-cert-auth'),
    ]);
    expect(looked(running, start(https), { running_config: without })).toEqual([]);
    const stopped = { is_running: false };
    expect(looked(running, start(https), stopped)).toEqual([]);
  });
  it('a next file that was not read is unknown if the process has a limit', () => {
    const next = { new_command: ['sh', '-c', 'exec /opt/etcd --config-file=/etc/new.yml'] };
    expect(levels(looked(tls, next))).toEqual(['unknown']);
    expect(looked([https], next)).toEqual([]);
  });
  it('a service reads the same file at any path', () => {
    for (const driver of ['docker', 'podman', 'systemd'] as const) {
      const members = facts({
        ...{ command: ['/usr/bin/etcd', '--config-file=/etc/etcd.yml'], environment: {}, config: without },
      });
      const given = { members, cluster: cluster({ driver }, { config_file: '/srv/etcd/n2.yml' }) };
      expect(only(said('configuration-fits', given)).join()).not.toContain('next start');
    }
  });
  it.each(['docker', 'podman', 'systemd', 'static-pod'] as const)(
    'the file of a %s service decides about quota, v2 interface and defaults, at any path',
    (driver) => {
      const gibibyte = 1024 ** 3;
      const config = { 'quota-backend-bytes': 8 * gibibyte, 'enable-v2': true };
      const given = (content: HostFacts) => ({
        members: second({
          ...{ db_size_bytes: 3 * gibibyte, quota_bytes: 8 * gibibyte },
          clients: { v2_requests: 2, v2_watchers: 0, versions: {} },
          host: {
            ...seen('n2').host,
            ...{ command: ['/usr/bin/etcd', '--config-file=/etc/etcd.yml'], environment: {} },
            ...content,
          },
        }),
        cluster: cluster({ driver }, { config_file: '/srv/etcd/n2.yml' }),
      });
      expect(only(said('quota', given({ config })))).toEqual([]);
      expect(levels(only(said('client-interfaces', given({ config }))))).toEqual(['warn']);
      const cors = (content: HostFacts) =>
        said('configuration-fits', given(content)).filter((row) => row.includes(' cors '));
      expect(levels(cors({ config }))).toEqual(['warn:']);
      expect(cors({ config: { ...config, cors: 'https://c.example:443' } })).toEqual([]);
      // A file that was not read may contain the setting.
      expect(levels(cors({}))).toEqual(['unknown']);
      expect(only(said('quota', given({})))).toHaveLength(1);
    },
  );
  it('a relative path belongs to the working directory of the process', () => {
    const host = { working_directory: '/etc', config: without };
    expect(looked(['--config-file=etcd.yml'], start('--config-file=/etc/etcd.yml'), host)).toEqual([]);
  });
  it('two different files are unknown', () => {
    const from = (path: string) =>
      looked([`--config-file=${path}`], start('--config-file=/new.yml'), { config: {} });
    expect(from('/new.yml')).toEqual([]);
    expect(from('/old.yml')[0]).toEqual(naming('n2', '/old.yml', '/new.yml'));
    expect(levels(from('/old.yml'))).toEqual(['unknown']);
  });
  const changedConfig = { ...changedFile('/etc/n2.yml'), is_config: true } as const;
  const fromChanged = (
    config: NonNullable<HostFacts['config']>,
    patch: Partial<MemberStatus>,
    driver: 'systemd' | undefined = 'systemd',
  ): string[] => {
    const host = {
      ...{ ...seen('n2').host, command: ['/usr/bin/etcd', '--config-file=/etc/n2.yml'], environment: {} },
      ...{ config, changed_files: [changedConfig], ...patch.host },
    };
    const spec = { new_command: ['/opt/etcd', '--config-file=/etc/n2.yml'] };
    const given = driver === undefined ? cluster({}, spec) : cluster({ driver });
    const members = second({ server_version: '3.4.23', ...patch, host });
    const found = said('configuration-fits', { members, cluster: given }, { from: '3.4', to: '3.5' });
    return only(found).filter((one) => !one.includes('cors') && !one.includes('would not start'));
  };
  it.each(['systemd', undefined] as const)(
    'a file that changed after the process read it is compared with the member (driver %s)',
    (driver) => {
      const look = (config: NonNullable<HostFacts['config']>, patch: Partial<MemberStatus>) =>
        fromChanged(config, patch, driver);
      const https = { 'listen-client-urls': 'https://h:1,http://127.0.0.1:1' };
      const rejects = { client_url: 'https://h:1', access: { certificate: 'rejected' } } as const;
      expect(look(https, rejects)).toEqual([naming('fail n2', 'client-cert-auth', '/etc/n2.yml')]);
      const kept = { ...https, 'client-transport-security': { 'client-cert-auth': true } };
      expect(look(kept, rejects)).toEqual([]);
      expect(look({}, { access: { 'host-name': 'rejected' } })).toEqual([
        naming('fail n2', 'host-whitelist'),
      ]);
      // A file that has only another time, on a member that accepts everybody.
      expect(look({ 'data-dir': '/data/n2' }, { access: { 'host-name': 'accepted' } })).toEqual([]);
      expect(look(https, { client_url: 'https://h:1', access: {} })).toEqual([
        naming('unknown n2', 'client-cert-auth', times.changed_at, times.started_at),
      ]);
      expect(look(kept, {})).toEqual([naming('unknown n2', '/etc/n2.yml', times.changed_at)]);
    },
  );
  it('a next start in another directory is a failure', () => {
    const access = { 'host-name': 'accepted' } as const;
    const look = (config: NonNullable<HostFacts['config']>, host: HostFacts = {}) =>
      fromChanged(config, { access, host });
    const open = { open_data_dir: '/data/n2', open_wal_dir: '/data/n2/member/wal' };
    expect(look({ 'data-dir': '/data/other' }, open)).toEqual([
      naming('fail n2', 'data-dir', '/data/other', '/data/n2'),
    ]);
    expect(look({ 'data-dir': '/data/other' })).toEqual([naming('unknown n2', 'data-dir', '/data/other')]);
    expect(look({ 'data-dir': '/data/n2/' }, open)).toEqual([]);
    expect(look({ 'data-dir': '/data/n2/' })).toEqual([]);
    expect(look({ 'data-dir': '/mnt/n2' }, { open_data_dir: '/mnt/n2' })).toEqual([]);
    // The file lost the setting, so the default of the server counts.
    expect(look({}, open)).toEqual([naming('fail n2', 'data-dir', '/data/n2')]);
    const kept = { 'data-dir': '/data/n2' };
    expect(look({ ...kept, 'wal-dir': '/wal' }, open)).toEqual([
      naming('fail n2', 'wal-dir', '/wal', '/data/n2/member/wal'),
    ]);
    expect(look({ ...kept, 'wal-dir': '/data/n2/member/wal' }, open)).toEqual([]);
    const moved = looked(['--data-dir=/data/n2'], start('--data-dir=/data/other'));
    expect(moved).toEqual([naming('fail n2', 'data-dir', '/data/other')]);
  });
  it('a unit that changed after its process started has an unknown next start', () => {
    const members = facts({
      ...{
        command: ['/usr/bin/etcd', '--name=n2'],
        environment: {},
        changed_files: [changedFile('/etc/etcd.env')],
      },
    });
    const unit = { members, cluster: cluster({ driver: 'systemd' }) };
    expect(only(said('configuration-fits', unit))).toContainEqual(naming('unknown n2', '/etc/etcd.env'));
    const restarted = only(said('configuration-fits', unit, { kind: 'restart' }));
    expect(restarted.join()).not.toContain('/etc/etcd.env');
  });
  const inFile = ['--config-file=/etc/n2.yml'];
  const content = { 'data-dir': '/data/n2', 'client-transport-security': { 'cert-file': '/c' } };
  it('a file of the cluster file that the next start does not name counts as not read', () => {
    const host = { config: withAuth };
    expect(looked(tls, { ...start(https), config_file: '/etc/n2.yml' }, host)).toEqual([
      ...dropped,
      naming('n2', 'config_file', '/etc/n2.yml'),
    ]);
    const named = { ...start(...inFile), config_file: '/etc/n2.yml' };
    expect(looked(tls, named, host)).toEqual([]);
    const other = { ...start('--config-file=/etc/other.yml'), config_file: '/etc/n2.yml' };
    expect(levels(looked(tls, other, host))).toEqual(['unknown']);
  });
  it('a script reads the file of the running process, and otherwise an unknown one', () => {
    const script = { new_command: ['/opt/start.sh'], config_file: '/etc/n2.yml' };
    expect(looked(inFile, script, { config: withAuth })).toEqual([]);
    expect(levels(looked(tls, script, { config: withAuth }))).toEqual(['unknown']);
  });
  it('a next start without the file of the process must contain its settings', () => {
    const host = { config: content, running_config: content };
    expect(looked(inFile, { ...start(), config_file: '/etc/n2.yml' }, host)).toEqual([
      naming('fail n2', '/etc/n2.yml', 'data-dir', 'cert-file'),
    ]);
    expect(looked(inFile, start('--data-dir=/data/n2', '--cert-file=/c'), host)).toEqual([]);
    expect(looked(inFile, start(...inFile), host)).toEqual([]);
  });
  const moved = (config: Record<string, unknown>, flags: readonly string[] = [], to: '3.5' | '3.6' = '3.5') =>
    looked(inFile, start(...flags), { config, running_config: config }, { from: '3.4', to });
  it('empty values, defaults, bootstrap settings and removed settings of a file are not lost', () => {
    const empty = { 'cert-file': null, 'key-file': '', 'client-cert-auth': false, 'auto-tls': false };
    const sections = { 'client-transport-security': empty, 'peer-transport-security': empty };
    const first = { 'initial-cluster': 'n2=x', 'initial-cluster-state': 'new', 'initial-cluster-token': 't' };
    const defaults = { 'force-new-cluster': false, debug: false, 'quota-backend-bytes': 0, cors: null };
    const listeners = { 'listen-client-urls': 'http://localhost:2379', 'wal-dir': '' };
    expect(moved({ ...sections, ...first, ...defaults, ...listeners, name: 'n2' })).toEqual([]);
    expect(moved({ proxy: 'off', 'enable-v2': false, debug: true })).toEqual([]);
    expect(moved({ proxy: 'on', 'enable-v2': true }, [], '3.6')).toEqual([]);
  });
  it('a setting that has another name in the next start is not lost', () => {
    const san = { 'skip-client-san-verification': true };
    for (const [config, flag] of [
      [{ 'experimental-compaction-batch-limit': 9 }, '--compaction-batch-limit=9'],
      [{ 'experimental-initial-corrupt-check': true }, '--feature-gates=InitialCorruptCheck=true'],
      [{ 'log-output': ['/l'] }, '--log-outputs=/l'],
      [{ 'peer-transport-security': san }, '--experimental-peer-skip-client-san-verification'],
    ] as const) {
      expect(moved(config, [flag], '3.6')).toEqual([]);
      expect(levels(moved(config, [], '3.6'))).toEqual(['warn']);
    }
  });
  it.each<[Record<string, unknown>, string, string]>([
    [{ 'data-dir': '/d' }, 'data-dir', 'fail'],
    [{ 'WAL-Dir': '/w' }, 'wal-dir', 'fail'],
    [{ 'quota-backend-bytes': 8 * 1024 ** 3 }, 'quota-backend-bytes', 'fail'],
    [{ 'listen-metrics-urls': 'http://h:1' }, 'listen-metrics-urls', 'fail'],
    [{ 'peer-transport-security': { 'allowed-cn': ['a'] } }, 'peer-cert-allowed-cn', 'fail'],
    [{ 'client-transport-security': { 'auto-tls': true } }, 'auto-tls', 'fail'],
    [{ 'snapshot-count': 5000 }, 'snapshot-count', 'warn'],
    [{ 'strict-reconfig-check': false }, 'strict-reconfig-check', 'warn'],
  ])('a start without the file that loses %j', (config, flag, level) =>
    expect(moved(config).at(-1)).toEqual(naming(`${level} n2`, '/etc/n2.yml', flag)),
  );
  it('a running process that names no file does not read the file of the cluster file', () =>
    expect(
      looked(tls, { ...start(https, ...inFile), config_file: '/etc/n2.yml' }, { config: without }),
    ).toEqual(dropped));
});
