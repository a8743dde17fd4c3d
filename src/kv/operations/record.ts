import type { HistoryRow } from '../engine/history.ts';
import { operationRow } from './history.ts';
import type { findOperations } from './journal.ts';
import type { Detail, OperationEntry, OperationKind, OperationPlan, OperationOutcome } from './types.ts';

type FoundOperation = Awaited<ReturnType<typeof findOperations>>[number];

export type StepRecord = {
  readonly id: string;
  readonly title: string;
  readonly outcome: 'done' | 'failed' | 'interrupted' | 'not begun';
  readonly started_at: string | null;
  readonly duration_ms: number;
  /** What its act returned: sizes, times, ids. */
  readonly detail?: Detail;
  readonly reason?: string;
};
/** What an operation did, from its journal. */
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
  /** Time at work, without the breaks. */
  readonly duration_ms: number;
  readonly resumes: number;
  readonly plan_digest: string;
  readonly steps: readonly StepRecord[];
  readonly findings: OperationPlan['findings'];
  readonly journal: string;
  /** What goes on with it. */
  readonly next: readonly string[];
};

/** A step that failed and was tried again counts by its last try. */
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

/** Pure. */
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
    next: row.outcome === 'done' ? [] : [plan.command],
  };
};
