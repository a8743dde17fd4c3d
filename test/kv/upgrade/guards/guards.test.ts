import type { Advice } from '../../../../src/core/next.ts';
import { describe, expect, it } from 'vitest';
import { acceptable } from '../../../../src/kv/upgrade/guards/guard.ts';
import { findingsOf, guards } from '../../../../src/kv/upgrade/guards/all.ts';
import { laggingFollowers, stopProblem } from '../../../../src/kv/upgrade/guards/membership.ts';
import { settleOf } from '../../../../src/kv/upgrade/guards/store.ts';
import type {
  ClusterFile,
  HostFacts,
  MemberStatus,
  Observation,
  PlanOptions,
} from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, refusals, seen } from '../../../support/observations.ts';
import { covers, markTest } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const three = (patch: Partial<MemberStatus>): Observation =>
  observed([seen('n1'), seen('n2', patch), seen('n3')]);
const host = (patch: Partial<NonNullable<MemberStatus['host']>>): Observation =>
  three({ host: { ...seen('n2').host, ...patch } });
const every = (patch: Partial<MemberStatus>): Observation =>
  observed(['n1', 'n2', 'n3'].map((name) => seen(name, patch)));
const all32 = (server_version: string) =>
  every({
    server_version,
    cluster_version: '3.2.0',
    host: { ...seen('n1').host, old_binary_version: server_version, new_binary_version: '3.3.27' },
  });
const withUser: Partial<ClusterFile> = { user: { name: 'root' } };

const operator = (snapshots: object, run: object): Observation =>
  observed(undefined, {
    operator: {
      snapshots: { path: '/backups', is_writable: true, free_bytes: 10_000_000_000, ...snapshots },
      run: { path: '/state/run', is_writable: true, free_bytes: 10_000_000_000, ...run },
    },
  });
const hashes = (...texts: string[]) =>
  texts.map((text, at) => ({
    name: `n${at + 1}`,
    server: at === 1 ? '3.4.23' : '3.3.25',
    hash: Number.parseInt(text, 16),
    compact_revision: -1,
  }));

/** Members of which the second one starts in this way. */
const withSecond = (patch: Partial<ClusterFile['members'][number]>): ClusterFile['members'] =>
  clusterFile().members.map((member) => (member.name === 'n2' ? { ...member, ...patch } : member));

const refused: [
  title: string,
  guard: string,
  observation: Observation,
  cluster?: Partial<ClusterFile>,
  options?: Partial<PlanOptions>,
][] = [
  ['a member is down', 'all-members-healthy', observed([seen('n1'), away('n2'), seen('n3')])],
  ['a member is unhealthy', 'all-members-healthy', three({ is_healthy: false })],
  ['another cluster', 'one-cluster', three({ cluster_id: '78' })],
  [
    'a start that removes the other members',
    'one-cluster',
    observed(),
    { members: withSecond({ new_command: ['etcd', '--force-new-cluster'] }) },
  ],
  [
    'a rollback that removes the other members',
    'one-cluster',
    observed(),
    { members: withSecond({ old_command: ['etcd', '--force-new-cluster=true'] }) },
  ],
  [
    'a variable that removes the other members',
    'one-cluster',
    observed(),
    { members: withSecond({ env: { ETCD_FORCE_NEW_CLUSTER: '1' } }) },
  ],
  [
    'a file that removes the other members',
    'one-cluster',
    host({ config: { 'force-new-cluster': true } }),
    { members: withSecond({ new_command: ['etcd', '--config-file', '/c'], config_file: '/c' }) },
  ],
  [
    'a unit that removes the other members',
    'one-cluster',
    host({ command: ['etcd', '--force-new-cluster'], environment: {} }),
    { driver: 'systemd', members: withSecond({ new_command: undefined, unit: 'etcd' } as object) },
  ],
  ['another view of the members', 'one-cluster', three({ listed_ids: ['1001', '1002'] })],
  ['the same member twice', 'one-cluster', three({ member_id: '1001' })],
  [
    'a member whose status does not come',
    'one-cluster',
    three({ member_id: undefined, cluster_id: undefined, leader_id: undefined, errors: ['timed out'] }),
  ],
  [
    'a member that was never started',
    'one-cluster',
    observed(undefined, {
      listed: [{ id: '9', name: '', peer_urls: ['http://x'], client_urls: [], is_learner: false }],
    }),
  ],
  [
    'a learner',
    'one-cluster',
    observed(undefined, {
      listed: [{ id: '1001', name: 'n1', peer_urls: [], client_urls: [], is_learner: true }],
    }),
  ],
  [
    'a member that the file lacks',
    'one-cluster',
    observed(undefined, {
      listed: [{ id: '1009', name: 'n9', peer_urls: [], client_urls: [], is_learner: false }],
    }),
  ],
  [
    'client URLs crosswise',
    'one-cluster',
    observed([seen('n1', { member_id: '1002' }), seen('n2', { member_id: '1001' }), seen('n3')]),
  ],
  [
    'a command that starts another member',
    'one-cluster',
    observed(),
    {
      members: clusterFile().members.map((member) => ({
        ...member,
        new_command: ['/opt/new/etcd', '--name', 'n1'],
      })),
    },
  ],
  [
    'a member whose process is suspended',
    'all-members-healthy',
    observed([seen('n1'), away('n2', { host: { is_suspended: true, pid: 7 } }), seen('n3')]),
  ],
  ['no leader', 'leader-agreed', every({ leader_id: undefined, is_leader: false })],
  [
    'a leader that cannot be seen because the login fails',
    'leader-agreed',
    observed(
      ['n1', 'n2', 'n3'].map((name) => seen(name, { leader_id: undefined, is_leader: false })),
      { auth: { is_on: true, problem: 'wrong password' } },
    ),
    withUser,
  ],
  ['two leaders', 'leader-agreed', three({ leader_id: '1003' })],
  ['two members', 'quorum-survives', observed([seen('n1'), seen('n2')])],
  ['a downgrade', 'version-path', observed(), { to: '3.2' }],
  ['a skipped minor', 'version-path', observed(), { to: '3.5' }],
  ['three versions', 'version-path', three({ server_version: '3.5.16' })],
  ['an old member in a newer cluster', 'version-path', every({ cluster_version: '3.4.0' })],
  [
    "new members whose cluster's version has not moved yet",
    'version-path',
    every({ cluster_version: '3.1.0' }),
  ],
  ['an unknown next version', 'version-path', every({ server_version: '3.7.1', cluster_version: '3.7.0' })],
  ['the new binary one minor too far', 'binaries-are-right', host({ new_binary_version: '3.5.16' })],
  ['the new binary is the old one', 'binaries-are-right', host({ new_binary_version: '3.3.25' })],
  [
    'the new binary is missing',
    'binaries-are-right',
    host({ new_binary_version: undefined, new_binary_error: 'no such file' }),
  ],
  ['the old binary is another version', 'binaries-are-right', host({ old_binary_version: '3.2.1' })],
  [
    'a numeric retention in the file',
    'configuration-fits',
    host({ config: { 'auto-compaction-retention': 1 } }),
  ],
  ['a broken configuration file', 'configuration-fits', host({ config_error: 'no mapping' })],
  ['no data directory', 'data-directories', host({ data_dir_exists: false })],
  ['a data directory that is not writable', 'data-directories', host({ data_dir_writable: false })],
  ['a process that the driver does not find', 'data-directories', host({ is_running: false })],
  [
    'a static pod that responds without a process that the driver finds',
    'data-directories',
    host({ is_running: true, starting: 'the kubelet, which has the manifest' }),
    { driver: 'static-pod', members: withSecond({ manifest: '/etc/manifests/etcd.yaml' }) },
  ],
  ['a pid file of another process', 'data-directories', host({ problems: ['names sshd'] })],
  ['no db file', 'db-file-present', host({ has_db_file: false })],
  ['a full disk', 'disk-space', host({ free_bytes: 100 })],
  [
    'no room for the copies',
    'disk-space',
    host({ free_bytes: 30_000, data_dir_bytes: 50_000 }),
    {},
    { copy_data: true },
  ],
  ['no room for the snapshots on this machine', 'disk-space', operator({ free_bytes: 61_000 }, {})],
  [
    'no room for snapshots and journal in one directory',
    'disk-space',
    operator({ path: '/state/run/snapshots', free_bytes: 1_100_000 }, {}),
  ],
  ['no room for the journal', 'disk-space', operator({}, { free_bytes: 1_000_000 })],
  ['a snapshot directory that cannot be written', 'disk-space', operator({ is_writable: false }, {})],
  ['a member far behind', 'members-keep-up', three({ raft_index: 100_000 })],
  ['a member with other data', 'data-agrees', observed(undefined, { hashes: hashes('a', 'b', 'a') })],
  ['NOSPACE', 'no-alarms', observed(undefined, { alarms: [{ member_id: '1002', alarm: 'NOSPACE' }] })],
  ['authentication without a user', 'auth-and-leases', observed(undefined, { auth: { is_on: true } })],
  [
    'a user that cannot read',
    'auth-and-leases',
    observed(undefined, { auth: { is_on: true, problem: 'permission denied' } }),
    withUser,
  ],
  [
    'authentication, short leases, an old patch',
    'auth-and-leases',
    { ...all32('3.2.30'), auth: { is_on: true }, shortest_lease_seconds: 10 },
    withUser,
  ],
  [
    'authentication, leases unknown, an old patch',
    'auth-and-leases',
    { ...all32('3.2.30'), auth: { is_on: true } },
    withUser,
  ],
];

const allowed: [
  title: string,
  observation: Observation,
  cluster?: Partial<ClusterFile>,
  options?: Partial<PlanOptions>,
][] = [
  ['a healthy cluster', observed()],
  [
    'just room for the snapshots on this machine',
    operator({ free_bytes: 61_440 }, { free_bytes: 2_097_152 }),
  ],
  ['members with the same data', observed(undefined, { hashes: hashes('a', 'a', 'a') })],
  [
    'hashes that differ between versions after a compaction',
    observed(undefined, { hashes: hashes('a', 'b', 'a').map((row) => ({ ...row, compact_revision: 9 })) }),
  ],
  [
    'members that the file calls by other names',
    observed(undefined, {
      listed: ['a', 'b', 'c'].map((name, i) => ({
        id: `${1001 + i}`,
        name,
        peer_urls: [],
        client_urls: [],
        is_learner: false,
      })),
    }),
  ],
  ['one member', observed([seen('n1', { listed_ids: ['1001'] })])],
  ['two members, accepted', observed([seen('n1'), seen('n2')]), {}, { accept: ['quorum-survives'] }],
  ['a mixed cluster', three({ server_version: '3.4.23' })],
  ['authentication with a user', observed(undefined, { auth: { is_on: true } }), withUser],
  [
    'authentication, short leases, the fixed patch',
    { ...all32('3.2.31'), auth: { is_on: true }, shortest_lease_seconds: 10 },
    withUser,
  ],
  [
    'authentication, long leases, an old patch',
    { ...all32('3.2.30'), auth: { is_on: true }, shortest_lease_seconds: 3600 },
    withUser,
  ],
  ['a clock that is wrong', host({ clock_skew_ms: 5000 })],
  ['much v2 data, and its directories are copied', host({ v2_bytes: 80_000_000 }), {}, { copy_data: true }],
  [
    'a retention that the plan rewrites',
    host({ config: { 'auto-compaction-retention': 1 } }),
    { members: clusterFile().members.map((member) => ({ ...member, config_file: '/etc/x.yaml' })) },
  ],
];

describe('guards', () => {
  it.each(refused)('refuse: %s', (_, guard, observation, cluster = {}, options = {}) => {
    markTest(`guard/${guard}`);
    expect(
      refusals(observation, clusterFile(observation.members.length, cluster), planOptions(options)),
    ).toContain(guard);
  });
  it.each(allowed)('allow: %s', (_, observation, cluster = {}, options = {}) => {
    expect(
      refusals(observation, clusterFile(observation.members.length, cluster), planOptions(options)),
    ).toEqual([]);
  });
  it('every guard has a specific pass message', () => {
    const plain = clusterFile();
    const members = plain.members.map((member) => ({
      ...member,
      env: { ETCD_CORS: 'https://c.example:443' },
    }));
    const findings = findingsOf({
      observation: observed(),
      cluster: { ...plain, members, hooks: { before_member: ['/opt/hook.sh'] } },
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    });
    expect(findings.map(({ level, guard }) => `${level} ${guard}`)).toEqual(
      guards.map(({ id }) => `pass ${id}`),
    );
  });
  it(
    'a failed connection names its host, and is not an error in the cluster file',
    covers('defect/U-41'),
    () => {
      const reason = 'h2: ssh: Connection timed out during banner exchange';
      const lost = { problems: [reason], new_binary_error: reason, new_binary_version: undefined };
      const hints = (is_unreachable: boolean): (Advice | undefined)[] =>
        findingsOf({
          observation: host({ ...lost, is_unreachable }),
          cluster: clusterFile(3, {
            members: clusterFile().members.map((member) => ({ ...member, host: 'h2' })),
          }),
          options: planOptions(),
          from: '3.3',
          to: '3.4',
        }).flatMap(({ level, message, hint }) =>
          level === 'fail' && message.includes(reason) ? [hint] : [],
        );
      expect(hints(true)).toEqual(Array(2).fill(expect.stringContaining('ssh h2 true works')));
      expect(hints(false)).toEqual([naming('new_binary', 'cluster file'), naming('cluster file')]);
    },
  );
  it('a leader outside the file is not a missing leader', () => {
    const four = [1, 2, 3].map((i) => ({
      id: `${1000 + i}`,
      name: `n${i}`,
      peer_urls: [],
      client_urls: [],
      is_learner: false,
    }));
    const observation = observed(
      ['n1', 'n2'].map((name) => seen(name, { leader_id: '1003', is_leader: false })),
      { listed: four },
    );
    expect(refusals(observation, clusterFile(2), planOptions({ accept: ['quorum-survives'] }))).toEqual([
      'one-cluster',
    ]);
  });
  it('low disk space of the operator is refused, below twice the need a warning, with both figures', () => {
    const said = (free_bytes: number) => {
      const observation = operator({ free_bytes }, {});
      const input = {
        observation,
        cluster: clusterFile(),
        options: planOptions(),
        from: '3.3',
        to: '3.4',
      } as const;
      return findingsOf(input)
        .filter(({ guard }) => guard === 'disk-space')
        .map(({ level, message }) => `${level} ${message}`);
    };
    expect(said(61_439)).toEqual([
      naming('fail', '/backups', '60', 'KiB', '3', 'members', 'required', 'snapshots'),
    ]);
    expect(said(122_879)).toEqual([
      naming('warn', '/backups', '120', 'KiB', '60', '3', 'members', 'required', 'snapshots'),
    ]);
    expect(said(122_880)).toEqual([naming('pass', 'disks', 'space', 'snapshots')]);
  });
  it('an unknown version is reported, and no binary is blamed for it', () => {
    const input = {
      ...{ observation: observed(), cluster: clusterFile(3, { to: '9.9' }), options: planOptions() },
      ...({ from: '3.3', to: '9.9' } as const),
    };
    const failed = findingsOf(input).filter(({ level }) => level === 'fail');
    expect(failed.map(({ guard, message }) => `${guard}: ${message}`)).toEqual([
      naming('version-path', '9.9', 'version'),
    ]);
    expect(failed[0]?.hint).toEqual(naming('3', '3.6'));
  });
  it('a member that does not report its ID is not missing in the cluster file', () => {
    const input = {
      observation: {
        ...three({ member_id: undefined, cluster_id: undefined, errors: ['no response in time'] }),
        listed: ['1001', '1002', '1003'].map((id, at) => ({
          id,
          name: `n${at + 1}`,
          peer_urls: [],
          client_urls: [],
          is_learner: false,
        })),
      },
      cluster: clusterFile(),
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    } as const;
    const failed = findingsOf(input).filter(({ level }) => level === 'fail');
    expect(failed.map(({ guard, message }) => `${guard}: ${message}`)).toEqual([
      'one-cluster: n2 responds, but opsctl cannot read its status (no response in time): its member ID is unknown',
    ]);
  });
  it('every refusal names a fix', () => {
    for (const [, , observation, cluster = {}, options = {}] of refused) {
      const input = {
        observation,
        cluster: clusterFile(observation.members.length, cluster),
        options: planOptions(options),
        from: observation.lowest,
        to: (cluster.to ?? '3.4') as '3.4',
      };
      for (const finding of findingsOf(input))
        expect(finding.level !== 'fail' || String(finding.hint ?? '').length > 5).toBe(true);
    }
  });
  it('a stopped member is reported before members that are unhealthy because of it', () => {
    const observation = observed([
      seen('n1', { is_healthy: false }),
      away('n2'),
      seen('n3', { is_healthy: false }),
    ]);
    const input = {
      observation,
      cluster: clusterFile(),
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    } as const;
    const said = findingsOf(input).filter(({ guard }) => guard === 'all-members-healthy');
    expect(said.map(({ member }) => member)).toEqual(['n2', 'n1', 'n3']);
  });
  it('versions, binaries, identity and alarms can never be accepted', () => {
    expect(acceptable).not.toEqual(expect.arrayContaining(['version-path']));
    const options = planOptions({
      accept: [
        'version-path',
        'binaries-are-right',
        'one-cluster',
        'no-alarms',
        'db-file-present',
        'auth-and-leases',
        'data-agrees',
      ],
    });
    expect(refusals(observed(), clusterFile(3, { to: '3.5' }), options)).toEqual([
      'version-path',
      'binaries-are-right',
    ]);
    expect(refusals(host({ has_db_file: false }), clusterFile(), options)).toEqual(['db-file-present']);
  });
});

describe('a restart of a unit whose program comes from a drop-in', () => {
  const refusalsOf = (member: Partial<ClusterFile['members'][number]>) => {
    const file = clusterFile();
    const cluster = { ...file, members: file.members.map((one) => ({ ...one, ...member })) };
    const same = every({ host: { ...seen('n1').host, new_binary_version: '3.3.25' } });
    return findingsOf({
      observation: same,
      cluster,
      options: planOptions(),
      from: '3.3',
      to: '3.3',
      kind: 'restart',
    })
      .filter(({ guard, level }) => guard === 'binaries-are-right' && level === 'fail')
      .map(({ message }) => message);
  };
  it('a restart of a unit with a drop-in is refused: the previous drop-in would be lost', () => {
    const [first] = refusalsOf({ unit: 'etcd.service', new_binary: '/opt/other' });
    expect(first).toContain(
      'n1: a drop-in sets the program of etcd.service, and another program of the same minor version would replace that drop-in: a rollback could not restore it',
    );
  });
  it.each([
    ['the unit starts a path that programs are put at', { binary_path: '/usr/bin/etcd' }],
    ['the program stays', { new_binary: '/opt/same', old_binary: '/opt/same' }],
  ])('a restart is not refused when %s', (_, member) =>
    expect(refusalsOf({ unit: 'etcd.service', new_binary: '/opt/other', ...member })).toEqual([]),
  );
});

describe('stopping one member', () => {
  const good = (count: number, bad = 0) => [
    ...Array.from({ length: count }, (_, i) => seen(`n${i + 1}`)),
    ...Array.from({ length: bad }, (_, i) => away(`n${count + i + 1}`)),
  ];
  it.each([
    [1, 0, true],
    [3, 0, true],
    [2, 1, false],
    [4, 0, true],
    [3, 1, false],
    [5, 0, true],
    [4, 1, true],
    [3, 2, false],
    [6, 1, true],
    [5, 2, true],
    [4, 3, false],
  ])('%i good and %i bad members: %s', (count, bad, isAllowed) => {
    expect(stopProblem(observed(good(count, bad)), 'n1', false) === undefined).toBe(isAllowed);
  });
  it('two members only when it was accepted, and never with one of them away', () => {
    expect(stopProblem(observed(good(2)), 'n1', false)).toContain('2 are needed');
    expect(stopProblem(observed(good(2)), 'n1', true)).toBeUndefined();
  });
  it('a member that was added since counts towards the majority, and a learner does not', () => {
    const added = (is_learner: boolean) => {
      const made = observed();
      return {
        ...made,
        listed: [...made.listed, { id: '1009', name: '', peer_urls: [], client_urls: [], is_learner }],
      };
    };
    expect(stopProblem(added(false), 'n1', false)).toBe(
      'without n1 only 2 of 4 voting members would be healthy, 3 are needed (1 of them is not in the cluster file)',
    );
    expect(stopProblem(added(true), 'n1', false)).toBeUndefined();
  });
  it('a learner is not a voter: three voters and a learner need two', () => {
    const learner = (voters: number) => {
      const made = observed([...good(voters), seen('n9', { is_learner: true })]);
      return { ...made, listed: made.listed.map((row) => ({ ...row, is_learner: row.name === 'n9' })) };
    };
    expect(stopProblem(learner(3), 'n1', false)).toBeUndefined();
    expect(stopProblem(learner(3), 'n9', false)).toBeUndefined();
    expect(stopProblem(learner(2), 'n1', false)).toBe(
      'without n1 only 1 of 2 voting members would be healthy, 2 are needed',
    );
  });
  it('members that do not reach each other form no majority', () => {
    const apart = (a: string, b: string) => {
      const unreached = (name: string) => (name === a ? [b] : name === b ? [a] : []);
      return observed(good(3).map((one) => ({ ...one, unreached: unreached(one.name) })));
    };
    expect(stopProblem(apart('n2', 'n3'), 'n1', false)).toContain('no member would reach a majority: n2, n3');
    expect(stopProblem(apart('n1', 'n3'), 'n1', false)).toBeUndefined();
    // A connection in one direction is sufficient.
    const oneWay = observed([seen('n1'), seen('n2', { unreached: ['n3'] }), seen('n3')]);
    expect(stopProblem(oneWay, 'n1', false)).toBeUndefined();
  });
});

describe('waits for v2 data (spec/store#limits)', () => {
  it.each([
    [0, undefined],
    [50_000_000, undefined],
    [50_000_001, 120],
    [99_999_999, 120],
    [100_000_000, 240],
    [200_000_000, 480],
  ])('%i bytes: %s seconds', covers('spec/store#limits-2', 'spec/store#limits-3'), (bytes, secondsWanted) => {
    expect(settleOf(bytes)?.seconds).toBe(secondsWanted);
  });
});

describe('candidates for the leadership', () => {
  const leader = seen('n1', { raft_index: 10_000 });
  const close = { raft_index: 9990 };
  it.each<[string, readonly MemberStatus[], readonly string[]]>([
    ['all that are close behind and follow it', [leader, seen('n2', close), seen('n3', close)], []],
    ['not one that lags', [leader, seen('n2', { raft_index: 9000 }), seen('n3', close)], ['n2']],
    [
      'not one that follows another',
      [leader, seen('n2', close), seen('n3', { ...close, leader_id: '1002' })],
      ['n3'],
    ],
    ['one that is away is the quorum guard’s affair', [leader, seen('n2', close), away('n3')], []],
  ])('%s', (_, members, expected) => {
    expect(laggingFollowers(members, leader)).toEqual(expected);
  });
  it('does not matter for a follower', () => {
    expect(laggingFollowers([leader, seen('n2', { raft_index: 1 }), seen('n3')], seen('n2'))).toEqual([]);
  });
});

it('a configuration file that only the command names is requested by name, not migrated early', () => {
  const cluster = clusterFile(3);
  const named = {
    ...cluster,
    members: cluster.members.map((one) => ({
      ...one,
      new_command: ['new', '--config-file', `/etc/${one.name}.yml`],
    })),
  };
  const input = {
    observation: host({ config: { 'auto-compaction-retention': 1 } }),
    cluster: named,
    options: planOptions(),
    from: '3.3',
    to: '3.4',
  } as const;
  const found = findingsOf(input).find(
    ({ guard, level }) => guard === 'configuration-fits' && level === 'fail',
  );
  expect(found?.hint).toEqual(naming('config_file', '/etc/n2.yml', 'cluster', 'plan', 'between'));
});

describe('a relative data directory in a configuration file', () => {
  const failed = (facts: HostFacts, cluster = clusterFile(3)) =>
    findingsOf({
      observation: host({ config: { 'data-dir': 'n2', 'enable-grpc-gateway': true }, ...facts }),
      cluster,
      options: planOptions(),
      from: '3.3',
      to: '3.4',
    }).filter(({ guard, level }) => guard === 'configuration-fits' && level === 'fail');
  it.each<[string, HostFacts]>([
    ['from where its process runs', { working_directory: '/data' }],
    ['behind a symbolic link', { working_directory: '/mnt/disk', real_data_dir: '/mnt/disk/n2' }],
  ])(
    'leads to its data directory %s: its successor runs there too',
    covers('spec/store#choices-10'),
    (_, facts) => expect(failed(facts)).toEqual([]),
  );
  it(
    'a relative directory that leads to another place is refused, including over ssh',
    covers('spec/store#choices-10'),
    () => {
      // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
      const over = clusterFile(3, { driver: 'ssh', ssh: { then: 'local' } });
      for (const cluster of [clusterFile(3), over])
        expect(failed({ working_directory: '/srv' }, cluster)).toMatchObject([
          {
            member: 'n2',
            message: naming(
              'n2',
              'data-dir',
              '/srv/n2',
              'data_dir',
              '/data/n2',
              'configuration',
              'directory',
            ),
            hint: naming('/data/n2', 'write', 'absolute'),
          },
        ]);
    },
  );
  it('a relative directory of a stopped member is refused, because its base is unknown', () =>
    expect(failed({})[0]?.message).toEqual(naming('n2', 'data-dir', 'configuration', 'relative', 'running')));
  it.each([
    ['containers', clusterFile(3, { driver: 'docker' })],
    // biome-ignore lint/suspicious/noThenProperty: a key of the cluster file
    ['units', clusterFile(3, { driver: 'ssh', ssh: { then: 'systemd' } })],
  ])('a relative directory means a separate directory in %s', (_, cluster) =>
    expect(failed({}, cluster)).toEqual([]),
  );
});
