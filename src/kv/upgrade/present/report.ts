import { join } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { type Advice, after, next } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { shapeBy } from '../../../core/shape.ts';
import { storedLines, storedObject } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { type FoundRun, currentEvent, withCurrentFindings } from '../../engine/journal.ts';
import type {
  CanaryReport,
  JournalEntry,
  MemberReport,
  Observation,
  Outcome,
  Owner,
  Plan,
  Report,
  SnapshotRecord,
  Step,
  Unstamped,
  UpgradeEvent,
} from '../../engine/model.ts';
import { stepId } from '../../engine/steps.ts';
import { stepIn, stepNumber } from '../decide.ts';
import { quantilesOf } from '../watch/canary.ts';
import { markdownFrom } from './markdown.ts';
import { pageFrom } from './page.ts';
import { type WholeRun, getOwn, memberState, wholeRun } from './run-model.ts';
import { detailText } from './text.ts';

export type ReportInput = {
  readonly run: string;
  readonly plan: Plan;
  readonly owner: Owner;
  readonly events: readonly UpgradeEvent[];
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly durationMs: number;
  readonly outcome: Outcome;
  readonly message: string;
  readonly journal: string;
  /** The cluster at the end of the run, if opsctl could observe it. */
  readonly after?: Observation;
  readonly canary?: CanaryReport;
  /** Snapshots of this run and of the runs that it resumed. */
  readonly snapshots: readonly SnapshotRecord[];
  readonly next?: readonly Advice[];
};
const memberReport = ({ plan, after, snapshots }: ReportInput, run: WholeRun, name: string): MemberReport => {
  const before = plan.observation.members.find((member) => member.name === name);
  const seen = after?.members.find((member) => member.name === name);
  const snapshot = snapshots.findLast((row) => row.member === name);
  const { downMs, dataCopy, checks = [] } = getOwn(run.histories, name) ?? {};
  return {
    name,
    client_url: before?.client_url ?? '',
    version_before: before?.server_version,
    version_after: seen?.server_version,
    ...(seen === undefined ? {} : { state: memberState(seen) }),
    was_leader: before?.is_leader ?? false,
    ...(downMs === undefined ? {} : { down_ms: downMs }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(dataCopy === undefined
      ? {}
      : { data_copy: dataCopy.replace(/^copy /, '').replace(/, copied \d+ files?, .*$/, '') }),
    gate: checks,
  };
};
/** The steps of the plan, and each step that the run added, before the step that has its number. */
const allSteps = (plan: Plan, run: WholeRun): Step[] => {
  const planned = new Set<string>(plan.steps.map(({ id }) => id));
  const added = Object.values(run.steps).flatMap(({ step, startedMs }) =>
    startedMs === undefined || planned.has(step.id) ? [] : [step],
  );
  return plan.steps.flatMap((step, at) => [...added.filter((one) => stepNumber(plan, one) === at + 1), step]);
};
const stepRows = (plan: Plan, run: WholeRun): Report['steps'] =>
  allSteps(plan, run).map(({ id, title }) => {
    const { startedAt = '', startedMs, ended } = run.steps[id] ?? {};
    // The run may have ended during a later attempt, which has no end.
    const tookMs = startedMs === undefined || ended === undefined ? 0 : ended.atMs - startedMs;
    return {
      id,
      title,
      started_at: startedAt,
      duration_ms: Math.max(0, Math.round(tookMs)),
      outcome: ended === undefined ? 'skipped' : ended.isDone ? 'done' : 'failed',
    };
  });
/** Creates the report of a run from its events. Pure. */
export const reportFrom = (input: ReportInput): Report => {
  const run = wholeRun(input.events);
  return {
    run: input.run,
    ...(input.plan.kind === undefined ? {} : { kind: input.plan.kind }),
    cluster: input.plan.cluster,
    from: input.plan.from,
    to: input.plan.to,
    outcome: input.outcome,
    message: input.message,
    owner: input.owner,
    started_at: input.startedAt,
    finished_at: input.finishedAt,
    duration_ms: Math.round(input.durationMs),
    plan_digest: input.plan.digest,
    cluster_version_before: input.plan.observation.cluster_version,
    cluster_version_after: input.after?.cluster_version,
    members: input.plan.observation.members.map(({ name }) => memberReport(input, run, name)),
    steps: stepRows(input.plan, run),
    snapshots: input.snapshots,
    ...(input.canary === undefined ? {} : { canary: input.canary }),
    unexpected_log_lines: run.oddLines,
    journal: input.journal,
    findings: input.plan.findings,
    ...(input.next === undefined ? {} : { next: input.next }),
  };
};

type Opened = Extract<JournalEntry, { kind: 'opened' }>;
const ms = (entry: { readonly at: string }): number => Date.parse(entry.at);
/**
 * Converts the journal entries of a step to events. A member counts as unavailable from its stop to the end
 * of its health check, because the journal has no finer times.
 */
const stepEvents = (plan: Plan, entries: readonly JournalEntry[], at: number): Unstamped[] => {
  const entry = entries[at] as JournalEntry;
  if (entry.kind !== 'begin' && entry.kind !== 'end' && entry.kind !== 'failed') return [];
  const step = stepIn(plan, entry.step);
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
/**
 * No process worked on the run between the last entry of one part and the first entry of the next, so this
 * time does not count.
 */
const pausesOf = (entries: readonly JournalEntry[]): number[] => {
  let paused = 0;
  return entries.map((entry, at) => {
    const last = entries[at - 1];
    if (entry.kind === 'resumed' && last !== undefined) paused += Math.max(0, ms(entry) - ms(last));
    return paused;
  });
};
/** Converts the entries of a journal to events. Pure. */
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
/** Writes report.json, report.md, report.html and their events to the directory of the run. */
export const writeReports = async (
  host: Host,
  directory: string,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  // The last event contains the report, which has a separate file.
  const lines = events
    .filter((event) => event.event !== 'run-finished')
    .map((event) => `${JSON.stringify(event)}\n`);
  const texts = {
    'events.ndjson': lines.join(''),
    'report.json': `${JSON.stringify(report, null, 2)}\n`,
    'report.md': markdownFrom(report),
    'report.html': pageFrom(report, wholeRun(events)),
  };
  for (const [name, text] of Object.entries(texts))
    await host.files.replace(childPath(directory, pathPart(name)), text, 0o600);
};
export type StoredReport = {
  readonly report: Report;
  readonly events: readonly UpgradeEvent[];
  /** The last line of the events was cut off. */
  readonly isTorn?: true;
};
/** The fields that every page needs. */
const shape = {
  run: 'text',
  cluster: 'text',
  from: 'text',
  to: 'text',
  outcome: 'text',
  message: 'text',
  started_at: 'text',
  finished_at: 'text',
  owner: { host: 'text' },
  members: [{ name: 'text', gate: ['record'] }],
  steps: ['record'],
  snapshots: ['record'],
  unexpected_log_lines: ['record'],
  findings: ['record'],
} as const;
const ofStep = { step: { id: 'text' } } as const;
const eventShape = shapeBy('event', {
  'run-started': { plan: { observation: 'record' } },
  observed: { observation: 'record' },
  'step-started': ofStep,
  'step-finished': ofStep,
  'step-failed': ofStep,
  'snapshot-saved': { snapshot: 'record' },
});
const anotherWay = [after('move it away:', ['kv', 'report'], 'then makes the report from the journal')];
/**
 * Reads the report of a finished run; undefined if it does not exist. A run of an earlier version may have no
 * events.
 */
export const readReport = async (host: Host, directory: string): Promise<StoredReport | undefined> => {
  const paths = [join(directory, 'report.json'), join(directory, 'events.ndjson')] as const;
  const [text, lines] = await Promise.all(paths.map((path) => host.files.read(path)));
  if (text === undefined) return undefined;
  const report = storedObject<Report>(paths[0], text, shape, anotherWay);
  const { values, isTorn } = storedLines(paths[1], lines ?? '', anotherWay, eventShape);
  return {
    report: withCurrentFindings(report),
    events: values.map((value) => currentEvent(value) as UpgradeEvent),
    ...(isTorn ? { isTorn } : {}),
  };
};

/**
 * Creates the report of a run whose process ended before it wrote a report. The report is correct, but has
 * fewer details. Pure.
 */
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
/** Adds facts to a stored report that came later: the run continued, or the operator gave it up. */
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

/** A part of a run between two interruptions. */
export type Part = {
  readonly events: readonly UpgradeEvent[];
  readonly startedAt: string;
  /** Working time, without the time between the parts. */
  readonly durationMs: number;
  readonly canary?: CanaryReport | undefined;
};
/** Returns the parts before the current part: from their stored reports, otherwise from the journal. */
export const partsBefore = async (
  host: Host,
  directory: string,
  entries: readonly JournalEntry[],
  journal: string,
): Promise<Part | undefined> => {
  const [opened] = entries;
  const at = entries.findLastIndex(({ kind }) => kind === 'resumed');
  if (opened?.kind !== 'opened' || at < 0) return undefined;
  const before = entries.slice(0, at);
  const written = await readReport(host, directory).catch(() => undefined);
  if (written !== undefined && broughtUpToDate(written, before) !== undefined) {
    const { started_at, duration_ms, canary } = written.report;
    return { events: written.events, startedAt: started_at, durationMs: duration_ms, canary };
  }
  const events = journalEvents(opened, before, journal);
  return { events, startedAt: opened.at, durationMs: events.at(-1)?.elapsed_ms ?? 0 };
};
const together = (
  before: CanaryReport | undefined,
  now: CanaryReport | undefined,
  events: readonly UpgradeEvent[],
): CanaryReport | undefined => {
  if (before === undefined || now === undefined) return now ?? before;
  const latencies = events.flatMap((event) =>
    event.event === 'canary' && event.ok ? [event.latency_ms] : [],
  );
  return {
    writes: before.writes + now.writes,
    failed: before.failed + now.failed,
    longest_gap_ms: Math.max(before.longest_gap_ms, now.longest_gap_ms),
    ...quantilesOf(latencies),
  };
};
/**
 * Joins two parts of a run: the later part starts when the earlier part ended. Steps that the later part only
 * repeats in its output do not count for it.
 */
export const joinRuns = (before: Part | undefined, now: Part): Part => {
  if (before === undefined) return now;
  const own = now.events.filter((event) => event.event !== 'step-finished' || event.was_done_before !== true);
  const later = own.map((event) => ({ ...event, elapsed_ms: event.elapsed_ms + before.durationMs }));
  const events = [...before.events, ...later];
  return {
    events,
    startedAt: before.startedAt,
    durationMs: before.durationMs + now.durationMs,
    canary: together(before.canary, now.canary, events),
  };
};

/** Returns the stored report, or a report from the journal if the process ended before it wrote one. */
export const storedReport = async (
  host: Host,
  log: { info(text: string): void; warn(text: string): void },
  { run, directory, entries }: FoundRun,
): Promise<StoredReport> => {
  const written = await readReport(host, directory);
  if (written?.isTorn) log.warn(`the last line of ${directory}/events.ndjson is incomplete and was skipped`);
  const current = written && broughtUpToDate(written, entries);
  if (current !== undefined) return current;
  const rebuilt = reportFromJournal(entries, `${directory}/journal.jsonl`);
  if (rebuilt === undefined)
    throw new AppError('not-found', `run ${run} has no report, because it is unfinished`, {
      code: 'NO_REPORT',
      tryThis: [next(['kv', 'status']), next(['kv', 'resume'])],
    });
  log.info(
    `run ${run} finished before its report was written; opsctl created this report from its journal, without checks and canary writes`,
  );
  return rebuilt;
};
