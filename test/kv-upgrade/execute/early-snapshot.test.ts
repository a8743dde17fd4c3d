import { describe, expect, it } from 'vitest';
import { beginEarlySnapshot, snapshotAfter } from '../../../src/kv-upgrade/execute/early-snapshot.ts';
import type { JournalEntry, MemberSeen, Step } from '../../../src/kv-upgrade/types.ts';
import { fakeHost } from '../../support/fake-host.ts';
import { observed, planned, planOptions, seen } from '../../support/observations.ts';
import { runOn } from '../../support/upgrade-run.ts';

const at = '2026-01-01T00:00:00.000Z';
const plan = planned();
const stepOf = (id: string): Step => plan.steps.find((step) => step.id === id) as Step;
const gate = stepOf('n2.gate');
const isNew = (name: string): MemberSeen => seen(name, { server_version: '3.4.23' });
const begun = (...steps: string[]): JournalEntry[] => steps.map((step) => ({ kind: 'begin', at, step }));
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
  const version = { etcdserver: '3.3.25', etcdcluster: '3.3.0' };
  const run = () =>
    runOn(fakeHost({ reply: ({ url }) => (url.endsWith('/version') ? { body: version } : { status: 404 }) }));
  it('is not begun where a wait or a question comes before the stop', async () => {
    const settle = { ...gate, id: 'n2.settle', kind: 'settle', wait_seconds: 90 } as Step;
    const took: string[] = [];
    const take = async (step: Step): Promise<void> => void took.push(step.id);
    const waiting = { ...run(), plan: { ...plan, steps: [...plan.steps, settle] } };
    await beginEarlySnapshot(waiting, gate, take).wait();
    const window = { probes: [], pauseAtMostMs: 1, earlierMs: [] };
    await beginEarlySnapshot({ ...run(), window }, gate, take).wait();
    expect(took).toEqual([]);
  });
  it('fails without ending the run: its step takes it again', async () => {
    const failing = { ...run(), access: undefined as never };
    await beginEarlySnapshot(failing, gate, async () => {}).wait();
    expect(failing.told).toMatchObject([{ event: 'note', level: 'info' }]);
  });
});
