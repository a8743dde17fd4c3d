import { describe, expect, it } from 'vitest';
import { type RunModel, emptyRun, runAfter } from '../../../../src/kv/upgrade/present/run-model.ts';
import { liveLines, redraw, rowsAt, lineOf } from '../../../../src/kv/upgrade/present/live.ts';
import type { Observation, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { failedRun, goodRun } from '../events.ts';

const stateAfter = (events: readonly UpgradeEvent[], count = events.length): RunModel =>
  events.slice(0, count).reduce(runAfter, emptyRun);
const shown = (state: RunModel, columns = 100): string[] =>
  liveLines(state, { columns, isColored: false, frame: 0 });
const upTo = (events: readonly UpgradeEvent[], event: string, step?: string): readonly UpgradeEvent[] =>
  events.slice(
    0,
    events.findIndex(
      (one) => one.event === event && (step === undefined || ('step' in one && one.step.id === step)),
    ) + 1,
  );

describe('the live table', () => {
  it('the live table is empty before the run', () => expect(shown(emptyRun)).toEqual([]));
  it('the live table starts with every step open and the leader marked', () => {
    expect(shown(stateAfter(goodRun, 1))).toEqual([
      'upgrade of shop from 3.2 to 3.3',
      '  member  version            snapshot  stop  start  health  down for  data',
      '  n1      3.2.32   leader    ·         ·     ·      ·',
      '  n2      3.2.32             ·         ·     ·      ·',
      '  every member reports the new cluster version  ·',
      '◐ inspecting the members  0 ms',
    ]);
  });
  it('the live table truncates only lines wider than the terminal', () => {
    const state = { ...emptyRun, title: 'upgrade of shop', now: 'start n2' };
    const at = (columns: number): string[] => shown(state, columns);
    expect(at(15)[0]).toBe('upgrade of shop');
    expect(at(14)[0]).toBe('upgrade of sh…');
    expect(at(22).at(-1)).toBe('◐ start n2  0 ms');
    expect(at(21).at(-1)).toBe('◐ start …  0 ms');
    expect(at(10).at(-1)).toBe('◐ …  0 ms');
  });
  it('the live table shows the latest database size of each member', () => {
    const [begin] = goodRun as [UpgradeEvent & { event: 'run-started' }];
    const { observation } = begin.plan;
    const sized = (bytes: number): Observation => ({
      ...observation,
      members: observation.members.map((member) => ({ ...member, db_size_bytes: bytes })),
    });
    const first = runAfter(emptyRun, { ...begin, plan: { ...begin.plan, observation: sized(20_480) } });
    expect(shown(first)[2]).toMatch(/ 20 KiB$/);
    const later = runAfter(first, {
      ...begin,
      event: 'observed',
      observation: sized(2 ** 31),
    } as UpgradeEvent);
    expect(shown(later)[2]).toMatch(/ 2048 MiB$/);
  });
  it('marks the member that is away', () => {
    const lines = shown(stateAfter(upTo(goodRun, 'member-down')));
    expect(lines[3]).toBe('  n2      3.2.32   down      ✓         ◐     ·      ·');
    expect(lines.at(-1)).toContain('2/9 stop n2');
  });
  it('ends with everything done, the new versions and how long each was away', () => {
    expect(shown(stateAfter(goodRun))).toEqual([
      'upgrade of shop from 3.2 to 3.3',
      '  member  version            snapshot  stop  start  health  down for  data',
      '  n1      3.3.27             ✓         ✓     ✓      ✓       310 ms',
      '  n2      3.3.27   leader    ✓         ✓     ✓      ✓       200 ms',
      '  every member reports the new cluster version  ✓',
      '  canary writes 6, failed 1, last 4 ms, longest gap 250 ms',
      '✓ cluster shop runs 3.3  6.0 s',
    ]);
  });
  it('shows a failed step and the return', () => {
    const state = stateAfter(failedRun);
    expect(shown(state)[3]).toBe('  n2      3.2.32   reverted  ✓         ✓     ✓      ✗       200 ms');
    expect(state.said).toEqual(['check that n2 is healthy: it ended with code 1', 'n2 is rolled back']);
    // The error below the table contains the reason.
    expect(shown(state).at(-1)).toMatch(/^✗ rolled back {2}\d/);
  });
  it('the live table of a resumed run shows the completed work, and the current members', () => {
    const first = goodRun[0] as UpgradeEvent & { event: 'run-started' };
    const before = first.plan.steps.filter(({ member }) => member === 'n2');
    const { observation } = first.plan;
    const members = observation.members.map((one) =>
      one.name === 'n2' ? { ...one, server_version: '3.3.27' } : one,
    );
    const resumed: UpgradeEvent[] = [
      { ...first, action: 'resume' },
      ...before.map(
        (step): UpgradeEvent => ({
          ...first,
          event: 'step-finished',
          step,
          duration_ms: 0,
          was_done_before: true,
        }),
      ),
      { ...first, event: 'observed', observation: { ...observation, members } },
    ];
    expect(shown(stateAfter(resumed)).slice(0, 4)).toEqual([
      'resume of shop from 3.2 to 3.3',
      '  member  version            snapshot  stop  start  health  down for  data',
      '  n1      3.2.32   leader    ·         ·     ·      ·',
      '  n2      3.3.27             ✓         ✓     ✓      ✓',
    ]);
    expect(resumed.flatMap((event) => lineOf(event) ?? [])).toEqual([
      expect.stringContaining('resume 3.2 → 3.3'),
    ]);
  });
  it('the live table of a rollback goes in the other direction, and its end is not a failure', () => {
    const first = goodRun[0] as UpgradeEvent & { event: 'run-started' };
    const last = goodRun.at(-1) as UpgradeEvent & { event: 'run-finished' };
    const events: UpgradeEvent[] = [
      { ...first, action: 'rollback' },
      { ...last, outcome: 'rolled-back', message: 'every member runs 3.2 again' },
    ];
    const lines = shown(stateAfter(events));
    expect([lines[0], lines.at(-1)]).toEqual([
      'rollback of shop to 3.2',
      expect.stringMatching(/^✓ every member runs 3\.2 again/),
    ]);
    expect(lineOf(events[0] as UpgradeEvent)).toContain('rollback 3.3 → 3.2');
  });
  it('the live table shows unexpected log lines and notes, not expected ones', () => {
    const lines = stateAfter(goodRun).said;
    expect(lines).toEqual(['log of n1: panic: something', 'the lease lock could not be set']);
  });
  it.each([20, 40, 60, 80])('fits into %i columns', (columns) => {
    for (let i = 1; i <= goodRun.length; i += 1)
      for (const line of shown(stateAfter(goodRun, i), columns))
        expect(line.length).toBeLessThanOrEqual(columns);
  });
  it('the live table uses colors only on request', () => {
    const state = stateAfter(goodRun);
    expect(liveLines(state, { columns: 80, isColored: false, frame: 0 }).join('')).not.toContain('\u001b');
    expect(liveLines(state, { columns: 80, isColored: true, frame: 0 }).join('')).toContain(
      '\u001b[32m✓\u001b[39m',
    );
  });
  it('shows the steps of each member at 40 columns too, one mark each', () => {
    const lines = shown(stateAfter(goodRun), 40);
    expect(lines[1]).toContain('steps');
    expect(lines.find((line) => line.trim().startsWith('n2'))).toMatch(/✓{3,}/);
  });
  it('draws over every row that a narrowed terminal made of the drawing', () => {
    expect(rowsAt(['x'.repeat(80), 'short', ''], 40)).toBe(4);
    expect(rowsAt([`\u001b[1m${'x'.repeat(40)}\u001b[22m`], 40)).toBe(1);
  });
  it('the live table redraws itself and keeps the lines above', () => {
    expect(redraw(0, [], ['a', 'b'])).toBe('\r\u001b[Ja\nb\n');
    expect(redraw(2, ['note'], ['a'])).toBe('\r\u001b[2A\u001b[Jnote\na\n');
  });
});
