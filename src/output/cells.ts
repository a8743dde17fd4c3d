import { jsonOfAnyDepth } from '../core/json.ts';
import { isRecord } from '../core/shape.ts';

export type Row = unknown;

/** The value at a dotted path; a key that itself has dots is found first, and `labels.0.name` reaches into lists. */
const valueAt = (row: Row, path: string): unknown => {
  if (isRecord(row) && Object.hasOwn(row, path)) return row[path];
  let at: unknown = row;
  for (const step of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
};

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;

/** One value as text for a person: nothing for what is absent, lists of plain values with commas, the rest as JSON. */
export const cellText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  if (isScalar(value)) return String(value);
  if (Array.isArray(value) && value.every(isScalar)) return value.map(cellText).join(', ');
  return jsonOfAnyDepth(value);
};

/** All keys of the rows, in the order they are first seen; a row that is no record has the one column `value`. */
export const keysOf = (rows: readonly Row[]): string[] => {
  const names = new Set<string>();
  for (const row of rows) for (const key of isRecord(row) ? Object.keys(row) : ['value']) names.add(key);
  return [...names];
};

/** A row that is no record is its own column. */
export const columnOf = (row: Row, column: string): unknown =>
  isRecord(row) || Array.isArray(row) ? valueAt(row, column) : row;

/** Only these columns, under their dotted names: what `--columns` leaves of a record in JSON and YAML. */
export const project = (row: Row, columns: readonly string[] | undefined): unknown =>
  columns === undefined
    ? row
    : Object.fromEntries(columns.map((column) => [column, columnOf(row, column) ?? null]));
