import { describe, expect, it } from 'vitest';
import { safeToStop, stopMember } from '../../../../src/kv/upgrade/execute/member.ts';
import { AppError } from '../../../../src/core/problem.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { Driver } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import type { ClusterFile, PlanOptions, Step } from '../../../../src/kv/engine/model.ts';
import { type SmallCluster, smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';
import { covers } from '../../../support/covers.ts';
import { pause } from '../../../support/slow-host.ts';

type Given = {
  readonly file?: Partial<ClusterFile>;
  readonly options?: Partial<PlanOptions>;
  readonly driver?: (small: SmallCluster) => Partial<Driver>;
  readonly patch?: Partial<Run>;
  readonly prepare?: (small: SmallCluster) => void;
};
const runOf = async ({ file, options, driver, patch, prepare }: Given = {}) => {
  const small = smallCluster('upgrade', file);
  const plan = await small.plan(options);
  prepare?.(small);
  const { host, cluster, access } = small;
  const run = runOn(host, { cluster, access, plan, ...patch }, { ...small.driver, ...driver?.(small) });
  return { small, run };
};
const stopped = async (name: string, given: Given = {}) => {
  const made = await runOf(given);
  const step = { id: `${name}.stop`, kind: 'stop', member: name } as Step;
  made.small.host.requests.length = 0;
  const ended = await stopMember(made.run, step).catch((error: unknown) => error);
  const asked = made.small.host.requests.filter(({ url }) => url.endsWith('/status')).length;
  return { ...made, ended, asked };
};

/** The successor must treat clients as the running member does. */
const access = { kind: 'begin', step: 'n2.stop', note: { access: { user: 'accepted' } } };
describe('a stop', () => {
  it('stages, notes where, shares that, and then stops within the grace of the cluster file', async () => {
    const order: string[] = [];
    const graces: number[] = [];
    const { run, small, ended } = await stopped('n2', {
      file: { timeouts: { gate_seconds: 3, stop_seconds: 7 } },
      patch: { shareProgress: async () => void order.push('shared') },
      driver: (cluster) => ({
        stage: async (spec, move) => {
          order.push(`staged ${move.from} ${move.to} ${move.run}`);
          return cluster.driver.stage(spec, move);
        },
        stop: async ({ name }, grace) => {
          order.push('stopped');
          graces.push(grace);
          cluster.host.advance(30);
          cluster.end(name);
          return true;
        },
      }),
    });
    expect([order, graces]).toEqual([['staged 3.4 3.5 run', 'shared', 'stopped'], [7000]]);
    expect(ended).toEqual({ took_ms: 30 });
    expect(run.written).toMatchObject([access, { kind: 'placed', placement: { member: 'n2' } }]);
    expect(run.state.endDownTime('n2')).toBe(small.host.elapsed() - 30);
    expect(run.told).toEqual([{ event: 'member-down', member: 'n2', was_leader: false }]);
  });
  it(
    'the stop of the leader waits for the moment after a write; other stops do not',
    covers('spec/store#choices-2'),
    async () => {
      const leader = await stopped('n1');
      const follower = await stopped('n2');
      expect(leader.asked - follower.asked).toBeGreaterThan(1);
      expect(leader.run.told).toEqual([{ event: 'member-down', member: 'n1', was_leader: true }]);
    },
  );
  it('an ignored stop ends with a kill only if configured', async () => {
    const prepare = (small: SmallCluster): void => {
      small.members('n2').ignoresStop = true;
    };
    const file = { timeouts: { gate_seconds: 3, stop_seconds: 7 } };
    const left = await stopped('n2', { prepare, file });
    expect(left.ended).toMatchObject({
      ...{ category: 'stopped', detail: { code: 'STOP_IGNORED' } },
      message: 'n2 did not exit within 7 s after the request to stop; it was not killed',
    });
    expect(left.small.done).toEqual(['stage n2', 'stop n2']);
    const killed = await stopped('n2', { prepare, patch: { canKill: true } });
    expect(killed.ended).toEqual({ took_ms: 0, killed: true });
    expect(killed.small.done.at(-1)).toBe('kill n2');
  });
  it('a kill is complete before the step ends', async () => {
    const done: string[] = [];
    const { ended } = await stopped('n2', {
      patch: { canKill: true },
      driver: () => ({
        stop: async () => false,
        kill: async () => {
          await pause(10);
          done.push('killed');
        },
      }),
    });
    expect([ended, done]).toEqual([{ took_ms: 0, killed: true }, ['killed']]);
  });
  it('a stop is not made on a full disk; the space for a copy is checked only if needed', async () => {
    const wanted: unknown[] = [];
    const driver = (small: SmallCluster): Partial<Driver> => ({
      facts: async (spec, want) => {
        wanted.push(want);
        return { ...(await small.driver.facts(spec, want)), free_bytes: 1 };
      },
    });
    const { ended, small } = await stopped('n2', { driver, options: { copy_data: true } });
    expect(ended).toMatchObject({
      ...{ category: 'stopped', detail: { code: 'DISK', tryThis: [naming('space')] } },
      message: naming('n2', '1 byte', '64 MiB', 'disk', 'data directory', 'not stopped'),
    });
    expect([wanted, small.done]).toEqual([[{ sizes: true, isPatient: true }], []]);
  });
  it('the stop reports a lost lock before observations of a cluster that another run changes', async () => {
    const lost = new AppError('stopped', 'lost', { code: 'LOCK_LOST' });
    const prepare = (small: SmallCluster): void => small.end('n3');
    const both = await stopped('n2', { prepare, patch: { holdLock: () => Promise.reject(lost) } });
    expect(both.ended).toBe(lost);
    const away = await stopped('n2', { prepare });
    expect(away.ended).toMatchObject({ detail: { code: 'QUORUM' } });
    expect(away.small.done).toEqual(['stage n2', 'discard n2']);
    const stuck = await stopped('n2', {
      prepare,
      driver: () => ({ discard: () => Promise.reject(new Error('no ssh')) }),
    });
    expect(stuck.ended).toMatchObject({ detail: { code: 'QUORUM' } });
  });
});

describe('the last look at a member', () => {
  const looked = async (name: string, given: Given) => {
    const { small, run } = await runOf(given);
    const began = small.host.elapsed();
    const seen = await safeToStop(run, name).catch((error: unknown) => error);
    return { seen, ms: small.host.elapsed() - began, told: run.told };
  };
  it('the last check sees the current member', async () => {
    expect((await looked('n1', {})).seen).toMatchObject({ name: 'n1', is_leader: true });
    expect((await looked('n2', {})).seen).toMatchObject({ name: 'n2', is_leader: false });
  });
  it('the last check treats a member with a process as able to return, and one without as gone', async () => {
    const prepare = (small: SmallCluster): void => {
      small.end('n3');
      small.state.answerMs = 150;
    };
    const there = await looked('n2', {
      prepare,
      driver: () => ({ process: async () => ({ state: 'running' }) }),
    });
    expect(there.seen).toMatchObject({
      ...{ category: 'stopped', detail: { code: 'QUORUM' } },
      message: expect.stringContaining('without n2 only 1 of 3'),
    });
    expect(there.ms).toBeGreaterThan(10_000);
    const unknown = await looked('n2', {
      prepare,
      driver: () => ({ process: async () => ({ state: 'unknown', reason: '' }) }),
    });
    expect(unknown.ms).toBeGreaterThan(10_000);
    expect((await looked('n2', { prepare })).ms).toBeLessThan(5000);
  });
  it('the last check waits for a missing connection, and then does not stop the member', async () => {
    const prepare = (small: SmallCluster): void => {
      small.members('n1').reachesNot = ['n3'];
    };
    const late = await looked('n2', { prepare });
    expect(late.seen).toMatchObject({ category: 'stopped', message: naming('n1 has no connection to n3') });
    expect([late.ms > 10_000, late.ms < 20_000]).toEqual([true, true]);
    const accepted = await looked('n2', { prepare, options: { accept: ['peer-links'] } });
    expect(accepted.seen).toMatchObject({ name: 'n2' });
  });
  it('the last check names the members that did not catch up within ten seconds, and does not wait for a follower', async () => {
    const prepare = (small: SmallCluster): void => {
      for (const name of ['n2', 'n3']) small.members(name).entriesBehind = 100_000;
      small.state.answerMs = 150;
    };
    const { told, ms } = await looked('n1', { prepare });
    expect(told).toEqual([
      {
        ...{ event: 'note', level: 'warn' },
        text: 'n1 is the leader, and n2, n3 did not catch up with it within 10 s; stopping it anyway',
      },
    ]);
    expect(ms).toBeGreaterThan(10_000);
    const follower = await looked('n2', { prepare });
    expect([follower.told, follower.ms < 5000]).toEqual([[], true]);
  });
});
