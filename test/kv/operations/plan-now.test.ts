import { describe, expect, it } from 'vitest';
import { planNow } from '../../../src/kv/operations/plan.ts';
import type { OperationPlan, OperationRefusal } from '../../../src/kv/operations/journal.ts';
import type { Access } from '../../../src/kv/engine/access.ts';
import type { Observation } from '../../../src/kv/engine/model.ts';
import { fakeHost } from '../../support/fake-host.ts';
import type { Driver } from '../../../src/kv/upgrade/supervisors/driver.ts';
import { clusterFile, seen } from '../../support/observations.ts';
import { naming } from '../../support/facts.ts';
import { pause } from '../../support/slow-host.ts';
import { partlyMade } from '../../support/context.ts';
import { covers } from '../../support/covers.ts';

type Sick = { readonly leaderless?: boolean; readonly alarm?: boolean; readonly away?: boolean };
/**
 * n2 is unhealthy for `looks` observations before the plan succeeds. Resolves with the number of observations
 * and the elapsed time.
 */
const planned = async (looks: number, sick: Sick = {}, driver?: Driver) => {
  const base = fakeHost();
  const overlaps: string[] = [];
  let isAsleep = false;
  const sleep = async (ms: number): Promise<void> => {
    isAsleep = true;
    await pause();
    await base.sleep(ms);
    isAsleep = false;
  };
  const host = { ...base, sleep };
  const ids = new Set<string>();
  const cluster = clusterFile(3);
  let looked = 0;
  const isSick = (url: string): boolean => url === cluster.members[1]?.client_url && looked <= looks;
  const store = (url: string) => ({
    versions: async () => {
      if (isAsleep) overlaps.push(`look ${looked + 1} began before the end of a pause`);
      if (url === cluster.members[0]?.client_url) looked += 1;
      if (isSick(url) && sick.away === true) throw new Error('connection refused');
      return { server: '3.5.16', cluster: '3.5.0' };
    },
    health: async () => ({ is_healthy: !isSick(url), reason: 'etcdserver: leader changed' }),
    status: async () => ({
      member_id: '1',
      ...(sick.leaderless === true && looked <= looks ? {} : { leader_id: '1' }),
      errors: [],
    }),
    members: async () => [],
    range: async () => ({ revision: 1 }),
    alarms: async () => (sick.alarm === true ? [{ member_id: '1', alarm: 'NOSPACE' }] : []),
    quota: async () => undefined,
    connection: { get: () => Promise.reject(new Error('no metrics')) },
  });
  const start = host.elapsed();
  const refusal = (observation: Observation): OperationRefusal => ({
    refused: [{ guard: 'others-are-healthy', level: 'fail', message: 'n2 is not healthy' }],
    findings: [],
    observation,
  });
  let hosts: readonly unknown[] = [];
  const plan = async (observation: Observation, id: string) => {
    ids.add(id);
    hosts = observation.members.map((member) => member.host);
    return observation.members[1]?.is_healthy === true
      ? partlyMade<OperationPlan>({ id: 'made' })
      : refusal(observation);
  };
  const place = {
    host,
    state: '/state',
    cluster,
    access: partlyMade<Access>({ store, anonymous: store }),
    driver,
  };
  const made = await planNow(place, { operation: 'replace-member', subject: 'n1', plan }).then(
    () => 'planned',
    (error: Error) => error.message,
  );
  expect(overlaps).toEqual([]);
  return { made, seen: looked, hosts, ids: ids.size, tookMs: host.elapsed() - start };
};

it('each attempt to plan has another ID', async () => {
  expect((await planned(8)).ids).toBe(9);
});
it('the facts of the hosts are part of the observation if there is a driver', async () => {
  const facts = seen('n1').host;
  const driver = partlyMade<Driver>({ facts: async () => facts });
  expect((await planned(0, {}, driver)).hosts).toEqual([facts, facts, facts]);
  expect((await planned(0)).hosts).toEqual([undefined, undefined, undefined]);
});
describe('an operation that is refused for a member that is not healthy', () => {
  it(
    'a failed health check is repeated during an election, including after the new leader is known',
    covers('spec/store#choices-8'),
    async () => {
      expect(await planned(8)).toMatchObject({ made: 'planned', seen: 9, tookMs: 2000 });
      expect(await planned(8, { leaderless: true })).toMatchObject({
        made: 'planned',
        seen: 9,
        tookMs: 2000,
      });
      expect(await planned(39)).toMatchObject({ made: 'planned', tookMs: 9750 });
      expect(await planned(1000)).toMatchObject({
        made: naming('changes', 'made', 'n2 is not healthy'),
        tookMs: 10_000,
      });
    },
  );
  it('does not wait for what no election brings: an alarm, a member that is not there', async () => {
    expect(await planned(1, { alarm: true })).toMatchObject({ seen: 1, tookMs: 0 });
    expect(await planned(1, { away: true })).toMatchObject({ seen: 1, tookMs: 0 });
  });
});
