import { childPath, pathPart } from '../../core/file-name.ts';
import { join } from 'node:path';
import { type Shape, isRecord, misfit } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import { clusterDirectory, idAfter } from '../engine/journal.ts';
import { openLines, parseLines } from '../engine/line-journal.ts';
import type { LineJournal } from '../engine/line-journal.ts';
import type { OperationEntry, OperationPlan } from './types.ts';

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
): ReadonlyMap<string, Extract<OperationEntry, { kind: 'end' }>> =>
  new Map(entries.flatMap((entry) => (entry.kind === 'end' ? [[entry.step, entry] as const] : [])));

export const newOperationId = async (host: Host, state: string, cluster: string): Promise<string> =>
  idAfter(host, (await operationNames(host, state, cluster)).at(-1));
