import { describe, expect, it } from 'vitest';
import { broughtUpToDate, reportFromJournal } from '../../../src/kv-upgrade/report/from-journal.ts';
import { markdownFrom } from '../../../src/kv-upgrade/report/markdown.ts';
import { pageFrom } from '../../../src/kv-upgrade/report/page.ts';
import type { JournalEntry, Plan, Unstamped } from '../../../src/kv-upgrade/types.ts';
import { goodRun, report } from '../events.ts';

const { plan } = goodRun[0] as Extract<Unstamped, { event: 'run-started' }> as { plan: Plan };
const owner = { pid: 42, host: 'ops1', user: 'ann', nonce: 'n', started_at: '2026-03-31T12:00:00.000Z' };
type Bare = JournalEntry extends infer E ? (E extends JournalEntry ? Omit<E, 'at'> : never) : never;
/** Lines of a journal, a second apart. */
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
const step = (id: string, detail?: Record<string, unknown>): Bare[] => [
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
  it('has the outcome, every step, the snapshots and how long each member was away', () => {
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
  it('can be drawn and read as every other one', () => {
    const made = reportFromJournal(whole, '/j');
    if (made === undefined) throw new Error('expected a report');
    expect(markdownFrom(made.report)).toContain('# Upgrade of shop from 3.2 to 3.3: done');
    expect(pageFrom(made.report, made.events)).toContain('n2 was unavailable for 5.0 s');
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
    expect(pageFrom(made.report, made.events)).toContain(`<h1>${title}</h1>`);
  });
  it.each([
    ['3.5.16', '3.5.16', '3.5, restarted', '3.5', '3.5, restarted'],
    ['3.5.16', '3.5.30', '3.5.16 → 3.5.30', '3.5.16', '3.5.30'],
  ])(
    'the page of a restart from %s to %s says %s, and when each member was started',
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
      const page = pageFrom({ ...made.report, members }, made.events);
      expect(page).toContain(`<div class="card"><b>${way}</b>`);
      for (const text of [`n2 ran ${old} for`, `n2 ran ${fresh} for`]) expect(page).toContain(text);
      expect(page).not.toContain('3.5 → 3.5');
    },
  );
  it('tells a failed step and a member that got its old version back', () => {
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
  it('is none while the run is not closed', () => {
    expect(reportFromJournal(whole.slice(0, -1), '/j')).toBeUndefined();
    expect(reportFromJournal([], '/j')).toBeUndefined();
  });
});

describe('a report that was written before the journal went on', () => {
  const stopped = lines(opened, ...step('n2.stop'), closed('stopped', 'stopped by the operator'));
  const written = {
    report: { ...report, outcome: 'stopped' as const, finished_at: '2026-03-31T12:00:03.500Z' },
    events: goodRun,
  };
  it('stands when nothing came after it', () => expect(broughtUpToDate(written, stopped)).toBe(written));
  it('takes the outcome over when the run was given up since', () => {
    const given = [
      ...stopped,
      { at: '2026-03-31T12:05:00.000Z', ...closed('aborted', 'given up') } as JournalEntry,
    ];
    expect(broughtUpToDate(written, given)?.report).toEqual({
      ...written.report,
      outcome: 'aborted',
      message: 'given up',
    });
  });
  it('is none when the run went on', () => {
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
