import type { LooseInput } from '../../core/operation.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import type { Context } from '../../cli/command.ts';
import type { Change } from './change.ts';

type Row = Readonly<Record<string, unknown>>;
const second = (ms: number): string =>
  `${new Date(Math.floor(ms / 1000) * 1000 - 1000).toISOString().slice(0, 19)}Z`;

const rowsOf = async (context: Context, resource: string, startedAt: number): Promise<readonly Row[]> => {
  const verbs = (tracker.table as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[resource];
  const { list, search } = tracker.table.stories as {
    list?: never;
    search: (typeof tracker.table.stories)['search'];
  };
  const input: LooseInput = resource === 'stories' ? { body: { created_at_start: second(startedAt) } } : {};
  const operation = resource === 'stories' ? (list ?? search) : verbs?.list;
  if (operation === undefined) return [];
  const answer = await context.call(tracker, operation as typeof search, input);
  return Array.isArray(answer) ? (answer as Row[]) : [];
};

const same = (given: unknown, found: unknown): boolean => {
  if (given === null || given === undefined) return true;
  if (typeof given === 'string' && typeof found === 'string' && given !== found)
    return Date.parse(given) === Date.parse(found);
  return typeof given === 'object' || given === found;
};

/** Whether a record is the one that a create asked for: every plain field that was given is the same. */
export const isMadeBy = (body: Row, found: Row, startedAt: number): boolean => {
  const made = typeof found.created_at === 'string' ? Date.parse(found.created_at) : startedAt;
  const isRecent = body.created_at !== undefined || made >= Math.floor(startedAt / 1000) * 1000 - 1000;
  return (
    isRecent && Object.entries(body).every(([name, value]) => !(name in found) || same(value, found[name]))
  );
};

/**
 * Creates that a killed run had sent without hearing an answer: looks whether the record is there. Each record answers for one
 * row only; those whose ids the journal knows are spoken for.
 */
export const makeObserver = (context: Context, startedAt: number, takenIds: Iterable<string>) => {
  const taken = new Set(takenIds);
  const seen = new Map<string, Promise<readonly Row[]>>();
  const observe = async (change: Change, how: 'kept' | 'fresh' = 'kept'): Promise<unknown> => {
    const kept = how === 'kept' ? seen.get(change.resource) : undefined;
    const rows = kept ?? rowsOf(context, change.resource, startedAt);
    if (how === 'kept') seen.set(change.resource, rows);
    const found = (await rows).find(
      (row) => !taken.has(String(row.id)) && isMadeBy((change.input.body ?? {}) as Row, row, startedAt),
    );
    if (found !== undefined) taken.add(String(found.id));
    return found?.id;
  };
  /** A record of this run stands for the row that made it, and for no other row. */
  const take = (id: unknown): void => void taken.add(String(id));
  return Object.assign(observe, { take });
};
