import type { Advice } from '../../core/next.ts';
import { join } from 'node:path';
import type { Minor } from '../../api-specs/etcd/versions.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import type { AppError } from '../../core/problem.ts';
import { isRecord, misfit, type Shape } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import {
  clusterDirectory,
  idAfter,
  type LineJournal,
  openLines,
  parseLines,
  startsWithRunTime,
} from '../engine/journal.ts';
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

/** Operations are stored separately from upgrade runs, because `kv resume` must not find an operation. */
const directoryOf = (state: string, cluster: string): string =>
  join(clusterDirectory(state, cluster), 'operations');
const pathOf = (state: string, cluster: string, run: string): string =>
  join(childPath(directoryOf(state, cluster), pathPart(run)), 'journal.jsonl');
const step = { at: 'text', step: 'text' } as const;
/** Required fields of each line. A line without them is corrupted, as in the journal of an upgrade. */
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
  if (!isWhole) throw new Error('it is not a journal entry');
  return entry;
};
export const openOperationJournal = (
  host: Host,
  state: string,
  { cluster, id }: OperationPlan,
): Promise<LineJournal<OperationEntry>> => openLines(host, pathOf(state, cluster, id), asEntry);
export type FoundOperation = { readonly plan: OperationPlan; readonly entries: readonly OperationEntry[] };
/** Returns the operation directories, oldest first. */
const operationNames = async (host: Host, state: string, cluster: string): Promise<string[]> =>
  (await host.files.list(directoryOf(state, cluster))).filter((name) => startsWithRunTime(name)).sort();
const operationAt = async (host: Host, path: string): Promise<FoundOperation | undefined> => {
  const { entries } = parseLines((await host.files.read(path)) ?? '', asEntry, path);
  return entries[0]?.kind === 'opened' ? { plan: entries[0].plan, entries } : undefined;
};
/** Returns all operations of a cluster that have a journal on this machine, with their paths. */
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
/** Returns the newest operation of a cluster if it is unfinished. */
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
/** Returns the finished steps with the results of their acts. */
export const endedSteps = (
  entries: readonly OperationEntry[],
): ReadonlyMap<OperationStepId, Extract<OperationEntry, { kind: 'end' }>> =>
  new Map(entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.step, entry] as const] : [])));
/** Returns where an upgrade of a stopped cluster keeps the data from before it. */
export const keptCopies = ({ plan, entries }: FoundOperation): string[] => {
  const ended = endedSteps(entries);
  return plan.steps.flatMap(({ id, kind, member }) => {
    const path = kind === 'copy-data' ? ended.get(id)?.detail?.['copy'] : undefined;
    return path === undefined ? [] : [`${member}: ${path}`];
  });
};
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
  | 'replace-member'
  | 'upgrade-offline';
export type OperationStepKind =
  | 'move-leader'
  | 'defrag'
  | 'check' // the upgrade health check for one member
  | 'wait' // waits for the history retention time
  | 'compact'
  | 'disarm'
  | 'verify-write'
  | 'stop'
  | 'remove'
  | 'set-aside' // keeps the remaining data directory under another name
  | 'add'
  | 'start'
  | 'catch-up'
  | 'promote'
  | 'update'
  | 'copy-data'
  | 'configure'
  | 'verify-stopped'
  | 'verify-version';
/** For example `n1.defrag`, or `add` for a step that an operation contains once. */
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
/** The requested values that affect the steps. */
type OperationValues = {
  readonly revision?: number;
  readonly wait_ms?: number;
  readonly max_blocked_ms?: number;
  readonly peer_urls?: readonly string[];
  readonly is_learner?: boolean;
  /** Decimal id of the changed member. */
  readonly member_id?: string;
  /** Its write-ahead log, if that is in a separate directory. */
  readonly wal_dir?: string;
  /** The command in the cluster file that starts the member. It runs the version of the other members. */
  readonly starts?: 'old' | 'new';
  /** Versions before and after an upgrade of a stopped cluster. */
  readonly from?: Minor;
  readonly to?: Minor;
};
export type OperationPlan = {
  readonly format: 1;
  readonly id: string;
  readonly operation: OperationKind;
  /** The affected member, if the operation affects a single member. */
  readonly subject?: string;
  /** The command that continues the operation after a crash. */
  readonly command: string;
  readonly cluster: string;
  readonly made_at: string;
  readonly digest: string;
  readonly steps: readonly OperationStep[];
  /** Information for the operator before the confirmation. */
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
/** One line per entry, fsynced before the effect that it announces. */
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
/** The context of all acts of one operation. */
export type Operation = {
  readonly host: Host;
  readonly plan: OperationPlan;
  readonly cluster: ClusterFile;
  /** Context for the health checks and leader transfers that operations share with the upgrade. */
  readonly checking: Checking;
  readonly hasDriver: boolean;
  readonly journal: LineJournal<OperationEntry>;
  readonly signal: AbortSignal;
  /** Members whose clients are currently blocked. The canary measures writes more often during this time. */
  readonly busy: Map<string, Replacing>;
  /** Throws if another process acquired the lock in the store. */
  holdLock(): Promise<void>;
  say(text: string, level?: 'info' | 'warn'): void;
};
/**
 * Performs the effect of a step. It first checks whether the effect already exists, so that it can be
 * repeated after a crash.
 */
export type OperationStepHandler = (operation: Operation, step: OperationStep) => Promise<Detail | undefined>;
export type OperationStepHandlers = Readonly<Partial<Record<OperationStepKind, OperationStepHandler>>>;
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
