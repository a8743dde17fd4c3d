import { expect, it } from 'vitest';
import { openGate, passGate, readThroughOthers } from '../../../../src/kv/upgrade/execute/health-check.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { errorWith } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';

/**
 * n2 is being checked and does not respond before `upAt` (host clock). Returns the members that received a
 * range request, in order.
 */
const starting = (upAt: number, isDown: (name: string) => boolean = () => false) => {
  const asked: string[] = [];
  const host = fakeHost({
    reply: ({ url }) => {
      if (url.includes(':20002') && host.elapsed() < upAt) return { status: 503, body: {} };
      if (!url.endsWith('/status')) return { body: { etcdserver: '3.4.23', etcdcluster: '3.3.0' } };
      // The member has no leader, so the checks after its version continue and do not pass.
      const header = { member_id: '1002', cluster_id: '77', revision: '10', raft_term: '2' };
      return { body: { header, raftIndex: '100', raftTerm: '2', dbSize: '1' } };
    },
  });
  const run = runOn(host, {}, { process: async () => ({ state: 'running' }) });
  const gate = openGate(run, 'n2', '3.4');
  const others = gate.others.map(({ name, store }) => ({
    name,
    store: {
      ...store,
      range: async () => {
        asked.push(name);
        if (isDown(name)) throw new Error('connection refused');
        return { revision: 1, kvs: [], count: 0 };
      },
    },
  }));
  return { host, asked, gate: { ...gate, others } };
};

it(
  'reads through another member help a starting member until its first response',
  covers('spec/store#measured-upgrade-6', 'spec/store#choices-11'),
  async () => {
    const { asked, gate } = starting(300);
    await expect(passGate(gate, 900)).rejects.toThrow(errorWith('MemberFailure', 'healthy', 'leader'));
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.length).toBeLessThanOrEqual(21);
    expect(new Set(asked)).toEqual(new Set(['n1']));
  },
);

it('a slow member is left after a second', async () => {
  const { host, asked, gate } = starting(60_000);
  const began = host.elapsed();
  await readThroughOthers(gate, new AbortController().signal);
  expect(host.elapsed() - began).toBeGreaterThanOrEqual(1000);
  expect(host.elapsed() - began).toBeLessThan(1100);
  expect(asked.length).toBeLessThanOrEqual(67);
});

it('the next member is used if one does not respond', async () => {
  const { asked, gate } = starting(60_000, (name) => name === 'n1');
  await readThroughOthers(gate, new AbortController().signal);
  expect(asked.slice(0, 3)).toEqual(['n1', 'n3', 'n3']);
});

it('a cluster of one member has no helper', async () => {
  const { host, gate } = starting(0);
  const began = host.elapsed();
  await readThroughOthers({ ...gate, others: [] }, new AbortController().signal);
  expect(host.elapsed()).toBe(began);
});

it('one other member is enough to help', async () => {
  const { asked, gate } = starting(60_000);
  await readThroughOthers({ ...gate, others: gate.others.slice(1) }, new AbortController().signal);
  expect(new Set(asked)).toEqual(new Set(['n3']));
});
