import { describe, expect, it } from 'vitest';
import { openNewGate, openOldGate, prove, startMember } from '../../../../src/kv/upgrade/execute/member.ts';
import { AppError } from '../../../../src/core/problem.ts';
import { MemberFailure, type Run } from '../../../../src/kv/upgrade/run.ts';
import { type Driver, MAY_BE_DOWN } from '../../../../src/kv/upgrade/supervisors/driver.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';

const runOf = async (driver: Partial<Driver> = {}, stable_seconds = 0) => {
  const small = smallCluster();
  const plan = await small.plan({ stable_seconds });
  const added: unknown[] = [];
  const { host, cluster, access } = small;
  const base = runOn(host, { cluster, access, plan }, { ...small.driver, ...driver });
  const members: Run['members'] = { ...base.members, add: (...args) => void added.push(args) };
  return { small, run: { ...base, members }, added };
};

describe('a start', () => {
  it('notes the end of the log before it, and hands back the gate of what it started', async () => {
    const { small, run } = await runOf();
    small.state.log = ['before'];
    expect(await startMember(run, 'n2', 'new')).toMatchObject({ minor: '3.5', member: { name: 'n2' } });
    expect(run.state.logMark('n2')).toEqual(['before']);
    expect(await startMember(run, 'n2', 'old')).toMatchObject({ minor: '3.4', isOld: true });
    expect(small.done).toEqual(['activate n2 new', 'start n2 new', 'activate n2 old', 'start n2 old']);
  });
  it('the health check detects a started process that exits; an invisible process is not awaited', async () => {
    const exit = { code: 2, signal: null };
    const { run } = await runOf({ start: async () => ({ exited: Promise.resolve(exit) }) });
    const gate = await startMember(run, 'n2', 'new');
    expect(await gate.exited).toEqual(exit);
    expect(gate.exit).toEqual(exit);
    const { run: blind } = await runOf();
    expect((await startMember(blind, 'n2', 'new')).exited).toBeUndefined();
  });
  it('a failed start is a failure of the member; an unreachable host is not', async () => {
    const bad = await runOf({ start: () => Promise.reject(new Error('exit code 1')) });
    const error = await startMember(bad.run, 'n2', 'new').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(MemberFailure);
    expect(error).toMatchObject({ member: 'n2', message: 'n2 could not be started: exit code 1' });
    const away = new AppError('stopped', 'no route', { code: MAY_BE_DOWN });
    const unreached = await runOf({ start: () => Promise.reject(away) });
    await expect(startMember(unreached.run, 'n2', 'new')).rejects.toBe(away);
  });
});

describe('the proof of a member', () => {
  it('the check reports once that a member is up again, with its downtime', async () => {
    const { small, run, added } = await runOf();
    small.members('n2').which = 'new';
    run.state.recordStop('n2', small.host.elapsed() - 5000);
    let isGoodAt: unknown;
    const detail = await prove(run, openNewGate(run, 'n2'), () => {
      isGoodAt = run.state.replacing.get('n2');
    });
    expect(isGoodAt).toBe('proved');
    const up = run.told.flatMap((event) => (event.event === 'member-up' ? [event] : []));
    expect(up).toEqual([{ event: 'member-up', member: 'n2', down_ms: expect.closeTo(5010, -2) }]);
    expect(detail).toEqual({ down_ms: up[0]?.down_ms, version: '3.5.30' });
    expect(run.state.endDownTime('n2')).toBeUndefined();
    expect(added).toEqual([['n2', undefined]]);
    // A member that was not down has no downtime.
    const second = await prove(run, openNewGate(run, 'n2'));
    expect(second).toEqual({ down_ms: undefined, version: '3.5.30' });
    expect(run.told.filter(({ event }) => event === 'member-up')).toHaveLength(1);
  });
  it('the check of the old version adds no member to the watch', async () => {
    const { run, added } = await runOf();
    expect(await prove(run, openOldGate(run, 'n2'))).toMatchObject({ version: '3.4.45' });
    expect(added).toEqual([]);
  });
  it('the check takes the planned time', async () => {
    const { small, run } = await runOf({}, 7);
    small.members('n2').which = 'new';
    const began = small.host.elapsed();
    await prove(run, openNewGate(run, 'n2'));
    const took = small.host.elapsed() - began;
    expect([took >= 7000, took < 7500]).toEqual([true, true]);
    expect(run.told.at(-1)).toMatchObject({ check: 'stable', ok: true, detail: naming('good', '7 s') });
  });
  it('watches the very process that was started', async () => {
    const exited = new Promise<never>(() => {});
    const { small, run, added } = await runOf();
    small.members('n2').which = 'new';
    await prove(run, { ...openNewGate(run, 'n2'), exited });
    expect(added).toEqual([['n2', exited]]);
  });
});
