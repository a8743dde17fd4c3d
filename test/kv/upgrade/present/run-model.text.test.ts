import { describe, expect, it } from 'vitest';
import { type RunModel, emptyRun, getOwn, runAfter } from '../../../../src/kv/upgrade/present/run-model.ts';
import type { StepKind, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planned, planOptions, seen } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';

const plan = planned(
  observed([seen('n1'), seen('n2'), away('n3', { host: { ...seen('n3').host, is_running: false } })]),
  clusterFile(),
  planOptions({ accept: ['all-members-healthy', 'quorum-survives'] }),
);
const event = (one: object, elapsed_ms = 0): UpgradeEvent =>
  partlyMade<UpgradeEvent>({ at: '', elapsed_ms, ...one });
const begin = (patch: object = {}) =>
  event({ event: 'run-started', run: 'r', action: 'upgrade', plan, journal: '/j', ...patch });
const stateOf = (...events: readonly object[]): RunModel =>
  events.reduce<RunModel>((state, one) => runAfter(state, event(one)), runAfter(emptyRun, begin()));
const of = (state: RunModel, name: string) => state.members.find((one) => one.name === name);
const step = (kind: StepKind, member?: string) => ({
  step: { id: `${member}.${kind}`, kind, member, title: `${kind} of ${member}`, why: '', commands: [] },
});

describe('initial state of the live table', () => {
  it('the table starts with every planned member, with its steps open', () => {
    const state = stateOf();
    expect(state).toMatchObject({
      ...{ title: 'upgrade of test from 3.3 to 3.4', now: 'inspecting the members', isRollback: false },
      ...{ confirm: 'waiting', elapsedMs: 0, said: [], timing: { left: plan.order } },
      columns: ['snapshot', 'move-leader', 'stop', 'start', 'gate'],
    });
    expect(state.members).toEqual([
      {
        ...{ name: 'n1', version: '3.3.25', isLeader: true, isDown: false, wasReverted: false },
        oldVersion: '3.3.25',
        cells: {
          snapshot: 'waiting',
          'move-leader': 'waiting',
          stop: 'waiting',
          start: 'waiting',
          gate: 'waiting',
        },
        sizeBytes: 20_480,
      },
      expect.objectContaining({ name: 'n2', isLeader: false, isDown: false }),
      {
        ...{ name: 'n3', version: '?', isLeader: false, isDown: true, wasReverted: false },
        oldVersion: '?',
        cells: { start: 'waiting', gate: 'waiting' },
      },
    ]);
  });
  it('a rollback goes in the other direction; one without a last step waits for no step', () => {
    const back = runAfter(emptyRun, begin({ action: 'rollback' }));
    expect([back.title, back.isRollback]).toEqual(['rollback of test to 3.3', true]);
    const steps = plan.steps.filter(({ kind }) => kind !== 'confirm');
    expect(runAfter(emptyRun, begin({ plan: { ...plan, steps } })).confirm).toBe('none');
  });
});

describe('effects of events on the live table', () => {
  it('an event changes the cell of its step, and the current action', () => {
    const started = stateOf({ event: 'step-started', ...step('stop', 'n2'), number: 2, count: 9 });
    expect([of(started, 'n2')?.cells.stop, started.now]).toEqual(['running', '2/9 stop of n2']);
    expect(of(started, 'n1')?.cells.stop).toBe('waiting');
    expect(of(stateOf({ event: 'step-finished', ...step('stop', 'n2') }), 'n2')?.cells.stop).toBe('done');
    const failed = stateOf({ event: 'step-failed', ...step('stop', 'n2'), reason: 'it did not end' });
    expect([of(failed, 'n2')?.cells.stop, failed.said]).toEqual(['failed', ['stop of n2: it did not end']]);
  });
  it('an event of a step without a member changes the last line only', () => {
    expect(stateOf({ event: 'step-started', ...step('confirm'), number: 9, count: 9 }).confirm).toBe(
      'running',
    );
    expect(stateOf({ event: 'step-finished', ...step('enable-downgrade') }).members).toEqual(
      stateOf().members,
    );
  });
  it('an unplanned step adds a column in its place', () => {
    const state = stateOf({ event: 'step-started', ...step('copy-data', 'n2'), number: 1, count: 1 });
    expect(state.columns).toEqual(['snapshot', 'move-leader', 'stop', 'copy-data', 'start', 'gate']);
    expect([of(state, 'n2')?.cells['copy-data'], of(state, 'n1')?.cells['copy-data']]).toEqual([
      'running',
      undefined,
    ]);
  });
  it('an event changes the position of a member, and its downtime', () => {
    const down = { event: 'member-down', member: 'n1', was_leader: true };
    expect(of(stateOf(down), 'n1')).toMatchObject({ isDown: true, isLeader: false });
    expect(of(stateOf(down), 'n2')).toMatchObject({ isDown: false });
    const up = { event: 'member-up', member: 'n1', down_ms: 70 };
    expect(of(stateOf(down, up), 'n1')).toMatchObject({ isDown: false, version: '3.3.25' });
    expect(stateOf(down, up).histories['n1']?.downMs).toBe(70);
    expect(of(stateOf(down, { ...up, version: '3.4.9' }), 'n1')?.version).toBe('3.4.9');
    const leaders = stateOf({ event: 'leader-changed', from: 'n1', to: 'n2' }).members;
    expect(leaders.map(({ isLeader }) => isLeader)).toEqual([false, true, false]);
  });
  it.each(['constructor', 'toString'])('a member may have the name %s', (name) => {
    const [down, up] = [
      { event: 'member-down', member: name, was_leader: false },
      { event: 'member-up', member: name, down_ms: 70 },
    ];
    expect(getOwn(stateOf(down).histories, 'valueOf')).toBeUndefined();
    expect(getOwn(stateOf(down, up).histories, name)).toMatchObject({ downMs: 70, changes: [{}, {}] });
  });
  it('a rollback event shows that a member goes back, why, and when it has', () => {
    const down = { event: 'member-down', member: 'n2', was_leader: false };
    const reverting = { event: 'reverting', member: 'n2', reason: 'it panicked' };
    const state = stateOf(down, reverting);
    expect([state.now, state.said]).toEqual(['n2 is rolled back', ['n2 is rolled back: it panicked']]);
    expect(of(state, 'n2')).toMatchObject({ wasReverted: true, isDown: true });
    expect(of(state, 'n1')).toMatchObject({ wasReverted: false });
    const back = stateOf(down, reverting, { event: 'reverted', member: 'n2', duration_ms: 1 });
    expect(of(back, 'n2')).toMatchObject({ wasReverted: true, isDown: false });
  });
  it('a check event shows each observed member; unobserved data stays', () => {
    const look = (patch: object) =>
      stateOf({
        event: 'observed',
        observation: {
          ...observed([seen('n1', { server_version: '3.4.9', db_size_bytes: 7 }), away('n2')]),
          ...patch,
        },
      });
    const state = look({ leader: undefined });
    expect(of(state, 'n1')).toMatchObject({ version: '3.4.9', sizeBytes: 7, isLeader: true, isDown: false });
    expect(of(state, 'n2')).toMatchObject({ version: '3.3.25', sizeBytes: 20_480, isDown: true });
    // A member that was not observed has no known problem.
    expect(of(state, 'n3')).toMatchObject({ version: '?', isDown: false });
    expect(look({ leader: 'n2' }).members.map(({ isLeader }) => isLeader)).toEqual([false, true, false]);
  });
  it('a paused run shows the reason of the pause as its current action', () => {
    const note = (text: string, is_paused?: boolean) => ({ event: 'note', level: 'warn', text, is_paused });
    const paused = stateOf(note('paused before n2: unknown', true), note('a log line'));
    expect([paused.now, paused.said]).toEqual([
      'paused before n2: unknown',
      ['paused before n2: unknown', 'a log line'],
    ]);
    expect(stateOf(note('paused', true), note('continuing with n2', false)).now).toBe('continuing with n2');
  });
  it('a wait event shows its duration', () => {
    const waiting = { event: 'waiting', ...step('settle', 'n2'), reason: 'the rule' };
    expect(stateOf({ ...waiting, remaining_ms: 1001 }).now).toBe('settle of n2: 1.0 s left (the rule)');
    expect(stateOf({ ...waiting, remaining_ms: 1000 }).now).toBe('settle of n2: 1.0 s left (the rule)');
  });
  it('an event changes the version of a member, and shows a failed check', () => {
    const check = { event: 'gate-check', member: 'n2', check: 'version', ok: true, detail: 'runs 3.4.45' };
    expect(of(stateOf(check), 'n2')?.version).toBe('3.4.45');
    expect(of(stateOf({ ...check, detail: 'as it should' }), 'n2')?.version).toBe('3.3.25');
    expect(of(stateOf({ ...check, check: 'health' }), 'n2')?.version).toBe('3.3.25');
    expect(stateOf({ ...check, ok: null }).now).toBe('inspecting the members');
    const bad = stateOf({ ...check, ok: false, check: 'health', detail: 'sick' });
    expect([bad.now, of(bad, 'n2')?.version]).toEqual(['n2 is not ready yet: health: sick', '3.3.25']);
  });
  it('notes and unexpected log lines are shown', () => {
    const line = { event: 'log-line', member: 'n1', line: 'panic' };
    expect(
      stateOf(
        ...[{ event: 'note', level: 'info', text: 'a note' }],
        ...[
          { ...line, expected: true },
          { ...line, expected: false },
        ],
      ).said,
    ).toEqual(['a note', 'log of n1: panic']);
  });
  it('the end event shows the outcome', () => {
    const state = stateOf({ event: 'run-finished', outcome: 'held', message: 'held before n1', report: {} });
    expect([state.outcome, state.now]).toEqual(['held', 'held before n1']);
    const saved = stateOf({ event: 'snapshot-saved', snapshot: { member: 'n1' } });
    expect(saved).toEqual({ ...stateOf(), histories: { n1: expect.objectContaining({ snapshotsAt: [0] }) } });
  });
  it('the time never goes back', () => {
    const first = runAfter(stateOf(), event({ event: 'note', level: 'info', text: 'a' }, 700));
    expect(first.elapsedMs).toBe(700);
    expect(runAfter(first, event({ event: 'note', level: 'info', text: 'b' }, 600)).elapsedMs).toBe(700);
  });
});

describe('the canary of the live table', () => {
  const writes = (...rows: readonly (readonly [elapsed: number, ms: number, ok: boolean])[]) =>
    rows.reduce<RunModel>(
      (state, [elapsed, latency_ms, ok]) =>
        runAfter(state, event({ event: 'canary', ok, latency_ms, member: 'n1' }, elapsed)),
      stateOf(),
    ).canary;
  it('the canary has its writes, the last one and the longest gap', () => {
    expect(writes([10, 4, true], [100, 9, true], [200, 5, true])).toEqual({
      ...{ writes: 3, failed: 0, lastMs: 5, longestGapMs: 9 },
    });
  });
  it('a gap lasts from the first failed write to the next successful one', () => {
    expect(writes([10, 4, true], [100, 20, false], [300, 50, false])).toEqual({
      ...{ writes: 3, failed: 2, lastMs: 4, longestGapMs: 220, waitingSince: 80 },
    });
    expect(writes([100, 20, false], [300, 50, false], [400, 3, true], [500, 2, true])).toEqual({
      ...{ writes: 4, failed: 2, lastMs: 2, longestGapMs: 320 },
    });
  });
});
