import { describe, expect, it } from 'vitest';
import { beginEarlySnapshot, snapshotAfter } from '../../../../src/kv/upgrade/execute/snapshot.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { JournalEntry, JournalStepId, MemberSeen, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';

const at = '2026-01-01T00:00:00.000Z';
const plan = planned();
const stepOf = (id: string): Step => plan.steps.find((step) => step.id === id) as Step;
const gate = stepOf('n2.gate');
const isNew = (name: string): MemberSeen => seen(name, { server_version: '3.4.23' });
const begun = (...steps: JournalStepId[]): JournalEntry[] =>
  steps.map((step) => ({ kind: 'begin', at, step }));
const until = (entries: JournalEntry[], members: MemberSeen[], of = plan): string | undefined =>
  snapshotAfter(of, entries, gate, observed(members))?.id;

describe('the snapshot that is taken while a member is watched', () => {
  const [n1, n3] = [seen('n1'), seen('n3')];
  const one = begun('n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate');
  it('is the one of the member that follows', () =>
    expect(until(one, [n1, isNew('n2'), n3])).toBe('n3.snapshot'));
  it('is the one of the last member too: the question comes after it', () => {
    const before: JournalEntry[] = [...begun('n3.start'), { kind: 'end', at, step: 'n3.gate' }];
    expect(until([...before, ...one], [n1, isNew('n2'), isNew('n3')])).toBe('n1.snapshot');
  });
  it('is none where the run holds, where the next member is sick, and where it is fresh already', () => {
    const held = planned(undefined, undefined, planOptions({ hold_after: 1 }));
    expect(until(one, [n1, isNew('n2'), n3], held)).toBeUndefined();
    expect(until(one, [n1, isNew('n2'), seen('n3', { is_healthy: false })])).toBeUndefined();
    const taken: JournalEntry = { kind: 'end', at, step: 'n3.snapshot' };
    expect(until([...one, taken], [n1, isNew('n2'), n3])).toBeUndefined();
  });
});

describe('a snapshot that is begun ahead', () => {
  /** n2 runs the new version and is watched; n3 is next. */
  const begunAhead = async (patch: Partial<Run> = {}, settled?: string): Promise<string[]> => {
    const small = smallCluster();
    const made = await small.plan();
    small.members('n2').which = 'new';
    const settle = { id: `${settled}.settle`, kind: 'settle', member: settled, wait_seconds: 90 } as Step;
    const steps = made.steps.flatMap((step) => (step.id === `${settled}.gate` ? [step, settle] : [step]));
    const { host, cluster, access, driver } = small;
    const run = runOn(host, { cluster, access, plan: { ...made, steps }, ...patch }, driver);
    run.written.push(...begun('n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate'));
    const took: string[] = [];
    const take = async (step: Step): Promise<void> => void took.push(step.id);
    const watched = made.steps.find(({ id }) => id === 'n2.gate') as Step;
    await beginEarlySnapshot(run, watched, take).wait();
    return took;
  };
  it('is that of the next member, where nothing waits between the two', async () => {
    expect(await begunAhead()).toEqual(['n3.snapshot']);
  });
  it('is not begun where a wait or a question comes before the stop', async () => {
    // The order may have changed since the plan: what waits after one member waits after each.
    for (const name of ['n2', 'n3']) expect(await begunAhead({}, name)).toEqual([]);
    expect(await begunAhead({ window: { probes: [], pauseAtMostMs: 1, earlierMs: [] } })).toEqual([]);
  });
  it('fails without ending the run: its step takes it again', async () => {
    const failing = runOn(fakeHost(), { access: undefined as never });
    await beginEarlySnapshot(failing, gate, async () => {}).wait();
    expect(failing.told).toMatchObject([{ event: 'note', level: 'info' }]);
  });
  /** The look at the cluster ends when the test says so; what it takes is in `took`. */
  const looking = async (patch: Partial<Run> = {}) => {
    const small = smallCluster();
    const made = await small.plan();
    small.members('n2').which = 'new';
    const { host, cluster, access, driver } = small;
    const run = runOn(host, { cluster, access, plan: made, ...patch }, driver);
    run.written.push(...begun('n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate'));
    const took: AbortSignal[] = [];
    const watched = made.steps.find(({ id }) => id === 'n2.gate') as Step;
    const begin = (take: (signal: AbortSignal) => Promise<void> = async () => {}) =>
      beginEarlySnapshot(run, watched, async (_, signal) => {
        took.push(signal);
        await take(signal);
      });
    return { run, took, begin };
  };
  it('is not taken when it was called off during the look, or the run is to stop', async () => {
    const cancelled = await looking();
    await cancelled.begin().cancel();
    expect([cancelled.took, cancelled.run.told]).toEqual([[], []]);
    const stopped = await looking({ signal: AbortSignal.abort() });
    await stopped.begin().wait();
    expect([stopped.took, stopped.run.told]).toEqual([[], []]);
  });
  it('is broken off by the one who called it off, who waits for its end; that is no failure', async () => {
    const { run, took, begin } = await looking();
    let isOver = false;
    let isTaken = (): void => {};
    const taken = new Promise<void>((resolve) => (isTaken = resolve));
    const early = begin(async (signal) => {
      isTaken();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      isOver = true;
      throw new Error('broken off');
    });
    await taken;
    expect(took[0]?.aborted).toBe(false);
    await early.cancel();
    expect([took[0]?.aborted, isOver, run.told]).toEqual([true, true, []]);
  });
  it('that fails says why, and that it is taken later', async () => {
    const { run, begin } = await looking();
    await begin(() => Promise.reject(new Error('no room'))).wait();
    expect(run.told).toEqual([
      {
        ...{ event: 'note', level: 'info' },
        text: "the next member's snapshot was not taken ahead (no room): it is taken when its turn comes",
      },
    ]);
  });
  it('that is not begun can be waited for and called off like any other', async () => {
    const { took, begin } = await looking({ window: { probes: [], pauseAtMostMs: 1, earlierMs: [] } });
    const early = begin();
    await early.wait();
    await early.cancel();
    expect(took).toEqual([]);
  });
});
