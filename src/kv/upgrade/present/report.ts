import { join } from 'node:path';
import { childPath, pathPart } from '../../../core/file-name.ts';
import { type Advice, after, next } from '../../../core/next.ts';
import { AppError } from '../../../core/problem.ts';
import { type Shape, shapeBy } from '../../../core/shape.ts';
import { storedLines, storedObject } from '../../../core/text.ts';
import type { Host } from '../../../platform/host.ts';
import { type FoundRun, currentEvent, planShape, withCurrentFindings } from '../../engine/journal.ts';
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
  UpgradeEvent,
} from '../../engine/model.ts';
import { stepNumber } from '../decide.ts';
import { activeMs, journalEvents } from './journal-events.ts';
import { markdownFrom, pageFrom } from './page.ts';
import { type WholeRun, canaryReport, getOwn, memberState, wholeRun } from './run-model.ts';

export type ReportInput = {
  readonly run: string;
  readonly plan: Plan;
  readonly owner: Owner;
  readonly events: readonly UpgradeEvent[];
  /** The journal: the times of the run, and the snapshots of this run and of the runs that it resumed. */
  readonly entries: readonly JournalEntry[];
  readonly outcome: Outcome;
  readonly message: string;
  readonly journal: string;
  /** The cluster at the end of the run, if opsctl could observe it. */
  readonly after?: Observation;
  readonly canary?: CanaryReport;
  readonly next?: readonly Advice[];
};
const snapshotsIn = (entries: readonly JournalEntry[]): SnapshotRecord[] =>
  entries.flatMap((entry) => (entry.kind === 'snapshot' ? [entry.snapshot] : []));
const memberReport = ({ plan, after, entries }: ReportInput, run: WholeRun, name: string): MemberReport => {
  const before = plan.observation.members.find((member) => member.name === name);
  const seen = after?.members.find((member) => member.name === name);
  const snapshot = snapshotsIn(entries).findLast((row) => row.member === name);
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
/** The journal has the times, so that the report and the list of runs agree. */
const timesOf = (entries: readonly JournalEntry[]) => ({
  started_at: entries[0]?.at ?? '',
  finished_at: entries.at(-1)?.at ?? '',
  duration_ms: activeMs(entries),
});
/** Creates the report of a run from its events and its journal. Pure. */
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
    ...timesOf(input.entries),
    plan_digest: input.plan.digest,
    cluster_version_before: input.plan.observation.cluster_version,
    cluster_version_after: input.after?.cluster_version,
    members: input.plan.observation.members.map(({ name }) => memberReport(input, run, name)),
    steps: stepRows(input.plan, run),
    snapshots: snapshotsIn(input.entries),
    ...(input.canary === undefined ? {} : { canary: input.canary }),
    unexpected_log_lines: run.oddLines,
    journal: input.journal,
    journal_lines: input.entries.length,
    findings: input.plan.findings,
    ...(input.next === undefined ? {} : { next: input.next }),
  };
};

/**
 * Writes report.json, report.md, report.html and their events to the directory of the run. Throws if the files
 * of an earlier part exist and cannot be read: they may be the only record of that part.
 */
export const writeReports = async (
  host: Host,
  directory: string,
  report: Report,
  events: readonly UpgradeEvent[],
): Promise<void> => {
  await readReport(host, directory);
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
  journal_lines: 'number?',
  members: [
    {
      name: 'text',
      version_before: 'text?',
      version_after: 'text?',
      gate: [{ check: 'text', detail: 'text' }],
      'snapshot?': 'record',
    },
  ],
  steps: [{ id: 'text', title: 'text' }],
  snapshots: [{ member: 'text', revision: 'number' }],
  'canary?': { writes: 'number', failed: 'number', longest_gap_ms: 'number' },
  unexpected_log_lines: ['record'],
  findings: [{ guard: 'text', message: 'text?' }],
} as const;
const ofStep = { step: { id: 'text', title: 'text' } } as const;
const ofMember = { member: 'text' } as const;
const observationShape = planShape.observation;
const eventShape = shapeBy('event', {
  'run-started': { run: 'text', plan: planShape },
  observed: { observation: observationShape },
  'step-started': ofStep,
  'step-finished': ofStep,
  'step-failed': ofStep,
  waiting: ofStep,
  'snapshot-saved': { snapshot: { member: 'text' } },
  'member-down': ofMember,
  'member-up': ofMember,
  'gate-check': { member: 'text', check: 'text', detail: 'text' },
  'log-line': { member: 'text', line: 'text' },
  reverting: ofMember,
  reverted: ofMember,
  'run-finished': { outcome: 'text', message: 'text', report: { 'members?': [{ name: 'text' }] } },
} satisfies Partial<Record<UpgradeEvent['event'], Shape>>);
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

/** A part of a run between two interruptions. */
export type Part = {
  readonly events: readonly UpgradeEvent[];
  readonly canary?: CanaryReport | undefined;
};
/** The parts before the current part, with their active time. */
export type EarlierPart = Part & { readonly durationMs: number };
const together = (
  before: CanaryReport | undefined,
  now: CanaryReport | undefined,
  events: readonly UpgradeEvent[],
): CanaryReport | undefined => {
  if (before === undefined || now === undefined) return now ?? before;
  const latencies = events.flatMap((event) =>
    event.event === 'canary' && event.ok ? [event.latency_ms] : [],
  );
  const counts = {
    writes: before.writes + now.writes,
    failed: before.failed + now.failed,
    lastMs: 0,
    longestGapMs: Math.max(before.longest_gap_ms, now.longest_gap_ms),
  };
  return canaryReport(counts, latencies);
};
/**
 * Joins two parts of a run: the later part starts when the earlier part ended. Steps that the later part only
 * repeats in its output do not count for it.
 */
export const joinRuns = (before: EarlierPart | undefined, now: Part): Part => {
  if (before === undefined) return now;
  // The events also cover the time before the first line and after the last line of the journal.
  const startMs = Math.max(before.durationMs, before.events.at(-1)?.elapsed_ms ?? 0);
  const own = now.events.filter((event) => event.event !== 'step-finished' || event.was_done_before !== true);
  const later = own.map((event) => ({ ...event, elapsed_ms: event.elapsed_ms + startMs }));
  const events = [...before.events, ...later];
  return { events, canary: together(before.canary, now.canary, events) };
};

/**
 * Returns how many lines of the journal a report covers. The clock may have been set back since, so the time of
 * a line decides only for reports of earlier versions, which have no number.
 */
const coveredLines = (
  { journal_lines: count, finished_at }: Report,
  entries: readonly JournalEntry[],
): number => {
  if (count !== undefined && count <= entries.length) return count;
  const later = entries.findIndex(({ at }) => Date.parse(at) > Date.parse(finished_at));
  return later < 0 ? entries.length : later;
};
/** The lines that the stored report covers come from its events, and the later lines from the journal. Pure. */
const recordedPart = (
  opened: Extract<JournalEntry, { kind: 'opened' }>,
  entries: readonly JournalEntry[],
  journal: string,
  stored: StoredReport | undefined,
): EarlierPart => {
  if (stored === undefined)
    return { events: journalEvents(opened, entries, journal), durationMs: activeMs(entries) };
  const { events, report } = stored;
  const covered = coveredLines(report, entries);
  const written = { events, canary: report.canary, durationMs: report.duration_ms };
  if (entries.slice(covered).every(({ kind }) => kind === 'closed')) return written;
  const later = { events: journalEvents(opened, entries, journal, covered) };
  return { ...joinRuns(written, later), durationMs: activeMs(entries) };
};
/**
 * Creates the report of a run whose process ended before it wrote a report. The part that `stored` covers keeps
 * its checks and canary writes; the rest of the report is correct, but has fewer details. Pure.
 */
export const reportFromJournal = (
  entries: readonly JournalEntry[],
  journal: string,
  stored?: StoredReport,
): StoredReport | undefined => {
  const [opened, closed] = [entries[0], entries.at(-1)];
  if (opened?.kind !== 'opened' || closed?.kind !== 'closed') return undefined;
  const { run, plan } = opened;
  const { owner } = entries.findLast((entry) => entry.kind === 'resumed') ?? opened;
  const { events, canary } = recordedPart(opened, entries, journal, stored);
  const { outcome, message } = closed;
  const known = { run, plan, owner, events, entries, outcome, message, journal };
  return { report: reportFrom({ ...known, ...(canary === undefined ? {} : { canary }) }), events };
};
/** Adds facts to a stored report that came later: the run continued, or the operator gave it up. */
export const broughtUpToDate = (
  stored: StoredReport,
  entries: readonly JournalEntry[],
): StoredReport | undefined => {
  const later = entries.slice(coveredLines(stored.report, entries));
  const closed = later.at(-1);
  if (closed === undefined) return stored;
  if (closed.kind !== 'closed' || later.some(({ kind }) => kind !== 'closed')) return undefined;
  const { outcome, message } = closed;
  // The commands that could follow the stored end no longer apply.
  const { next: _, ...report } = stored.report;
  const journal_lines = entries.length;
  return { ...stored, report: { ...report, outcome, message, ...timesOf(entries), journal_lines } };
};

/**
 * Writes the reports of a closed run again, from its stored report and the later lines of its journal. Throws
 * if the stored report cannot be read, and leaves its files unchanged.
 */
export const rewriteReports = async (
  host: Host,
  directory: string,
  { path, entries }: { readonly path: string; readonly entries: readonly JournalEntry[] },
): Promise<void> => {
  const written = await readReport(host, directory);
  const stored = (written && broughtUpToDate(written, entries)) ?? reportFromJournal(entries, path, written);
  if (stored !== undefined) await writeReports(host, directory, stored.report, stored.events);
};

/** Returns the parts before the current part: from their stored reports, otherwise from the journal. */
export const partsBefore = async (
  host: Host,
  directory: string,
  entries: readonly JournalEntry[],
  journal: string,
): Promise<EarlierPart | undefined> => {
  const [opened] = entries;
  const at = entries.findLastIndex(({ kind }) => kind === 'resumed');
  if (opened?.kind !== 'opened' || at < 0) return undefined;
  const written = await readReport(host, directory).catch(() => undefined);
  return recordedPart(opened, entries.slice(0, at), journal, written);
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
  const rebuilt = reportFromJournal(entries, `${directory}/journal.jsonl`, written);
  if (rebuilt === undefined)
    throw new AppError('not-found', `run ${run} has no report, because it is unfinished`, {
      code: 'NO_REPORT',
      tryThis: [next(['kv', 'status']), next(['kv', 'resume'])],
    });
  log.info(
    `run ${run} finished before its report was written; opsctl created ${written === undefined ? 'this report' : 'the last part of this report'} from its journal, without checks and canary writes`,
  );
  return rebuilt;
};
