import { describe, expect, it } from 'vitest';
import { runWay } from '../../../../src/kv/upgrade/plan-kind.ts';
import {
  commandLines,
  planText,
  estimateLines,
  estimateMs,
  waitsMs,
} from '../../../../src/kv/upgrade/present/plan-text.ts';
import {
  detailText,
  findingsText,
  gateText,
  observationText,
  runTitle,
  versionChange as reportWay,
  versionNames,
  wayText,
} from '../../../../src/kv/upgrade/present/text.ts';
import { momentText } from '../../../../src/core/format.ts';
import { type RunModel, emptyRun, runAfter, wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import { timelineFrom } from '../../../../src/kv/upgrade/present/timeline.ts';
import { joinRuns } from '../../../../src/kv/upgrade/present/report.ts';
import { neededMs, parseUntil, untilText } from '../../../../src/kv/upgrade/window/window.ts';
import { metricsText, noticeOf } from '../../../../src/kv/upgrade/present/notify.ts';
import type { Report, Step, Unstamped, UpgradeEvent } from '../../../../src/kv/engine/model.ts';
import { away, clusterFile, observed, planOptions, planned, seen } from '../../../support/observations.ts';
import { partlyMade } from '../../../support/context.ts';

const at = (elapsed_ms: number, event: Unstamped): UpgradeEvent =>
  ({ ...event, elapsed_ms, at: new Date(elapsed_ms).toISOString() }) as UpgradeEvent;
const stepOf = (kind: Step['kind'], member = 'n2'): Step =>
  ({ id: `${member}.${kind}`, kind, member, title: `${kind} ${member}`, why: '', commands: [] }) as Step;

describe('numbers for people', () => {
  it('moments are UTC', () => expect(momentText('2026-03-31T12:00:05.123Z')).toBe('2026-03-31 12:00:05 UTC'));
  it('a detail has its unit', () => {
    expect(
      detailText({
        took_ms: 7,
        waited_seconds: 2,
        moved: false,
        killed: true,
        size_bytes: 2 ** 21,
        changes: ['a', 'b'],
        n: 3,
        no: undefined,
      }),
    ).toBe('its process exited after 7 ms, waited 2 s, not moved, killed, 2.0 MiB, changes a, b, n 3');
    expect(detailText({ down_ms: 5, cluster_version: '3.4.0' })).toBe('down 5 ms, cluster version 3.4.0');
    expect([detailText({}), detailText(undefined)]).toEqual([undefined, undefined]);
  });
});

describe('the labels of a report', () => {
  const members = (...versions: [string?, string?][]) =>
    versions.map(([version_before, version_after]) => ({
      version_before,
      version_after,
    })) as unknown as Report['members'];
  const report = { cluster: 'c', from: '3.5', to: '3.6', members: members(['3.5.1', '3.6.1']) } as const;
  it('the labels name the kind of the run', () => {
    expect([runTitle(report), runWay(report), reportWay(report)]).toEqual([
      'Upgrade of c',
      'from 3.5 to 3.6',
      '3.5 → 3.6',
    ]);
    const restart = {
      ...report,
      kind: 'restart',
      to: '3.5',
      members: members(['3.5.1', '3.5.2'], ['3.5.1', '3.5.2']),
    } as const;
    expect([runTitle(restart), runWay(restart), reportWay(restart)]).toEqual([
      'Rolling restart of c',
      'on 3.5',
      '3.5.1 → 3.5.2',
    ]);
    const same = { ...restart, members: members(['3.5.1', '3.5.1']) };
    expect([versionNames(same), reportWay(same)]).toEqual([
      { before: '3.5', after: '3.5, restarted' },
      '3.5, restarted',
    ]);
    expect(
      versionNames({ ...restart, members: members(['3.5.1', '3.5.2'], ['3.5.0', '3.5.2']) }).before,
    ).toBe('3.5');
    expect(versionNames({ ...restart, members: members(['3.5.1', undefined]) }).before).toBe('3.5');
  });
  it('count each check once', () => {
    const gate = [
      ['a', false],
      ['a', true],
      ['a', true],
      ['b', null],
      ['c', true],
    ].map(([check, ok]) => ({ check, ok, detail: '' })) as never;
    expect(gateText(gate)).toBe('2 checks passed, 1 skipped');
    expect(gateText([{ check: 'read', ok: true, detail: '' }])).toBe('1 check passed');
  });
});

describe('the drawing of a run', () => {
  const plan = planned();
  const report = partlyMade<Report>({
    duration_ms: 1000,
    to: '3.4',
    members: [
      { name: 'n1', version_before: '3.3.1' },
      { name: 'n2', version_before: '3.4.1' },
    ],
  });
  const canary = (ms: number, ok: boolean, latency_ms = 5) =>
    at(ms, { event: 'canary', ok, latency_ms, member: 'n1' });
  it('the drawing has no gap shorter than 150 ms, the longest first, at most twelve, and none during a rest', () => {
    const gapsOf = (...events: UpgradeEvent[]) => timelineFrom(report, wholeRun(events)).gaps;
    expect(gapsOf(canary(200, true, 149))).toEqual([]);
    expect(gapsOf(canary(200, true, 150))).toEqual([{ fromMs: 50, toMs: 200 }]);
    expect(gapsOf(canary(100, false), canary(300, true), canary(1000, true, 400))).toEqual([
      ...[
        { fromMs: 600, toMs: 1000 },
        { fromMs: 95, toMs: 300 },
      ],
    ]);
    expect(gapsOf(canary(100, true, 400))).toEqual([]);
    const many = Array.from({ length: 14 }, (_, i) => canary(1000 * (i + 1), true, 200 + i));
    expect(gapsOf(...many)).toHaveLength(12);
    const started = (ms: number) =>
      at(ms, { event: 'run-started', run: 'r', action: 'resume', plan, journal: '' });
    expect(gapsOf(canary(100, false), started(200), canary(300, true))).toEqual([]);
    expect(timelineFrom(report, wholeRun([started(0), started(500)])).pauses).toEqual([
      { atMs: 500, forMs: 500 },
    ]);
  });
  it('draws each member by what it ran, and who led', () => {
    const run = wholeRun([
      at(0, { event: 'run-started', run: 'r', action: 'upgrade', plan, journal: '' }),
      at(100, { event: 'leader-changed', from: 'n1', to: 'n2' }),
      at(200, { event: 'leader-changed', to: 'n2' }),
      at(300, { event: 'observed', observation: observed(undefined, { leader: 'n3' }) }),
      at(400, { event: 'reverted', member: 'n1', duration_ms: 1 }),
      at(450, { event: 'step-started', step: stepOf('stop'), number: 1, count: 2 }),
      at(500, { event: 'step-failed', step: stepOf('stop'), reason: 'r' }),
      at(600, { event: 'step-finished', step: stepOf('start'), duration_ms: 1 }),
    ]);
    const timeline = timelineFrom(report, run);
    expect(timeline.leaders).toEqual([
      ...[
        { name: 'n1', fromMs: 0, toMs: 100 },
        { name: 'n2', fromMs: 100, toMs: 300 },
        { name: 'n3', fromMs: 300, toMs: 1000 },
      ],
    ]);
    expect(
      timeline.lanes.map(({ spans, revertedAt }) => [spans.map(({ kind }) => kind), revertedAt]),
    ).toEqual([
      [['old', 'old'], [400]],
      [['new'], []],
    ]);
    expect(run.steps['n2.stop']).toMatchObject({ startedMs: 450, ended: { atMs: 500, isDone: false } });
    expect(timelineFrom({ ...report, duration_ms: 0 }, wholeRun([])).durationMs).toBe(1);
    expect(timelineFrom(report, wholeRun([canary(5000, true)])).durationMs).toBe(5000);
    expect(timelineFrom({ ...report, kind: 'restart' }, wholeRun([])).lanes[1]?.spans[0]?.kind).toBe('old');
  });
  it('two parts are joined: the later one starts at the end of the earlier one, with its own steps', () => {
    const write = (ms: number, latency_ms: number) => canary(ms, true, latency_ms);
    const counts = (writes: number, longest_gap_ms: number) => ({ writes, failed: 1, longest_gap_ms });
    const before = {
      events: [write(10, 1), write(20, 3)],
      durationMs: 100,
      canary: counts(2, 9),
    };
    const done = (was_done_before?: true) =>
      at(5, {
        event: 'step-finished',
        step: stepOf('stop'),
        duration_ms: 0,
        ...(was_done_before ? { was_done_before } : {}),
      });
    const now = {
      events: [done(true), done(), write(10, 2)],
      canary: counts(1, 4),
    };
    const whole = joinRuns(before, now);
    expect(whole).toMatchObject({
      canary: { writes: 3, failed: 2, longest_gap_ms: 9, median_ms: 2, p99_ms: 3 },
    });
    expect(whole.events.map(({ elapsed_ms }) => elapsed_ms)).toEqual([10, 20, 105, 110]);
    expect(joinRuns(undefined, now)).toBe(now);
    const { canary: _, ...without } = now;
    expect(joinRuns(before, without).canary).toEqual(counts(2, 9));
  });
});

describe('the time that a member needs', () => {
  it('the time of a member is the longest plus a quarter, otherwise the limits', () => {
    expect(neededMs([1000, 4000], [9000], 5)).toEqual({ ms: 5000, isLearned: true });
    expect(neededMs([], [3], 5)).toEqual({ ms: 4, isLearned: true });
    expect(neededMs([], [], 5)).toEqual({ ms: 5, isLearned: false });
  });
});

describe('the end of a window', () => {
  const now = Date.UTC(2026, 2, 28, 12, 0, 0);
  const end = (text: string) => {
    const until = parseUntil(text, now, 'Europe/Berlin');
    return typeof until === 'string' ? until : [new Date(until.atMs).toISOString(), untilText(until)];
  };
  it('the end of a window is the next moment at which the clock of the zone shows it', () => {
    expect(end('13:01')).toEqual(['2026-03-28T12:01:00.000Z', '13:01 (Europe/Berlin)']);
    expect(end('13:00')).toEqual(['2026-03-29T11:00:00.000Z', '13:00 (Europe/Berlin)']);
    // The night of the daylight saving change.
    expect(end('04:00')).toEqual(['2026-03-29T02:00:00.000Z', '04:00 (Europe/Berlin)']);
    expect(end('4:00Z')).toEqual(['2026-03-29T04:00:00.000Z', '04:00 (UTC)']);
    expect(end('04:00+02:00')).toEqual(['2026-03-29T02:00:00.000Z', '04:00 (+02:00)']);
    expect(end('04:00-01:30')).toEqual(['2026-03-29T05:30:00.000Z', '04:00 (-01:30)']);
    expect(end('2026-03-28T12:00:01Z')).toEqual(['2026-03-28T12:00:01.000Z', '12:00 (UTC)']);
  });
  it.each([
    ['24:00', 'must be HH:MM, HH:MM ZONE or an RFC 3339 time'],
    ['4:60', 'must be HH:MM, HH:MM ZONE or an RFC 3339 time'],
    ['04:00 Mars/Olympus', 'has an unknown time zone: Mars/Olympus'],
    ['2026-03-28T12:00:00Z', 'is in the past'],
    ['2026-02-30T99:00:00Z', 'is not a time'],
  ])('the end of a window is not %s', (text, why) => expect(end(text)).toBe(why));
});

describe('texts about a plan', () => {
  const plan = planned(observed(), clusterFile(), planOptions({ stable_before_last_seconds: 7 }));
  it('waits are those of the members, and those before and after the last one', () => {
    expect(waitsMs(plan, plan.order)).toBe(12_000);
    expect(waitsMs(plan, [])).toBe(0);
    const settle = { ...stepOf('settle'), wait_seconds: 3 } as Step;
    expect(waitsMs({ ...plan, steps: [settle] }, ['n2'])).toBe(15_000);
    expect(waitsMs({ ...plan, steps: [settle], kind: 'restart' }, ['n2'])).toBe(3000);
    expect(waitsMs({ ...plan, steps: [settle], kind: 'restart' }, ['n1'])).toBe(0);
    expect(estimateMs(plan, ['n1', 'n2'], [1000, 3000])).toBe(2 * 2000 + 12_000);
    expect(estimateMs(plan, ['n1'], [])).toBeUndefined();
    const [sizes, duration] = estimateLines(plan, []);
    expect(sizes).toMatch(/^Databases: n2 20 KiB, n3 20 KiB, n1 20 KiB; 60 KiB of snapshots in total$/);
    expect(duration).toBe('Duration: known after the first member; 12.0 s of it is waiting time');
    expect(estimateLines({ ...plan, order: [] }, [])).toEqual([]);
    expect(estimateLines({ ...plan, steps: [] }, [1000])[0]).not.toContain('snapshots');
  });
  it('a replaced command shows the difference, unless the whole is requested', () => {
    const step = { commands: ['ssh h "etcd --name n1 --new x"'], replaces: ['ssh h "etcd --name n1 --old"'] };
    expect(commandLines(step, false)).toEqual([
      ...[
        '  - --old',
        "  + '--new' x".replaceAll("'", ''),
        '    2 flags and arguments are unchanged; -v shows the complete command',
      ],
    ]);
    expect(commandLines(step, true)).toEqual(['  $ ssh h "etcd --name n1 --new x"']);
    expect(commandLines({ commands: ['a b'], replaces: ['a b'] }, false)).toEqual(['  $ a b']);
    expect(commandLines({ commands: ['a b'], replaces: ['a c', 'd'] }, false)).toEqual(['  $ a b']);
    expect(commandLines({ commands: ['a b'], replaces: ['a c'] }, false)).toEqual([
      '  - c',
      '  + b',
      '    1 flag or argument is unchanged; -v shows the complete command',
    ]);
    expect(commandLines({ commands: ['x x'], replaces: ['x'] }, false)).toEqual([
      '  + x',
      '    1 flag or argument is unchanged; -v shows the complete command',
    ]);
    expect(commandLines({ commands: ['b'], replaces: ['a'] }, false)).toEqual(['  - a', '  + b']);
  });
  it('findings are sorted with the worst last; a shared hint is printed once', () => {
    const finding = (level: 'pass' | 'warn' | 'fail', hint?: string) => ({
      guard: 'g',
      level,
      message: 'm',
      ...(hint === undefined ? {} : { hint }),
    });
    const lines = (columns: number, ...all: ReturnType<typeof finding>[]) =>
      findingsText(all, columns)
        .split('\n')
        .map((line) => line.trimEnd());
    expect(lines(100, finding('fail', 'h'), finding('pass', 'p'))).toEqual([
      ...[`✓ pass     g${' '.repeat(21)}m`, `✗ fail     g${' '.repeat(21)}m`, `${' '.repeat(33)}→ h`],
    ]);
    expect(
      lines(100, finding('warn', 'h'), finding('warn', 'h')).filter((line) => line.includes('→')),
    ).toHaveLength(1);
    expect(
      lines(100, finding('warn', 'h'), finding('warn', 'i')).filter((line) => line.includes('→')),
    ).toHaveLength(2);
    expect(lines(71, finding('warn'))).toEqual(['! warn     g', '           m']);
    expect(lines(72, finding('warn'))).toHaveLength(1);
  });
  it('the plan and the cluster name the leader and what is not known', () => {
    const text = planText(plan);
    expect(text).toContain('in the order n2, n3, n1 (leader)');
    expect(text).toContain('── point of no return: after it the cluster stays on 3.4 ──');
    expect(text).not.toContain('Limits of a downgrade');
    expect(planText({ ...plan, kind: 'downgrade' })).toContain('Limits of a downgrade');
    expect(planText({ ...plan, kind: 'restart' })).toContain('restart on 3.3, 3 of 3');
    expect(wayText(observed([seen('n1'), away('n2')]), undefined, 200)).toBe(
      'Cluster test: 3.3 → ?; members n1 3.3.25, n2 ?',
    );
    const members = [
      seen('n1', { server_version: '3.4.1' }),
      seen('n2', { is_healthy: false, health_reason: 'r' }),
      away('n3'),
      seen('n4', { is_learner: true, is_healthy: false }),
    ];
    const shown = observationText(observed(members, { alarms: [{ member_id: '1', alarm: 'NOSPACE' }] }));
    expect(shown.split('\n')[0]).toBe(
      'cluster test: version 3.3.0 (mixed: 1 of 4 members run 3.4), leader n1, alarms NOSPACE',
    );
    expect(shown).toContain('unhealthy (r)');
    expect(shown).toMatch(/n3 .* unreachable +- +- +- +- +-$/m);
    expect(shown).toContain('learner');
    expect(observationText(observed([seen('n1')]), 40).split('\n')[2]).toBe(
      'MEMBER  URL                     HEALTH   VERSION',
    );
    expect(observationText(observed([seen('n1')])).split('\n')[2]).toMatch(/ID$/);
  });
});

describe('the table of a run, event by event', () => {
  const whole = planned();
  const plan = { ...whole, steps: whole.steps.filter(({ kind }) => kind !== 'move-leader') };
  const stateAfter = (...events: Unstamped[]): RunModel =>
    events.reduce((state, event, i) => runAfter(state, at(i * 1000, event)), emptyRun);
  const begun: Unstamped = { event: 'run-started', run: 'r', action: 'upgrade', plan, journal: '' };
  const memberOf = (state: RunModel, name = 'n2') => state.members.find((one) => one.name === name);
  it('the table starts with the plan', () => {
    const state = stateAfter(begun);
    expect(state.title).toBe('upgrade of test from 3.3 to 3.4');
    expect([state.confirm, state.isRollback, state.columns]).toEqual([
      'waiting',
      false,
      ['snapshot', 'stop', 'start', 'gate'],
    ]);
    expect(memberOf(state, 'n1')).toMatchObject({
      isLeader: true,
      isDown: false,
      version: '3.3.25',
      sizeBytes: 20_480,
    });
    expect(stateAfter({ ...begun, plan: { ...plan, steps: [] } }).confirm).toBe('none');
    expect(stateAfter({ ...begun, action: 'rollback' }).title).toBe('rollback of test to 3.3');
  });
  it('follows each member', () => {
    const down = stateAfter(begun, { event: 'member-down', member: 'n1', was_leader: true });
    expect(memberOf(down, 'n1')).toMatchObject({ isDown: true, isLeader: false });
    const up = stateAfter(
      begun,
      { event: 'member-down', member: 'n2', was_leader: false },
      { event: 'member-up', member: 'n2', down_ms: 7 },
    );
    expect(memberOf(up)).toMatchObject({ isDown: false, version: '3.3.25' });
    expect(up.histories['n2']?.downMs).toBe(7);
    const check = (ok: boolean | null, detail: string): Unstamped => ({
      event: 'gate-check',
      member: 'n2',
      check: 'version',
      ok,
      detail,
    });
    expect(memberOf(stateAfter(begun, check(true, 'runs 3.4.45')))?.version).toBe('3.4.45');
    expect(stateAfter(begun, check(false, 'x')).now).toBe('n2 is not ready yet: version: x');
    expect(memberOf(stateAfter(begun, check(true, 'no')))?.version).toBe('3.3.25');
    const reverted = stateAfter(
      begun,
      { event: 'reverting', member: 'n2', reason: 'r' },
      { event: 'reverted', member: 'n2', duration_ms: 1 },
    );
    expect(memberOf(reverted)).toMatchObject({ wasReverted: true, isDown: false });
    expect(reverted.said).toEqual(['n2 is rolled back: r']);
    expect(memberOf(stateAfter(begun, { event: 'leader-changed', to: 'n2' }))?.isLeader).toBe(true);
    const looked = stateAfter(begun, {
      event: 'observed',
      observation: observed([away('n2'), seen('n1', { server_version: '3.4.1', db_size_bytes: 5 })], {
        leader: 'n1',
      }),
    });
    expect([
      memberOf(looked)?.isDown,
      memberOf(looked)?.version,
      memberOf(looked, 'n1')?.version,
      memberOf(looked, 'n1')?.sizeBytes,
    ]).toEqual([true, '3.3.25', '3.4.1', 5]);
  });
  it('the table marks steps, including unplanned ones', () => {
    const cell = (event: Unstamped, kind: Step['kind'] = 'stop') =>
      memberOf(stateAfter(begun, event))?.cells[kind];
    const step = stepOf('stop');
    expect(cell({ event: 'step-started', step, number: 2, count: 9 })).toBe('running');
    expect(cell({ event: 'step-finished', step, duration_ms: 1 })).toBe('done');
    expect(cell({ event: 'step-failed', step, reason: 'r' })).toBe('failed');
    const moved = stateAfter(begun, {
      event: 'step-started',
      step: { ...stepOf('move-leader'), target: 'n3' } as Step,
      number: 2,
      count: 9,
    });
    expect(moved.columns).toEqual(['snapshot', 'move-leader', 'stop', 'start', 'gate']);
    expect(moved.now).toBe('2/9 move-leader n2');
    const confirm = { id: 'confirm', kind: 'confirm', title: 'c', why: '', commands: [] } as Step;
    expect(stateAfter(begun, { event: 'step-finished', step: confirm, duration_ms: 1 }).confirm).toBe('done');
    expect(stateAfter(begun, { event: 'step-failed', step, reason: 'r' }).said).toEqual(['stop n2: r']);
    expect(stateAfter(begun, { event: 'waiting', step, remaining_ms: 1001, reason: 'w' }).now).toBe(
      'stop n2: 1.0 s left (w)',
    );
  });
  it('counts the writes of the canary, and a gap from the first write that was not taken', () => {
    const write = (ok: boolean, latency_ms: number): Unstamped => ({
      event: 'canary',
      ok,
      latency_ms,
      member: 'n1',
    });
    expect(stateAfter(begun, write(true, 5)).canary).toEqual({
      writes: 1,
      failed: 0,
      lastMs: 5,
      longestGapMs: 5,
    });
    const failing = stateAfter(begun, write(true, 5), write(false, 100));
    expect(failing.canary).toEqual({
      writes: 2,
      failed: 1,
      lastMs: 5,
      longestGapMs: 100,
      waitingSince: 1900,
    });
    expect(stateAfter(begun, write(true, 5), write(false, 100), write(true, 3)).canary).toEqual({
      writes: 3,
      failed: 1,
      lastMs: 3,
      longestGapMs: 1100,
    });
  });
  it('the table keeps the messages above it, and ends with the outcome', () => {
    const line = (expected: boolean): Unstamped => ({ event: 'log-line', member: 'n1', line: 'l', expected });
    expect(
      stateAfter(begun, line(true), line(false), { event: 'note', level: 'info', text: 't' }).said,
    ).toEqual(['log of n1: l', 't']);
    const ended = stateAfter(begun, {
      event: 'run-finished',
      outcome: 'done',
      message: 'm',
      report: {} as Report,
    });
    expect([ended.outcome, ended.now, ended.elapsedMs]).toEqual(['done', 'm', 1000]);
  });
});

describe('notifications about a run', () => {
  const named = { cluster: 'c', run: 'r', action: 'upgrade', from: '3.3', to: '3.4' };
  it('notifications cover the start, each member, warnings, rollbacks and the end', () => {
    const notice = (event: Unstamped) => {
      const made = noticeOf(named, at(0, event));
      return made && [made.event, made.text, made.member];
    };
    expect(
      notice({ event: 'run-started', run: 'r', action: 'upgrade', plan: planned(), journal: '' }),
    ).toEqual(['run-started', 'upgrade begins', undefined]);
    expect(notice({ event: 'step-finished', step: stepOf('gate'), duration_ms: 1 })).toEqual([
      'member-upgraded',
      'n2 runs the new version',
      'n2',
    ]);
    expect(
      notice({ event: 'step-finished', step: stepOf('gate'), duration_ms: 1, was_done_before: true }),
    ).toBeUndefined();
    expect(notice({ event: 'step-finished', step: stepOf('stop'), duration_ms: 1 })).toBeUndefined();
    expect(notice({ event: 'note', level: 'warn', text: 't' })).toEqual(['note', 't', undefined]);
    expect(notice({ event: 'note', level: 'info', text: 't' })).toBeUndefined();
    expect(notice({ event: 'reverting', member: 'n2', reason: 'r' })).toEqual([
      'reverting',
      'n2 is rolled back: r',
      'n2',
    ]);
    expect(notice({ event: 'reverted', member: 'n2', duration_ms: 1 })).toEqual([
      'reverted',
      'n2 runs its old version again',
      'n2',
    ]);
    expect(notice({ event: 'run-finished', outcome: 'done', message: 'm', report: {} as Report })).toEqual([
      'run-finished',
      'm',
      undefined,
    ]);
    expect(notice({ event: 'leader-changed', to: 'n1' })).toBeUndefined();
  });
  it('notifications for a scraper are numbers', () => {
    const progress = {
      named,
      startedMs: 1000,
      updatedMs: 2500,
      stepsDone: 2,
      steps: 9,
      versions: { n1: '3.3', n2: '3.4', n3: '3.3' },
    };
    const lines = metricsText(progress)
      .split('\n')
      .filter((line) => !line.startsWith('#'));
    const numbersOf = (name: string) =>
      lines.filter((line) => line.startsWith(`opsctl_kv_run_${name}{`)).map((line) => line.split(' ').at(-1));
    expect(numbersOf('steps')).toEqual(['9']);
    expect(numbersOf('steps_done')).toEqual(['2']);
    expect(lines.filter((line) => line.includes('version='))).toEqual([
      expect.stringMatching(/3\.3"\} 2$/),
      expect.stringMatching(/3\.4"\} 1$/),
    ]);
    expect(numbersOf('running')).toEqual(['1']);
    expect([
      numbersOf('start_timestamp_seconds'),
      numbersOf('update_timestamp_seconds'),
      numbersOf('end_timestamp_seconds'),
    ]).toEqual([['1'], ['2.5'], []]);
    const over = metricsText({ ...progress, outcome: 'held' });
    expect(over).toMatch(/outcome="held"\} 1\n/);
    expect(over.match(/outcome="[a-z-]+"\} 0/g)).toHaveLength(6);
    expect(over).toMatch(/end_timestamp_seconds\{cluster="c"\} 2\.5/);
  });
});
