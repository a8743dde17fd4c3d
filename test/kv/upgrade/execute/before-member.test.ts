import { describe, expect, it } from 'vitest';
import {
  beforeMember,
  beforeReturn,
  memberToBegin,
} from '../../../../src/kv/upgrade/execute/before-member.ts';
import type { Decision } from '../../../../src/kv/upgrade/decide.ts';
import type { Run } from '../../../../src/kv/upgrade/run.ts';
import type { JournalEntry, Step } from '../../../../src/kv/engine/model.ts';
import type { Window } from '../../../../src/kv/upgrade/window/window.ts';
import { fakeHost, type FakeHostOptions } from '../../../support/fake-host.ts';
import { clusterFile } from '../../../support/observations.ts';
import { runOn } from '../../../support/upgrade-run.ts';
import { naming } from '../../../support/facts.ts';
import { partlyMade } from '../../../support/context.ts';

/** The time is 03:04:05 UTC. Each member took a minute, so the next member needs 75 s. */
const now = 1_767_323_045_000;
const runWith = (window: Partial<Window>, patch: Partial<Run> = {}, options: FakeHostOptions = {}) => {
  const host = fakeHost(options);
  const given: Window = { probes: [], pauseAtMostMs: 60_000, earlierMs: [60_000], ...window };
  return { host, run: runOn(host, { window: given, ...patch }) };
};
const endsIn = (ms: number): Window['until'] => ({ atMs: now + ms, zone: 'Z', text: '04:00 Europe/Berlin' });
const probes = [{ kind: 'command', command: 'probe' }] as const;

describe('a window', () => {
  it('a window that ends exactly with the member has enough time, and the remaining time is reported', async () => {
    expect(await beforeMember(runWith({ until: endsIn(75_000) }).run, 'n2', false)).toBeUndefined();
    expect(await beforeMember(runWith({ until: endsIn(74_999) }).run, 'n2', false)).toMatchObject({
      ...{ outcome: 'held', heldFor: 'window' },
      message: naming(
        'held',
        'n2',
        'window',
        'until',
        '03:05',
        'UTC',
        '1',
        '--until',
        '04:00',
        'Europe/Berlin',
        'duration',
        'members',
      ),
    });
  });
  it.each([0, -1])('a window that ended %i ms ago is over', async (ms) => {
    expect(await beforeMember(runWith({ until: endsIn(ms) }).run, 'n2', false)).toMatchObject({
      message: expect.toRead('the window until 03:04 (UTC) is over, and n2 may need 1 min 15 s'),
    });
  });
  it('counts what this run has learned before what earlier ones had', async () => {
    const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
    const { run } = runWith({ until: endsIn(10_000) });
    const opened = { kind: 'opened', at: at(0), run: 'r', action: 'upgrade', plan: run.plan };
    const entries: JournalEntry[] = [
      opened as JournalEntry,
      { kind: 'begin', at: at(0), step: 'n3.stop' },
      { kind: 'end', at: at(8), step: 'n3.gate' },
    ];
    expect(await beforeMember({ ...run, journal: { ...run.journal, entries } }, 'n2', false)).toBeUndefined();
  });
  it('an unknown member is estimated by its limits: its stop, and its health check twice', async () => {
    const cluster = clusterFile(3, { timeouts: { stop_seconds: 7, gate_seconds: 5 } });
    const of = (ms: number) =>
      beforeMember(runWith({ until: endsIn(ms), earlierMs: [] }, { cluster }).run, 'n2', false);
    // The data of the member adds a millisecond to each health check.
    expect(await of(17_002)).toBeUndefined();
    expect(await of(17_001)).toMatchObject({
      message: naming('held', 'n2', 'window', '17.0 s', 'sum', 'timeouts'),
    });
  });
});

describe('a pause', () => {
  it('a pause is recorded and reported, and checked every fifteen seconds until it ends', async () => {
    const codes = [0, 2, 0, 1];
    const { run, host } = runWith(
      { probes },
      {},
      { run: () => ({ code: codes.shift() ?? null, stdout: 'slow' }) },
    );
    expect(await beforeMember(run, 'n2', false)).toBe('look-again');
    expect(run.written).toMatchObject([
      { kind: 'paused', member: 'n2', reason: naming('slow', 'users', 'affected') },
      { kind: 'continued', member: 'n2', waited_ms: 45_000 },
    ]);
    // Only the first event is a warning, and so a notice: a probe that fails now and then would send many.
    expect(run.told).toMatchObject([
      { level: 'warn', text: naming('paused', 'n2', 'slow', 'users', 'affected'), is_paused: true },
      { level: 'info', text: naming('paused', 'n2', 'exit code 2'), is_paused: true },
      { level: 'info', text: naming('paused', 'n2', 'users', 'affected'), is_paused: true },
      { level: 'info', text: naming('n2', '45.0', 'users', 'affected'), is_paused: false },
    ]);
    expect(host.slept).toEqual([15_000, 15_000, 15_000]);
  });
  it('there is no pause while every probe reports no impact; the first other result is the reason', async () => {
    const quiet = runWith({ probes: [...probes, ...probes] }, {}, { run: () => ({ code: 1 }) });
    expect(await beforeMember(quiet.run, 'n2', false)).toBeUndefined();
    expect([quiet.run.written, quiet.host.ran.length]).toEqual([[], 2]);
    const codes = [1, 0, 1, 1];
    const second = runWith(
      { probes: [...probes, ...probes] },
      {},
      { run: () => ({ code: codes.shift() ?? 1 }) },
    );
    expect(await beforeMember(second.run, 'n2', false)).toBe('look-again');
    expect(second.run.written[0]).toMatchObject({ kind: 'paused' });
  });
  it('a pause that lasts too long holds the run, with its last reason', async () => {
    const codes = [0, 2];
    const { run, host } = runWith(
      { probes, pauseAtMostMs: 20_000 },
      {},
      { run: () => ({ code: codes.shift() ?? 2, stdout: 'x' }) },
    );
    expect(await beforeMember(run, 'n2', false)).toEqual({
      ...{ outcome: 'held', category: 'stopped', heldFor: 'impact' },
      message: naming(
        'held',
        'n2',
        'command',
        '2',
        'x',
        '20.0',
        'opsctl kv resume',
        'users',
        'affected',
        'failed',
      ),
    });
    expect(host.slept).toEqual([15_000, 5000]);
    expect(run.written.map(({ kind }) => kind)).toEqual(['paused']);
  });
  it('ends when the run is to stop, and with the window', async () => {
    const stopped = runWith({ probes }, { signal: AbortSignal.abort() }, { run: () => ({ code: 0 }) });
    expect(await beforeMember(stopped.run, 'n2', false)).toBe('look-again');
    const over = runWith({ probes, until: endsIn(80_000) }, {}, { run: () => ({ code: 0 }) });
    expect(await beforeMember(over.run, 'n2', false)).toMatchObject({ heldFor: 'window' });
    expect(over.host.slept).toEqual([15_000]);
  });
});

describe('the question before each member', () => {
  const asking = (answer: boolean | Error, patch: Partial<Run> = {}) => {
    const signals: AbortSignal[] = [];
    const confirmEach = async (_: string, withdrawn: AbortSignal): Promise<boolean> => {
      signals.push(withdrawn);
      if (answer instanceof Error) throw answer;
      return answer;
    };
    return { ...runWith({ confirmEach }, patch), signals };
  };
  it('a question without a terminal counts as declined', async () => {
    const { run } = asking(new Error('no terminal'));
    expect(await beforeMember(run, 'n2', false)).toMatchObject({
      ...{
        heldFor: 'operator',
        message: naming('held', 'n2', 'opsctl kv resume', 'confirmed'),
      },
    });
    expect(run.state.isAdmitted('n2')).toBe(false);
  });
  it('a question is canceled when a member exits or the run stops, and its reply is ignored', async () => {
    const ended = asking(true, { signal: AbortSignal.abort() });
    expect(await beforeMember(ended.run, 'n2', false)).toBe('look-again');
    expect([ended.run.state.isAdmitted('n2'), ended.signals[0]?.aborted]).toEqual([false, true]);
    const { run } = asking(false);
    const members = { ...run.members, signal: () => AbortSignal.abort() };
    expect(await beforeMember({ ...run, members }, 'n2', false)).toBe('look-again');
  });
  it('a question follows the pause, which is then checked again', async () => {
    const codes = [0, 1, 1, 0, 1];
    const { run, host } = runWith(
      { probes, confirmEach: async () => true },
      {},
      { run: () => ({ code: codes.shift() ?? 1 }) },
    );
    expect(await beforeMember(run, 'n2', false)).toBe('look-again');
    expect(run.state.isAdmitted('n2')).toBe(false);
    expect(await beforeMember(run, 'n2', false)).toBe('look-again');
    expect([run.state.isAdmitted('n2'), run.state.isAdmitted('n1')]).toEqual([true, false]);
    // The member was admitted, but users are affected again.
    expect(await beforeMember(run, 'n2', false)).toBe('look-again');
    expect(await beforeMember(run, 'n2', false)).toBeUndefined();
    expect(host.ran).toHaveLength(6);
  });
  it('a question precedes a rollback too, once, and only with a window', async () => {
    const { run } = asking(true);
    expect([await beforeReturn(run, 'n2'), await beforeReturn(run, 'n2')]).toEqual(['look-again', undefined]);
    expect(await beforeReturn(runOn(fakeHost()), 'n2')).toBeUndefined();
    expect(await beforeReturn(runWith({}).run, 'n2')).toBeUndefined();
  });
});

describe('the next member of a decision', () => {
  const steps = (kinds: readonly Step['kind'][], more: object = {}): Decision =>
    partlyMade<Decision>({
      kind: 'steps',
      member: 'n2',
      steps: kinds.map((kind) => ({ kind })),
      ...more,
    });
  it.each<[string, Decision, object | undefined]>([
    ['a question', { kind: 'ask', member: 'n1' }, { member: 'n1', isLast: true }],
    ['a stop', steps(['snapshot', 'stop', 'start']), { member: 'n2', isLast: false }],
    ['the last stop', steps(['stop'], { isCrossing: true }), { member: 'n2', isLast: true }],
    ['a member that is down', steps(['start', 'gate']), undefined],
    ['a wait', steps(['settle']), undefined],
    ['a member without a name', steps(['stop'], { member: undefined }), undefined],
    ['the end', { kind: 'done' }, undefined],
  ])('%s', (_, decision, expected) => {
    expect(memberToBegin(decision)).toEqual(expected);
  });
});
