import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import { observe } from '../../../../src/kv/upgrade/observe/observe.ts';
import { seeMember } from '../../../../src/kv/upgrade/observe/see-member.ts';
import { type Access, accessWith } from '../../../../src/kv/engine/access.ts';
import type { Status, Store } from '../../../../src/kv/client/etcd-client.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';
import { smallCluster } from '../../../support/small-cluster.ts';

type Question = 'versions' | 'status' | 'health' | 'members' | 'alarms';
const spec = { name: 'n1', client_url: 'http://127.0.0.1:20001' };

/**
 * A member that misses the first timeout of some requests. Returns the requests that were repeated with a
 * longer timeout.
 */
const seen = async (
  late: readonly Question[],
  leader: string | null = '1001',
  code = 'DEADLINE_EXCEEDED',
) => {
  const again: Question[] = [];
  const answers = {
    versions: { server: '3.4.23', cluster: '3.4.0' },
    status: partlyMade<Status>({ member_id: '1001', leader_id: leader ?? undefined, errors: [] }),
    health: { is_healthy: true },
    members: [{ id: '1001', name: 'n1', peer_urls: [], client_urls: [], is_learner: false }],
    alarms: [],
  };
  const storeOf = (isPatient: boolean): Store =>
    Object.fromEntries(
      (Object.keys(answers) as Question[]).map((name) => [
        name,
        async () => {
          if (isPatient) again.push(name);
          else if (late.includes(name)) throw new AppError('network', `${name} is late`, { code });
          return answers[name];
        },
      ]),
    ) as unknown as Store;
  const access = { store: (_: string, timeoutMs?: number) => storeOf(timeoutMs !== undefined) } as Access;
  return { member: await seeMember(fakeHost({}), spec as never, access), again };
};

it('only late responses are requested again', async () => {
  const { member, again } = await seen(['status', 'health']);
  expect(again).toEqual(['status', 'health']);
  expect(member).toMatchObject({
    is_reachable: true,
    is_healthy: true,
    member_id: '1001',
    is_leader: true,
    errors: [],
  });
  expect((await seen([])).again).toEqual([]);
  expect((await seen(['members', 'alarms'])).member).toMatchObject({ listed_ids: ['1001'], alarms: [] });
});

it('health is unavailable without a leader: a refusal does not wait for it', async () => {
  const { member, again } = await seen(['health', 'members'], null);
  expect(again).toEqual([]);
  expect(member).toMatchObject({
    is_reachable: true,
    is_healthy: false,
    health_reason: naming('response', 'time'),
  });
  expect(member.listed).toBeUndefined();
});

it('a silent member is not awaited again', async () => {
  const { member, again } = await seen(['versions', 'status', 'health']);
  expect(again).toEqual([]);
  expect(member).toMatchObject({ is_reachable: false, error_code: 'DEADLINE_EXCEEDED' });
});

it('an error response counts as a response', async () => {
  const { member, again } = await seen(['status'], '1001', 'UNAUTHENTICATED');
  expect(again).toEqual([]);
  expect(member).toMatchObject({ is_reachable: true, errors: ['status is late'] });
});

it('a member is observed with exactly its reported values', async () => {
  const told = async (health: object | Error, status: object | Error, listed: object | Error = []) => {
    const host = fakeHost({});
    const answer = (value: object | Error) => async () => {
      if (value instanceof Error) throw value;
      return value;
    };
    const store = {
      versions: async () => {
        host.advance(12);
        return { server: '3.6.1', cluster: '3.6.0', storage: '3.6.0' };
      },
      ...{ health: answer(health), status: answer(status), members: answer(listed), alarms: answer([]) },
    };
    return seeMember(host, spec as never, partlyMade<Access>({ store: () => store }));
  };
  const status = { version: '3.6.1', member_id: '1', leader_id: '2', raft_index: 7 };
  expect(await told({ is_healthy: true }, status, [{ id: '2' }, { id: '1' }])).toEqual({
    ...{ name: 'n1', client_url: spec.client_url, is_reachable: true, is_healthy: true, latency_ms: 12 },
    ...{ server_version: '3.6.1', cluster_version: '3.6.0', storage_version: '3.6.0', raft_index: 7 },
    ...{ member_id: '1', leader_id: '2', is_leader: false, is_learner: false, errors: [], alarms: [] },
    ...{ listed: [{ id: '2' }, { id: '1' }], listed_ids: ['1', '2'] },
  });
  const sick = await told({ is_healthy: false, reason: 'no leader' }, { ...status, errors: ['NOSPACE'] });
  expect(sick).toMatchObject({ is_healthy: false, health_reason: 'no leader', errors: ['NOSPACE'] });
  const dumb = await told(new Error('a'), new Error('b'), new Error('c'));
  expect(dumb).toMatchObject({
    is_healthy: false,
    health_reason: naming('response', 'time'),
    errors: ['b'],
  });
  for (const key of ['listed', 'listed_ids', 'member_id']) expect(dumb).not.toHaveProperty(key);
  expect([dumb.is_leader, dumb.is_learner]).toEqual([false, false]);
});

it('an unreachable member has a reason', async () => {
  const unseen = async (error: Error) => {
    const store = { versions: async () => Promise.reject(error) };
    return seeMember(fakeHost({}), spec as never, partlyMade<Access>({ store: () => store }));
  };
  expect(await unseen(new Error('refused'))).toEqual({
    ...{ name: 'n1', client_url: spec.client_url, is_reachable: false, is_healthy: false },
    ...{ is_leader: false, is_learner: false, errors: [], error: 'refused' },
  });
  expect(await unseen(new AppError('network', 'bad', { code: 'TLS' }))).toMatchObject({ error_code: 'TLS' });
});

describe('the starts of the members', () => {
  /** Members that report their starts, one second apart. `n2` does not respond if `isAway`. */
  const starts = async (depth: Partial<Parameters<typeof observe>[0]>, isAway = false) => {
    const small = smallCluster('restart');
    const { host, cluster, driver } = small;
    if (isAway) small.end('n2');
    const { request } = host.network;
    const withStarts: typeof request = async (one) => {
      const at = cluster.members.findIndex(({ client_url }) => one.url === `${client_url}/metrics`);
      const reply = await request(one);
      if (at < 0) return reply;
      const page = Buffer.from(`process_start_time_seconds 1.7672256${at}05e+09\n`);
      const stream = async function* () {
        yield page;
      };
      return { ...reply, stream, bytes: async () => page, text: async () => String(page) };
    };
    const machine = { ...host, network: { ...host.network, request: withStarts } };
    const access = accessWith(machine, undefined, undefined);
    const { members } = await observe({ host: machine, cluster, access, driver, ...depth });
    return members.map(({ started_at }) => started_at);
  };
  it('an observation of a held run reads the start of each member in milliseconds', async () => {
    const read = ['2026-01-01T00:00:00.500Z', '2026-01-01T00:00:10.500Z', '2026-01-01T00:00:20.500Z'];
    expect(await starts({ hasHold: true })).toEqual(read);
    expect(await starts({ isDeep: true })).toEqual(read);
    expect(await starts({ hasHold: true }, true)).toEqual([read[0], undefined, read[2]]);
    expect(await starts({})).toEqual([undefined, undefined, undefined]);
  });
});
