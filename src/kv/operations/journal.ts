import type { Advice } from '../../core/next.ts';
import { join } from 'node:path';
import { childPath, pathPart } from '../../core/file-name.ts';
import type { AppError } from '../../core/problem.ts';
import { isRecord, misfit, type Shape } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import { clusterDirectory, idAfter, type LineJournal, openLines, parseLines } from '../engine/journal.ts';
import type {
  CanaryReport,
  ClusterFile,
  Finding,
  Observation,
  Owner,
  Detail,
  StepEntry,
} from '../engine/model.ts';
import type { Checking, Replacing } from '../upgrade/run.ts';

/** Beside the runs of upgrades, and not among them: what resumes an upgrade must not find an operation. */
const directoryOf = (state: string, cluster: string): string =>
  join(clusterDirectory(state, cluster), 'operations');
const pathOf = (state: string, cluster: string, run: string): string =>
  join(childPath(directoryOf(state, cluster), pathPart(run)), 'journal.jsonl');
const step = { at: 'text', step: 'text' } as const;
/** What the readers of a line take from it: a line without that is damage, as in the journal of an upgrade. */
const shapes: Readonly<Record<OperationEntry['kind'], Shape>> = {
  opened: {
    at: 'text',
    plan: { id: 'text', operation: 'text', cluster: 'text', steps: [{ id: 'text' }], observation: 'record' },
    owner: { host: 'text' },
  },
  resumed: { at: 'text', owner: { host: 'text' } },
  begin: step,
  end: step,
  failed: step,
  closed: { at: 'text', outcome: 'text' },
};
const asEntry = (line: unknown): OperationEntry => {
  const entry = line as OperationEntry;
  const isWhole =
    isRecord(line) && Object.hasOwn(shapes, entry.kind) && misfit(line, shapes[entry.kind]) === undefined;
  if (!isWhole) throw new Error('it is no entry of a journal');
  return entry;
};
export const openOperationJournal = (
  host: Host,
  state: string,
  { cluster, id }: OperationPlan,
): Promise<LineJournal<OperationEntry>> => openLines(host, pathOf(state, cluster, id), asEntry);
export type FoundOperation = { readonly plan: OperationPlan; readonly entries: readonly OperationEntry[] };
/** Oldest first. */
const operationNames = async (host: Host, state: string, cluster: string): Promise<string[]> =>
  (await host.files.list(directoryOf(state, cluster))).filter((name) => /^\d{8}T\d{6}Z/.test(name)).sort();
const operationAt = async (host: Host, path: string): Promise<FoundOperation | undefined> => {
  const { entries } = parseLines((await host.files.read(path)) ?? '', asEntry, path);
  return entries[0]?.kind === 'opened' ? { plan: entries[0].plan, entries } : undefined;
};
/** All operations of a cluster that this machine has a journal of, with the path of each. */
export const findOperations = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<readonly (FoundOperation & { readonly path: string })[]> => {
  const names = await operationNames(host, state, cluster);
  const found = await Promise.all(
    names.map(async (name) => {
      const path = pathOf(state, cluster, name);
      const operation = await operationAt(host, path);
      return operation === undefined ? [] : [{ ...operation, path }];
    }),
  );
  return found.flat();
};
/** The newest operation of a cluster that was not brought to its end. */
export const unfinishedOperation = async (
  host: Host,
  state: string,
  cluster: string,
): Promise<FoundOperation | undefined> => {
  const newest = (await operationNames(host, state, cluster)).at(-1);
  const found = newest === undefined ? undefined : await operationAt(host, pathOf(state, cluster, newest));
  const last = found?.entries.at(-1);
  return last?.kind === 'closed' && last.outcome === 'done' ? undefined : found;
};
/** Steps that ended, with what their act returned. */
export const endedSteps = (
  entries: readonly OperationEntry[],
): ReadonlyMap<OperationStepId, Extract<OperationEntry, { kind: 'end' }>> =>
  new Map(entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.step, entry] as const] : [])));
export const newOperationId = async (host: Host, state: string, cluster: string): Promise<string> =>
  idAfter(host, (await operationNames(host, state, cluster)).at(-1));

export type OperationKind =
  | 'defrag'
  | 'compact'
  | 'recover-space'
  | 'member-add'
  | 'member-promote'
  | 'member-update'
  | 'member-remove'
  | 'replace-member';
export type OperationStepKind =
  | 'move-leader'
  | 'defrag'
  | 'check' // the health check of the upgrade, on one member
  | 'wait' // lets the time pass for which history is kept
  | 'compact'
  | 'disarm'
  | 'verify-write'
  | 'stop'
  | 'remove'
  | 'set-aside' // what is left of the data directory is kept beside it
  | 'add'
  | 'start'
  | 'catch-up'
  | 'promote'
  | 'update';
/** `n1.defrag`, or `add` for a step that an operation has once. */
export type OperationStepId = OperationStepKind | `${string}.${OperationStepKind}`;
export type OperationStep = {
  /** The key in the journal. */
  readonly id: OperationStepId;
  readonly kind: OperationStepKind;
  readonly title: string;
  readonly why?: string;
  readonly member?: string;
  /** The new leader. */
  readonly target?: string;
};
/** What was asked for, as far as it decides what is done. */
type OperationValues = {
  readonly revision?: number;
  readonly wait_ms?: number;
  readonly max_blocked_ms?: number;
  readonly peer_urls?: readonly string[];
  readonly is_learner?: boolean;
  /** Of the member that is changed, decimal. */
  readonly member_id?: string;
  /** Its log, where that has a directory of its own. */
  readonly wal_dir?: string;
  /** Which command of the cluster file starts the member: that of the version that the others run. */
  readonly starts?: 'old' | 'new';
};
export type OperationPlan = {
  readonly format: 1;
  readonly id: string;
  readonly operation: OperationKind;
  /** The member it is about, where it is about one. */
  readonly subject?: string;
  /** What goes on with it after a crash. */
  readonly command: string;
  readonly cluster: string;
  readonly made_at: string;
  readonly digest: string;
  readonly steps: readonly OperationStep[];
  /** What the operator should know before he confirms. */
  readonly notes: readonly string[];
  readonly findings: readonly Finding[];
  readonly values: OperationValues;
  readonly observation: Observation;
};
export type OperationRefusal = {
  readonly refused: readonly Finding[];
  readonly findings: readonly Finding[];
  readonly observation: Observation;
};
export type OperationOutcome = 'done' | 'stopped' | 'failed';
/** One line each, fsynced before the effect it announces. */
export type OperationEntry =
  | {
      readonly kind: 'opened';
      readonly at: string;
      readonly run: string;
      readonly plan: OperationPlan;
      readonly owner: Owner;
    }
  | { readonly kind: 'resumed'; readonly at: string; readonly owner: Owner }
  | StepEntry<OperationStepId>
  | {
      readonly kind: 'closed';
      readonly at: string;
      readonly outcome: OperationOutcome;
      readonly message: string;
    };
/** Everything that the acts of one operation need. */
export type Operation = {
  readonly host: Host;
  readonly plan: OperationPlan;
  readonly cluster: ClusterFile;
  /** For health checks and leader transfers, which the upgrade has. */
  readonly checking: Checking;
  readonly hasDriver: boolean;
  readonly journal: LineJournal<OperationEntry>;
  readonly signal: AbortSignal;
  /** Members whose clients wait just now: what is written meanwhile is measured more often. */
  readonly busy: Map<string, Replacing>;
  /** Throws when the lock in the store went to somebody else. */
  holdLock(): Promise<void>;
  say(text: string, level?: 'info' | 'warn'): void;
};
/** A step's effect. It looks first whether the effect is there already, so that it may be repeated after a crash. */
export type Act = (operation: Operation, step: OperationStep) => Promise<Detail | undefined>;
export type Acts = Readonly<Partial<Record<OperationStepKind, Act>>>;
export type OperationReport = {
  readonly run: string;
  readonly operation: OperationKind;
  readonly cluster: string;
  readonly outcome: OperationOutcome;
  readonly message: string;
  readonly plan_digest: string;
  readonly duration_ms: number;
  readonly steps: readonly { readonly id: string; readonly title: string; readonly detail?: Detail }[];
  readonly members: readonly {
    readonly name: string;
    readonly version?: string;
    readonly state: 'up' | 'unhealthy' | 'down';
    readonly db_size_bytes?: number;
  }[];
  readonly canary?: CanaryReport;
  readonly journal: string;
  readonly next: readonly Advice[];
};
export type OperationEnding = { readonly report: OperationReport; readonly error?: AppError };
