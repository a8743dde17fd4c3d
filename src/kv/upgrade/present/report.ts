import { detailText } from './detail-text.ts';
import { reportFrom } from './from-events.ts';
import type { JournalEntry, Plan, Unstamped, UpgradeEvent } from '../../engine/types.ts';
import type { StoredReport } from './write.ts';

type Opened = Extract<JournalEntry, { kind: 'opened' }>;

const ms = (entry: { readonly at: string }): number => Date.parse(entry.at);

/** A step's lines as the events of its run. A member counts as unavailable from its stop to the end of its gate: nothing finer is in a journal. */
const stepEvents = (plan: Plan, entries: readonly JournalEntry[], at: number): Unstamped[] => {
  const entry = entries[at] as JournalEntry;
  if (entry.kind !== 'begin' && entry.kind !== 'end' && entry.kind !== 'failed') return [];
  const step = plan.steps.find(({ id }) => id === entry.step);
  if (step === undefined) return [];
  const since = (id: string): number => {
    const began = entries.slice(0, at).findLast((one) => one.kind === 'begin' && one.step === id);
    return began === undefined ? 0 : ms(entry) - ms(began);
  };
  const { member = '' } = step;
  if (entry.kind === 'begin') {
    const was_leader = plan.observation.members.some(
      ({ name, is_leader }) => name === member && is_leader === true,
    );
    const started: Unstamped = {
      event: 'step-started',
      step,
      number: plan.steps.indexOf(step) + 1,
      count: plan.steps.length,
    };
    return step.kind === 'stop' ? [started, { event: 'member-down', member, was_leader }] : [started];
  }
  if (entry.kind === 'failed') return [{ event: 'step-failed', step, reason: entry.reason }];
  const ended: Unstamped = {
    event: 'step-finished',
    step,
    duration_ms: since(entry.step),
    detail: detailText(entry.detail),
  };
  return step.kind === 'gate'
    ? [{ event: 'member-up', member, down_ms: since(`${member}.stop`) }, ended]
    : [ended];
};

const otherEvents = (
  { run, plan }: Opened,
  journal: string,
  entries: readonly JournalEntry[],
  at: number,
): Unstamped[] => {
  const entry = entries[at] as JournalEntry;
  switch (entry.kind) {
    case 'opened':
      return [{ event: 'run-started', run, action: entry.action, plan, journal }];
    case 'resumed':
      return [
        {
          event: 'run-started',
          run,
          action: entry.action === 'rollback' ? 'rollback' : 'resume',
          plan,
          journal,
        },
      ];
    case 'snapshot':
      return [{ event: 'snapshot-saved', snapshot: entry.snapshot }];
    case 'reverting':
      return [{ event: 'reverting', member: entry.member, reason: entry.reason }];
    case 'reverted': {
      const began = entries
        .slice(0, at)
        .findLast((one) => one.kind === 'reverting' && one.member === entry.member);
      return [
        {
          event: 'reverted',
          member: entry.member,
          duration_ms: began === undefined ? 0 : ms(entry) - ms(began),
        },
      ];
    }
    default:
      return [];
  }
};

/** Between the last line of one part of a run and the first of the next nobody was at work: that is no time of the run. */
const pausesOf = (entries: readonly JournalEntry[]): number[] => {
  let paused = 0;
  return entries.map((entry, at) => {
    const last = entries[at - 1];
    if (entry.kind === 'resumed' && last !== undefined) paused += Math.max(0, ms(entry) - ms(last));
    return paused;
  });
};

/** A journal's lines as the events of its run. */
export const journalEvents = (
  opened: Opened,
  entries: readonly JournalEntry[],
  journal: string,
): UpgradeEvent[] => {
  const pauses = pausesOf(entries);
  return entries.flatMap((entry, at) =>
    [...otherEvents(opened, journal, entries, at), ...stepEvents(opened.plan, entries, at)].map(
      (event) =>
        ({ ...event, at: entry.at, elapsed_ms: ms(entry) - ms(opened) - (pauses[at] ?? 0) }) as UpgradeEvent,
    ),
  );
};

/** The report of a run whose program was ended before it wrote one: less than it would have been, and all of it true. Pure. */
export const reportFromJournal = (
  entries: readonly JournalEntry[],
  journal: string,
): StoredReport | undefined => {
  const [opened, closed] = [entries[0], entries.at(-1)];
  if (opened?.kind !== 'opened' || closed?.kind !== 'closed') return undefined;
  const { run, plan } = opened;
  const { owner } = entries.findLast((entry) => entry.kind === 'resumed') ?? opened;
  const events = journalEvents(opened, entries, journal);
  const times = {
    startedAt: opened.at,
    finishedAt: closed.at,
    durationMs: ms(closed) - ms(opened) - (pausesOf(entries).at(-1) ?? 0),
  };
  const snapshots = entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : []));
  const { outcome, message } = closed;
  return {
    report: reportFrom({ run, plan, owner, events, ...times, outcome, message, journal, snapshots }),
    events,
  };
};

/** What a written report does not know: it was made before the run went on, or was given up. */
export const broughtUpToDate = (
  stored: StoredReport,
  entries: readonly JournalEntry[],
): StoredReport | undefined => {
  const later = entries.filter((entry) => ms(entry) > Date.parse(stored.report.finished_at));
  const closed = later.at(-1);
  if (closed === undefined) return stored;
  if (closed.kind !== 'closed' || later.some(({ kind }) => kind !== 'closed')) return undefined;
  const { outcome, message } = closed;
  return { ...stored, report: { ...stored.report, outcome, message } };
};
