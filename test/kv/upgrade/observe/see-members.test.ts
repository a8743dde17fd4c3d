import { describe, expect, it } from 'vitest';
import { AppError } from '../../../../src/core/problem.ts';
import type { Access } from '../../../../src/kv/engine/access.ts';
import { slowMembers, seeMembers } from '../../../../src/kv/upgrade/observe/observe.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';
import { covers } from '../../../support/covers.ts';

/** Behavior of each member for a version request: the response time in ms, or an error code. */
const look = async (...does: readonly (number | string)[]) => {
  const host = fakeHost({});
  const cluster = clusterFile(does.length);
  const again: string[] = [];
  const storeOf = (url: string, timeoutMs?: number) => {
    const i = cluster.members.findIndex(({ client_url }) => client_url === url);
    const [name, act] = [cluster.members[i]?.name ?? '', does[i]];
    return {
      versions: async () => {
        if (timeoutMs !== undefined) again.push(`${name} ${timeoutMs}`);
        else if (typeof act === 'string') throw new AppError('network', act, { code: act });
        else if (act !== undefined) host.advance(act);
        return { server: '3.4.23', cluster: '3.4.0' };
      },
      health: async () => ({ is_healthy: true }),
      status: async () => ({ member_id: name, leader_id: 'n1', errors: [] }),
      members: async () => [],
      alarms: async () => [],
    };
  };
  const seen = await seeMembers(host, cluster, partlyMade<Access>({ store: storeOf }));
  return { again, seen: seen.map(({ name, is_reachable }) => `${name} ${is_reachable}`) };
};

describe('members without a timely response', () => {
  it(
    'a slow member is queried again with more time if another one is slow as well',
    covers('spec/store#choices-8'),
    async () => {
      expect(await look(250, 'DEADLINE_EXCEEDED', 0)).toEqual({
        again: ['n2 3000'],
        seen: ['n1 true', 'n2 true', 'n3 true'],
      });
      expect((await look('DEADLINE_EXCEEDED', 300, 'DEADLINE_EXCEEDED')).again).toEqual([
        'n1 3000',
        'n3 3000',
      ]);
    },
  );
  it(
    'a slow member hangs if the others respond immediately: a refusal does not wait for it',
    covers('spec/store#choices-8'),
    async () => {
      expect(await look(0, 'DEADLINE_EXCEEDED', 200)).toEqual({
        again: [],
        seen: ['n1 true', 'n2 false', 'n3 true'],
      });
    },
  );
  it('all slow members are queried again, because this machine may be busy', async () => {
    expect(await look('DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED')).toEqual({
      again: ['n1 3000', 'n2 3000'],
      seen: ['n1 true', 'n2 true'],
    });
    expect((await look('DEADLINE_EXCEEDED')).again).toEqual(['n1 3000']);
  });
  it('a slow member is not awaited if another one refuses the connection or is not listening', async () => {
    expect((await look('DEADLINE_EXCEEDED', 'UNAVAILABLE')).again).toEqual([]);
    expect((await look(900, 'UNAVAILABLE', 0)).again).toEqual([]);
    expect((await look('UNAVAILABLE', 'UNAVAILABLE')).again).toEqual([]);
  });
});

it('a responding member is never queried again', () => {
  const member = { name: 'n1', is_reachable: true, error_code: 'DEADLINE_EXCEEDED', latency_ms: 900 };
  expect(slowMembers([member, { ...member, name: 'n2' }] as never)).toEqual([]);
});
