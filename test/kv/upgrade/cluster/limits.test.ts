import { describe, expect, it } from 'vitest';
import { AppError, problem } from '../../../../src/core/problem.ts';
import {
  clusterProblems,
  readCluster,
  stopGraceMs,
} from '../../../../src/kv/upgrade/cluster/cluster-file.ts';
import {
  driverKinds,
  experimentalText,
  neededBy,
  remoteKinds,
} from '../../../../src/kv/upgrade/cluster/drivers.ts';
import { nameFlags, fromEndpoints, withFlags } from '../../../../src/kv/engine/access.ts';
import {
  contentOf,
  readVersions,
  versionFileProblems,
} from '../../../../src/kv/upgrade/cluster/yaml-file.ts';
import { typeFindings } from '../../../../src/kv/upgrade/configuration/values.ts';
import { minorRows } from '../../../../src/commands/kv/config.ts';
import { versionTable } from '../../../../src/api-specs/etcd/versions.ts';
import type { JournalStepId } from '../../../../src/kv/engine/model.ts';
import { identityOf, type Run, stopReason } from '../../../../src/kv/upgrade/run.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { away, clusterFile, planned, seen } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { errorWith, naming } from '../../../support/facts.ts';
import { isReadyFor, unreadyMembersText } from '../../../../src/kv/upgrade/plan-kind.ts';

const text = (length: number): string => 'x'.repeat(length);
const at = (path: string, value: unknown): Record<string, unknown> =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Record<string, unknown>;
const member = { name: 'n1', client_url: 'http://h:1' };

describe('every limit of a cluster file holds at its number and not at the next', () => {
  const wrong = (content: object): string[] =>
    clusterProblems({ name: 'c', members: [member], ...content }, 'read').map(
      ({ path, rule }) => `${path} ${rule}`,
    );

  it.each<[string, number, number]>([
    ['timeouts.stop_seconds', 1, 3600],
    ['timeouts.gate_seconds', 1, 3600],
    ['timeouts.stable_seconds', 0, 3600],
    ['timeouts.stable_before_last_seconds', 0, 86_400],
    ['timeouts.snapshot_seconds', 1, 3600],
  ])('%s from %i to %i', (path, least, most) => {
    expect([least, most].flatMap((value) => wrong(at(path, value)))).toEqual([]);
    expect([least - 1, most + 1].flatMap((value) => wrong(at(path, value)))).toEqual([
      `${path} min`,
      `${path} max`,
    ]);
  });

  it.each<[string, number, number]>([
    ['name', 1, 128],
    ['ctl_binary', 1, 4096],
    ['tls.server_name', 1, 255],
    ['tls.ca_file', 1, 4096],
    ['s3.region', 1, 64],
    ['user.name', 1, 1000],
    ['user.password_env', 1, 1000],
  ])('%s has from %i to %i letters', (path, least, most) => {
    const more = path.startsWith('user.') ? { name: 'u' } : {};
    const ofLength = (length: number): string[] => {
      const content = at(path, text(length));
      const [top = ''] = path.split('.');
      return wrong(path.includes('.') ? { [top]: { ...more, ...(content[top] as object) } } : content);
    };
    expect([...ofLength(least), ...ofLength(most)]).toEqual([]);
    expect(ofLength(least - 1)).not.toEqual([]);
    if (most < 1000 || most === 4096) expect(ofLength(most + 1)).toEqual([`${path} max`]);
  });

  it.each<[string, number]>([
    ['name', 255],
    ['host', 255],
    ['unit', 255],
    ['container', 255],
    ['old_image', 1024],
    ['new_image', 1024],
    ['data_dir', 4096],
  ])('%s of a member has at most %i letters, and at least one', (key, most) => {
    const of = (value: string): string[] => wrong({ members: [{ ...member, [key]: value }] });
    expect(of(text(most))).toEqual([]);
    expect(of(text(most + 1))).toEqual([`members[0].${key} max`]);
    expect(of('')).not.toEqual([]);
  });

  it('members: 1 to 99', () => {
    const of = (count: number) =>
      wrong({
        members: Array.from({ length: count }, (_, i) => ({
          name: `n${i}`,
          client_url: `http://h:${i + 1}`,
        })),
      });
    expect([of(1), of(99), of(0), of(100)]).toEqual([[], [], ['members min'], ['members max']]);
    expect(clusterProblems({ members: [member] }, 'read').map(({ path }) => path)).toEqual(['name']);
    expect(clusterProblems({ name: 'c' }, 'read').map(({ path }) => path)).toEqual(['members']);
  });
});

it('a member has two minutes to exit, or the configured time', () => {
  expect([stopGraceMs({}), stopGraceMs({ timeouts: {} })]).toEqual([120_000, 120_000]);
  expect(stopGraceMs({ timeouts: { stop_seconds: 5 } })).toBe(5000);
});

it('the drivers, what each needs, and which of them work over ssh', () => {
  expect(driverKinds).toEqual(['local', 'systemd', 'ssh', 'docker', 'podman', 'static-pod', 'hooks']);
  expect(remoteKinds).toEqual(['local', 'systemd', 'docker', 'podman', 'static-pod']);
  expect(experimentalText).toBe('podman and static-pod are experimental: not tested on a real one');
  expect([neededBy('docker'), neededBy('hooks'), neededBy('none')]).toEqual([
    ['container', 'new_image'],
    [],
    [],
  ]);
});

describe('a cluster file is read', () => {
  const read = async (content: object, purpose?: 'upgrade') =>
    readCluster(fakeHost({ files: { '/etc/c/c.yaml': JSON.stringify(content) } }), '/etc/c/c.yaml', purpose);
  const local = { ...member, pid_file: 'p', log_file: 'l', old_command: 'old', new_command: 'new' };

  it('paths of a cluster file become absolute, except paths of other hosts and bare programs', async () => {
    const spec = {
      ...local,
      data_dir: 'd',
      old_binary: 'etcd',
      new_binary: 'bin/etcd',
      new_config_file: 'n.yml',
    };
    const base = {
      name: 'c',
      members: [spec],
      ctl_binary: 'ctl',
      utl_binary: './utl',
      tls: { ca_file: 'ca.pem' },
    };
    const here = await read({ ...base, snapshot_dir: 's', user: { name: 'u', password_file: 'p' } });
    expect(here).toMatchObject({
      ...{
        ctl_binary: 'ctl',
        utl_binary: '/etc/c/utl',
        tls: { ca_file: '/etc/c/ca.pem' },
        snapshot_dir: '/etc/c/s',
      },
      user: { name: 'u', password_file: '/etc/c/p' },
      members: [
        {
          ...{
            data_dir: '/etc/c/d',
            pid_file: '/etc/c/p',
            old_binary: 'etcd',
            new_binary: '/etc/c/bin/etcd',
          },
          new_config_file: '/etc/c/n.yml',
        },
      ],
    });
    const there = await read({ ...base, driver: 'ssh' });
    expect(there.members[0]).toMatchObject({
      data_dir: 'd',
      new_binary: 'bin/etcd',
      new_config_file: '/etc/c/n.yml',
    });
    const bucket = await read({ ...base, snapshot_dir: 's3://bucket/prefix//' });
    expect([bucket.snapshot_url, bucket.snapshot_dir]).toEqual(['s3://bucket/prefix', undefined]);
  });

  it('an upgrade needs the start commands of the members', async () => {
    await expect(read({ name: 'c', members: [member] }, 'upgrade')).rejects.toMatchObject({
      detail: { code: 'CLUSTER_FILE' },
    });
    expect((await read({ name: 'c', members: [local] }, 'upgrade')).members).toHaveLength(1);
    await expect(readCluster(fakeHost({ files: { '/d/x': '' } }), '/d')).rejects.toThrow(
      errorWith('NO_CLUSTER_FILE', '/d', 'directory', 'cluster'),
    );
    await expect(readCluster(fakeHost(), 'none.yaml')).rejects.toThrow(
      errorWith('NO_CLUSTER_FILE', 'none.yaml', 'cluster'),
    );
  });

  const paths = (content: object, purpose: 'read' | 'upgrade' = 'upgrade') =>
    clusterProblems({ name: 'c', members: [local], ...content }, purpose).map(
      ({ path, message }) => `${path} ${message}`,
    );
  it('hooks name how members are stopped and started', () => {
    const hooks = { stop: 'a', start_new: 'b', start_old: 'c' };
    expect(paths({ driver: 'hooks', hooks })).toEqual([]);
    for (const name of Object.keys(hooks)) {
      const others = Object.fromEntries(Object.entries(hooks).filter(([key]) => key !== name));
      expect(paths({ driver: 'hooks', hooks: others })).toEqual([
        naming('hooks', 'start_old', 'start_new', 'driver'),
      ]);
    }
    expect(paths({ driver: 'hooks' }, 'read')).toEqual([]);
    expect(paths({ hooks: { stop: "a 'b" } })[0]).toEqual(naming('hooks.stop', 'arguments', 'quotes'));
    expect(paths({ hooks: { stop: ['a', 7] } })).toHaveLength(1);
    expect(paths({ hooks: { stop: '' } })).toHaveLength(1);
  });
  it('the driver determines which values members must not share', () => {
    const two = (patch: object, driver = 'local') =>
      paths(
        {
          driver,
          members: [
            { ...local, data_dir: '/d', peer_url: 'http://h:9' },
            {
              ...local,
              name: 'n2',
              client_url: 'http://h:2',
              pid_file: 'q',
              data_dir: '/e',
              peer_url: 'http://h:8',
              ...patch,
            },
          ],
        },
        'read',
      );
    expect(two({})).toEqual([]);
    expect(two({ peer_url: 'http://h:9' })).toEqual([naming('members[1].peer_url', 'members[0]')]);
    expect(two({ data_dir: '/d' })).toEqual([naming('members[1].data_dir', 'members[0]')]);
    expect(two({ data_dir: '/d', pid_file: 'p' }, 'systemd')).toEqual([]);
    expect(paths({ members: [7], hooks: 7 }, 'read').map((one) => one.split(' ')[0])).toEqual([
      'members[0]',
      'hooks',
    ]);
  });
  it('missing keys are reported with the driver, including the one behind ssh', () => {
    const missing = (patch: object, of: object = member) => paths({ members: [of], ...patch });
    const key = 'members[0].new_command';
    expect(missing({}, { ...local, new_command: undefined })).toEqual([
      naming(key, 'local', 'n1', 'required', 'driver'),
    ]);
    expect(missing({ driver: 'ssh' }, { ...local, new_command: undefined })).toEqual([
      naming('members[0].host', 'ssh', 'n1', 'required', 'driver'),
      naming(key, 'ssh', 'local', 'n1', 'required', 'driver'),
    ]);
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    expect(missing({ driver: 'ssh', ssh: { then: 'systemd' } })).toEqual([
      naming('members[0].host', 'ssh', 'n1', 'required', 'driver'),
      naming('members[0].unit', 'ssh', 'systemd', 'n1', 'required', 'driver'),
    ]);
    expect(missing({ driver: 'systemd' }, { ...member, name: 7 })).toContainEqual(
      naming('members[0].unit', 'systemd'),
    );
  });
  it('an invalid bucket is reported; invalid content is reported without other problems', () => {
    expect(paths({ snapshot_dir: 's3://' })).toEqual([expect.stringMatching(/^snapshot_dir /)]);
    expect(paths({ snapshot_dir: 's3://bucket/x' })).toEqual([]);
    for (const odd of [null, undefined, 7, 'text', [local]])
      expect(clusterProblems(odd).map(({ path, rule }) => [path, rule])).toEqual([['', 'type']]);
    for (const hooks of [null, 'none', 7])
      expect(paths({ hooks }).map((one) => one.split(' ')[0])).toEqual(['hooks']);
  });
});

describe('access that flags give', () => {
  it('endpoints are URLs; certificates make them HTTPS', () => {
    const urls = (endpoints: string, patch = {}) =>
      fromEndpoints({ endpoints, ...patch }).cluster.members.map(({ client_url }) => client_url);
    expect(urls('h:1, h:2 ,,h:1')).toEqual(['http://h:1', 'http://h:2']);
    expect(urls('h:1', { cacert: 'ca.pem' })).toEqual(['https://h:1']);
    expect(urls('https://h:1/x')).toEqual(['https://h:1']);
    expect(fromEndpoints({ endpoints: 'h:1,h:2' }).typed).toEqual(['h:1', 'h:2']);
    for (const wrong of ['ftp://h:1', 'h:port', ','])
      expect(() => fromEndpoints({ endpoints: wrong })).toThrow('invalid arguments');
  });
  it('wins over the cluster file, each flag for itself', () => {
    const file = clusterFile(1, {
      user: { name: 'u', password_env: 'P' },
      tls: { ca_file: '/ca', key_file: '/k' },
    });
    expect(withFlags(file, {}, '/here')).toEqual(file);
    expect(withFlags(file, { user: 'root' }, '/here').user).toEqual({ name: 'root' });
    expect(withFlags(file, { 'password-file': 'p' }, '/here').user).toEqual({
      name: 'u',
      password_env: 'P',
      password_file: '/here/p',
    });
    expect(withFlags(clusterFile(1), { 'password-file': 'p' }, '/here')).not.toHaveProperty('user');
    expect(withFlags(file, { cacert: 'mine', 'server-name': 's' }, '/here').tls).toEqual({
      ...{ ca_file: '/here/mine', key_file: '/k', server_name: 's' },
    });
    expect(withFlags(clusterFile(1), { cacert: 'mine' }, '/here').tls).toEqual({ ca_file: '/here/mine' });
    expect(nameFlags({ cacert: 'a', 'password-file': 'p', user: 'u' })).toEqual({
      ca_file: '--cacert',
      password_file: '--password-file',
    });
  });
});

describe('a file with newer data of versions', () => {
  const rule = {
    ...{ from: '3.4.1', through: '3.4.2', on: 'arrive', level: 'fail' },
    ...{ reason: 'r', instead: 'i', source: 'https://x.example/' },
  };
  const file = (patch: object = {}) => ({
    data_of: '2099-01-01',
    minors: [{ minor: '3.4', latest: '3.4.46' }],
    rules: [rule],
    ...patch,
  });
  const wrong = (patch: object): string[] =>
    versionFileProblems(file(patch)).map(({ path, rule: broken }) => `${path} ${broken}`);
  it('a file with newer versions has the required keys, and no others', () => {
    expect(wrong({})).toEqual([]);
    expect(wrong({ rules: [{ ...rule, reason: text(500), instead: text(500) }] })).toEqual([]);
    expect(wrong({ rules: [{ ...rule, reason: text(501) }] })).toEqual(['rules[0].reason max']);
    expect(wrong({ rules: [{ ...rule, reason: '' }] })).toEqual(['rules[0].reason min']);
    expect(wrong({ rules: Array(1000).fill(rule) })).toEqual([]);
    expect(wrong({ rules: Array(1001).fill(rule) })).toEqual(['rules max']);
    expect(wrong({ minors: [] })).toEqual(['minors min']);
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ minor: `3.${i}`, latest: `3.${i}.1` }));
    expect([wrong({ minors: many(100) }), wrong({ minors: many(101) })]).toEqual([[], ['minors max']]);
    for (const key of ['data_of', 'minors', 'rules'])
      expect(wrong({ [key]: undefined })).toEqual([`${key} required`]);
    for (const key of Object.keys(rule))
      expect(wrong({ rules: [{ ...rule, [key]: undefined }] })).toEqual([`rules[0].${key} required`]);
    expect(wrong({ data_of: '2000-01-01' })).toEqual(['data_of rule']);
    expect(wrong({ data_of: versionTable.data_of })).toEqual([]);
    expect(wrong({ minors: [{ minor: '3.4', latest: '3.5.1' }] })).toEqual(['minors[0].latest rule']);
    expect(
      wrong({
        minors: [
          { minor: '3.4', latest: '3.4.1' },
          { minor: '3.4', latest: '3.4.1' },
        ],
      }),
    ).toEqual(['minors[1].minor rule']);
    expect(wrong({ rules: [{ ...rule, through: '3.5.1' }] })).toEqual(['rules[0].through rule']);
    expect(wrong({ rules: [{ ...rule, through: '3.4.0' }] })).toEqual(['rules[0].through rule']);
    expect(wrong({ rules: [{ ...rule, through: '3.4.1', is_final: true }] })).toEqual([]);
  });
  it('a file with newer versions has at most a MiB', async () => {
    const read = (content: string | undefined) =>
      readVersions(
        fakeHost({ files: content === undefined ? { '/d/x': '' } : { '/v.json': content } }),
        '/v.json',
        '--versions-file',
      );
    const whole = JSON.stringify(file());
    expect((await read(whole)).data_of).toBe('2099-01-01');
    expect((await read(whole.padEnd(1024 ** 2))).rules).toHaveLength(1);
    await expect(read(whole.padEnd(1024 ** 2 + 1))).rejects.toThrow(
      errorWith('VERSIONS_FILE', '1048576', 'read', 'bytes'),
    );
    await expect(read(undefined)).rejects.toThrow(errorWith('VERSIONS_FILE', '--versions-file', '/v.json'));
    const host = fakeHost({ files: { '/d/x': '' } });
    await expect(readVersions(host, '/d', '--versions-file')).rejects.toThrow(
      errorWith('VERSIONS_FILE', '/d', 'directory'),
    );
  });
  it('an unknown end date in a version row is undefined', () => {
    const [first] = minorRows({ ...versionTable, minors: [{ minor: '3.4', latest: '3.4.9' }], rules: [] });
    expect(first).toMatchObject({ minor: '3.4', is_ended: false, ended_on: null, is_supported: true });
    const over = { minor: '3.1', latest: '3.1.9', is_ended: true, ended_on: '2020-01-01' } as const;
    expect(minorRows({ ...versionTable, minors: [over], rules: [] })[0]).toMatchObject({
      is_ended: true,
      ended_on: '2020-01-01',
      is_supported: false,
    });
    const rules = [{ ...rule, through: '3.4.1' }, rule, { ...rule, level: 'warn' }] as never;
    expect(
      minorRows({ ...versionTable, minors: [{ minor: '3.4', latest: '3.4.9' }], rules })[0]?.refused,
    ).toEqual(['3.4.1', '3.4.1-3.4.2']);
  });
});

it('an error in a YAML file names its line, the first one first', async () => {
  const problems = () => [
    problem('members[1].url', 'rule', 'is wrong'),
    problem('a', 'rule', 'is bad'),
    problem('members[0].none.x', 'rule', 'is not there'),
  ];
  const content = 'x: 1\nmembers:\n  - url: 1\n  - url: 2\na: 3\n';
  const said = { what: 'f.yaml', code: 'F', problems };
  await expect(contentOf(content, said)).rejects.toMatchObject({
    message: expect.stringContaining('f.yaml: line 3: members[0].none.x is not there'),
    detail: { problems: [{ line: 3 }, { line: 4 }, { line: 5 }] },
  });
  const whole = { what: 'f.yaml', code: 'F', problems: () => [problem('', 'type', 'must be a list')] };
  await expect(contentOf(content, whole)).rejects.toThrow('f.yaml: must be a list');
  // Problems of the whole file come first. An invalid list item is reported at its start, a missing key at
  // its mapping.
  const lined = async (text: string, ...paths: string[]) => {
    const found = () => paths.map((path) => problem(path, 'rule', 'm'));
    const error = await contentOf(text, { ...said, problems: found }).catch((one: unknown) => one);
    const { problems: all } = (error as AppError).detail;
    return all?.map(({ path, line }) => [path, line]);
  };
  expect(await lined('a: 1\n', 'a', '', 'a', '')).toEqual([
    ...[
      ['', undefined],
      ['', undefined],
      ['a', 1],
      ['a', 1],
    ],
  ]);
  expect(
    await lined('\na: 1\nlist:\n  - b: 1\n    c: 2\n  - d\n', 'none', 'list[0]', 'list[1]', 'list[2]'),
  ).toEqual([
    ...[
      ['none', 1],
      ['list[2]', 3],
      ['list[0]', 4],
      ['list[1]', 6],
    ],
  ]);
  await expect(contentOf('a: 1\nb: [', { ...said, problems: () => [] })).rejects.toThrow('line 2, column');
  expect(await contentOf('to: 3.10\nn: 3.10\n', { ...said, problems: () => [], asTyped: ['to'] })).toEqual({
    to: '3.10',
    n: 3.1,
  });
  await expect(contentOf('a: [', { ...said, problems: () => [] })).rejects.toThrow('f.yaml is not YAML');
});

it('values of a configuration have the kind that the server reads', () => {
  const keys = (file: Record<string, unknown>): string[] =>
    typeFindings(file, '3.4').map(({ key = '' }) => key);
  expect(keys({ 'snapshot-count': 0, 'quota-backend-bytes': -1, debug: true, name: 'n' })).toEqual([]);
  expect(keys({ 'snapshot-count': -1, 'quota-backend-bytes': 1.5, debug: 'true', name: 7 })).toEqual([
    ...['snapshot-count', 'quota-backend-bytes', 'debug', 'name'],
  ]);
  expect(
    keys({ 'snapshot-count': '1_000', 'quota-backend-bytes': '0x10', debug: 'yes', name: null }),
  ).toEqual(['snapshot-count', 'quota-backend-bytes', 'debug']);
  expect(keys({ 'snapshot-count': 'many', debug: 1 })).toEqual(['snapshot-count', 'debug']);
  const long = (length: number) =>
    typeFindings({ 'snapshot-count': text(length) }, '3.4')[0]?.message.split(',')[0];
  expect(long(58)).toBe(`is "${text(58)}"`);
  expect(long(59)).toBe(`is "${text(59)}…`);
});

describe('a downgrade', () => {
  const ready = seen('n1', { cluster_version: '3.5.0', storage_version: '3.5.0' });
  it('a downgrade is ready if every responding member reports it, for its data as well', () => {
    expect(isReadyFor('3.5', [ready, away('n2')])).toBe(true);
    expect(
      isReadyFor('3.5', [ready, seen('n2', { cluster_version: '3.6.0', storage_version: '3.5.0' })]),
    ).toBe(false);
    expect(
      isReadyFor('3.5', [ready, seen('n2', { cluster_version: '3.5.0', storage_version: '3.6.0' })]),
    ).toBe(false);
    expect(isReadyFor('3.5', [seen('n1', { cluster_version: '3.5.0' })])).toBe(true);
  });
  it('the error lists the members that are not ready, by name and ID', () => {
    const late = seen('n2', { cluster_version: '3.6.0' });
    expect(unreadyMembersText('3.5', [ready, late, away('n3')])).toBe(
      'n2 (3ea): cluster 3.6.0, storage -; n3: cluster no response, storage -',
    );
  });
});

describe('a run', () => {
  const plan = planned();
  const entry = (step: JournalStepId, note?: Record<string, unknown>) =>
    ({ kind: 'begin', at: '', step, ...(note ? { note } : {}) }) as const;
  it('knows a member by its plan, or by what was noted before its stop', () => {
    const idNow = (...entries: ReturnType<typeof entry>[]) =>
      identityOf({ plan, journal: { entries } }, 'n2').member_id;
    expect(idNow()).toBe('1002');
    expect(idNow(entry('n2.stop', { member_id: '7' }))).toBe('7');
    expect(idNow(entry('n2.stop', { member_id: '7' }), entry('n2.stop'))).toBe('7');
    expect(idNow(entry('n3.stop', { member_id: '7' }), entry('n2.start', { member_id: '7' }))).toBe('1002');
  });
  it('a stopped run reports its position, and keeps the reason of a lost lock', () => {
    const controller = new AbortController();
    const ended = (...names: string[]) => {
      const run = runOn(fakeHost(), { signal: controller.signal });
      for (const name of names) run.journal.write({ kind: 'end', step: `${name}.gate` });
      return stopReason(run as Run);
    };
    expect(ended()).toMatchObject({
      message: naming('3.3', 'stopped', 'requested', 'member'),
      detail: { tryThis: ['opsctl kv resume', naming('opsctl kv abort', 'abandon')] },
    });
    expect(ended('n2')).toMatchObject({
      message: expect.stringContaining('n2 on 3.4, the rest on 3.3'),
      detail: { tryThis: ['opsctl kv resume', naming('opsctl kv rollback', '3.3', 'member')] },
    });
    const stoppedFor = (code: string) => {
      const signal = AbortSignal.abort(new AppError('stopped', 'the reason', { code }));
      return stopReason(runOn(fakeHost(), { signal }) as Run).message;
    };
    expect(stoppedFor('LOCK_LOST')).toBe('the reason');
    expect(stoppedFor('INTERRUPTED')).toEqual(naming('stopped', 'requested', 'member'));
  });
});
