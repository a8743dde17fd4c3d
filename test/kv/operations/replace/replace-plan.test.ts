/** The plan of a replacement: whether the new member joins as a learner. */
import { describe, expect, it } from 'vitest';
import { replacePlan } from '../../../../src/kv/operations/replace-plan.ts';
import { restorePlan } from '../../../../src/kv/upgrade/restore/plan.ts';
import type { AppError } from '../../../../src/core/problem.ts';
import type { Finding, HostFacts, MemberSpec, MemberStatus } from '../../../../src/kv/engine/model.ts';
import { listStrangers, oneCluster } from '../../../../src/kv/upgrade/guards/membership.ts';
import { planOptions, seen } from '../../../support/observations.ts';
import { clusterOf, observationOf } from '../observed.ts';

const plannedWith = (versions: readonly string[], n2: Partial<MemberStatus> = {}) => {
  const host = { ...seen('n1').host, old_binary_version: versions[1] as string } as HostFacts;
  const observation = observationOf(3, (one) => ({
    ...one,
    server_version: versions[Number(one.name.slice(1)) - 1] as string,
    ...(one.name === 'n1' ? { host } : {}),
    ...(one.name === 'n2' ? n2 : {}),
  }));
  const cluster = clusterOf(observation);
  const [member] = cluster.members.map((one) => ({
    ...one,
    data_dir: '/data/n1',
    config_file: '/etc/n1.yaml',
  }));
  return replacePlan({ id: 'r', observation, cluster, member: member as NonNullable<typeof member> });
};
const kinds = (made: ReturnType<typeof plannedWith>): string[] =>
  'steps' in made ? made.steps.map(({ kind }) => kind) : [];

it.each([
  ['every other member knows learners', ['3.3.27', '3.4.45', '3.5.16'], true],
  ['one of the other members does not know learners', ['3.5.16', '3.3.27', '3.4.45'], false],
  ['no other member knows learners', ['3.4.45', '3.3.27', '3.3.27'], false],
] as const)('a replaced member joins as a learner only if %s', (_, versions, isLearner) => {
  const made = plannedWith(versions);
  const found = kinds(made);
  expect([
    JSON.stringify('refused' in made ? made.refused : []),
    found.includes('add'),
    found.includes('promote'),
  ]).toEqual(['[]', true, isLearner]);
});

it('an unhealthy other member is named with its error, else with the reason that it gives', () => {
  const messageFor = (n2: Partial<MemberStatus>): string => {
    const made = plannedWith(['3.5.16', '3.5.16', '3.5.16'], { is_healthy: false, ...n2 });
    const found = 'refused' in made ? made.refused : [];
    const [finding] = found.filter(({ guard }) => guard === 'others-are-healthy');
    expect(finding).toMatchObject({ level: 'fail', member: 'n2' });
    return finding?.message ?? '';
  };
  expect(messageFor({ error: 'ECONNRESET', health_reason: 'RAFT NO LEADER' })).toContain('(ECONNRESET)');
  expect(messageFor({ health_reason: 'RAFT NO LEADER' })).toContain('(RAFT NO LEADER)');
});

describe('before the member is removed', () => {
  const beside = { path: '/data/n1', is_writable: true, free_bytes: 1e9 };
  const place = { path: '/data/n1', real: '/data/n1', exists: true, beside };
  const log = { path: '/wal/n1', real: '/wal/n1', exists: true, beside: { ...beside, path: '/wal/n1' } };
  const fixedLog = { ...log, beside: { ...log.beside, is_writable: false } };
  const findingsFor = (host: Partial<HostFacts>, accept: readonly string[] = []) => {
    const observation = observationOf(3, (one) =>
      one.name === 'n1'
        ? {
            ...one,
            host: {
              ...seen('n1').host,
              old_binary_version: '3.5.16',
              data_place: place,
              ...host,
            } as HostFacts,
          }
        : { ...one, db_size_bytes: 1e9 },
    );
    const cluster = clusterOf(observation);
    const member = {
      ...(cluster.members[0] as MemberSpec),
      data_dir: '/data/n1',
      config_file: '/etc/n1.yaml',
    };
    return replacePlan({ id: 'r', observation, cluster, member, accept }).findings;
  };
  const levels = (...given: Parameters<typeof findingsFor>) => {
    const findings = findingsFor(...given);
    return ['data-directories', 'disk-space'].map((id) => findings.find(({ guard }) => guard === id)?.level);
  };
  it.each([
    ['enough space, and a directory that can be moved', {}, ['pass', 'pass']],
    ['less space than the database of the others and a log file', { free_bytes: 1.06e9 }, ['pass', 'fail']],
    ['enough space for both', { free_bytes: 1.07e9 }, ['pass', 'pass']],
    ['space that was not read', { free_bytes: undefined }, ['pass', 'unknown']],
    [
      'a parent that is not writable',
      { data_place: { ...place, beside: { ...beside, is_writable: false } } },
      ['fail', 'pass'],
    ],
    [
      'a mount point, which keeps the old data inside',
      { data_place: { ...place, is_mount: true, beside: { ...beside, is_writable: false } } },
      ['pass', 'pass'],
    ],
    [
      'a directory that does not exist, with little space next to it',
      { data_dir_exists: false, data_place: { ...place, exists: false } },
      ['pass', 'fail'],
    ],
  ] as const)('%s', (_, host, expected) => expect(levels(host as Partial<HostFacts>)).toEqual(expected));
  it.each([
    ['a separate log that can be moved', { wal_place: log }, 'pass'],
    ['a separate log whose parent is not writable', { wal_place: fixedLog }, 'fail'],
    ['a separate log that does not exist', { wal_place: { ...fixedLog, exists: false } }, 'pass'],
    ['a separate log on its own mount point', { wal_place: { ...fixedLog, is_mount: true } }, 'pass'],
    [
      'a mount point that is not writable',
      { wal_place: { ...log, is_mount: true }, data_dir_writable: false },
      'fail',
    ],
  ] as const)('%s', (_, host, expected) => {
    const found = findingsFor(host).filter(({ guard }) => guard === 'data-directories');
    expect(found.map(({ level }) => level)).toEqual(['pass', expected]);
    if (expected === 'fail') expect(found[1]?.message).toMatch(/^\/wal(\/n1)? is not writable/);
  });
  it('an accepted check is a warning', () =>
    expect(levels({ free_bytes: 1 }, ['disk-space'])).toEqual(['pass', 'warn']));
});
it.each([
  ['a member that does not respond is known by its name', 'n2', []],
  ['a member that does not respond may be the row with another name', 'other', []],
  ['one row more than members is a stranger', 'n2', ['n4']],
])('%s', (_, name, strangers) => {
  const observation = observationOf(3, ({ member_id, ...one }) =>
    one.name === 'n2'
      ? { ...one, is_reachable: false, is_healthy: false }
      : { ...one, member_id: member_id as string },
  );
  const more = strangers.map((row) => ({
    id: '9',
    name: row,
    peer_urls: [],
    client_urls: [],
    is_learner: false,
  }));
  const listed = observation.listed.map((row) => (row.name === 'n2' ? { ...row, name } : row));
  const found = listStrangers({ ...observation, listed: [...listed, ...more] }, clusterOf(observation));
  expect(found.map((row) => row.name)).toEqual(strangers);
});

const snapshot = {
  ...{ member: 'n1', path: '/s.db', size_bytes: 1, file_sha256: '', trailer_sha256: '' },
  ...{ revision: 5, duration_ms: 0 },
};
/** What a replacement of n1, a restore and the upgrade report about the entries of two members. */
const verdictsOn = (
  observation: ReturnType<typeof observationOf>,
  spec: (name: string) => Partial<MemberSpec> = () => ({}),
  accept: readonly string[] = [],
) => {
  const plain = clusterOf(observation);
  const members = plain.members.map((one) => ({
    ...one,
    ...{ peer_url: `http://${one.name}`, data_dir: `/data/${one.name}`, config_file: '/etc/etcd.yaml' },
    ...spec(one.name),
  }));
  const cluster = { ...plain, members, ctl_binary: '/ctl' };
  const { findings } = replacePlan({
    ...{ id: 'r', observation, cluster, accept },
    member: members[0] as MemberSpec,
  });
  const levelsOf = (guard: string, from: readonly Finding[] = findings) =>
    from.filter((one) => one.guard === guard && one.level !== 'pass').map(({ level }) => level);
  let restore = 'planned';
  try {
    restorePlan({ cluster, observation, snapshot, to: '3.5', run: 'R' });
  } catch (error) {
    restore = String((error as AppError).detail.code);
  }
  const upgrade = oneCluster.findings({ observation, cluster, options: planOptions() });
  return {
    mixed: levelsOf('one-cluster').includes('fail'),
    upgrade: levelsOf('one-cluster', upgrade).includes('fail'),
    directories: levelsOf('data-directories'),
    restore,
  };
};
const hostsOf = (facts: (name: string) => Partial<HostFacts>) =>
  observationOf(3, (one) => ({
    ...one,
    host: { ...seen(one.name).host, ...facts(one.name) } as HostFacts,
  }));
const swap = (name: string): string => ({ n1: 'n2', n2: 'n1' })[name] ?? name;
const straight = observationOf(3);

it.each([
  [
    'client URLs',
    observationOf(3, (one) => ({ ...one, member_id: `100${swap(one.name).slice(1)}` })),
    () => ({}),
  ],
  [
    'the directories of configuration files that processes read',
    hostsOf((name) => ({
      command: ['/bin/etcd', '--config-file', '/etc/etcd.yaml'],
      environment: { ETCD_DATA_DIR: `/data/${name}` },
      config: { 'data-dir': `/data/${swap(name)}` },
    })),
    () => ({}),
  ],
  [
    'the directories of configuration files of stopped members',
    hostsOf((name) => ({ config: { 'data-dir': `/data/${swap(name)}` } })),
    () => ({ old_command: ['/bin/etcd', '--config-file=/etc/etcd.yaml'] }),
  ],
  [
    'the directories of files that commands of stopped members name by a relative path',
    hostsOf((name) => ({ config: { 'data-dir': `/data/${swap(name)}` } })),
    () => ({ old_command: ['/bin/etcd', '--config-file', 'etcd.yaml'] }),
  ],
  [
    'the directories of configuration files of stopped services',
    hostsOf((name) => ({ config: { 'data-dir': `/data/${swap(name)}` } })),
    () => ({ old_command: undefined, new_command: undefined, old_binary: undefined, new_binary: undefined }),
  ],
  [
    'the directory that the process opened before its file changed',
    hostsOf((name) => ({
      command: ['/bin/etcd', '--config-file', '/etc/etcd.yaml'],
      config: { 'data-dir': `/data/${name}` },
      changed_files: [{ path: '/etc/etcd.yaml', changed_at: '', started_at: '', is_config: true }],
      open_data_dir: `/data/${swap(name)}`,
    })),
    () => ({}),
  ],
  [
    'the directories in commands',
    straight,
    (name: string) => ({ old_command: ['/bin/etcd', '--data-dir', `/data/${swap(name)}`] }),
  ],
  [
    'the directories in variables',
    straight,
    (name: string) => ({ old_command: ['/bin/etcd'], env: { ETCD_DATA_DIR: `/data/${swap(name)}` } }),
  ],
])('swapped entries are refused by every operation that stops members: %s', (_, observation, spec) => {
  const { mixed, upgrade, restore } = verdictsOn(observation, spec as (name: string) => Partial<MemberSpec>);
  expect([mixed, upgrade, restore]).toEqual([true, true, 'MIXED_MEMBERS']);
});
it('swapped peer URLs are refused by a replacement and a restore', () => {
  const listed = straight.listed.map((row) => ({ ...row, peer_urls: [`http://${swap(row.name)}`] }));
  const { mixed, restore } = verdictsOn({ ...straight, listed });
  expect([mixed, restore]).toEqual([true, 'MIXED_MEMBERS']);
});
it.each([
  [
    'a variable that the server ignores, because it reads a file',
    hostsOf((name) => ({ config: { 'data-dir': `/data/${name}` } })),
    (name: string) => ({
      old_command: ['/bin/etcd', '--config-file', '/etc/etcd.yaml', '--data-dir', `/data/${swap(name)}`],
      env: { ETCD_DATA_DIR: `/data/${swap(name)}` },
    }),
  ],
  [
    'a path inside a container that the command runs',
    straight,
    () => ({
      old_command: ['docker', 'run', '-v', '/x:/data/n2', 'IMAGE', 'etcd', '--data-dir', '/data/n2'],
    }),
  ],
  [
    'a process with another root directory',
    hostsOf(() => ({ command: ['etcd', '--data-dir', '/data/n1'], environment: {}, has_other_root: true })),
    () => ({}),
  ],
  [
    'the same path on another host',
    hostsOf(() => ({ command: ['etcd', '--data-dir', '/data'], environment: {} })),
    (name: string) => ({ host: name, data_dir: '/data' }),
  ],
  [
    'a directory that no other entry contains',
    straight,
    () => ({ old_command: ['/bin/etcd', '--data-dir', '/elsewhere'] }),
  ],
])('is not mixed: %s', (_, observation, spec) => {
  const { mixed, upgrade, directories, restore } = verdictsOn(
    observation,
    spec as (name: string) => Partial<MemberSpec>,
  );
  expect([mixed, upgrade, directories.filter((level) => level === 'fail'), restore]).toEqual([
    ...[false, false, []],
    'planned',
  ]);
});
it('another directory of the replaced member can be accepted, and one of another member has no effect', () => {
  const elsewhere = (which: string) =>
    hostsOf((name) =>
      name === which ? { other_directories: [{ where: 'old_command', directory: '/e', path: '/e' }] } : {},
    );
  const levels = (which: string, accept: readonly string[] = []) => {
    const { mixed, directories, restore } = verdictsOn(elsewhere(which), undefined, accept);
    return [mixed, directories.filter((level) => level !== 'unknown'), restore];
  };
  expect(levels('n1')).toEqual([false, ['fail'], 'planned']);
  expect(levels('n1', ['data-directories'])).toEqual([false, ['warn'], 'planned']);
  expect(levels('n2')).toEqual([false, [], 'planned']);
});
