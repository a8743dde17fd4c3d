import { describe, expect, it } from 'vitest';
import type { Operation, OperationPlan, OperationStep } from '../../../src/kv/operations/journal.ts';
import { makeOfflineActs } from '../../../src/kv/operations/offline.ts';
import { performOperation } from '../../../src/kv/operations/perform.ts';
import { type SmallCluster, STATE, smallCluster } from '../../support/small-cluster.ts';

const versions = { from: '3.4', to: '3.5' } as const;
/** Three members of the old version, of which only those with the given names run. */
const clusterWith = async (...running: readonly string[]) => {
  const small = smallCluster('upgrade');
  const observation = await small.observation();
  const started: string[] = [];
  for (const { name } of small.cluster.members) small.members(name).isUp = running.includes(name);
  Object.assign(small.driver, {
    start: async ({ name }: { name: string }) => void started.push(name),
    activate: async () => {},
    logTail: async () => [],
  });
  return { small, observation, started };
};
type Made = Awaited<ReturnType<typeof clusterWith>>;
const actOf = ({ small, observation }: Made, step: Partial<OperationStep>): Promise<unknown> => {
  const { host, cluster, access, driver } = small;
  const plan = { id: 'op-1', steps: [], values: versions, observation } as unknown as OperationPlan;
  const operation = {
    ...{ host, cluster, plan, checking: { host, cluster, access, driver }, say: () => {} },
    journal: { entries: [] },
  } as unknown as Operation;
  const act = makeOfflineActs()[step.kind as OperationStep['kind']];
  return (act as NonNullable<typeof act>)(operation, step as OperationStep);
};

describe('the start of a stopped cluster with the new version', () => {
  it.each([
    ['the first start', { id: 'start', kind: 'start' }],
    ['the check of a member that exited', { id: 'n1.check', kind: 'check', member: 'n1' }],
  ] as const)('%s starts no member beside a member of the old version', async (_, step) => {
    const made = await clusterWith('n2', 'n3');
    await expect(actOf(made, step)).rejects.toMatchObject({
      message: expect.stringContaining('n2 runs 3.4.'),
      detail: { code: 'OFFLINE_UNFINISHED' },
    });
    expect(made.started).toEqual([]);
  });
  it('refuses before the start if a member runs, in every attempt', async () => {
    const made = await clusterWith('n2');
    const step = { id: 'verify-stopped', kind: 'verify-stopped' } as const;
    for (const _ of [1, 2]) await expect(actOf(made, step)).rejects.toThrow('n2 responds');
    await expect(actOf(await clusterWith(), step)).resolves.toBeUndefined();
  });
});

describe('the report of a finished upgrade of a stopped cluster', () => {
  const reported = async ({ host, cluster, access, driver }: SmallCluster, observation: unknown) => {
    const plan = {
      ...{ format: 1, id: '20260102T030405Z-0001', operation: 'upgrade-offline', command: 'opsctl x' },
      ...{ cluster: cluster.name, made_at: '2026-01-02T03:04:05.000Z', digest: 'd', notes: [], findings: [] },
      steps: [{ id: 'n1.copy-data', kind: 'copy-data', title: 'copy', member: 'n1' }],
      ...{ values: versions, observation },
    } as unknown as OperationPlan;
    const { report } = await performOperation({
      ...{ host, cluster, access, driver, plan, state: STATE, hasCanary: false, say: () => {} },
      acts: { 'copy-data': async () => ({ copy: '/data/n1.before-offline' }) },
      signal: new AbortController().signal,
    });
    return report.message;
  };
  it('names the copies of the data, which are the only way back', async () => {
    const { small, observation } = await clusterWith('n1', 'n2', 'n3');
    expect(await reported(small, observation)).toBe(
      'upgrade-offline: done; the data before the upgrade is kept: n1: /data/n1.before-offline',
    );
  });
});
