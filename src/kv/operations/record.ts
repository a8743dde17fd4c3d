import { momentText, durationText, sizeText, wrapMessage } from '../../core/format.ts';
import { type Advice, type ShowAdvice, after, next, nextFromLine, showPlain } from '../../core/next.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { isRecord, misfit, shapeBy } from '../../core/shape.ts';
import { codeSpan, escapeMarkdown } from '../../core/text.ts';
import type { Host } from '../../platform/host.ts';
import { type FoundRun, findRuns, lastAction } from '../engine/journal.ts';
import type { Detail, JournalEntry, Outcome, PlanKind } from '../engine/model.ts';
import { memberOfStep } from '../engine/steps.ts';
import { actionWay } from '../upgrade/plan-kind.ts';
import { canaryText, findingsText, nextLines } from '../upgrade/present/text.ts';
import { markdownTable } from '../upgrade/present/page.ts';
import type { StoredReport } from '../upgrade/present/report.ts';
import { activeMs } from '../upgrade/present/journal-events.ts';
import { wholeRun } from '../upgrade/present/run-model.ts';
import {
  type OperationEntry,
  type OperationKind,
  type OperationOutcome,
  type OperationPlan,
  type OperationReport,
  findOperations,
} from './journal.ts';

/** The audit record of one run: owner, host, decisions, accepted findings and outcome. */
export type HistoryRow = {
  readonly run: string;
  readonly cluster: string;
  readonly action: PlanKind | 'rollback';
  readonly from: string;
  readonly to: string;
  readonly outcome: Outcome | 'unfinished';
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Active time, without the time between a stop and a resume. */
  readonly duration_ms: number;
  readonly user: string | null;
  readonly host: string;
  /** All operators who started or resumed the run, as user@host. */
  readonly by: readonly string[];
  readonly digest: string;
  /** Guards whose refusal the operator accepted as a warning. */
  readonly accepted: readonly string[];
  readonly crossing_confirmed_by: string | null;
  readonly members_upgraded: readonly string[];
  readonly members_reverted: readonly string[];
  readonly paused_ms: number;
  readonly resumes: number;
  readonly message: string | null;
  readonly journal: string;
};

type Of<K extends JournalEntry['kind']> = Extract<JournalEntry, { readonly kind: K }>;
const ofKind = <K extends JournalEntry['kind']>(entries: readonly JournalEntry[], kind: K): Of<K>[] =>
  entries.filter((entry): entry is Of<K> => entry.kind === kind);

const owner = { host: 'text' } as const;
/** The fields that a history row reads from the lines with an owner. */
const shapeOf = shapeBy('kind', {
  opened: {
    plan: {
      cluster: 'text',
      from: 'text',
      to: 'text',
      digest: 'text',
      order: ['text'],
      options: { accept: ['text'] },
    },
    owner,
  },
  resumed: { owner },
});
const refuseDamaged = ({ directory, entries }: FoundRun): void => {
  for (const [i, entry] of entries.entries()) {
    const wrong = misfit(entry, shapeOf(entry));
    if (wrong !== undefined)
      throw new AppError('config', `line ${i + 1} of ${directory}/journal.jsonl cannot be read: ${wrong}`, {
        code: 'JOURNAL_DAMAGED',
        tryThis: [after('restore it from a copy, or move the directory of the run away:', ['kv', 'status'])],
      });
  }
};

/** Returns undefined for a journal without a first line. Pure. */
export const historyRow = (found: FoundRun): HistoryRow | undefined => {
  const { run, directory, entries } = found;
  const opened = entries[0];
  if (opened?.kind !== 'opened') return undefined;
  refuseDamaged(found);
  const { plan, owner } = opened;
  const way = lastAction(entries);
  const last = entries.at(-1);
  const closed = last?.kind === 'closed' ? last : undefined;
  const resumed = ofKind(entries, 'resumed');
  const reverted = new Set(ofKind(entries, 'reverted').map(({ member }) => member));
  const gated = new Set(ofKind(entries, 'end').map(({ step }) => memberOfStep(step, 'gate')));
  const names = [opened, ...resumed].map(({ owner: { user, host } }) => `${user ?? 'unknown'}@${host}`);
  return {
    run,
    cluster: plan.cluster,
    action: way === 'rollback' ? 'rollback' : (plan.kind ?? 'upgrade'),
    ...actionWay(way, plan),
    outcome: closed?.outcome ?? 'unfinished',
    started_at: opened.at,
    ended_at: closed?.at ?? null,
    duration_ms: activeMs(entries),
    user: owner.user ?? null,
    host: owner.host,
    by: [...new Set(names)],
    digest: plan.digest,
    accepted: plan.options.accept,
    crossing_confirmed_by: ofKind(entries, 'crossing-confirmed').at(-1)?.confirmed_by ?? null,
    members_upgraded: plan.order.filter((name) => gated.has(name) && !reverted.has(name)),
    members_reverted: plan.order.filter((name) => reverted.has(name)),
    paused_ms: ofKind(entries, 'continued').reduce((sum, { waited_ms }) => sum + waited_ms, 0),
    resumes: resumed.length,
    message: closed?.message ?? null,
    journal: `${directory}/journal.jsonl`,
  };
};

/** An operation in the audit record. Its fields have the same meaning as for an upgrade. */
export type OperationRow = Pick<
  HistoryRow,
  'run' | 'cluster' | 'from' | 'to' | 'started_at' | 'ended_at' | 'duration_ms' | 'user' | 'host' | 'by'
> &
  Pick<HistoryRow, 'digest' | 'accepted' | 'resumes' | 'message' | 'journal'> & {
    readonly action: OperationKind;
    /** The affected member. */
    readonly subject: string | null;
    readonly outcome: OperationOutcome | 'unfinished';
  };
/** Converts an operation into an audit row. Pure. */
export const operationRow = ({
  plan,
  entries,
  path,
}: Awaited<ReturnType<typeof findOperations>>[number]): OperationRow => {
  const owners = entries.flatMap((entry) => ('owner' in entry ? [entry.owner] : []));
  const last = entries.at(-1);
  const closed = last?.kind === 'closed' ? last : undefined;
  const version = plan.observation.cluster_version ?? plan.observation.lowest ?? '';
  return {
    run: plan.id,
    cluster: plan.cluster,
    action: plan.operation,
    subject: plan.subject ?? null,
    from: plan.values?.from ?? version,
    to: plan.values?.to ?? version,
    outcome: closed?.outcome ?? 'unfinished',
    started_at: entries[0]?.at ?? plan.made_at,
    ended_at: closed?.at ?? null,
    duration_ms: activeMs(entries),
    user: owners[0]?.user ?? null,
    host: owners[0]?.host ?? '',
    by: [...new Set(owners.map(({ user, host }) => `${user ?? 'unknown'}@${host}`))],
    digest: plan.digest,
    accepted: [],
    resumes: entries.filter(({ kind }) => kind === 'resumed').length,
    message: closed?.message ?? null,
    journal: path,
  };
};

type FoundOperation = Awaited<ReturnType<typeof findOperations>>[number];
type StepRecord = {
  readonly id: string;
  readonly title: string;
  readonly outcome: 'done' | 'failed' | 'interrupted' | 'not begun';
  readonly started_at: string | null;
  readonly duration_ms: number;
  /** The result of its act: sizes, times and ids. */
  readonly detail?: Detail;
  readonly reason?: string;
};
/** The result of an operation, from its journal. */
export type OperationRecord = {
  readonly run: string;
  readonly operation: OperationKind;
  readonly subject: string | null;
  readonly cluster: string;
  readonly version: string;
  readonly outcome: OperationOutcome | 'unfinished';
  readonly message: string;
  readonly by: HistoryRow['by'];
  readonly started_at: string;
  readonly ended_at: string | null;
  /** Active time, without interruptions. */
  readonly duration_ms: number;
  readonly resumes: number;
  readonly plan_digest: string;
  readonly steps: readonly StepRecord[];
  readonly findings: OperationPlan['findings'];
  readonly journal: string;
  /** Commands that continue the operation. */
  readonly next: readonly Advice[];
};
/** Returns the last attempt of a step. */
const stepRecord = (
  { id, title }: OperationPlan['steps'][number],
  entries: readonly OperationEntry[],
): StepRecord => {
  const own = entries.filter((entry) => 'step' in entry && entry.step === id);
  const begun = own.findLast(({ kind }) => kind === 'begin');
  const last = own.at(-1);
  if (begun === undefined || last === undefined)
    return { id, title, outcome: 'not begun', started_at: null, duration_ms: 0 };
  const duration_ms = Math.max(0, Date.parse(last.at) - Date.parse(begun.at));
  const took = { id, title, started_at: begun.at, duration_ms };
  if (last.kind === 'failed') return { ...took, outcome: 'failed', reason: last.reason };
  if (last.kind !== 'end') return { ...took, outcome: 'interrupted' };
  return { ...took, outcome: 'done', ...(last.detail === undefined ? {} : { detail: last.detail }) };
};
/** Converts the journal of an operation into its record. Pure. */
export const operationRecord = (found: FoundOperation): OperationRecord => {
  const { plan, entries } = found;
  const row = operationRow(found);
  return {
    run: row.run,
    operation: plan.operation,
    subject: row.subject,
    cluster: row.cluster,
    version: row.from,
    outcome: row.outcome,
    message: row.message ?? '',
    by: row.by,
    started_at: row.started_at,
    ended_at: row.ended_at,
    duration_ms: row.duration_ms,
    resumes: row.resumes,
    plan_digest: plan.digest,
    steps: plan.steps.map((step) => stepRecord(step, entries)),
    findings: plan.findings,
    journal: row.journal,
    next: row.outcome === 'done' ? [] : [nextFromLine(plan.command)],
  };
};

const titles: Readonly<Record<OperationPlan['operation'], string>> = {
  defrag: 'Defragment',
  compact: 'Compact',
  'recover-space': 'Recover space in',
  'member-add': 'Add a member to',
  'member-promote': 'Promote a member of',
  'member-update': 'Change a member of',
  'member-remove': 'Remove a member from',
  'replace-member': 'Replace a member of',
  'upgrade-offline': 'Upgrade the stopped cluster',
};
/** Returns the title before the cluster name, for example `Defragment` or `Replace a member of`. */
const operationTitle = (operation: OperationPlan['operation']): string => titles[operation];
/** Returns the steps in order, with information for the operator before the confirmation. */
export const operationText = (
  plan: OperationPlan,
  columns = Number.POSITIVE_INFINITY,
  show: ShowAdvice = showPlain,
): string => {
  const { observation, steps, notes, findings, digest } = plan;
  const members = observation.members
    .map(
      ({ name, server_version }) =>
        `${name} ${server_version ?? '?'}${name === observation.leader ? ' (leader)' : ''}`,
    )
    .join(', ');
  const width = String(steps.length).length;
  const indent = ' '.repeat(width + 2);
  const warnings = findings.filter(({ level }) => level === 'warn' || level === 'unknown');
  return [
    wrapMessage(`${titles[plan.operation]} ${plan.cluster}: members ${members}`, columns, '  '),
    '',
    ...steps.flatMap(({ title, why }, i) => [
      wrapMessage(`${String(i + 1).padStart(width)}. ${title}`, columns, indent),
      ...(why === undefined ? [] : [wrapMessage(`${indent}(${why})`, columns, indent)]),
    ]),
    '',
    ...notes.map((note) => wrapMessage(note, columns, '  ')),
    ...(warnings.length === 0 ? [] : [findingsText(warnings, columns, show), '']),
    `digest ${digest}`,
  ].join('\n');
};
export const membersLine = (members: OperationReport['members']): string =>
  members
    .map(({ name, version, state, db_size_bytes }) =>
      [name, version, state, db_size_bytes === undefined ? undefined : sizeText(db_size_bytes)]
        .filter((word) => word !== undefined)
        .join(' '),
    )
    .join(' · ');
/** Returns the result, the state of each member and the next commands. */
export const reportText = (report: OperationReport, show: ShowAdvice = showPlain): string => {
  const { message, duration_ms, members, canary, journal, next } = report;
  return [
    `${message} (${durationText(duration_ms)})`,
    ...(canary === undefined ? [] : [canaryText(canary)]),
    `members: ${membersLine(members)}`,
    `journal ${journal}`,
    ...nextLines(next, show),
  ].join('\n');
};

const valueText = (name: string, value: unknown): string => {
  if (typeof value === 'number' && name.endsWith('_ms')) return durationText(value);
  if (typeof value === 'number' && name.endsWith('_bytes')) return sizeText(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
};
/** A record of records, such as the placement of a member, is for a resumed operation and not for people. */
const isNested = (value: unknown): boolean => isRecord(value) && Object.values(value).some(isRecord);
/** Returns text such as `blocked 38 ms, before 1.2 MB, after 49 kB`, with the unit in the value. */
const resultText = ({ detail, reason }: StepRecord): string | undefined =>
  reason ??
  (detail &&
    Object.entries(detail)
      .filter(([, value]) => !isNested(value))
      .map(
        ([name, value]) =>
          `${name.replace(/_(ms|bytes)$/, '').replaceAll('_', ' ')} ${valueText(name, value)}`,
      )
      .join(', '));
const headLines = (record: OperationRecord): string[] => {
  const ended = record.ended_at === null ? 'no end' : momentText(record.ended_at);
  const subject = record.subject === null ? '' : ` (${record.subject})`;
  return [
    `# ${escapeMarkdown(`${operationTitle(record.operation)} ${record.cluster}${subject}`)}: ${record.outcome}`,
    '',
    ...(record.message === '' ? [] : [escapeMarkdown(record.message), '']),
    `- Operation ${record.run}, ${momentText(record.started_at)} to ${ended} (${durationText(record.duration_ms)} of active time)`,
    `- By ${escapeMarkdown(record.by.join(', '))}${record.resumes === 0 ? '' : `, resumed ${record.resumes} times`}`,
    `- Cluster version ${record.version}`,
    `- Plan digest ${record.plan_digest}`,
    `- Journal ${escapeMarkdown(record.journal)}`,
    ...record.next.map((command) => `- Goes on with ${codeSpan(String(command))}`),
    '',
  ];
};
/** Returns the record of an operation as Markdown for an issue or a change request. Pure. */
export const recordMarkdown = (record: OperationRecord): string => {
  const said = record.findings
    .filter(({ level }) => level !== 'pass')
    .map(({ level, guard, member, message }) => [level, guard, member, message]);
  const steps = record.steps.map((step) => [
    step.id,
    step.title,
    step.started_at === null ? undefined : durationText(step.duration_ms),
    step.outcome,
    resultText(step),
  ]);
  const lines = [
    ...headLines(record),
    ...['## Steps', '', ...markdownTable(['Step', 'What', 'Took', 'Outcome', 'Result'], steps)],
    ...(said.length === 0
      ? []
      : [
          '## Findings before the start',
          '',
          ...markdownTable(['Level', 'Guard', 'Member', 'Finding'], said),
        ]),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
};

export type ReportForm = 'markdown' | 'html' | 'json';
type Shown = {
  readonly data: object;
  readonly run: string;
  textAs(form: ReportForm): Promise<string>;
};
export const shownReport = (stored: StoredReport): Shown => ({
  data: stored.report,
  run: stored.report.run,
  textAs: async (form) => {
    if (form === 'json') return `${JSON.stringify(stored.report, null, 2)}\n`;
    const { markdownFrom, pageFrom } = await import('../upgrade/present/page.ts');
    return form === 'html' ? pageFrom(stored.report, wholeRun(stored.events)) : markdownFrom(stored.report);
  },
});
export const shownOperation = (found: StoredOperation): Shown => {
  const record = operationRecord(found);
  return {
    data: record,
    run: record.run,
    textAs: async (form) => {
      if (form === 'json') return `${JSON.stringify(record, null, 2)}\n`;
      if (form === 'html')
        throw invalidArguments([
          problem(
            '--as',
            'rule',
            'pages exist only for upgrades, downgrades and restarts',
            'use markdown or json for an operation',
          ),
        ]);
      return recordMarkdown(record);
    },
  };
};

/** An operation with its journal file. */
export type StoredOperation = Awaited<ReturnType<typeof findOperations>>[number];
type Found =
  | { readonly kind: 'run'; readonly run: string; readonly found: FoundRun }
  | { readonly kind: 'operation'; readonly run: string; readonly found: StoredOperation };
/** Returns upgrades, downgrades, restarts and operations, newest first. Their names start with the time. */
const allRuns = async (host: Host, state: string, cluster: string): Promise<Found[]> => {
  const [runs, operations] = await Promise.all([
    findRuns(host, state, cluster),
    findOperations(host, state, cluster),
  ]);
  return [
    ...runs.map((found): Found => ({ kind: 'run', run: found.run, found })),
    ...operations.map((found): Found => ({ kind: 'operation', run: found.plan.id, found })),
  ].toSorted((a, b) => (a.run < b.run ? 1 : -1));
};
/** Returns the run or operation with this name, or the newest one without a name. */
export const foundRun = async (
  host: Host,
  state: string,
  cluster: string,
  run: string | undefined,
): Promise<Found> => {
  const all = await allRuns(host, state, cluster);
  const found = run === undefined ? all[0] : all.find((one) => one.run === run);
  if (found !== undefined) return found;
  const newest = all.slice(0, 5).map((one) => one.run);
  throw new AppError(
    'not-found',
    run === undefined
      ? `no run of cluster ${cluster} found on this machine`
      : `run not found: ${run} of cluster ${cluster}`,
    {
      code: 'NO_RUN',
      tryThis: newest.length === 0 ? [next(['kv', 'upgrade'])] : [`one of ${newest.join(', ')}`],
    },
  );
};
