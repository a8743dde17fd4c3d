import { describe, expect, it } from 'vitest';
import { timelineFrom } from '../../../../src/kv/upgrade/present/timeline.ts';
import { wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import type { Report, Step, Unstamped, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { observed, planned } from '../../../support/observations.ts';

const member = (name: string, version_before?: string): Report['members'][number] => ({
  ...{ name, client_url: '', was_leader: false, gate: [], version_before },
});
const report = (patch: Partial<Report> = {}): Report =>
  ({
    ...{ from: '3.3', to: '3.4', duration_ms: 1000, members: [member('n1', '3.3.25')] },
    ...patch,
  }) as Report;
const at = (elapsed_ms: number, event: Unstamped): UpgradeEvent => ({
  ...event,
  elapsed_ms,
  at: new Date(Date.UTC(2026, 0, 1) + elapsed_ms).toISOString(),
});
const drawn = (events: readonly UpgradeEvent[], patch: Partial<Report> = {}) =>
  timelineFrom(report(patch), wholeRun(events));
const down = (ms: number, name = 'n1') => at(ms, { event: 'member-down', member: name, was_leader: false });
const up = (ms: number, name = 'n1') => at(ms, { event: 'member-up', member: name, down_ms: 1 });

describe('the lane of a member', () => {
  const lane = (events: readonly UpgradeEvent[], patch: Partial<Report> = {}) =>
    drawn(events, patch).lanes[0];
  const kinds = (patch: Partial<Report>) => lane([], patch)?.spans.map(({ kind }) => kind);
  it('the timeline of a member starts with its previous version', () => {
    expect(kinds({})).toEqual(['old']);
    expect(kinds({ members: [member('n1', '3.4.45')] })).toEqual(['new']);
    expect(kinds({ members: [member('n1')] })).toEqual(['old']);
    const restart = { kind: 'restart', from: '3.4', members: [member('n1', '3.4.45')] } as const;
    expect(kinds(restart)).toEqual(['old']);
  });
  it('changes with what happens to it, and not with what happens to others', () => {
    const reverted = (ms: number, name: string) =>
      at(ms, { event: 'reverted', member: name, duration_ms: 1 });
    const saved = (ms: number, name: string) =>
      at(ms, { event: 'snapshot-saved', snapshot: { member: name } as never });
    const events = [
      ...[saved(50, 'n1'), saved(60, 'n2'), down(80, 'n2'), down(100), up(150, 'n2'), up(300)],
      ...[down(400), reverted(450, 'n2'), reverted(500, 'n1')],
    ];
    expect(lane(events)).toEqual({
      name: 'n1',
      spans: [
        { kind: 'old', fromMs: 0, toMs: 100 },
        { kind: 'down', fromMs: 100, toMs: 300 },
        { kind: 'new', fromMs: 300, toMs: 400 },
        { kind: 'down', fromMs: 400, toMs: 500 },
        { kind: 'old', fromMs: 500, toMs: 1000 },
      ],
      snapshotsAt: [50],
      revertedAt: [500],
    });
  });
  it('the timeline of a member has no empty piece', () =>
    expect(lane([down(0), up(1)])?.spans).toEqual([
      { kind: 'down', fromMs: 0, toMs: 1 },
      { kind: 'new', fromMs: 1, toMs: 1000 },
    ]));
});

describe('leaders in the timeline', () => {
  const plan = planned();
  const begun = (leader: string | undefined, ms = 0) =>
    at(ms, {
      ...{ event: 'run-started', run: 'r', action: 'upgrade', journal: '/j' },
      plan: { ...plan, observation: { ...plan.observation, leader } },
    } as Unstamped);
  const looked = (ms: number, leader: string | undefined) =>
    at(ms, { event: 'observed', observation: observed(undefined, { leader }) });
  const changed = (ms: number, to: string | undefined) =>
    at(ms, { event: 'leader-changed', from: 'n1', to } as Unstamped);
  const led = (...events: UpgradeEvent[]) =>
    drawn(events).leaders.map(({ name, fromMs, toMs }) => [name, fromMs, toMs]);
  it('the leader is known from the plan, from each check and from each change', () =>
    expect(
      led(begun('n1'), looked(100, 'n1'), changed(200, 'n2'), looked(300, 'n2'), looked(400, 'n3')),
    ).toEqual([
      ['n1', 0, 200],
      ['n2', 200, 400],
      ['n3', 400, 1000],
    ]));
  it('the leader is the last known one if no leader is observed', () =>
    expect(led(begun('n1'), looked(100, undefined), changed(200, undefined))).toEqual([['n1', 0, 1000]]));
  it('the plan of a resumed run does not replace the observed leader', () =>
    expect(led(begun('n1'), changed(200, 'n2'), begun('n1', 300))).toEqual([
      ['n1', 0, 200],
      ['n2', 200, 1000],
    ]));
  it('the leader is undefined if no check was made', () => expect(led(begun(undefined))).toEqual([]));
});

describe('the steps', () => {
  const [first, second] = planned().steps as [Step, Step];
  const begin = (ms: number, step: Step) => at(ms, { event: 'step-started', step, number: 3, count: 9 });
  const end = (ms: number, step: Step, more: object = {}) =>
    at(ms, { event: 'step-finished', step, duration_ms: 1, ...more });
  const fail = (ms: number, step: Step) => at(ms, { event: 'step-failed', step, reason: 'r' });
  it('the model has the times and the end of the last attempt of each step', () => {
    const run = wholeRun([
      begin(10, first),
      fail(20, first),
      begin(30, first),
      end(40, first),
      begin(50, second),
    ]);
    expect(run.steps).toEqual({
      [first.id]: {
        ...{ step: first, startedAt: '2026-01-01T00:00:00.030Z', startedMs: 30, place: '3/9' },
        ended: { atMs: 40, isDone: true },
      },
      [second.id]: { step: second, startedAt: '2026-01-01T00:00:00.050Z', startedMs: 50, place: '3/9' },
    });
  });
  it('a step that an earlier part of the run has finished has no times', () =>
    expect(wholeRun([end(5, first, { was_done_before: true })]).steps).toEqual({}));
});

describe('gaps and pauses', () => {
  const wrote = (ms: number, latency_ms: number, ok = true) =>
    at(ms, { event: 'canary', ok, latency_ms, member: 'n1' });
  const gaps = (...events: UpgradeEvent[]) => drawn(events).gaps.map(({ fromMs, toMs }) => [fromMs, toMs]);
  const resumed = (ms: number, date: string): UpgradeEvent => ({
    ...{ event: 'run-started', run: 'r', action: 'resume', plan: planned(), journal: '/j' },
    ...{ elapsed_ms: ms, at: date },
  });
  it('a gap is 150 ms long or longer', () => {
    expect(gaps(wrote(500, 149))).toEqual([]);
    expect(gaps(wrote(500, 150))).toEqual([[350, 500]]);
    expect(gaps(wrote(500, 900))).toEqual([[0, 500]]);
  });
  it('a gap lasts from the first failed attempt to the next successful write', () => {
    expect(gaps(wrote(100, 10, false), wrote(200, 10, false), wrote(300, 10), wrote(900, 10))).toEqual([
      [90, 300],
    ]);
    expect(gaps(wrote(100, 10, false))).toEqual([]);
  });
  it('the twelve longest are kept, the longest first', () => {
    const many = Array.from({ length: 13 }, (_, i) => wrote(1000 * (i + 1), 200 + ((i * 5) % 13)));
    const found = gaps(...many).map(([from = 0, to = 0]) => to - from);
    expect(found).toEqual([212, 211, 210, 209, 208, 207, 206, 205, 204, 203, 202, 201]);
  });
  it('the rest between two parts of a run is a pause and no gap', () => {
    const begun = resumed(0, '2026-01-01T00:00:00.000Z');
    const events = [begun, wrote(100, 10), resumed(300, '2026-01-01T01:00:00.100Z')];
    expect(drawn(events).pauses).toEqual([{ atMs: 300, forMs: 3_600_000 }]);
    expect(drawn([begun]).pauses).toEqual([]);
    // A note about the locks precedes the start of the run and is not a part of it.
    const note = at(0, { event: 'note', level: 'warn', text: 'the lease lock could not be set' });
    expect(drawn([note, begun]).pauses).toEqual([]);
    expect(drawn([begun, wrote(100, 10), resumed(300, '2025-01-01T00:00:00.000Z')]).pauses[0]?.forMs).toBe(0);
    // A write that failed before the pause keeps no client waiting during it.
    const failed = [begun, wrote(100, 10, false), resumed(300, '2026-01-01T01:00:00.100Z')];
    expect(gaps(...failed, wrote(310, 5))).toEqual([]);
    expect(gaps(...failed, wrote(600, 200))).toEqual([[400, 600]]);
    expect(wholeRun([...failed, wrote(600, 200)]).canary).toMatchObject({ writes: 2, longestGapMs: 200 });
    expect(gaps(begun, wrote(300, 250), resumed(300, '2026-01-01T01:00:00.100Z'))).toEqual([]);
    expect(gaps(begun, wrote(299, 250), resumed(300, '2026-01-01T01:00:00.100Z'))).toEqual([[49, 299]]);
  });
});

describe('the length of a timeline', () => {
  it.each([
    ['the report', 1000, [down(900)], 1000],
    ['its last event', 1000, [down(1200)], 1200],
    ['only the last', 1000, [down(1200), down(1100)], 1100],
    ['never nothing', 0, [], 1],
  ])('the length of a timeline is that of %s', (_, duration_ms, events, durationMs) =>
    expect(drawn(events, { duration_ms }).durationMs).toBe(durationMs),
  );
});
