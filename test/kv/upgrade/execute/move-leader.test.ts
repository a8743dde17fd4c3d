import { describe, expect, it } from 'vitest';
import { handOver, moveLeader } from '../../../../src/kv/upgrade/execute/member.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

/**
 * Consecutive responses of the leader about the current leader after a transfer request. The last one
 * repeats.
 */
const handed = async (answers: readonly (string | undefined)[], refusal?: Error) => {
  const host = fakeHost();
  let [isAsked, looks] = [false, 0];
  const asked: unknown[] = [];
  const store = {
    status: async () => {
      if (!isAsked) return { raft_index: host.elapsed() };
      const leader_id = answers[Math.min(looks, answers.length - 1)];
      looks += 1;
      if (leader_id === undefined) throw new Error('no response');
      return { leader_id };
    },
    moveLeader: async (to: string) => {
      asked.push(to);
      isAsked = true;
      if (refusal !== undefined) throw refusal;
    },
  };
  const stores: unknown[] = [];
  const access = {
    store: (url: string) => {
      stores.push(url);
      return store;
    },
  } as unknown as Run['access'];
  const run = runOn(host, { access });
  const of = { member: 'n1', title: '', why: '', commands: [] };
  const step: Step = { ...of, id: 'n1.move-leader', kind: 'move-leader', target: 'n2' };
  const began = host.elapsed();
  const detail = await moveLeader(run, step);
  return { run, host, detail, looks, asked, stores, ms: host.elapsed() - began, told: run.told };
};

describe('the leadership', () => {
  it('the leadership is transferred, and has moved when the old leader reports it', async () => {
    const { detail, looks, asked, stores, told } = await handed(['1001', undefined, '1003', '1002', '1001']);
    expect([detail, asked, looks]).toEqual([{ moved: true }, ['1002'], 4]);
    expect(new Set(stores)).toEqual(new Set(['http://127.0.0.1:20001']));
    expect(told).toEqual([{ event: 'leader-changed', from: 'n1', to: 'n2' }]);
  });
  it('a transfer that takes effect immediately is not awaited', async () => {
    const { looks, ms } = await handed(['1002']);
    expect([looks, ms < 20]).toEqual([1, true]);
  });
  it('a transfer is awaited for at most five seconds', async () => {
    const { detail, ms } = await handed(['1001']);
    expect(detail).toEqual({ moved: true });
    expect([ms >= 5000, ms < 5100]).toEqual([true, true]);
  });
  it('a leadership that the store keeps moves at the stop', async () => {
    const { detail, looks, told } = await handed(['1001'], new Error('bad leader transferee'));
    expect([detail, looks]).toEqual([{ moved: false }, 0]);
    expect(told).toEqual([
      {
        ...{ event: 'note', level: 'warn' },
        text: naming('bad leader transferee', 'n1', 'transfer', 'failed', 'leadership'),
      },
    ]);
  });
});

it('a member that was replaced since the plan is addressed by its new ID', async () => {
  const asked: string[] = [];
  const host = fakeHost();
  const store = {
    status: async () => ({ raft_index: host.elapsed(), leader_id: '1009' }),
    moveLeader: async (to: string) => void asked.push(to),
  };
  const run = runOn(host, { access: { store: () => store } as unknown as Run['access'] });
  run.written.push({ kind: 'begin', at: '', step: 'n2.stop', note: { member_id: '1009' } });
  expect(await handOver(run, 'n1', 'n2')).toEqual({ moved: true });
  expect(asked).toEqual(['1009']);
});
