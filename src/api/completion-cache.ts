import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import type { Operation } from '../core/operation.ts';
import { isRecord } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';

/** A record that shell completion can offer: the text to type, and its title. */
export type CompletionRecord = { readonly id: string; readonly names: readonly string[] };
/** What one run has seen of one kind: `whole` when it was the full list. */
export type CompletionKind = {
  isWhole: boolean;
  readonly known: Map<string, CompletionRecord>;
  readonly gone: Set<string>;
};
type Row = Readonly<Record<string, unknown>>;
const texts = (...values: unknown[]): string[] => [
  ...new Set(values.filter((value): value is string => typeof value === 'string' && value !== '')),
];
/** Parameters that leave no record out. */
const WHOLE: ReadonlySet<string> = new Set(['slim', 'includes_description']);
const TITLE = 60;
/** The record's kind (its `entity_type`), id and names; the first name is the one that people type. */
const seenOf = (row: Row): { readonly kind: string; readonly seen: CompletionRecord } | undefined => {
  const label = typeof row.name === 'string' ? /^labels\/([^/]+)$/.exec(row.name)?.[1] : undefined;
  if (label !== undefined) {
    const { title } = isRecord(row.properties) ? row.properties : {};
    return { kind: 'label-title', seen: { id: label, names: texts(title) } };
  }
  const { id, entity_type: kind } = row;
  if (typeof kind !== 'string' || (typeof id !== 'number' && typeof id !== 'string')) return undefined;
  const profile = isRecord(row.profile) ? row.profile : {};
  const text = typeof row.text === 'string' ? row.text : row.description;
  const short = typeof text === 'string' ? text.slice(0, TITLE) : undefined;
  const own = texts(row.mention_name, profile.mention_name, row.full_name, row.name, profile.name, row.title);
  return { kind, seen: { id: String(id), names: own.length > 0 ? own : texts(row.filename, short) } };
};
const rowsIn = (answer: unknown): unknown[] => {
  if (Array.isArray(answer)) return answer;
  if (!isRecord(answer)) return [];
  const lists = Object.values(answer).filter(Array.isArray);
  return 'entity_type' in answer || 'id' in answer ? [answer, ...listNested(answer)] : lists.flat();
};
/** Workflow states are separate records. */
const listNested = (row: Row): unknown[] =>
  ['states', 'epic_states'].flatMap((name) => (Array.isArray(row[name]) ? (row[name] as unknown[]) : []));
/** What the argument of an operation is called: `{label-public-id}` names a label. */
const kindOfPath = (path: string): string | undefined => {
  const [, param = ''] = /\{([^}]+)\}$/.exec(path) ?? [];
  if (param.startsWith('name=labels/')) return param === 'name=labels/*' ? 'label-title' : undefined;
  return param.replace(/-public-id$/, '') || undefined;
};
/** Of more records of a kind TAB offers the first: memory does not grow with a list, or with the rows of a bulk run. */
export const MAX_CACHED = 10_000;
const isFull = ({ known }: CompletionKind): boolean => known.size >= MAX_CACHED;
const add = (at: (kind: string) => CompletionKind, value: Row): void => {
  const found = seenOf(value);
  if (found === undefined) return;
  const kind = at(found.kind);
  if (isFull(kind) && !kind.known.has(found.seen.id)) return;
  kind.known.set(found.seen.id, found.seen);
  kind.gone.delete(found.seen.id);
};
/**
 * Records in the responses of one run. They are written when the run finishes, so that a bulk change writes
 * once.
 */
export const createCompletionCache = () => {
  const kinds = new Map<string, CompletionKind>();
  const at = (kind: string): CompletionKind => {
    const found = kinds.get(kind) ?? { isWhole: false, known: new Map(), gone: new Set() };
    kinds.set(kind, found);
    return found;
  };
  const forget = (path: string, params: Row): void => {
    const kind = kindOfPath(path);
    const id = String(Object.values(params).at(-1) ?? '').replace(/^labels\//, '');
    if (kind === undefined || id === '') return;
    if (at(kind).gone.size < MAX_CACHED) at(kind).gone.add(id);
    at(kind).known.delete(id);
  };
  return {
    kinds,
    note(operation: Operation, params: Row | undefined, query: Row | undefined, answer: unknown): void {
      if (operation.method === 'DELETE') {
        forget(operation.path, params ?? {});
        return;
      }
      const rows = rowsIn(answer);
      for (const row of rows.flatMap((one) => (isRecord(one) ? [one, ...listNested(one)] : [])))
        if (isRecord(row)) add(at, row);
      const isList = Array.isArray(answer) && operation.method === 'GET' && operation.params === undefined;
      const isFiltered = Object.keys(query ?? {}).some(
        (name) => query?.[name] !== undefined && !WHOLE.has(name),
      );
      const kind = isRecord(rows[0]) ? seenOf(rows[0])?.kind : undefined;
      if (isList && !isFiltered && kind !== undefined) at(kind).isWhole = !isFull(at(kind));
    },
  };
};
export type CompletionCache = ReturnType<typeof createCompletionCache>;

/** Enough for a person who presses TAB; the newest stay. */
const MOST = 2000;
type Entry = readonly [id: string, seenMs: number, ...names: string[]];
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
const parse = (text: string | undefined): Entry[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([id = '', at = '', ...names]): Entry[] => (id === '' ? [] : [[id, Number(at), ...names]]));
/**
 * The list after a run: adds seen records, removes deleted ones, and after a complete list removes all
 * others. Pure.
 */
export const mergeCompletions = (before: readonly Entry[], seen: CompletionKind, now: number): Entry[] => {
  const fresh = [...seen.known.values()].map(({ id, names }): Entry => [id, now, ...names.map(oneLine)]);
  const kept = seen.isWhole ? [] : before.filter(([id]) => !seen.known.has(id) && !seen.gone.has(id));
  return [...fresh, ...kept].slice(0, MOST);
};
/**
 * Writes the records for completion: a line for each record of a kind, in the cache of the profile. An
 * unwritable cache is not a failure.
 */
export const writeCompletions = async (
  host: Host,
  { directories }: Settings,
  { kinds }: CompletionCache,
): Promise<void> => {
  const directory = join(directories.cache, 'records');
  try {
    await host.files.makeDirectory(directory, 0o700);
    for (const [kind, seen] of kinds) {
      if (!/^[a-z-]+$/.test(kind)) continue;
      const path = childPath(directory, pathPart(kind));
      const entries = mergeCompletions(parse(await host.files.read(path)), seen, host.now());
      await host.files.replace(path, entries.map((entry) => `${entry.join('\t')}\n`).join(''), 0o600);
    }
  } catch {
    // Completion offers what it knew before.
  }
};
