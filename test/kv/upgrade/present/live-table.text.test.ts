import { describe, expect, it } from 'vitest';
import { type RunModel, emptyRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import { liveLines } from '../../../../src/kv/upgrade/present/live.ts';
import type { Outcome } from '../../../../src/kv/engine/model.ts';

const member = {
  ...{ name: 'n1', version: '3.3.25', isLeader: false, isDown: false, wasReverted: false },
  oldVersion: '3.3.25',
  cells: { snapshot: 'done', stop: 'running', start: 'waiting', gate: 'failed' },
} as const;
const base: RunModel = {
  ...{ ...emptyRun, title: 'upgrade of test', now: 'stop n1', elapsedMs: 1500 },
  ...{ columns: ['snapshot', 'stop', 'start', 'gate'], members: [member] },
};
const lines = (patch: Partial<RunModel> = {}, look: object = {}): string[] =>
  liveLines({ ...base, ...patch }, { columns: 100, isColored: false, frame: 0, ...look });
const row = (patch: object): string => lines({ members: [{ ...member, ...patch }] })[2] ?? '';

describe('a line of a member', () => {
  it('a line has a mark for each step, and no mark for a missing step', () => {
    expect(row({})).toBe('  n1      3.3.25             ✓         ◐     ·      ✗');
    expect(row({ cells: { stop: 'done' } })).toBe('  n1      3.3.25                       ✓');
  });
  it('a line shows the state of the member, the worst first', () => {
    const all = { isLeader: true, isDown: true, wasReverted: true };
    expect(row(all)).toContain(' down ');
    expect(row({ ...all, isDown: false })).toContain(' leader ');
    expect(row({ ...all, isDown: false, isLeader: false })).toContain(' reverted ');
  });
  it('a line shows the downtime of the member, and its size', () => {
    const down = (downMs: number, sizeBytes: number) =>
      lines({
        members: [{ ...member, sizeBytes }],
        histories: { n1: { changes: [], snapshotsAt: [], revertedAt: [], checks: [], downMs } },
      })[2];
    expect(down(0, 0)).toMatch(/✗ {7}0 ms {6}0 bytes$/);
    expect(down(250, 2 ** 21)).toMatch(/250 ms {4}2\.0 MiB$/);
  });
  it('turns the mark of the step under way', () => {
    const marks = [0, 1, 2, 3, 4].map((frame) => /[◐◓◑◒]/.exec(lines({}, { frame })[2] ?? '')?.[0]);
    expect(marks).toEqual(['◐', '◓', '◑', '◒', '◐']);
  });
});

describe('the width of the table', () => {
  const wide = lines()[1]?.length ?? 0;
  it('the width is that of its columns; if they do not fit, the steps are one column', () => {
    expect(lines({}, { columns: wide })[1]).toContain('snapshot');
    expect(lines({}, { columns: wide - 1 })[1]).not.toContain('snapshot');
    const narrow = lines({}, { columns: 50 });
    expect(narrow[1]).toBe('  member  version            steps  down for  data');
    expect(narrow[2]).toBe('  n1      3.3.25             ✓◐·✗');
  });
  it('loses its last columns where even that is too wide', () => {
    expect(lines({}, { columns: 49 })[1]).toBe('  member  version            steps  down for');
    expect(lines({}, { columns: 30 })[1]).toBe('  member  version');
    expect(lines({}, { columns: 3 })[1]).toBe('  …');
  });
});

describe('lines below the table', () => {
  it('the last step of the run is shown if it fits', () => {
    const text = '  every member reports the new cluster version  ';
    expect(lines({ confirm: 'waiting' })[3]).toBe(`${text}·`);
    expect(lines({ confirm: 'done' })[3]).toBe(`${text}✓`);
    expect(lines({ confirm: 'done' }, { columns: 50 })[3]).toBe(`${text}✓`);
    expect(lines({ confirm: 'done' }, { columns: 49 }).join('\n')).not.toContain('every member');
    expect(lines().join('\n')).not.toContain('every member');
  });
  it('the results of the canary are shown', () => {
    const canary = { writes: 7, failed: 0, lastMs: 3, longestGapMs: 9 };
    expect(lines({ canary })[3]).toBe('  canary writes 7, failed 0, last 3 ms, longest gap 9 ms');
    expect(lines({ canary }, { columns: 20 })[3]).toBe('  canary writes 7, …');
  });
  it.each([
    [0, '0 ms'],
    [1500, '1.5 s'],
    [125_499, '2 min 05 s'],
  ])('the current action is shown after %i ms', (elapsedMs, text) => {
    expect(lines({ elapsedMs }).at(-1)).toBe(`◐ stop n1  ${text}`);
  });
  it.each<[Outcome, boolean, string]>([
    ['done', false, '✓'],
    ['held', false, '!'],
    ['rolled-back', true, '✓'],
    ['rolled-back', false, '✗'],
    ['failed', true, '✗'],
    ['stopped', false, '✗'],
  ])('the outcome is shown: %s, a rollback: %s', (outcome, isRollback, mark) => {
    expect(lines({ outcome, isRollback }).at(-1)?.slice(0, 1)).toBe(mark);
  });
});

describe('colors of the live table', () => {
  const painted = (patch: Partial<RunModel> = {}, look: object = {}) =>
    lines(patch, { isColored: true, ...look }).map((line) => line.replaceAll('\u001b', '^'));
  it('colors show the states good, bad, active and open', () => {
    const text = painted()[2] ?? '';
    for (const part of ['^[1mn1^[22m', '^[32m✓^[39m', '^[34m◐^[39m', '^[2m·^[22m', '^[31m✗^[39m'])
      expect(text).toContain(part);
    expect(text).toContain('  3.3.25  ');
  });
  it('a combined column shows the colors of each step', () => {
    expect(painted({}, { columns: 50 })[2]).toContain('^[32m✓^[39m^[34m◐^[39m^[2m·^[22m^[31m✗^[39m');
  });
  it('warn of a canary that failed, and of a run that holds', () => {
    const canary = { writes: 7, failed: 0, lastMs: 3, longestGapMs: 9 };
    expect(painted({ canary })[3]).toMatch(/^ {2}\^\[2mcanary/);
    expect(painted({ canary: { ...canary, failed: 1 } })[3]).toMatch(/^ {2}\^\[33mcanary/);
    expect(painted({ outcome: 'held' }).at(-1)).toMatch(/^\^\[33m!\^\[39m/);
    expect(painted({ members: [{ ...member, isDown: true }] })[2]).toContain('^[31mdown^[39m');
    expect(painted({ members: [{ ...member, wasReverted: true }] })[2]).toContain('^[33mreverted^[39m');
    expect(painted({ confirm: 'done' })[3]).toContain('^[32m✓^[39m');
    expect(painted()[0]).toBe('^[1mupgrade of test^[22m');
  });
});

describe('the last line', () => {
  const now =
    'held after 1 of 3 members (n1 on 3.3): every member can still return to 3.2 without a loss of data';
  it('is one line while the run continues', () => {
    expect(lines({ now }, { columns: 60 })).toHaveLength(lines().length);
  });
  it('shows the whole statement when the run has ended', () => {
    const shown = lines({ now, outcome: 'done' }, { columns: 60 }).slice(lines().length - 1);
    expect(shown.map((line) => line.slice(2)).join(' ')).toBe(`${now}  1.5 s`);
    expect(shown.every((line) => line.length <= 60)).toBe(true);
  });
  // The text below the table contains the whole statement.
  it.each(['held', 'stopped', 'failed'] as const)('shows only the word of the outcome %s', (outcome) => {
    expect(lines({ now, outcome }, { columns: 60 }).at(-1)?.slice(2)).toMatch(/^[a-z -]+ {2}1\.5 s$/);
  });
});
