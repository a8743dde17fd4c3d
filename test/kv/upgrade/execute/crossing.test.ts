import { describe, expect, it } from 'vitest';
import {
  crossingOf,
  stableBeforeLastMs,
  waitForStableMembers,
} from '../../../../src/kv/upgrade/execute/before-member.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { MemberStatus, PlanOptions, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { observed, planOptions, planned, seen } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';

const isNew = (name: string): MemberStatus => seen(name, { server_version: '3.4.45' });
const both = observed([seen('n1'), isNew('n2'), isNew('n3')]);
const step: Step = { id: 'n1.stop', kind: 'stop', member: 'n1', title: '', why: '', commands: [] };
/** `good` returns the time since which the members are healthy for an elapsed time. */
const waited = async (
  good: (elapsed: number) => number | undefined,
  options: Partial<PlanOptions> = {},
  patch: (stop: () => void) => Partial<Run> = () => ({}),
) => {
  const host = fakeHost();
  const [added, over] = [[] as string[], new AbortController()];
  const plan = { ...planned(), options: planOptions({ stable_before_last_seconds: 10, ...options }) };
  const base = runOn(host, { plan, ...patch(() => over.abort()) });
  const members = {
    ...base.members,
    add: (name: string) => void added.push(name),
    isWatched: (name: string) => name === 'n3',
    goodSince: () => good(host.elapsed()),
    signal: () => over.signal,
  };
  const stability = await waitForStableMembers({ ...base, members }, step, both);
  return { stability, added, ms: host.elapsed(), slept: host.slept, told: base.told };
};

describe('the members of the new version before the last one', () => {
  it('new members are watched, including unwatched ones, and stable after the required time', async () => {
    const { stability, added, ms, told } = await waited(() => 0);
    expect([stability, added, ms]).toEqual(['good', ['n2'], 10_000]);
    expect(told).toHaveLength(10);
    expect(told[0]).toEqual({
      ...{ event: 'waiting', step, remaining_ms: 10_000 },
      reason: 'n2, n3 must be healthy at the same time before n1 is stopped',
    });
    expect((await waited(() => -10_000)).ms).toBe(0);
    expect((await waited(() => -9999)).slept).toEqual([1]);
  });
  it('new members have ten seconds, or the planned time', () => {
    const of = (options: Partial<PlanOptions>) =>
      stableBeforeLastMs({ options: planOptions(options) } as never);
    expect([of({}), of({ stable_before_last_seconds: 0 }), of({ stable_before_last_seconds: 3 })]).toEqual([
      10_000, 0, 3000,
    ]);
  });
  it('members that are unhealthy for longer than an election are checked again', async () => {
    const sick = await waited(() => undefined);
    expect([sick.stability, sick.ms]).toEqual(['look-again', 10_100]);
    // The members are healthy for a moment, and the soak time starts there.
    const once = await waited((elapsed) => (elapsed > 5000 && elapsed <= 6000 ? 5000 : undefined));
    expect([once.stability, once.ms]).toEqual(['look-again', 16_100]);
  });
  it('members that flap are given up two minutes after the required time', async () => {
    const { stability, ms } = await waited((elapsed) => elapsed - 500);
    expect([stability, ms]).toEqual(['never', 130_100]);
  });
  it('unstable members are not awaited when a member exits or the run stops', async () => {
    expect(
      (
        await waited(
          () => 0,
          {},
          () => ({ signal: AbortSignal.abort() }),
        )
      ).stability,
    ).toBe('look-again');
    const ended = await waited(
      () => 0,
      {},
      (stop) => ({ emit: stop }),
    );
    expect([ended.stability, ended.ms]).toEqual(['look-again', 0]);
  });
});

describe('the view for the decision of the operator', () => {
  const shown = (goodSince: number | undefined, observation = both) => {
    const host = fakeHost();
    host.advance(20_000);
    const base = runOn(host);
    const asked: unknown[] = [];
    const members = {
      ...base.members,
      goodSince: (names: readonly string[]) => {
        asked.push(names);
        return goodSince;
      },
    };
    return { ...crossingOf({ ...base, members }, 'n1', observation), asked };
  };
  it('the view lists the upgraded members, and how long they have all been healthy', () => {
    expect(shown(5000)).toEqual({
      ...{
        member: 'n1',
        upgraded: ['n2', 'n3'],
        goodForMs: 15_000,
        observation: both,
        asked: [['n2', 'n3']],
      },
    });
    expect(shown(undefined).goodForMs).toBe(0);
    expect(shown(0, observed([seen('n1')]))).toMatchObject({ upgraded: [], goodForMs: 0 });
  });
});
