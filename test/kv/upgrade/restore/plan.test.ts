import { next } from '../../../../src/core/next.ts';
import { describe, expect, it } from 'vitest';
import { newestSnapshot, restorePlan, restoreText } from '../../../../src/kv/upgrade/restore/plan.ts';
import type { MemberSpec } from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, seen } from '../../../support/observations.ts';
import { naming } from '../../../support/facts.ts';

const snapshot = {
  ...{ member: 'n2', path: '/s.db', size_bytes: 1, file_sha256: 'abc', trailer_sha256: '', revision: 5 },
  duration_ms: 0,
};
const observation = observed([away('n1'), seen('n2', { revision: 9 })], {
  listed: [
    { id: '1001', name: 'n1', peer_urls: ['http://p1', 'http://x'], client_urls: [], is_learner: false },
  ],
});
const planOf = (patch: Partial<MemberSpec> = {}, seenAs = observation) => {
  const [n1, n2] = clusterFile(2).members as [MemberSpec, MemberSpec];
  const members = [
    { ...n1, ...patch },
    { ...n2, peer_url: 'http://p2' },
  ];
  const cluster = { name: 'test', ctl_binary: '/bin/ctl', members };
  return restorePlan({ cluster, observation: seenAs, snapshot, to: '3.4', run: 'R' });
};

describe('the plan of a restore', () => {
  it('the plan has the directory of each member and the arguments of the ctl program', () => {
    expect(planOf()).toEqual({
      ...{
        cluster: 'test',
        to: '3.4',
        run: 'R',
        snapshot,
        ctl: '/bin/ctl',
        revision_now: 9,
        lost_revisions: 4,
      },
      members: [
        {
          ...{ name: 'n1', aside: '/data/n1.before-restore-R' },
          words: [
            ...['--name', 'n1', '--initial-cluster', 'n1=http://p1,n2=http://p2'],
            ...['--initial-cluster-token', 'test-restore-R'],
            ...['--initial-advertise-peer-urls', 'http://p1', '--data-dir', '/data/n1.restoring'],
          ],
        },
        expect.objectContaining({ name: 'n2', aside: '/data/n2.before-restore-R' }),
      ],
    });
  });
  it('a member must not start with force-new-cluster', () => {
    expect(() => planOf({ new_command: ['etcd', '--force-new-cluster'] })).toThrow(
      expect.objectContaining({
        category: 'unsafe',
        detail: expect.objectContaining({ code: 'FORCE_NEW_CLUSTER' }),
      }),
    );
  });
  it.each([
    ['systemd', { stopped_start: { is_forced: true } }, 'unsafe'],
    ['systemd', { stopped_start: { problem: 'no unit' } }, [naming('n1', 'no unit')]],
    ['systemd', {}, [naming('n1')]],
    ['systemd', { stopped_start: { is_forced: false } }, undefined],
    ['hooks', {}, [naming('n1')]],
  ] as const)('the start of a stopped member of %s: %j', (driver, host, expected) => {
    const strip = ({ old_command: _, new_command: __, ...one }: MemberSpec): MemberSpec => one;
    const [n1, n2] = clusterFile(2).members as [MemberSpec, MemberSpec];
    const members = [strip({ ...n1, peer_url: 'http://p1' }), strip({ ...n2, peer_url: 'http://p2' })];
    const readable = { stopped_start: { is_forced: false } };
    const seenAs = observed([away('n1', { host }), away('n2', { host: readable })], {
      listed: observation.listed,
    });
    const plan = () =>
      restorePlan({
        ...{ cluster: { name: 'test', driver, ctl_binary: '/bin/ctl', members }, observation: seenAs },
        ...{ snapshot, to: '3.4', run: 'R' },
      });
    if (expected === 'unsafe')
      expect(plan).toThrow(
        expect.objectContaining({ category: 'unsafe', message: naming('force-new-cluster', 'n1') }),
      );
    else expect(plan().unread_starts).toEqual(expected);
  });
  it('names the start of a rollback that was not read', () => {
    const starts = (patch: Partial<MemberSpec>) => planOf(patch).unread_starts;
    expect(starts({ old_command: ['/opt/old.sh'] })).toEqual([naming('n1', 'old_command', '/opt/old.sh')]);
    expect(starts({ new_command: ['/opt/new.sh'] })).toEqual([expect.not.stringContaining('old_command')]);
  });
  it('counts from the newest revision that a member has', () => {
    const both = observed([seen('n1', { revision: 12 }), seen('n2', { revision: 9 })], {
      listed: observation.listed,
    });
    expect(planOf({}, both)).toMatchObject({ revision_now: 12, lost_revisions: 7 });
    const silent = planOf({}, observed([away('n1'), away('n2')], { listed: observation.listed }));
    expect(silent).not.toHaveProperty('revision_now');
    expect(silent).not.toHaveProperty('lost_revisions');
  });
  it('needs the data directory and the address of each member', () => {
    expect(() => planOf({ data_dir: undefined } as never)).toThrow(
      'member n1 needs peer_url and data_dir in the cluster file',
    );
    expect(() => planOf({}, observed([away('n1'), away('n2')], { listed: [] }))).toThrow('member n1 needs');
  });
  it('the log location comes from a flag, else the environment, else the configuration of the server', () => {
    const configured = observed([seen('n1', { host: { config: { 'wal-dir': '/c/wal' } } }), away('n2')], {
      listed: observation.listed,
    });
    const walOf = (patch: Partial<MemberSpec>, by = configured) => planOf(patch, by).members[0]?.wal_dir;
    const env = { ETCD_WAL_DIR: '/e/wal/' };
    expect(walOf({ env, old_command: ['etcd', '--wal-dir=/f/wal//'] })).toBe('/f/wal');
    expect(walOf({ env })).toBe('/e/wal');
    expect(walOf({ env: { ETCD_WAL_DIR: '' } })).toBe('/c/wal');
    expect(walOf({}, observation)).toBeUndefined();
    expect(planOf().members[0]).not.toHaveProperty('wal_dir');
  });
  it('the plan as text lists the actions on each host, and the losses', () => {
    const text = restoreText(planOf({ env: { ETCD_WAL_DIR: '/e/wal' } }));
    expect(text.split('\n')).toEqual([
      naming('test', '3.4', '/s.db', '5', 'n2', 'revision', 'taken'),
      naming('LOST', '4', 'v2', 'revisions', 'unavailable', 'restore'),
      naming('1', 'directories', 'host'),
      naming('2', 'member', 'directories'),
      naming('n1', '/data/n1.before-restore-R', '/e/wal', 'directory', 'log'),
      expect.stringMatching(/^ {4}\$ \/bin\/ctl snapshot restore \/s\.db --name n1 --initial-cluster /),
      naming('n2', '/data/n2.before-restore-R', 'directory'),
      expect.stringMatching(/^ {4}\$ .* --name n2 /),
      naming('3', 'member', '3.4', 'binary', 'configuration', 'healthy'),
    ]);
  });
});

it('the snapshot with the highest revision is used', () => {
  const of = (...revisions: number[]) =>
    newestSnapshot(revisions.map((revision) => ({ ...snapshot, revision })))?.revision;
  expect([of(3, 9, 5), of(9, 3), of(3, 9), of()]).toEqual([9, 9, 9, undefined]);
});

it('a restore refuses a member that the cluster file does not contain', () => {
  const cluster = clusterFile(1, { ctl_binary: '/bin/ctl' });
  const outsider = {
    id: '12000000000000000255',
    name: 'n4',
    peer_urls: ['http://p4'],
    client_urls: [],
    is_learner: false,
  };
  const observation = {
    taken_at: '',
    cluster: 'test',
    members: [],
    listed: [outsider],
    alarms: [],
    auth: { is_on: false },
  };
  const snapshot = {
    member: 'n1',
    path: '/s',
    size_bytes: 1,
    file_sha256: '',
    trailer_sha256: '',
    revision: 1,
    duration_ms: 0,
  };
  const members = cluster.members.map((member) => ({ ...member, peer_url: 'http://p', data_dir: '/d' }));
  expect(() =>
    restorePlan({ cluster: { ...cluster, members }, observation, snapshot, to: '3.4', run: 'R' }),
  ).toThrow(
    expect.objectContaining({
      category: 'unsafe',
      detail: expect.objectContaining({
        code: 'UNKNOWN_MEMBER',
        tryThis: expect.arrayContaining([
          next(['kv', 'member', 'remove', 'a688906bd8b000ff'], ', if it is not needed'),
        ]),
      }),
    }),
  );
});

describe('a member that started a moment ago has no name in the list of members', () => {
  const unnamed = { id: '1001', name: '', peer_urls: ['http://p1'], client_urls: [], is_learner: false };
  it('a restore recognizes it by its ID', () => {
    const plan = planOf({}, observed([seen('n1'), seen('n2')], { listed: [unnamed] }));
    expect(plan.members[0]?.words).toContain('n1=http://p1,n2=http://p2');
  });
  it('a restore recognizes it by its peer address', () => {
    const plan = planOf({ peer_url: 'http://p1' }, observed([away('n1'), seen('n2')], { listed: [unnamed] }));
    expect(plan.members[0]?.words).toContain('n1=http://p1,n2=http://p2');
  });
  it('a restore refuses it if neither is known', () => {
    const stranger = { ...unnamed, id: '9', peer_urls: ['http://p9'] };
    const listed = [stranger, { ...unnamed, name: 'n1' }];
    expect(() => planOf({}, observed([seen('n1'), seen('n2')], { listed }))).toThrow(
      expect.objectContaining({ detail: expect.objectContaining({ code: 'UNKNOWN_MEMBER' }) }),
    );
  });
});
