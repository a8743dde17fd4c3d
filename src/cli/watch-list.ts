import type { Context } from '../api/context.ts';
import { parseDuration } from '../core/format.ts';
import { shownValue } from '../core/json.ts';
import { heldRows } from '../core/limits.ts';
import { AppError, messageOf } from '../core/problem.ts';
import type { Result, View } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import { valuesOf } from '../output/formats.ts';
import type { Command } from './command.ts';

const DEFAULT_INTERVAL = '10s';
const LEAST_INTERVAL_MS = 500;
/** Milliseconds between two requests of a command that polls. */
export const intervalMsOf = (text: string | undefined): number =>
  Math.max(LEAST_INTERVAL_MS, parseDuration(text ?? DEFAULT_INTERVAL, '--interval'));

/** Rejects a command that needs a server for longer than itself: the embedded server belongs to this command alone. */
export const assertServerStays = async (
  context: Context,
  service: Parameters<Context['target']>[0],
  why: string,
): Promise<void> => {
  const { isPassing } = await context.target(service);
  if (isPassing === true)
    throw new AppError('config', `${why}: the embedded mock server stops with this command`, {
      code: 'MOCK_STOPS',
      tryThis: ['opsctl mock start'],
    });
};

type Row = Readonly<Record<string, unknown>>;
/** The records of one request under their keys, each with its JSON text. */
export type Snapshot = ReadonlyMap<string, { readonly row: unknown; readonly text: string }>;
/** The value that names a record in its list: kind and ID, else the resource name, else the whole text. */
const keyOf = (row: unknown, text: string): string => {
  if (!isRecord(row)) return text;
  if (row.id !== undefined) return `${row.entity_type ?? ''} ${row.id}`;
  return typeof row.name === 'string' ? row.name : text;
};
/** Records with the same key are numbered, so that no record hides another. Pure. */
export const snapshotOf = (rows: readonly unknown[]): Snapshot => {
  const found = new Map<string, { row: unknown; text: string }>();
  for (const row of rows) {
    const text = JSON.stringify(row) ?? 'null';
    const key = keyOf(row, text);
    let own = key;
    for (let count = 2; found.has(own); count++) own = `${key}\n${count}`;
    found.set(own, { row, text });
  }
  return found;
};

export type WatchEvent = 'current' | 'added' | 'changed' | 'removed';
const eventRow = (
  event: WatchEvent,
  at: string,
  row: unknown,
  changes: readonly FieldChange[] = [],
): Row => ({
  event,
  at,
  changes,
  ...(isRecord(row) ? row : { value: row }),
});
type FieldChange = { readonly field: string; readonly from: unknown; readonly to: unknown };
/** Every save changes these fields, so they are listed only if no other field changed. */
const SAVE_TIMES = new Set(['updated_at', 'updateTime']);
/** The fields that differ, with the dotted paths of columns. Pure. */
export const fieldChanges = (before: unknown, now: unknown, prefix = ''): FieldChange[] => {
  if (!isRecord(before) || !isRecord(now))
    return [{ field: prefix === '' ? 'value' : prefix, from: before ?? null, to: now ?? null }];
  const found = [...new Set([...Object.keys(before), ...Object.keys(now)])]
    .filter((name) => JSON.stringify(before[name]) !== JSON.stringify(now[name]))
    .flatMap((name) => fieldChanges(before[name], now[name], prefix === '' ? name : `${prefix}.${name}`));
  const important = found.filter(({ field }) => !SAVE_TIMES.has(field));
  return important.length > 0 ? important : found;
};
/** A value on one line: records by name or ID. Pure. */
const valueText = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (isRecord(value)) return valueText(value.name ?? value.id ?? Object.keys(value).join(', '));
  return typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
};
const changesText = (changes: readonly FieldChange[]): string =>
  changes.map(({ field, from, to }) => `${field}: ${valueText(from)} → ${valueText(to)}`).join('; ');
/** The differences between two snapshots, in the order of the list; removed records are last. Pure. */
export const changesBetween = (before: Snapshot, now: Snapshot, at: string): Row[] => {
  const rows: Row[] = [];
  for (const [key, { row, text }] of now) {
    const old = before.get(key);
    if (old === undefined) rows.push(eventRow('added', at, row));
    else if (old.text !== text) rows.push(eventRow('changed', at, row, fieldChanges(old.row, row)));
  }
  for (const [key, { row }] of before) if (!now.has(key)) rows.push(eventRow('removed', at, row));
  return rows;
};

/** The rows of a result. A page that was asked for with its mark contains its rows in `data`. */
const rowsOf = async (result: Result, what: string): Promise<unknown[]> => {
  if (result.kind === 'rows') {
    const held = heldRows(what);
    const all: unknown[] = [];
    for await (const batch of valuesOf(result)) {
      held.refuseMore(batch.length);
      for (const row of batch) all.push(row);
    }
    return all;
  }
  if (result.kind !== 'record') return [];
  const data = shownValue(result.data);
  const rows = isRecord(data) && Array.isArray(data.data) ? data.data : [data].flat();
  return rows.map(shownValue);
};

/** The row of a table for an event: its changes are one line of text. */
const toTableRow = (row: unknown, event: Row): unknown =>
  isRecord(row)
    ? {
        ...row,
        event: event.event,
        changes: changesText((event.changes as readonly FieldChange[] | undefined) ?? []),
      }
    : row;
/** The view of the list with the event in front. */
const viewOf = (view: View = {}): View => {
  const { columns, wideColumns, toTableRows, name } = view;
  return {
    ...(columns === undefined ? {} : { columns: ['event', ...columns, 'changes'] }),
    wideColumns: [...(wideColumns ?? []), 'at'],
    ...(name === undefined ? {} : { name }),
    toTableRows: async (batch) => {
      const shown = toTableRows === undefined ? batch : await toTableRows(batch);
      return shown.map((row, i) => toTableRow(row, batch[i] as Row));
    },
  };
};

/** A service that is unavailable for a moment does not end the watch; a rejected request does. */
const canRetry = (error: unknown): error is AppError =>
  error instanceof AppError && (error.category === 'network' || error.detail.retryable === true);

type Watching = {
  readonly context: Context;
  readonly intervalMs: number;
  readonly readRows: () => Promise<Snapshot>;
};
/** The records of the first request, then the differences of each following request, until a signal stops the command. */
async function* changesOf(
  { context, intervalMs, readRows }: Watching,
  first: Snapshot,
): AsyncGenerator<Row[]> {
  const { host, log, signal } = context;
  const now = (): string => new Date(host.now()).toISOString();
  let before = first;
  // The first batch decides the columns of a table and of CSV.
  if (first.size > 0) yield [...first.values()].map(({ row }) => eventRow('current', now(), row));
  for (;;) {
    await host.sleep(intervalMs, signal);
    try {
      const rows = await readRows();
      const batch = changesBetween(before, rows, now());
      before = rows;
      if (batch.length > 0) yield batch;
    } catch (error) {
      if (!canRetry(error) || signal.aborted) throw error;
      log.warn(`${messageOf(error)}; trying again in ${intervalMs / 1000} s`);
    }
  }
}

/** Lists the records, then repeats the request and prints each difference, until a signal stops the command. */
export const watchList = async (
  context: Context,
  { path, operation }: Command,
  read: (context: Context) => Promise<Result>,
  interval: string | undefined,
): Promise<Result> => {
  const { log } = context;
  const intervalMs = intervalMsOf(interval);
  if (context.isDryRun) return read(context);
  const service = operation?.service.name as Parameters<Context['target']>[0];
  await assertServerStays(context, service, 'no other command can change the list');
  // A warning of the list, such as the number of rows that --limit hides, is printed once.
  const quiet = { ...context, log: { ...log, warn: (text: string) => log.warnOnce(text, text) } };
  const words = path.join(' ');
  const result = await read(quiet);
  const first = snapshotOf(await rowsOf(result, words));
  log.info(`watching ${words} every ${intervalMs / 1000} s; Ctrl-C stops`);
  const readRows = async () => snapshotOf(await rowsOf(await read(quiet), words));
  return {
    kind: 'rows',
    rows: changesOf({ context, intervalMs, readRows }, first),
    inBatches: true,
    view: viewOf('view' in result ? result.view : undefined),
  };
};
