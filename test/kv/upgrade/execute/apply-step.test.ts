import { describe, expect, it } from 'vitest';
import { stepTable } from '../../../../src/kv/upgrade/execute/steps.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { identityOf, type Run } from '../../../../src/kv/upgrade/run.ts';
import type { Placement, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost, type ScriptedReply } from '../../../support/fake-host.ts';
import { seen } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';

const step = { id: 'n2.stop', kind: 'stop', member: 'n2', title: '', why: '', commands: [] } as Step;
type Identity = { readonly member_id: string; readonly cluster_id: string };

/** Three healthy members; n2 reports this identity. */
const cluster = (n2: Identity) => {
  const idOf = (url: string): Identity =>
    url.includes(':20002') ? n2 : { member_id: url.includes(':20001') ? '1001' : '1003', cluster_id: '77' };
  const listed = ['n1', 'n2', 'n3'].map((name, i) => ({
    ID: i === 1 ? n2.member_id : String(1001 + i),
    name,
    peerURLs: [],
    clientURLs: [],
  }));
  return fakeHost({
    reply: ({ url }): ScriptedReply => {
      if (url.endsWith('/version')) return { body: { etcdserver: '3.3.25', etcdcluster: '3.3.0' } };
      if (url.endsWith('/health')) return { body: { health: 'true' } };
      if (url.endsWith('/member/list')) return { body: { members: listed } };
      if (url.endsWith('/alarm')) return { body: {} };
      return {
        body: {
          header: { ...idOf(url), revision: '10', raft_term: '2' },
          leader: '1001',
          raftIndex: '100',
          raftTerm: '2',
          dbSize: '512',
        },
      };
    },
  });
};
const placement: Placement = { member: 'n2', previous: { minor: '3.3' }, next: { minor: '3.4' } };
const stopped = async (n2: Identity, patch: Partial<Run> = {}) => {
  const [stops, discards]: [string[], string[]] = [[], []];
  const driver = {
    facts: async () => seen('n2').host ?? {},
    stage: async () => placement,
    discard: async () => void discards.push('n2'),
    stop: async ({ name }: { readonly name: string }) => {
      stops.push(name);
      return true;
    },
  };
  const run = runOn(cluster(n2), patch, driver);
  const ended = await stepTable.stop.run(run, step, {}).then(
    () => 'stopped',
    (error: unknown) => error,
  );
  return { run, stops, discards, ended };
};

/** The successor must treat clients as the running member does. */
const access = { kind: 'begin', step: 'n2.stop', note: { access: { user: 'accepted' } } };
describe('stopping a member', () => {
  it('the stop of the planned member needs no note of its identity', async () => {
    const { run, stops, ended } = await stopped({ member_id: '1002', cluster_id: '77' });
    expect([ended, stops]).toEqual(['stopped', ['n2']]);
    expect(run.written).toMatchObject([access, { kind: 'placed', placement }]);
    expect(identityOf(run, 'n2')).toEqual({ member_id: '1002', cluster_id: '77' });
  });
  it('a member that an operator replaced is checked by its new ID, including after a crash', async () => {
    const { run, stops } = await stopped({ member_id: '1009', cluster_id: '77' });
    expect(stops).toEqual(['n2']);
    expect(run.written).toMatchObject([
      access,
      { kind: 'begin', step: 'n2.stop', note: { member_id: '1009' } },
      { kind: 'placed', placement },
    ]);
    expect(identityOf(run, 'n2')).toEqual({ member_id: '1009', cluster_id: '77' });
    expect(run.told).toContainEqual({
      event: 'note',
      level: 'warn',
      text: 'n2 is now member 3f1, but was 3ea when the plan was created',
    });
  });
  it('a member of another cluster behind the same URL is rejected', async () => {
    const { stops, ended } = await stopped({ member_id: '1002', cluster_id: '78' });
    expect(ended).toMatchObject({
      category: 'stopped',
      message: 'n2 is now in cluster 4e, but was in 4d: it was not stopped',
    });
    expect(stops).toEqual([]);
  });
  it('a stop is rejected if another run acquired the lock', async () => {
    const lost = new AppError('stopped', 'the lock in the store was lost', { code: 'LOCK_LOST' });
    const { stops, discards, ended } = await stopped(
      { member_id: '1002', cluster_id: '77' },
      { holdLock: () => Promise.reject(lost) },
    );
    expect([ended, stops]).toEqual([lost, []]);
    // A crash of the member would start the same program as before.
    expect(discards).toEqual(['n2']);
  });
});
