import { describe, expect, it } from 'vitest';
import { beginEarlySnapshot, snapshotAfter } from '../../../../src/kv/upgrade/execute/snapshot.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { JournalEntry, JournalStepId, MemberStatus, Step } from '../../../../src/kv/engine/model.ts';
import { fakeHost } from '../../../support/fake-host.ts';
import { observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { smallCluster } from '../../../support/small-cluster.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { covers } from '../../../support/covers.ts';
import { naming } from '../../../support/facts.ts';

const at = '2026-01-01T00:00:00.000Z';
const plan = planned();
const stepOf = (id: string): Step => plan.steps.find((step) => step.id === id) as Step;
const gate = stepOf('n2.gate');
const isNew = (name: string): MemberStatus => seen(name, { server_version: '3.4.23' });
const begun = (...steps: JournalStepId[]): JournalEntry[] =>
  steps.map((step) => ({ kind: 'begin', at, step }));
const until = (entries: JournalEntry[], members: MemberStatus[], of = plan): string | undefined =>
  snapshotAfter(of, entries, gate, observed(members))?.id;

describe('the snapshot during the watch of a member', () => {
  const [n1, n3] = [seen('n1'), seen('n3')];
  const one = begun('n2.snapshot', 'n2.stop', 'n2.start', 'n2.gate');
  it('the early snapshot belongs to the next member', covers('defect/U-59'), () =>
    expect(until(one, [n1, isNew('n2'), n3])).toBe('n3.snapshot'),
  );
  it('the early snapshot also belongs to the last member, because the question follows it', () => {
    const before: JournalEntry[] = [...begun('n3.start'), { kind: 'end', at, step: 'n3.gate' }];
    expect(until([...before, ...one], [n1, isNew('n2'), isNew('n3')])).toBe('n1.snapshot');
  });
  it('there is no early snapshot if the run holds, if the next member is unhealthy, or if a recent one exists', () => {
    const held = planned(undefined, undefined, planOptions({ hold_after: 1 }));
    expect(until(one, [n1, isNew('n2'), n3], held)).toBeUndefined();
    expect(until(one, [n1, isNew('n2'), seen('n3', { is_healthy: false })])).toBeUndefined();
    const taken: JournalEntry = { kind: 'end', at, step: 'n3.snapshot' };
    expect(until([...one, taken], [n1, isNew('n2'), n3])).toBeUndefined();
  });
});

describe('a snapshot that is started early', () => {
  /** n2 runs the new version during its soak time, and n3 is next. */
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
  it('the early snapshot is of the next member, if no wait is between the two', async () => {
    expect(await begunAhead()).toEqual(['n3.snapshot']);
  });
  it('the early snapshot is not started if a wait or a question precedes the stop', async () => {
    // The order may have changed since the plan, so a wait after one member applies after each member.
    for (const name of ['n2', 'n3']) expect(await begunAhead({}, name)).toEqual([]);
    expect(await begunAhead({ window: { probes: [], pauseAtMostMs: 1, earlierMs: [] } })).toEqual([]);
  });
  it('the early snapshot may fail without ending the run: its step repeats it', async () => {
    const failing = runOn(fakeHost(), { access: undefined as never });
    await beginEarlySnapshot(failing, gate, async () => {}).wait();
    expect(failing.told).toMatchObject([{ event: 'note', level: 'info' }]);
  });
  /** Starts an early snapshot with a function of the test. `took` contains the signal of each snapshot. */
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
  it('the early snapshot is not started if it was canceled during the check, or if the run stops', async () => {
    const cancelled = await looking();
    await cancelled.begin().cancel();
    expect([cancelled.took, cancelled.run.told]).toEqual([[], []]);
    const stopped = await looking({ signal: AbortSignal.abort() });
    await stopped.begin().wait();
    expect([stopped.took, stopped.run.told]).toEqual([[], []]);
  });
  it('the canceling caller aborts the early snapshot and waits for its end, which is not a failure', async () => {
    const { run, took, begin } = await looking();
    let isOver = false;
    let isTaken = (): void => {};
    const taken = new Promise<void>((resolve) => (isTaken = resolve));
    const early = begin(async (signal) => {
      isTaken();
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      // The data that arrived before is still being written.
      for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      isOver = true;
      throw new Error('broken off');
    });
    await taken;
    expect(took[0]?.aborted).toBe(false);
    await early.cancel();
    expect([took[0]?.aborted, isOver, run.told]).toEqual([true, true, []]);
  });
  it('a failed early snapshot is reported with the reason, and repeated later', async () => {
    const { run, begin } = await looking();
    await begin(() => Promise.reject(new Error('no room'))).wait();
    expect(run.told).toEqual([
      {
        ...{ event: 'note', level: 'info' },
        text: naming('snapshot', 'next member', 'not', 'in advance', 'no room'),
      },
    ]);
  });
  it('an early snapshot that was not started can be awaited and canceled', async () => {
    const { took, begin } = await looking({ window: { probes: [], pauseAtMostMs: 1, earlierMs: [] } });
    const early = begin();
    await early.wait();
    await early.cancel();
    expect(took).toEqual([]);
  });
});
