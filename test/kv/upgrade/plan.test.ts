import { describe, expect, it } from 'vitest';
import { isArrived, planFrom } from '../../../src/kv/upgrade/plan.ts';
import type { MemberStatus, Observation } from '../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planned, planOptions, seen } from '../../support/observations.ts';

const ids = (
  observation: Observation,
  ...more: [Parameters<typeof planned>[1]?, Parameters<typeof planned>[2]?]
): string =>
  planned(observation, ...more)
    .steps.map(({ id }) => id)
    .join(' ');
const every = (patch: Partial<MemberStatus>) =>
  observed(
    ['n1', 'n2', 'n3'].map((name) => seen(name, { ...patch, host: { ...seen(name).host, ...patch.host } })),
  );
const steps = (...names: string[]) =>
  names.map((name) => `${name}.snapshot ${name}.stop ${name}.start ${name}.gate`).join(' ');

describe('the order of a plan', () => {
  it('followers as the file lists them, the leader last, the leadership to the first that was upgraded', () => {
    expect(ids(observed())).toBe(
      `${steps('n2', 'n3')} n1.snapshot n1.move-leader n1.stop n1.start n1.gate confirm`,
    );
    expect(planned().steps.find(({ kind }) => kind === 'move-leader')?.target).toBe('n2');
  });
  it('3.2 cannot move the leadership: the stop hands it over', () => {
    const host = { old_binary_version: '3.2.32', new_binary_version: '3.3.27' };
    expect(ids(every({ server_version: '3.2.32', cluster_version: '3.2.0', host }))).toBe(
      `${steps('n2', 'n3', 'n1')} confirm`,
    );
  });
  it('one member has no target for a transfer', () => {
    expect(ids(observed([seen('n1', { listed_ids: ['1001'] })]))).toBe(`${steps('n1')} confirm`);
  });
  it('members that run the new version are left alone', () => {
    expect(ids(observed([seen('n1'), seen('n2', { server_version: '3.4.23' }), seen('n3')]))).toBe(
      `${steps('n3')} n1.snapshot n1.move-leader n1.stop n1.start n1.gate confirm`,
    );
  });
  it.each([
    [false, 'n3.start n3.gate'],
    [true, 'n3.stop n3.start n3.gate'],
  ])(
    'an accepted unhealthy member comes first after a snapshot of a healthy member; it runs: %s',
    (is_running, own) => {
      const host = { ...seen('n3').host, is_running };
      const observation = observed([seen('n1'), seen('n2'), away('n3', { host })]);
      for (const accept of [['all-members-healthy'], ['all-members-healthy', 'quorum-survives']])
        expect(ids(observation, undefined, planOptions({ accept }))).toBe(
          `n2.snapshot ${own} n2.stop n2.start n2.gate n1.snapshot n1.move-leader n1.stop n1.start n1.gate confirm`,
        );
    },
  );
  it('the snapshot comes from a member that already runs the new version if no other member is healthy', () => {
    const observation = observed([
      seen('n1', { server_version: '3.4.23' }),
      seen('n2', { server_version: '3.4.23' }),
      seen('n3', { is_healthy: false }),
    ]);
    expect(ids(observation, undefined, planOptions({ accept: ['all-members-healthy'] }))).toBe(
      `n1.snapshot ${steps('n3')} confirm`,
    );
  });
});

describe('the steps of a plan', () => {
  it('exactly the last stop is the point of no return', () => {
    expect(
      planned()
        .steps.filter((step) => step.is_point_of_no_return)
        .map(({ id }) => id),
    ).toEqual(['n1.stop']);
  });
  it('waits of two minutes between members over 50 MB of v2 data, none after the last', () => {
    const settles = planned(
      every({ host: { v2_bytes: 60_000_000 } }),
      clusterFile(),
      planOptions({ accept: ['v2-backup'] }),
    ).steps.filter(({ kind }) => kind === 'settle');
    expect(settles.map(({ id, wait_seconds }) => `${id} ${wait_seconds}`)).toEqual([
      'n2.settle 120',
      'n3.settle 120',
    ]);
    expect(settles[0]?.why).toContain('57 MiB of v2 data');
  });
  it('a copy of the data directory follows the stop on request', () => {
    expect(ids(observed(), undefined, planOptions({ copy_data: true }))).toContain(
      'n2.stop n2.copy-data n2.start',
    );
  });
  it('a hold precedes the last member on request', () => {
    expect(ids(observed(), undefined, planOptions({ hold_last: true }))).toContain(
      'n3.gate n1.hold n1.snapshot',
    );
  });
  it('a configuration file that the new version would not read is rewritten between stop and start', () => {
    const cluster = clusterFile(3, {
      members: clusterFile().members.map((member) => ({ ...member, config_file: `/etc/${member.name}` })),
    });
    const observation = every({ host: { config: { 'auto-compaction-retention': 24 } } });
    expect(ids(observation, cluster)).toContain('n2.stop n2.configure n2.start');
  });
});

describe('the digest', () => {
  it('does not change with times, sizes and indexes', () => {
    const later = {
      ...every({ raft_index: 150, revision: 99, db_size_bytes: 999, latency_ms: 3 }),
      taken_at: '2027-01-01T00:00:00.000Z',
    };
    expect(planned(later).digest).toBe(planned().digest);
  });
  it.each<[string, Observation]>([
    [
      'another leader',
      observed(['n1', 'n2', 'n3'].map((name) => seen(name, { leader_id: '1002', is_leader: name === 'n2' }))),
    ],
    [
      'another member behind a name',
      observed(
        [seen('n1'), seen('n2', { member_id: '4444', listed_ids: ['1001', '1002', '1003'] }), seen('n3')],
        { listed: [] },
      ),
    ],
    ['another new binary', every({ host: { new_binary_version: '3.4.24' } })],
    ['another patch that runs', every({ server_version: '3.3.26' })],
    [
      'a member that was upgraded meanwhile',
      observed([seen('n1'), seen('n2', { server_version: '3.4.23' }), seen('n3')]),
    ],
  ])('changes with %s', (_, observation) => {
    expect(planned(observation).digest).not.toBe(planned().digest);
  });
  it('changes with the options', () => {
    expect(planned(observed(), clusterFile(), planOptions({ copy_data: true })).digest).not.toBe(
      planned().digest,
    );
  });
});

describe('the target of a plan', () => {
  it('the target is the next minor, unless the file or the options name another', () => {
    expect(planned().to).toBe('3.4');
  });
  it('the target is reached only if every member and the cluster have it', () => {
    expect(isArrived(every({ server_version: '3.4.23', cluster_version: '3.4.0' }), '3.4')).toBe(true);
    expect(isArrived(every({ server_version: '3.4.23', cluster_version: '3.3.0' }), '3.4')).toBe(false);
    expect(isArrived(observed(), '3.4')).toBe(false);
  });
  it('a refusal holds every reason and every other finding', () => {
    const observation = observed([
      seen('n1'),
      away('n2'),
      seen('n3', { host: { ...seen('n3').host, has_db_file: false } }),
    ]);
    const made = planFrom({
      observation,
      cluster: clusterFile(),
      options: planOptions(),
      describe: () => [],
      id: 'x',
    });
    if (!('refused' in made)) throw new Error('not refused');
    expect([...new Set(made.refused.map(({ guard }) => guard))]).toEqual([
      'all-members-healthy',
      'quorum-survives',
      'db-file-present',
    ]);
    expect(made.findings.length).toBeGreaterThan(10);
  });
});
