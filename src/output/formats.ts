import { oneLine } from '../core/text.ts';
import { formatRow, type OutputFormat } from '../core/format.ts';
import { jsonLines, jsonOfAnyDepth, lostKey, parseJsonRows, shownValue } from '../core/json.ts';
import { AppError } from '../core/problem.ts';
import type { View } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';
import { makeCsvLines, makeIndentedRows, makeNames } from './row-bytes.ts';
import { type TableOptions, tableRows } from './table.ts';
import {
  isColored,
  themeFor,
  columnOf,
  type Formatter,
  keysOf,
  type OutputOptions,
  type Row,
  project,
} from './types.ts';

/** RFC 4180: quotes around a field with a comma, a quote or a line end, quotes doubled. Spaces at an end would be trimmed by some readers. */
const csvField = (text: string): string =>
  /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
/**
 * OWASP CSV injection: a spreadsheet treats a text with this prefix as a formula, including in full width and
 * after spaces. An apostrophe makes it text. Numbers stay unchanged.
 */
const harmless = (value: unknown): unknown =>
  typeof value === 'string' && /^\s*[=+\-@\t\r\uFF1D\uFF0B\uFF0D\uFF20]/.test(value) ? `'${value}` : value;
/** Lists and records as JSON, so that no data is lost. */
const csvText = (value: unknown): string => {
  if (value === undefined || value === null) return '';
  return typeof value === 'object' ? jsonOfAnyDepth(value) : String(value);
};
/** The columns are those asked for, else all keys of the first rows. */
const csvRows = (asked: readonly string[] | undefined, hasHeader: boolean, isSafe = false): Formatter => {
  const textOf = (value: unknown): string => csvText(isSafe ? harmless(value) : value);
  let columns = asked;
  let copy: Formatter['copies'];
  const fieldOf = (value: unknown): string =>
    typeof value === 'number' || typeof value === 'boolean' ? String(value) : csvField(textOf(value));
  const line = (fields: readonly string[]): string => {
    const text = fields.join(',');
    // One empty column would be an empty line, which readers skip.
    return `${text === '' && fields.length === 1 ? '""' : text}\n`;
  };
  return {
    rows(burst: readonly Row[]) {
      const isFirst = columns === undefined || columns === asked;
      const known = columns ?? keysOf(burst);
      const header = isFirst && hasHeader ? line(known.map(csvField)) : '';
      columns = [...known];
      return (
        header + burst.map((row) => line(known.map((column) => fieldOf(columnOf(row, column))))).join('')
      );
    },
    copies(burst) {
      if (columns === undefined || columns === asked) return undefined;
      copy ??= makeCsvLines(columns, isSafe, fieldOf);
      return copy(burst);
    },
    close: () => (columns === asked && asked !== undefined && hasHeader ? line(asked.map(csvField)) : ''),
  };
};

const indent = (row: unknown): string => jsonOfAnyDepth(row, 2).replaceAll('\n', '\n  ');
/** The elements of an array as JSON.stringify indents them, without its brackets. A row of any depth is written alone. */
const indentedRows = (rows: readonly unknown[]): string => {
  try {
    return JSON.stringify(rows, null, 2).slice(1, -2);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return rows.map((row) => `\n  ${indent(row ?? null)}`).join(',');
  }
};
/**
 * The array is valid as soon as it is closed. Each row is written before the next row is known, except its last
 * line: a message on the same terminal or pipe then starts on a new line.
 */
const jsonRows = (columns?: readonly string[]): Formatter => {
  let count = 0;
  let rest = '';
  const wholeLines = (text: string): string => {
    const end = text.lastIndexOf('\n') + 1;
    const lines = rest + text.slice(0, end);
    rest = text.slice(end);
    return lines;
  };
  const begin = (rows: number): string => {
    const sign = count === 0 ? '[' : ',';
    count += rows;
    return sign;
  };
  const copy = makeIndentedRows((row) => `\n  ${indent(row)}`);
  return {
    rows(burst) {
      if (burst.length === 0) return '';
      const shown = columns === undefined ? burst : burst.map((row) => project(row, columns));
      return wholeLines(begin(burst.length) + indentedRows(shown));
    },
    ...(columns === undefined
      ? { copies: (burst) => (burst.length === 0 ? '' : wholeLines(begin(burst.length) + copy(burst))) }
      : {}),
    close: () => (count === 0 ? '[]\n' : `${rest}\n]\n`),
    cut: () => (count === 0 ? '' : `${rest}\n`),
  };
};
const jsonText = (data: unknown): string => `${jsonOfAnyDepth(data ?? null, 2)}\n`;
const ndjsonRows = (columns?: readonly string[]): Formatter => ({
  rows: (burst: readonly Row[]) =>
    burst.map((row) => `${jsonOfAnyDepth(project(row, columns) ?? null)}\n`).join(''),
  ...(columns === undefined ? { texts: jsonLines } : {}),
  close: () => '',
});

const nameOf = (row: Row, field: string): string => {
  const value = columnOf(row, field);
  if (typeof value === 'number') return String(value);
  if (value !== undefined && value !== null && typeof value !== 'object') return oneLine(String(value));
  const known = isRecord(row) ? Object.keys(row).slice(0, 8).join(', ') : 'none';
  throw new AppError(
    'usage',
    `-o name prints the field \`${field}\`, which this result does not have; it has: ${known}`,
    {
      code: 'NO_NAME',
      tryThis: ["-o json --jq '…'", '-o csv --no-header --columns …'],
    },
  );
};
/** Texts that commands read as an ID, a flag or a member: with the prefix they are a name. */
const NOT_A_PLAIN_NAME = /^(?:\d+$|[-@]|name:)/;
/** One identifier a line, for `xargs` and loops. */
const nameRows = ({ name: field = 'id', areNamesResolved = false }: View): Formatter => {
  const lineOf = (row: Row): string => {
    const text = nameOf(row, field);
    return areNamesResolved && NOT_A_PLAIN_NAME.test(text) ? `name:${text}` : text;
  };
  return {
    rows: (burst) => burst.map((row) => `${lineOf(row)}\n`).join(''),
    copies: makeNames(field, lineOf),
    close: () => '',
  };
};

/** Table on a terminal, JSON in a pipe or file, unless asked for. */
export const formatOf = (options: OutputOptions, host: Host): OutputFormat =>
  options.format ?? (host.terminal.stdout.isTty ? 'table' : 'json');
export const tableOptions = async (
  options: OutputOptions,
  columns: readonly string[] | undefined,
  host: Host,
): Promise<TableOptions> => {
  const { isTty, isWidthGiven, columns: width } = host.terminal.stdout;
  const theme = await themeFor(isColored(options.color, host.env, isTty));
  return {
    columns,
    hasHeader: options.header,
    width: isTty || isWidthGiven === true ? width || 80 : undefined,
    theme,
    allFields: options.allFields ?? false,
    canDropColumns: options.columns === undefined && options.format !== 'wide',
  };
};
type Renderer = {
  /** The formatter of rows. Only tables use the view's columns. Other formats contain all data. */
  rows(view: View, options: OutputOptions, host: Host): Formatter | Promise<Formatter>;
  /** One result as one document. */
  document?(data: unknown): string | Promise<string>;
};
/** A thread of some thousand replies: YAML would indent its last one by as many steps. */
const tooDeep = (): AppError =>
  new AppError('usage', 'the data is nested too deeply for YAML', {
    code: 'TOO_DEEP',
    tryThis: ['-o json has no such limit'],
  });

const load = async (): Promise<(data: unknown) => string> => {
  const { stringify } = await import('../platform/yaml.ts');
  // Long texts stay on one line.
  return (data) => {
    try {
      return stringify(data, { lineWidth: 0 });
    } catch (error) {
      throw error instanceof RangeError ? tooDeep() : error;
    }
  };
};

export const yamlText = async (data: unknown): Promise<string> => (await load())(data ?? null);

/** One sequence, one entry at a time. */
const yamlRows = (columns?: readonly string[]): Formatter => {
  let count = 0;
  return {
    async rows(burst: readonly Row[]) {
      const text = await load();
      count += burst.length;
      return burst.map((row) => text([project(row, columns) ?? null])).join('');
    },
    close: () => (count === 0 ? '[]\n' : ''),
  };
};

/** What writes each format. */
const renderers: Readonly<Record<OutputFormat, Renderer>> = {
  table: {
    rows: async (view, options, host) =>
      tableRows(await tableOptions(options, options.columns ?? view.columns, host)),
  },
  wide: {
    rows: async ({ columns, wideColumns = [] }, options, host) => {
      const all = columns === undefined ? undefined : [...new Set([...columns, ...wideColumns])];
      return tableRows(await tableOptions(options, options.columns ?? all, host));
    },
  },
  json: { rows: (_, { columns }) => jsonRows(columns), document: jsonText },
  ndjson: { rows: (_, { columns }) => ndjsonRows(columns) },
  yaml: { rows: (_, { columns }) => yamlRows(columns), document: yamlText },
  csv: { rows: (_, { columns, header, csvSafe }) => csvRows(columns, header, csvSafe) },
  name: { rows: nameRows },
};
export const formatterFor = async (
  format: OutputFormat,
  view: View,
  options: OutputOptions,
  host: Host,
): Promise<Formatter> => renderers[format].rows(view, options, host);
/** Writes one result as a document; undefined for formats that consist of rows. */
export const documentWriter = (format: OutputFormat): Renderer['document'] =>
  formatRow(format).isByRow ? undefined : renderers[format].document;

/** Turns of the microtask queue after which a row counts as pending: longer than any chain of generators. */
const PATIENCE = 50;
const LARGEST = 500;

const isAsync = (rows: Iterable<unknown> | AsyncIterable<unknown>): rows is AsyncIterable<unknown> =>
  Symbol.asyncIterator in rows;

const arrivesAtOnce = async (next: Promise<unknown>): Promise<boolean> => {
  let isHere = false;
  const note = (): void => {
    isHere = true;
  };
  next.then(note, note);
  for (let turn = 0; turn < PATIENCE && !isHere; turn++) await Promise.resolve();
  return isHere;
};

/** Groups rows that come without waiting (a page), so that each group is written in one piece and no row waits for the next page. */
export async function* inBatches(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
): AsyncGenerator<unknown[]> {
  const iterator = isAsync(rows) ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]();
  let burst: unknown[] = [];
  let isDone = false;
  let failure: { readonly error: unknown } | undefined;
  try {
    for (;;) {
      const next = Promise.resolve(iterator.next());
      if (burst.length > 0 && (burst.length >= LARGEST || !(await arrivesAtOnce(next)))) {
        yield burst;
        burst = [];
      }
      const step = await next.catch((error: unknown) => {
        failure = { error };
      });
      if (step === undefined || step.done) break;
      burst.push(step.value);
    }
    isDone = true;
    // Rows that arrived before a failure are shown.
    if (burst.length > 0) yield burst;
    if (failure !== undefined) throw failure.error;
  } finally {
    // The reader has gone: the source must stop asking for pages.
    if (!isDone) await iterator.return?.();
  }
}

export type Rows = {
  readonly rows: Iterable<unknown> | AsyncIterable<unknown>;
  readonly inBatches?: true;
  readonly encoded?: true;
};

/** The rows of a result in the pieces in which they are written; rows of a result that is `encoded` are JSON texts. */
export const batchesOf = ({ rows, inBatches: isGrouped }: Rows): AsyncIterable<unknown[]> =>
  isGrouped ? (rows as AsyncIterable<unknown[]>) : inBatches(rows);

/** The same as values. `onRepeated` receives a key that one object of the service has twice. */
export async function* valuesOf(
  source: Rows,
  onRepeated: (key: string) => void = () => undefined,
): AsyncGenerator<unknown[]> {
  for await (const batch of batchesOf(source))
    yield source.encoded ? parseJsonRows(batch as Uint8Array[], onRepeated) : shownRows(batch, onRepeated);
}
const shownRows = (batch: unknown[], onRepeated: (key: string) => void): unknown[] => {
  const repeated = batch.map(lostKey).find((key) => key !== undefined);
  if (repeated !== undefined) onRepeated(repeated);
  return batch.map(shownValue);
};

/** A table decides its layout from its first rows; rows that follow within this time belong to them. */
const FIRST_MS = 200;
/** Joins the batches that arrive within the first moment into one, so that a table knows more of its rows before it chooses widths. */
export async function* joinFirstBatches(
  batches: AsyncIterable<unknown[]>,
  sleep: (ms: number) => Promise<unknown>,
  onHold: () => void = () => {},
): AsyncGenerator<unknown[]> {
  const iterator = batches[Symbol.asyncIterator]();
  const held: unknown[] = [];
  // The time counts from the first row, which may arrive seconds after the request.
  let late: Promise<undefined> | undefined;
  let next = iterator.next();
  let isDone = false;
  try {
    for (;;) {
      const step = await (late === undefined ? next : Promise.race([next.catch(() => undefined), late]));
      if (step === undefined || step.done || held.length >= LARGEST) break;
      for (const row of step.value) held.push(row);
      if (late === undefined) {
        onHold();
        late = sleep(FIRST_MS).then(() => undefined);
      }
      next = iterator.next();
    }
    if (held.length > 0) yield held;
    for (let step = await next; !step.done; step = await iterator.next()) yield step.value;
    isDone = true;
  } finally {
    if (!isDone) await iterator.return?.();
  }
}
