import type { JournalEntry, Plan, Unstamped, UpgradeEvent } from '../../engine/model.ts';
import { stepId } from '../../engine/steps.ts';
import { stepIn, stepNumber } from '../decide.ts';
import { type Timing, timingAfter } from './run-model.ts';
import { detailText } from './text.ts';

/** A journal as the events of its run: the facts of a run whose process did not record its events. */

type Opened = Extract<JournalEntry, { kind: 'opened' }>;
type Line = {
  readonly kind: string;
  readonly at: string;
  /** Monotonic clock of the process that wrote the line. Lines of earlier versions do not contain it. */
  readonly monotonic_ms?: number;
  readonly step?: string;
  readonly outcome?: string;
};
const ms = (entry: Pick<Line, 'at'>): number => Date.parse(entry.at);
/**
 * The time between two lines: by the monotonic clock if one process wrote both, otherwise by the wall clock. A
 * wall clock that was set back would make that time negative: such a time counts as absent.
 */
const between = (earlier: Line, later: Line, isOneProcess = true): number =>
  isOneProcess && earlier.monotonic_ms !== undefined && later.monotonic_ms !== undefined
    ? Math.max(0, later.monotonic_ms - earlier.monotonic_ms)
    : Math.max(0, ms(later) - ms(earlier));
/** The time from the last line that `isStart` accepts to the line `at`, with the pauses of the run. */
const timeSince = (
  entries: readonly JournalEntry[],
  at: number,
  isStart: (entry: JournalEntry) => boolean,
): number => {
  const began = entries.slice(0, at).findLastIndex(isStart);
  const lines = began < 0 ? [] : entries.slice(began, at + 1);
  return lines.reduce(
    (sum, line, i) => sum + between(lines[i - 1] ?? line, line, i > 0 && !isFirstOfPart(lines, i)),
    0,
  );
};
/**
 * Converts the journal entries of a step to events. A member counts as unavailable from its stop to the end
 * of its health check, because the journal has no finer times.
 */
const stepEvents = (plan: Plan, entries: readonly JournalEntry[], at: number): Unstamped[] => {
  const entry = entries[at] as JournalEntry;
  if (entry.kind !== 'begin' && entry.kind !== 'end' && entry.kind !== 'failed') return [];
  const step = stepIn(plan, entry.step);
  if (step === undefined) return [];
  const since = (id: string): number =>
    timeSince(entries, at, (one) => one.kind === 'begin' && one.step === id);
  const { member = '' } = step;
  if (entry.kind === 'begin') {
    const was_leader = plan.observation.members.some(
      ({ name, is_leader }) => name === member && is_leader === true,
    );
    const started: Unstamped = {
      event: 'step-started',
      step,
      number: stepNumber(plan, step),
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
    ? [{ event: 'member-up', member, down_ms: since(stepId(member, 'stop')) }, ended]
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
      const { member } = entry;
      const isStart = (one: JournalEntry): boolean => one.kind === 'reverting' && one.member === member;
      return [{ event: 'reverted', member, duration_ms: timeSince(entries, at, isStart) }];
    }
    default:
      return [];
  }
};
const isAbort = (line: Line | undefined): boolean => line?.kind === 'closed' && line.outcome === 'aborted';
/**
 * Returns whether a process wrote this line first. An abort has no line for its own start: it closes the run,
 * and cancels a downgrade before.
 */
const isFirstOfPart = (entries: readonly Line[], at: number): boolean => {
  const line = entries[at] as Line;
  const isCancel = line.kind === 'begin' && line.step === 'cancel-downgrade' && isAbort(entries[at + 2]);
  return line.kind === 'resumed' || entries[at - 1]?.kind === 'closed' || isCancel || isAbort(line);
};
/**
 * The active time of the run at each line. No process worked on it between the last line of one part and the
 * first line of the next, so this time does not count.
 */
const activeTimes = (entries: readonly Line[]): number[] => {
  let active = 0;
  return entries.map((entry, at) => {
    const last = entries[at - 1];
    if (last !== undefined && !isFirstOfPart(entries, at)) active += between(last, entry);
    return active;
  });
};
/** The active time of a run or an operation: the one source of its duration. Pure. */
export const activeMs = (entries: readonly Line[]): number => activeTimes(entries).at(-1) ?? 0;
/** Converts the entries of a journal to events, from the line `first` on. Their time starts at that line. Pure. */
export const journalEvents = (
  opened: Opened,
  entries: readonly JournalEntry[],
  journal: string,
  first = 0,
): UpgradeEvent[] => {
  const times = activeTimes(entries);
  const startMs = times[first] ?? 0;
  return entries.slice(first).flatMap((entry, i) => {
    const at = first + i;
    return [...otherEvents(opened, journal, entries, at), ...stepEvents(opened.plan, entries, at)].map(
      (event) => ({ ...event, at: entry.at, elapsed_ms: (times[at] ?? 0) - startMs }) as UpgradeEvent,
    );
  });
};

/**
 * The time of each member from its first step to the end of its health check. Interrupted members are left
 * out. Pure.
 */
export const memberDurations = (entries: readonly JournalEntry[]): readonly number[] => {
  const [opened] = entries;
  if (opened?.kind !== 'opened') return [];
  let timing: Timing | undefined;
  let tookMs: readonly number[] = [];
  for (const event of journalEvents(opened, entries, '')) {
    timing = timingAfter(timing, event);
    if (timing !== undefined) tookMs = timing.tookMs;
  }
  return tookMs;
};
