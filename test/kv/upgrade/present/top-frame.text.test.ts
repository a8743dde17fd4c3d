import { describe, expect, it } from 'vitest';
import { type TopState, topLines } from '../../../../src/kv/upgrade/present/status.ts';
import type {
  JournalEntry,
  JournalStepId,
  MemberStatus,
  Observation,
} from '../../../../src/kv/engine/model.ts';
import { away, observed, planned, seen } from '../../../support/observations.ts';

const look = { columns: 200, rows: 40, isColored: false, hasKeys: false };
const topOf = (state: Partial<TopState>, patch: object = {}): string[] =>
  topLines({ observation: observed(), ...state }, { ...look, ...patch });
const of = (members: MemberStatus[], patch: Partial<Observation> = {}) => ({
  observation: observed(members, patch),
});
const cells = (member: MemberStatus): string[] => (topOf(of([member]))[3] ?? '').split(/ {2,}/);

describe('the head of kv top', () => {
  it('the head shows the cluster, its version, its leader and the time', () => {
    expect(topOf({})[0]).toBe('test: cluster 3.3.0, leader n1, 00:00:00Z');
    expect(topOf(of([away('n1')]))[0]).toBe('test: cluster ?, leader none, 00:00:00Z');
  });
});

describe('a member in kv top', () => {
  it('a member has its role, version, lag, latency, size, quota and term', () => {
    expect(cells(seen('n1', { latency_ms: 2.6 }))).toEqual([
      ...['n1', 'leader', '3.3.25', '0', '3 ms', '20 KiB', '0 %', '2'],
    ]);
    expect(cells(away('n1'))).toEqual(['n1', 'down', ...Array(6).fill('?')]);
  });
  it('a member shows its reported problems, the worst first', () => {
    const roleOf = (patch: Partial<MemberStatus>) => cells(seen('n2', patch))[1];
    expect(roleOf({ is_healthy: false, is_leader: true })).toBe('unhealthy');
    expect(roleOf({ is_learner: true })).toBe('learner');
    expect(roleOf({})).toBe('follower');
  });
  it('lags behind the one that is furthest', () => {
    const lines = topOf(of([seen('n1', { raft_index: 90 }), seen('n2', { raft_index: 97 })]));
    expect(lines.slice(3, 5).map((line) => line.split(/ {2,}/)[3])).toEqual(['7', '0']);
  });
  it.each([
    [1024 * 1024 - 1, '1024 KiB'],
    [1024 * 1024, '1.0 MiB'],
    [1.55 * 1024 * 1024, '1.6 MiB'],
    [340 * 1024 * 1024, '340 MiB'],
  ])('a member of %i bytes has %s', (db_size_bytes, text) => {
    expect(cells(seen('n1', { db_size_bytes }))[5]).toBe(text);
  });
  it('a member shows the used share of its quota, with a warning from 80 % on', () => {
    const quotaOf = (db_size_bytes: number | undefined, quota_bytes: number | undefined) =>
      (
        topOf(of([{ ...seen('n1'), db_size_bytes, quota_bytes } as MemberStatus]), { isColored: true })[3] ??
        ''
      ).replaceAll('\u001b', '^');
    expect(quotaOf(79, 100)).toContain('79 %');
    expect(quotaOf(79, 100)).not.toContain('^[33m');
    expect(quotaOf(80, 100)).toContain('^[33m80 %^[39m');
    expect(quotaOf(79, -1)).toContain('none');
    for (const unknown of [quotaOf(79, -1), quotaOf(79, 0), quotaOf(79, undefined), quotaOf(undefined, 100)])
      expect(unknown).not.toContain('%');
  });
});

describe('the width and height of kv top', () => {
  it('loses columns from the right, and keeps the name', () => {
    const heads = (columns: number) => topOf({}, { columns })[2];
    expect(heads(60)).toBe('member  role      version  lag  latency  size    quota  term');
    expect(heads(59)).toBe('member  role      version  lag  latency  size    quota');
    expect(heads(16)).toBe('member  role');
    expect(heads(15)).toBe('member');
    expect(heads(3)).toBe('me…');
  });
  it('the view is cut to the rows of the terminal, and the keys stay', () => {
    expect(topOf({}, { rows: 3 })).toHaveLength(3);
    const keys = topOf({}, { rows: 3, hasKeys: true });
    expect([keys.length, keys.at(-1)]).toEqual([3, 'c check  p plan  u upgrade  h hold  r rollback  q quit']);
    expect(topOf({}, { rows: 1, hasKeys: true })).toHaveLength(2);
  });
});

describe('below the members', () => {
  it('stand alarms, by name where the member is known', () => {
    const raised = (member_id: string) =>
      topOf(of([seen('n1'), seen('n2')], { alarms: [{ member_id, alarm: 'NOSPACE' }] })).join('\n');
    expect(raised('1002')).toContain('alarm NOSPACE by n2');
    expect(raised('77')).toContain('alarm NOSPACE by 77');
    expect(topOf({}).join('\n')).toContain('\nno alarm is raised\nno run yet');
  });
  it('stand the writes of a canary, which warn when one failed', () => {
    const canary = { writes: 7, failed: 0, lastMs: 2.6, longestGapMs: 9 };
    expect(topOf({ canary })).toContain('canary writes 7, failed 0, last 3 ms, longest gap 9 ms');
    const colored = (failed: number) =>
      topOf({ canary: { ...canary, failed } }, { isColored: true }).find((line) => line.includes('canary'));
    expect(colored(0)).toContain('\u001b[2m');
    expect(colored(1)).toContain('\u001b[33m');
  });
  it('stands what the last key did', () => {
    expect(topOf({ message: 'no run is in progress' }).slice(-2)).toEqual(['', 'no run is in progress']);
  });
});

describe('the run in kv top', () => {
  const plan = planned();
  const [first, second] = plan.steps.map(({ id }) => id) as [JournalStepId, JournalStepId];
  const at = '2026-01-01T00:00:00.000Z';
  const opened = {
    ...{
      kind: 'opened',
      at,
      run: 'r',
      action: 'upgrade',
      plan,
      owner: { host: 'h', pid: 1 },
      cluster_file: 'c',
    },
  } as JournalEntry;
  const runOf = (entries: JournalEntry[], worker?: string) =>
    topOf({
      run: { run: 'r', directory: '/r', entries },
      ...(worker === undefined ? {} : { worker }),
    }).slice(8);
  const begin = (step: JournalStepId): JournalEntry => ({ kind: 'begin', at, step });
  const end = (step: JournalStepId): JournalEntry => ({ kind: 'end', at, step });
  const open = (count: number) => '·'.repeat(plan.steps.length - count);
  it('the run has a mark for each step, and shows the active one', () => {
    expect(runOf([opened, begin(first), end(first), begin(second)], 'in progress on h')).toEqual([
      `run r: 3.3 → 3.4, 1 of ${plan.steps.length} steps, in progress on h`,
      `✓▶${open(2)}`,
      `now: ${plan.steps[1]?.title}`,
    ]);
  });
  it('a run without a worker was interrupted; between two steps none is active', () => {
    expect(runOf([opened, begin(first), end(first)])).toEqual([
      `run r: 3.3 → 3.4, 1 of ${plan.steps.length} steps, interrupted`,
      `✓${open(1)}`,
    ]);
  });
  it('a finished run shows its outcome', () => {
    const closed: JournalEntry = { kind: 'closed', at, outcome: 'held', message: 'held before n1' };
    expect(runOf([opened, closed], 'in progress')[0]).toMatch(/, 0 of \d+ steps, held: held before n1$/);
  });
  it('a run without its first line is not shown', () => {
    expect(runOf([begin(first)])).toEqual(['no run yet']);
  });
});

it.each([
  [80, 'c check  p plan  u upgrade  h hold  r rollback  q quit'],
  [40, 'c check  p plan  ? more  q quit'],
  [20, '? more  q quit'],
  [8, 'q quit'],
])('the line of keys at %i columns shows how to quit', (columns, expected) => {
  expect(topOf({}, { hasKeys: true, columns }).at(-1)).toBe(expected);
});

it('the list of keys replaces the table and names the columns that do not fit', () => {
  const all = ['c check', 'p plan', 'u upgrade', 'h hold', 'r rollback', '? back to the table', 'q quit'];
  const state = { ...of([seen('n1')]), showsKeys: true };
  const wide = topOf(state);
  expect(wide.slice(2, 2 + all.length)).toEqual(all);
  expect(wide.join('\n')).not.toMatch(/too narrow|follower|20 KiB/);
  const narrow = topOf(state, { columns: 40 });
  expect(narrow.find((line) => line.startsWith('too narrow for: '))).toMatch(/quota, term$/);
  expect(topOf({ ...state, showsKeys: false }, { columns: 40 }).join('\n')).toContain('leader');
});
