import {
  inMemory,
  snapshotContent,
  snapshotHistory,
  snapshotKeys,
} from '../../../../src/kv/client/snapshot-content.ts';
import { describe, expect, it } from 'vitest';
import { hashAt, snapshotFile, trailer } from '../../../../src/etcd-sim/disk/db-file.ts';
import type { Command } from '../../../../src/etcd-sim/state/command.ts';
import { Machine } from '../../../../src/etcd-sim/state/machine.ts';
import { canBeReal } from '../../../../src/kv/upgrade/rehearse/rehearse.ts';
import {
  privateConfig,
  privateCopy,
  withoutOwnFlags,
} from '../../../../src/kv/upgrade/rehearse/private-copy.ts';
import { naming } from '../../../support/facts.ts';
import type { ClusterFile } from '../../../../src/kv/engine/model.ts';

const b64 = (text: string): string => Buffer.from(text).toString('base64');
const fileOf = (machine: Machine): Buffer => {
  const file = snapshotFile(machine);
  return Buffer.concat([file, trailer(file)]);
};

describe('keys of a snapshot', () => {
  it('keys of a snapshot are the existing ones, with their newest value', () => {
    const machine = new Machine(1e9);
    const puts = [
      ['a', '1'],
      ['b', '2'],
      ['a', '3'],
      ['c', '4'],
      ['\u00ff\u0000', 'bytes'],
    ] as const;
    for (const [i, [key, value]] of puts.entries())
      machine.apply(i + 1, `${i}`, { op: 'put', key, value: b64(value) });
    machine.apply(10, 'x', { op: 'delete', key: 'c' });
    expect(snapshotKeys(inMemory(fileOf(machine)))).toEqual({
      revision: 7,
      keys: [
        { key: 'a', value: b64('3'), create: 2, mod: 4, version: 2 },
        { key: 'b', value: b64('2'), create: 3, mod: 3, version: 1 },
        { key: '\u00ff\u0000', value: b64('bytes'), create: 6, mod: 6, version: 1 },
      ],
    });
  });
  it.each([0, 1, 60, 3000])('a file of %i keys is read whole, through every depth of its tree', (count) => {
    const machine = new Machine(1e9);
    for (let i = 0; i < count; i += 1)
      machine.apply(i + 1, `${i}`, { op: 'put', key: `key/${i}`, value: b64('v'.repeat(i % 700)) });
    const file = fileOf(machine);
    expect(file.length % 512).toBe(32);
    const found = snapshotKeys(inMemory(file));
    expect(found.keys.map(({ key }) => key)).toEqual(Array.from({ length: count }, (_, i) => `key/${i}`));
    expect(snapshotContent(inMemory(file)).revision).toBe(count + 1);
  });
  it('takes values larger than many pages', () => {
    const machine = new Machine(1e9);
    machine.apply(1, 'a', { op: 'put', key: 'big', value: Buffer.alloc(1_500_000, 7).toString('base64') });
    expect(
      Buffer.from(snapshotKeys(inMemory(fileOf(machine))).keys[0]?.value ?? '', 'base64').equals(
        Buffer.alloc(1_500_000, 7),
      ),
    ).toBe(true);
  });
  it('keys of a snapshot are loaded into a new machine and read back', () => {
    const machine = new Machine(1e9);
    for (let i = 0; i < 50; i += 1)
      machine.apply(i + 1, `${i}`, { op: 'put', key: `k${i}`, value: b64(`${i}`) });
    const content = snapshotKeys(inMemory(fileOf(machine)));
    const copy = new Machine(1e9);
    copy.apply(1, 'restore', { op: 'restore', ...content });
    expect(snapshotKeys(inMemory(fileOf(copy)))).toEqual(content);
    expect(copy.apply(2, 'n', { op: 'put', key: 'k1', value: '' })).toMatchObject({ ok: true, revision: 52 });
  });
});

describe('a restore of a snapshot', () => {
  const restored = (file: Buffer): Machine => {
    const copy = new Machine(1e9);
    const { records, ...state } = snapshotHistory(inMemory(file));
    copy.apply(1, 'restore', { op: 'restore', keys: records, ...state });
    return copy;
  };
  const history: readonly Command[] = [
    { op: 'put', key: 'a', value: b64('a1') },
    { op: 'put', key: 'b', value: b64('b1') },
    { op: 'delete', key: 'a' },
    { op: 'compact', revision: 3 },
    {
      op: 'txn',
      compare: [],
      success: ['c', 'd'].map((key) => ({ op: 'put', key, value: '' })),
      failure: [],
    },
    { op: 'put', key: 'a', value: b64('a2'), lease: '77' },
    { op: 'delete', key: '\0', end: '\0' },
  ];
  it('keeps revisions, deletions, leases, the compaction and the hash', () => {
    const machine = new Machine(1e9);
    machine.apply(1, 'lease', { op: 'grant', id: '77', ttl: 600 });
    for (const [i, command] of history.entries()) {
      expect(machine.apply(i + 2, `${i}`, command)).toMatchObject({ ok: true });
      const copy = restored(fileOf(machine));
      const stateOf = ({ keys }: Machine) => [
        keys.revision,
        keys.compacted,
        keys.changesFrom({ key: '\0', end: '\0' }, 0),
      ];
      expect(stateOf(copy)).toEqual(stateOf(machine));
      expect(hashAt(copy, copy.keys.revision)).toBe(hashAt(machine, machine.keys.revision));
    }
  });
  it('continues at the revision of a compaction that left no record', () => {
    const machine = new Machine(1e9);
    machine.apply(1, 'a', { op: 'put', key: 'a', value: '' });
    machine.apply(2, 'b', { op: 'delete', key: 'a' });
    machine.apply(3, 'c', { op: 'compact', revision: 3 });
    expect(snapshotKeys(inMemory(fileOf(machine)))).toEqual({ revision: 3, keys: [] });
    expect(restored(fileOf(machine)).keys).toMatchObject({ revision: 3, compacted: 3 });
  });
  it('has the hash that a real 3.5 server has for the same change', () => {
    const machine = new Machine(1e9);
    machine.apply(1, 'a', { op: 'put', key: 'a', value: b64('a1') });
    expect(hashAt(machine, 2)).toBe(3179991608);
  });
});

const cluster: ClusterFile = {
  name: 'shop',
  to: '3.4',
  ctl_binary: '/opt/ctl',
  user: { name: 'root', password_env: 'PW' },
  tls: { ca_file: 'ca.pem' },
  members: ['a', 'b'].map((name) => ({
    name,
    client_url: `https://10.0.0.1/${name}`,
    data_dir: `/var/lib/${name}`,
    old_binary: '/opt/3.3/server',
    new_binary: '/opt/3.4/server',
    old_command: [
      '/opt/3.3/server',
      '--name',
      name,
      '--data-dir',
      `/var/lib/${name}`,
      '--listen-client-urls=https://10.0.0.1:2379',
      '--cert-file',
      'c.pem',
      '--client-cert-auth',
      '--quota-backend-bytes',
      '900',
    ],
    new_command: `--name ${name} --quota-backend-bytes 900 --log-level info`,
  })),
};
const copy = privateCopy(cluster, { directory: '/tmp/r', ports: [11, 12, 21, 22], snapshot: '/tmp/r/s.db' });

describe('the private copy', () => {
  it.each([
    ['a command', { new_command: ['etcd', '--config-file', '/etc/kv.yml'] }],
    ['a variable', { env: { ETCD_CONFIG_FILE: '/etc/kv.yml' } }],
    [
      'a row of the table of versions',
      { versions: { '3.5': { binary: '/opt/3.5/server', command: 'etcd --config-file=/etc/kv.yml' } } },
    ],
    [
      'a command with another file',
      { old_command: 'etcd --config-file=/etc/kv.yml', config_file: '/etc/b.yml' },
    ],
  ])('%s with a file that the copy would not replace is refused', (_, patch) => {
    const options = { directory: '/tmp/r', ports: [11, 12, 21, 22], snapshot: '/tmp/r/s.db' };
    const copyWith = (more: object) => () =>
      privateCopy(
        { ...cluster, members: cluster.members.map((one) => ({ ...one, ...patch, ...more })) },
        options,
      );
    expect(copyWith({})).toThrow(
      expect.objectContaining({ category: 'config', message: naming('/etc/kv.yml', 'config_file') }),
    );
    const named = { old_command: undefined, new_command: undefined, env: {}, config_file: '/etc/kv.yml' };
    expect(copyWith(named)).not.toThrow();
  });
  it('a member reads the file of the copy, however its start spells the path of config_file', () => {
    const patch = {
      config_file: '/etc/kv.yml',
      old_command: ['/opt/3.3/server', '--config-file=/etc//kv.yml'],
      new_command: ['/opt/3.4/server', '--config-file', '/etc/x/../kv.yml'],
      versions: { '3.5': { binary: '/opt/3.5/server', command: ['etcd', '--config-file', '/etc/./kv.yml'] } },
      env: { ETCD_CONFIG_FILE: '/etc//kv.yml', GOGC: '50' },
    };
    const members = cluster.members.map((one) => ({ ...one, ...patch }));
    const options = { directory: '/tmp/r', ports: [11, 12, 21, 22], snapshot: '/tmp/r/s.db' };
    const spec = privateCopy({ ...cluster, members }, options).members[0]?.spec;
    const own = '/tmp/r/a.conf.yaml';
    expect([spec?.old_command, spec?.new_command, spec?.versions?.['3.5']?.command, spec?.env]).toEqual([
      ['/opt/3.3/server', `--config-file=${own}`],
      ['/opt/3.4/server', '--config-file', own],
      ['etcd', '--config-file', own],
      { ETCD_CONFIG_FILE: own, GOGC: '50' },
    ]);
  });
  const [first] = copy.members;
  it('the private copy has separate URLs and directories and keeps every other setting', () => {
    expect(first?.spec.old_command).toEqual([
      ...['/opt/3.3/server', '--quota-backend-bytes', '900', '--name', 'a', '--data-dir', '/tmp/r/a.data'],
      ...['--listen-client-urls', 'http://127.0.0.1:11', '--advertise-client-urls', 'http://127.0.0.1:11'],
      ...[
        '--listen-peer-urls',
        'http://127.0.0.1:12',
        '--initial-advertise-peer-urls',
        'http://127.0.0.1:12',
      ],
      ...[
        '--initial-cluster',
        'a=http://127.0.0.1:12,b=http://127.0.0.1:22',
        '--initial-cluster-token',
        'rehearsal',
        '--initial-cluster-state',
        'new',
      ],
    ]);
    expect(first?.spec.new_command?.slice(0, 5)).toEqual([
      '/opt/3.4/server',
      '--quota-backend-bytes',
      '900',
      '--log-level',
      'info',
    ]);
  });
  it('the private copy does not refer to the real cluster', () => {
    const text = JSON.stringify(copy);
    for (const word of ['10.0.0.1', '/var/lib', 'c.pem', 'ca.pem']) expect(text).not.toContain(word);
    expect(copy.cluster).toMatchObject({
      name: 'shop-rehearsal',
      driver: 'local',
      to: '3.4',
      user: { name: 'root' },
    });
  });
  it('gets no certificate from the environment of a member either', () => {
    const env = {
      ETCD_CERT_FILE: '/c.pem',
      ETCD_PEER_CLIENT_CERT_AUTH: 'true',
      ETCD_DATA_DIR: '/var/lib/a',
      ETCD_QUOTA_BACKEND_BYTES: '9',
      TZ: 'UTC',
    };
    const members = cluster.members.map((member) => ({ ...member, env }));
    const made = privateCopy(
      { ...cluster, members },
      { directory: '/tmp/r', ports: [11, 12, 21, 22], snapshot: '/tmp/r/s.db' },
    );
    expect(made.members[0]?.spec.env).toEqual({ ETCD_QUOTA_BACKEND_BYTES: '9', TZ: 'UTC' });
  });
  it('the private copy is filled by the ctl program, member by member', () => {
    expect(first?.restore).toEqual([
      'snapshot',
      'restore',
      '/tmp/r/s.db',
      '--name',
      'a',
      '--data-dir',
      '/tmp/r/a.data',
      '--initial-cluster',
      'a=http://127.0.0.1:12,b=http://127.0.0.1:22',
      '--initial-cluster-token',
      'rehearsal',
      '--initial-advertise-peer-urls',
      'http://127.0.0.1:12',
    ]);
  });
  it('reads its own copy of a configuration file', async () => {
    const withFile = {
      ...cluster,
      members: cluster.members.map((member) => ({
        ...member,
        config_file: `/etc/${member.name}.yaml`,
        old_command: ['--config-file', `/etc/${member.name}.yaml`],
      })),
    };
    const made = privateCopy(withFile, { directory: '/tmp/r', ports: [11, 12, 21, 22], snapshot: 's' });
    expect(made.members[0]?.spec.old_command).toEqual([
      '/opt/3.3/server',
      '--config-file',
      '/tmp/r/a.conf.yaml',
    ]);
    const text = await privateConfig(
      '# mine\nname: a\nquota-backend-bytes: 5 # small\nclient-transport-security:\n  cert-file: x\nlisten-client-urls: https://x\n',
      made.members[0]?.settings ?? {},
    );
    expect(text).toContain('# mine');
    expect(text).toContain('quota-backend-bytes: 5 # small');
    expect(text).toContain('data-dir: /tmp/r/a.data');
    expect(text).not.toMatch(/cert-file|https:/);
  });
  it.each(['', '# nothing but a comment\n'])(
    'sets what it needs in a file without settings: %j',
    async (text) => {
      const made = await privateConfig(text, { name: 'a', 'data-dir': '/tmp/r/a.data' });
      expect(made).toMatch(/name: a\ndata-dir: \/tmp\/r\/a\.data\n$/);
    },
  );
  it.each([
    [
      ['--name', 'a', '--debug', '--data-dir=x', 'y'],
      ['--debug', 'y'],
    ],
    [
      ['--client-cert-auth', '--quota', '5'],
      ['--quota', '5'],
    ],
    [['--trusted-ca-file', 'ca', '--peer-key-file=k'], []],
    [
      ['--force-new-cluster', '--metrics', 'basic'],
      ['--metrics', 'basic'],
    ],
  ])('%j leaves %j', (words, kept) => expect(withoutOwnFlags(words)).toEqual(kept));
});

describe('real servers are used', () => {
  it('when both binaries and the ctl program are here', () => expect(canBeReal(cluster)).toBe(true));
  it.each([
    ['without a ctl program', { ...cluster, ctl_binary: undefined }],
    ['for a simulated cluster', { ...cluster, simulated: true }],
    ['on other hosts', { ...cluster, driver: 'ssh' as const }],
    [
      'without the new binary',
      { ...cluster, members: [{ name: 'a', client_url: 'http://a', old_binary: 'x' }] },
    ],
  ])('real servers are not used %s', (_, file) => expect(canBeReal(file)).toBe(false));
});
