import { describe, expect, it } from 'vitest';
import { broughtUpToDate, reportFromJournal } from '../../../../src/kv/upgrade/present/report.ts';
import {
  activeMs,
  journalEvents,
  memberDurations,
} from '../../../../src/kv/upgrade/present/journal-events.ts';
import { markdownFrom, pageFrom } from '../../../../src/kv/upgrade/present/page.ts';
import { wholeRun } from '../../../../src/kv/upgrade/present/run-model.ts';
import type { JournalEntry, JournalStepId, Plan, Unstamped } from '../../../../src/kv/engine/model.ts';
import { goodRun, report } from '../events.ts';

const { plan } = goodRun[0] as Extract<Unstamped, { event: 'run-started' }> as { plan: Plan };
const owner = { pid: 42, host: 'ops1', user: 'ann', nonce: 'n', started_at: '2026-03-31T12:00:00.000Z' };
type Bare = JournalEntry extends infer E ? (E extends JournalEntry ? Omit<E, 'at'> : never) : never;
/** Journal lines at intervals of one second. */
const lines = (...entries: Bare[]): JournalEntry[] =>
  entries.map(
    (entry, i) => ({ at: new Date(Date.UTC(2026, 2, 31, 12, 0, i)).toISOString(), ...entry }) as JournalEntry,
  );
const opened: Bare = {
  kind: 'opened',
  run: '20260331T120000Z-0001',
  action: 'upgrade',
  plan,
  owner,
  cluster_file: '/c.yaml',
};
const snapshot = report.snapshots[0] as (typeof report.snapshots)[number];
const step = (id: JournalStepId, detail?: Record<string, unknown>): Bare[] => [
  { kind: 'begin', step: id },
  { kind: 'end', step: id, detail },
];
const closed = (outcome: 'done' | 'stopped' | 'aborted', message: string): Bare => ({
  kind: 'closed',
  outcome,
  message,
});
const member = (name: string): Bare[] => [
  { kind: 'begin', step: `${name}.snapshot` },
  { kind: 'snapshot', snapshot: { ...snapshot, member: name } },
  { kind: 'end', step: `${name}.snapshot`, detail: { revision: 9 } },
  ...step(`${name}.stop`),
  ...step(`${name}.start`),
  ...step(`${name}.gate`),
];
const whole = lines(
  opened,
  ...member('n2'),
  ...member('n1'),
  ...step('confirm'),
  closed('done', 'cluster shop runs 3.3'),
);

describe('a report from the journal alone', () => {
  it('a report from the journal has the outcome, every step, the snapshots and the downtime of each member', () => {
    const made = reportFromJournal(whole, '/runs/1/journal.jsonl');
    expect(made?.report).toMatchObject({
      run: '20260331T120000Z-0001',
      outcome: 'done',
      message: 'cluster shop runs 3.3',
      owner,
      started_at: whole[0]?.at,
      finished_at: whole.at(-1)?.at,
      duration_ms: 21_000,
      journal: '/runs/1/journal.jsonl',
      findings: plan.findings,
    });
    expect(made?.report.steps.map(({ outcome, duration_ms }) => [outcome, duration_ms])).toEqual(
      plan.steps.map(({ kind }) => ['done', kind === 'snapshot' ? 2000 : 1000]),
    );
    expect(
      made?.report.members.map(({ name, down_ms, snapshot: kept }) => [name, down_ms, kept?.member]),
    ).toEqual([
      ['n1', 5000, 'n1'],
      ['n2', 5000, 'n2'],
    ]);
  });
  it('a clock that is set forward or back within one process changes no duration', () => {
    const stamped = whole.map((entry, i) => ({ ...entry, monotonic_ms: i * 1000 }));
    const moved = (hours: number, from: number) =>
      stamped.map((entry, i) => ({
        ...entry,
        at: new Date(Date.parse(entry.at) + (i < from ? 0 : hours * 3_600_000)).toISOString(),
      }));
    for (const [hours, from] of [
      [1, 5],
      [-1, 5],
      [1, 9],
    ] as const) {
      const made = reportFromJournal(moved(hours, from), '/j')?.report;
      expect([made?.duration_ms, made?.members.map(({ down_ms }) => down_ms)]).toEqual([
        21_000,
        [5000, 5000],
      ]);
    }
  });
  it('the monotonic clock of another process does not count', () => {
    const resumed: Bare = { kind: 'resumed', action: 'upgrade', owner };
    const entries = lines(
      opened,
      ...member('n2').slice(0, 5),
      resumed,
      ...member('n2').slice(5),
      ...member('n1'),
    );
    const stamped = entries.map((entry, i) => ({ ...entry, monotonic_ms: i < 6 ? 90_000 + i * 1000 : i }));
    const events =
      reportFromJournal(
        [...stamped, ...lines(closed('done', '')).map((end) => ({ ...end, monotonic_ms: 99 }))],
        '/j',
      )?.events ?? [];
    expect(events.every(({ elapsed_ms }) => elapsed_ms >= 0 && elapsed_ms <= 6000)).toBe(true);
  });
  it.each(whole.map((_, i) => i))('a clock that was set back before line %i loses only that time', (back) => {
    const entries = whole.map((entry, i) => {
      const at = Date.parse(entry.at) - (i < back ? 0 : 3_600_000);
      return { ...entry, at: new Date(at).toISOString() };
    });
    const made = reportFromJournal(entries, '/j');
    const exact = reportFromJournal(whole, '/j');
    if (made === undefined || exact === undefined) throw new Error('expected two reports');
    const timesIn = ({ report: { steps, members, duration_ms }, events }: typeof made): number[] => [
      duration_ms,
      ...steps.map((one) => one.duration_ms),
      ...members.map(({ down_ms = 0 }) => down_ms),
      ...events.flatMap((event) => ('duration_ms' in event ? [event.duration_ms] : [])),
      ...memberDurations(entries),
    ];
    const [seen, right] = [timesIn(made), timesIn(exact)];
    expect(seen).toHaveLength(right.length);
    for (const [i, time] of seen.entries()) expect([right[i], (right[i] ?? 0) - 1000]).toContain(time);
  });
  it('can be drawn and read as every other one', () => {
    const made = reportFromJournal(whole, '/j');
    if (made === undefined) throw new Error('expected a report');
    expect(markdownFrom(made.report)).toContain('# Upgrade of shop from 3.2 to 3.3: done');
    expect(pageFrom(made.report, wholeRun(made.events))).toContain('n2 was unavailable for 5.0 s');
  });
  it.each([
    ['downgrade', 'Downgrade of shop from 3.2 to 3.3: done', 'Downgrade of shop'],
    ['restart', 'Rolling restart of shop on 3.2: done', 'Rolling restart of shop'],
  ] as const)('a %s is called what it was', (kind, heading, title) => {
    const [first, ...rest] = whole;
    const entries = [{ ...first, plan: { ...plan, kind } } as JournalEntry, ...rest];
    const made = reportFromJournal(entries, '/j');
    if (made === undefined) throw new Error('expected a report');
    expect(markdownFrom(made.report).split('\n')[0]).toBe(`# ${heading}`);
    expect(pageFrom(made.report, wholeRun(made.events))).toContain(`<h1>${title}</h1>`);
  });
  it.each([
    ['3.5.16', '3.5.16', '3.5, restarted', '3.5', '3.5, restarted'],
    ['3.5.16', '3.5.30', '3.5.16 → 3.5.30', '3.5.16', '3.5.30'],
  ])(
    'the page of a restart from %s to %s shows %s, and the start of each member',
    (before, after, way, old, fresh) => {
      const of = { ...plan, kind: 'restart', from: '3.5', to: '3.5' } as const;
      const [first, ...rest] = whole;
      const made = reportFromJournal([{ ...first, plan: of } as JournalEntry, ...rest], '/j');
      if (made === undefined) throw new Error('expected a report');
      const members = made.report.members.map((one) => ({
        ...one,
        version_before: before,
        version_after: after,
      }));
      const page = pageFrom({ ...made.report, members }, wholeRun(made.events));
      expect(page).toContain(`<div class="card"><b>${way}</b>`);
      for (const text of [`n2 ran ${old} for`, `n2 ran ${fresh} for`]) expect(page).toContain(text);
      expect(page).not.toContain('3.5 → 3.5');
    },
  );
  it('a report from the journal distinguishes a failed step and a reverted member', () => {
    const entries = lines(
      opened,
      ...step('n2.stop'),
      { kind: 'begin', step: 'n2.start' },
      { kind: 'failed', step: 'n2.start', reason: 'it ended' },
      { kind: 'reverting', member: 'n2', reason: 'it ended' },
      { kind: 'reverted', member: 'n2' },
      { kind: 'resumed', owner: { ...owner, user: 'ben' }, action: 'upgrade' },
      closed('stopped', 'n2: it ended'),
    );
    const made = reportFromJournal(entries, '/j');
    expect(made?.report.steps.find(({ id }) => id === 'n2.start')).toMatchObject({
      outcome: 'failed',
      duration_ms: 1000,
    });
    expect(made?.events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['run-started', 'member-down', 'step-failed', 'reverting', 'reverted']),
    );
    expect(made?.events.find(({ event }) => event === 'reverted')).toMatchObject({ duration_ms: 1000 });
    expect(made?.report.owner.user).toBe('ben');
  });
  it('there is no report while the run is not closed', () => {
    expect(reportFromJournal(whole.slice(0, -1), '/j')).toBeUndefined();
    expect(reportFromJournal([], '/j')).toBeUndefined();
  });
});

describe('the events of a journal', () => {
  const told = (...entries: Bare[]) => {
    const [first, ...rest] = lines(opened, ...entries) as [
      JournalEntry & { kind: 'opened' },
      ...JournalEntry[],
    ];
    return journalEvents(first, [first, ...rest], '/j')
      .slice(1)
      .map(({ at, elapsed_ms, ...event }) => {
        const step = 'step' in event ? { step: event.step.id } : {};
        return { after: elapsed_ms, on: at.slice(17, 19), ...event, ...step };
      });
  };
  const count = plan.steps.length;
  const nothing = { detail: undefined };
  it('events of a journal have the time of their lines, and the number of their step', () =>
    expect(told(...step('n2.snapshot', { revision: 9 }))).toEqual([
      { after: 1000, on: '01', event: 'step-started', step: 'n2.snapshot', number: 1, count },
      {
        ...{ after: 2000, on: '02', event: 'step-finished', step: 'n2.snapshot' },
        ...{ duration_ms: 1000, detail: 'revision 9' },
      },
    ]));
  it('a member is away from its stop to the end of its gate', () =>
    expect(told(...step('n1.stop'), ...step('n1.gate'), ...step('n2.stop'))).toEqual([
      { after: 1000, on: '01', event: 'step-started', step: 'n1.stop', number: 6, count },
      { after: 1000, on: '01', event: 'member-down', member: 'n1', was_leader: true },
      { after: 2000, on: '02', event: 'step-finished', step: 'n1.stop', duration_ms: 1000, ...nothing },
      { after: 3000, on: '03', event: 'step-started', step: 'n1.gate', number: 8, count },
      { after: 4000, on: '04', event: 'member-up', member: 'n1', down_ms: 3000 },
      { after: 4000, on: '04', event: 'step-finished', step: 'n1.gate', duration_ms: 1000, ...nothing },
      { after: 5000, on: '05', event: 'step-started', step: 'n2.stop', number: 2, count },
      { after: 5000, on: '05', event: 'member-down', member: 'n2', was_leader: false },
      { after: 6000, on: '06', event: 'step-finished', step: 'n2.stop', duration_ms: 1000, ...nothing },
    ]));
  it('lines without their beginning took no time, and steps of another plan are left out', () =>
    expect(
      told(
        { kind: 'end', step: 'n2.start' },
        { kind: 'end', step: 'n2.gate' },
        { kind: 'begin', step: 'n9.stop' },
      ),
    ).toEqual([
      { after: 1000, on: '01', event: 'step-finished', step: 'n2.start', duration_ms: 0, ...nothing },
      { after: 2000, on: '02', event: 'member-up', member: 'n2', down_ms: 0 },
      { after: 2000, on: '02', event: 'step-finished', step: 'n2.gate', duration_ms: 0, ...nothing },
    ]));
  it('a rollback starts at the member that turned around', () =>
    expect(
      told(
        ...[
          { kind: 'reverting', member: 'n2', reason: 'r' } as const,
          { kind: 'reverting', member: 'n1', reason: 's' } as const,
        ],
        ...[{ kind: 'reverted', member: 'n2' } as const, { kind: 'reverted', member: 'n9' } as const],
      ),
    ).toEqual([
      { after: 1000, on: '01', event: 'reverting', member: 'n2', reason: 'r' },
      { after: 2000, on: '02', event: 'reverting', member: 'n1', reason: 's' },
      { after: 3000, on: '03', event: 'reverted', member: 'n2', duration_ms: 2000 },
      { after: 4000, on: '04', event: 'reverted', member: 'n9', duration_ms: 0 },
    ]));
  it('the time between two parts of a run does not count, and each part lists its work', () => {
    const on = (action: 'upgrade' | 'rollback'): Bare => ({ kind: 'resumed', owner, action });
    const events = told(...step('n2.start'), on('upgrade'), ...step('n2.start'), on('rollback'));
    expect(events.map(({ after, on: second, event }) => [after, second, event])).toEqual([
      [1000, '01', 'step-started'],
      [2000, '02', 'step-finished'],
      [2000, '03', 'run-started'],
      [3000, '04', 'step-started'],
      [4000, '05', 'step-finished'],
      [4000, '06', 'run-started'],
    ]);
    expect(events.flatMap((one) => ('action' in one ? [one.action] : []))).toEqual(['resume', 'rollback']);
  });
  it('a run that goes on in the same moment had no rest', () => {
    const [first, second] = lines(opened, { kind: 'resumed', owner, action: 'upgrade' }) as [
      JournalEntry & { kind: 'opened' },
      JournalEntry,
    ];
    const events = journalEvents(first, [first, { ...second, at: first.at }], '/j');
    expect(events.map(({ elapsed_ms }) => elapsed_ms)).toEqual([0, 0]);
  });
});

describe('the time before an abort', () => {
  const held = lines(opened, ...step('n2.stop'), closed('stopped', 'held'));
  const interrupted = held.slice(0, -1);
  const at = (second: number, entry: Bare): JournalEntry =>
    ({ at: new Date(Date.UTC(2026, 2, 31, 13, 0, second)).toISOString(), ...entry }) as JournalEntry;
  const [begin, end] = step('cancel-downgrade') as [Bare, Bare];
  const abort = closed('aborted', 'given up');
  it.each([
    ['after a stop', held, [at(0, abort)], 3000],
    ['after the death of the process', interrupted, [at(0, abort)], 2000],
    ['after a stop, with a downgrade', held, [at(0, begin), at(4, end), at(4, abort)], 7000],
    [
      'after the death of the process, with a downgrade',
      interrupted,
      [at(0, begin), at(4, end), at(4, abort)],
      6000,
    ],
    [
      'after an abort that could not cancel the downgrade',
      held,
      [at(0, begin), at(20, begin), at(24, end), at(24, abort)],
      7000,
    ],
  ])('does not count as active time: %s', (_, before, after, expected) =>
    expect(activeMs([...before, ...after])).toBe(expected),
  );
  it('counts for a rollback that cancels a downgrade', () =>
    expect(activeMs(lines(opened, ...step('n2.gate'), begin, end, closed('done', 'done')))).toBe(5000));
});

describe('a report that is older than the journal', () => {
  const stopped = lines(opened, ...step('n2.stop'), closed('stopped', 'stopped by the operator'));
  const written = {
    report: { ...report, outcome: 'stopped' as const, finished_at: '2026-03-31T12:00:03.500Z' },
    events: goodRun,
  };
  it('an older report is valid if no line followed it', () =>
    expect(broughtUpToDate(written, stopped)).toBe(written));
  it('an older report gets the new outcome if the run was abandoned since', () => {
    const given = [
      ...stopped,
      { at: '2026-03-31T12:05:00.000Z', ...closed('aborted', 'given up') } as JournalEntry,
    ];
    expect(broughtUpToDate(written, given)?.report).toEqual({
      ...written.report,
      outcome: 'aborted',
      message: 'given up',
      started_at: '2026-03-31T12:00:00.000Z',
      finished_at: '2026-03-31T12:05:00.000Z',
      duration_ms: 3000,
      journal_lines: stopped.length + 1,
    });
  });
  it('an older report gets the new outcome if the clock was set back before the run was abandoned', () => {
    const stored = { ...written, report: { ...written.report, journal_lines: stopped.length } };
    const early = { at: '2026-03-31T11:00:00.000Z', ...closed('aborted', 'given up') } as JournalEntry;
    expect(broughtUpToDate(stored, stopped)).toBe(stored);
    expect(broughtUpToDate(stored, [...stopped, early])?.report).toMatchObject({
      ...{ outcome: 'aborted', message: 'given up', journal_lines: stopped.length + 1 },
    });
  });
  it('an older report is invalid if the run continued', () => {
    const went = [
      ...stopped,
      { at: '2026-03-31T12:05:00.000Z', kind: 'resumed', owner, action: 'upgrade' } as JournalEntry,
    ];
    expect(broughtUpToDate(written, went)).toBeUndefined();
    expect(
      broughtUpToDate(written, [
        ...went,
        { at: '2026-03-31T12:06:00.000Z', ...closed('done', 'over') } as JournalEntry,
      ]),
    ).toBeUndefined();
  });
});
