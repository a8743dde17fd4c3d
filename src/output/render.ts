import { oneLine, printable } from '../core/text.ts';
import { areChecked, lostKey, parseJsonRows, restoreNumbers, shownValue } from '../core/json.ts';
import { plainAdvice, showPlain } from '../core/next.ts';
import {
  formatRow,
  type OutputFormat,
  countText,
  columnsOf,
  messageColumns,
  wrapDrawing,
  wrapMessages,
} from '../core/format.ts';
import { type Category, isClosedPipe } from '../core/problem.ts';
import type { CheckFinding, Result, View } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';
import {
  batchesOf,
  joinFirstBatches,
  type Rows,
  valuesOf,
  documentWriter,
  formatOf,
  formatterFor,
  tableOptions,
} from './formats.ts';
import {
  cellText,
  columnsAreKnown,
  type Formatter,
  type OutputOptions,
  project,
  type Redactor,
  type Row,
  signsFor,
} from './types.ts';

/** A user watches a command that takes longer, so its messages are then written immediately. */
const HOLD_MS = 1000;
/** Whether a message is to wait; the time counts from the start of the command. */
export const isHeld = ({ format, notes }: OutputOptions, elapsedMs: number): boolean =>
  notes !== undefined && format !== undefined && formatRow(format).isJson === true && elapsedMs < HOLD_MS;
/** Holds a message back until the command finishes or has run long enough for a user to watch. */
export const holdNote = (options: OutputOptions, host: Host, text: string, elapsedMs: number): void => {
  const { notes } = options;
  notes?.push(text);
  if (notes?.length === 1)
    void host.sleep(HOLD_MS - elapsedMs).then(() => {
      if (!waitsForPager(options)) releaseNotes({ notes }, host);
    });
};
/**
 * True while a pager has the terminal: every message, which is then kept for the end, would be drawn into its page.
 * True also while a table collects its first rows: a message after these rows would appear above them.
 */
export const waitsForPager = ({ lastNotes, screen }: OutputOptions, ...texts: readonly string[]): boolean => {
  if (lastNotes === undefined || (screen?.isTaken !== true && screen?.holdsRows !== true)) return false;
  lastNotes.push(...texts);
  return true;
};
/** True inside a JSON list on stdout, if both streams may have one reader (`2>&1 | jq`, a terminal). */
const isInList = ({ screen }: OutputOptions, { terminal }: Host): boolean =>
  screen?.isInList === true && (terminal.stdout.isTty || !terminal.stderr.isTty);
/** True if a message may wait for the end of the command: stderr is then either messages or one error. */
export const waitsForEnd = (options: OutputOptions, host: Host): boolean =>
  waitsForPager(options) ||
  (options.lastNotes !== undefined &&
    (isInList(options, host) ||
      (options.format !== undefined &&
        formatRow(options.format).isJson === true &&
        !host.terminal.stderr.isTty)));
/** Returns all pending messages, which are not written later. */
export const takeNotes = ({ notes, lastNotes }: OutputOptions): string[] => [
  ...(notes?.splice(0) ?? []),
  ...(lastNotes?.splice(0) ?? []),
];
/** Writes what waited. */
export const releaseNotes = ({ notes }: Pick<OutputOptions, 'notes'>, host: Host): void => {
  for (const text of notes?.splice(0) ?? []) void host.terminal.stderr.write(`${text}\n`).catch(() => {});
};

type Environment = {
  readonly options: OutputOptions;
  readonly host: Host;
  readonly format: OutputFormat;
  readonly warn: (text: string) => Promise<void>;
  /** Before the first row is written: are there such columns? */
  readonly checkColumns: (rows: readonly Row[]) => Promise<void>;
  /** A line for a person, after the result. */
  readonly hint: (text: string) => void;
  /** Reports a key that one object of the service has twice: these formats show its last value. */
  readonly noteRepeated: (key: string) => void;
};
/** Rows that the format passes on as the service wrote them. */
async function* textPieces(
  rows: Rows,
  texts: NonNullable<Formatter['texts']>,
  formatter: Formatter,
): AsyncGenerator<string> {
  for await (const burst of batchesOf(rows)) yield texts(burst as Uint8Array[]);
  yield formatter.close();
}
/** For a person, after a list: the columns that did not fit, and on a terminal that the list is empty. */
const noteEnd = async (
  formatter: Formatter,
  isEmpty: boolean,
  { hint, warn }: Environment,
  ifEmpty: string | undefined,
): Promise<void> => {
  // Without a terminal, COLUMNS may give a width.
  const dropped = formatter.droppedColumns?.() ?? 0;
  if (dropped > 0) hint(`${countText(dropped, 'more column')}: -o wide`);
  if (isEmpty) await warn(ifEmpty === undefined ? 'nothing found' : `nothing found; next: ${ifEmpty}`);
};
/** The rows with the end of the list. Messages do not get between its rows, and an error starts on a new line. */
async function* wholeList(
  rows: AsyncIterable<string>,
  formatter: Formatter,
  { format, options: { screen } }: Environment,
): AsyncGenerator<string> {
  const { isJson, isByRow } = formatRow(format);
  const isIn = (isInList: boolean): void => {
    if (screen !== undefined) screen.isInList = isInList;
  };
  try {
    for await (const text of rows) {
      isIn(isJson === true && !isByRow);
      yield text;
    }
    yield formatter.close();
  } catch (error) {
    yield formatter.cut?.() ?? '';
    throw error;
  } finally {
    isIn(false);
  }
}
/**
 * Rows whose bytes have been checked are written from their bytes. The first rows are parsed, because the columns come
 * from them.
 */
async function* copiedPieces(
  rows: Rows,
  copies: NonNullable<Formatter['copies']>,
  formatter: Formatter,
  { checkColumns, noteRepeated }: Environment,
): AsyncGenerator<string> {
  let isFirst = true;
  for await (const burst of batchesOf(rows)) {
    const texts = burst as Uint8Array[];
    const copied = isFirst || !areChecked(texts) ? undefined : copies(texts);
    if (copied === undefined) {
      const values = parseJsonRows(texts, noteRepeated);
      if (isFirst) await checkColumns(values);
      yield await formatter.rows(values);
    } else yield copied;
    isFirst = false;
  }
}
const setHolding = ({ options: { screen } }: Environment, isHolding: boolean): void => {
  if (screen !== undefined) screen.holdsRows = isHolding;
};
/** The first rows are written: the messages that waited for them follow. */
const endHolding = (around: Environment): void => {
  const { screen, lastNotes } = around.options;
  if (screen?.holdsRows !== true) return;
  setHolding(around, false);
  if (screen.isTaken !== true) releaseNotes({ notes: lastNotes }, around.host);
};
async function* rowPieces(
  rows: Rows,
  formatter: Formatter,
  around: Environment,
  { toTableRows, ifEmpty }: View = {},
): AsyncGenerator<string> {
  let isEmpty = true;
  const isTable = formatRow(around.format).isForPeople === true;
  const isOnScreen = isTable && around.host.terminal.stdout.isTty;
  const values = valuesOf(rows, around.noteRepeated);
  const batches = isOnScreen
    ? joinFirstBatches(values, around.host.sleep, () => setHolding(around, true))
    : values;
  const texts = async function* (): AsyncGenerator<string> {
    let isFirst = true;
    for await (const burst of batches) {
      const shown = isTable && toTableRows !== undefined ? await toTableRows(burst) : burst;
      isEmpty &&= burst.length === 0;
      if (shown.length === 0) continue;
      if (isFirst) await around.checkColumns(shown);
      isFirst = false;
      yield await formatter.rows(shown);
      endHolding(around);
    }
  };
  try {
    yield* wholeList(texts(), formatter, around);
  } finally {
    endHolding(around);
  }
  const { showAdvice = showPlain } = around.options;
  await noteEnd(formatter, isOnScreen && isEmpty, around, ifEmpty && showAdvice(ifEmpty, true));
}
async function* filterRows(
  result: { data: unknown } | Rows,
  program: string,
  { options, format, host, warn, noteRepeated }: Environment,
): AsyncGenerator<string> {
  const { filterPieces, startFilter } = await import('./expressions.ts');
  const { filter = {} } = options;
  const start = async () => (filter.run ??= await startFilter(host, program, format));
  const read =
    options.maskSecrets === true ? (await import('../core/redact-secrets.ts')).redactedResult : undefined;
  yield* filterPieces(result, {
    ...{ program, reading: { format, read }, start },
    ...{ note: warn, onRepeated: noteRepeated },
  });
}
const recordPiece = async (data: unknown, view: View, around: Environment): Promise<string> => {
  const { options, format, host } = around;
  if (isRecord(data)) await around.checkColumns([data]);
  const write = documentWriter(format);
  if (write !== undefined) return write(isRecord(data) ? project(data, options.columns) : data);
  if (view.text !== undefined && options.columns === undefined) {
    const { text: drawn, isProse } = view;
    const text = isProse === true ? wrapDrawing(drawn, columnsOf(host.terminal.stdout)) : drawn;
    return text.endsWith('\n') ? text : `${text}\n`;
  }
  if (!isRecord(data)) return `${oneLine(cellText(data))}\n`;
  const { recordText } = await import('./table.ts');
  const { text, hidden } = await recordText(
    data,
    view.columns ?? [],
    await tableOptions(options, options.columns, host),
  );
  if (hidden > 0 && host.terminal.stdout.isTty)
    around.hint(`${countText(hidden, 'more field')}: --all-fields`);
  return text;
};
async function* recordPieces(data: unknown, view: View, around: Environment): AsyncGenerator<string> {
  const { format } = around;
  const { isByRow, isForPeople, isSheet } = formatRow(format);
  const isOne =
    !isByRow ||
    (isForPeople &&
      !(Array.isArray(data) && (view.text === undefined || around.options.columns !== undefined)));
  const rows = isSheet === true ? view.csvRows : undefined;
  if (isOne) yield await recordPiece(data, view, around);
  else
    yield* rowPieces(
      { rows: rows ?? (Array.isArray(data) ? data : [data]) },
      await formatterFor(format, view, around.options, around.host),
      around,
      view,
    );
}
/** A list is rendered row by row, as it comes. */
async function* renderTemplate(
  result: { data: unknown } | Rows,
  template: string,
  { noteRepeated }: Environment,
): AsyncGenerator<string> {
  const { templateText } = await import('./expressions.ts');
  if ('rows' in result) {
    for await (const burst of valuesOf(result, noteRepeated))
      for (const row of burst) yield await templateText(row, template);
    return;
  }
  for (const row of Array.isArray(result.data) ? result.data : [result.data])
    yield await templateText(row, template);
}
async function* pieces(result: Result, view: View, around: Environment): AsyncGenerator<string> {
  const { options, format, host } = around;
  if (result.kind === 'nothing' || result.kind === 'raw') return;
  if (options.template !== undefined) yield* renderTemplate(result, options.template, around);
  else if (options.jq !== undefined) yield* filterRows(result, options.jq, around);
  else if (result.kind === 'rows') {
    const formatter = await formatterFor(format, view, options, host);
    if (result.encoded && formatter.texts !== undefined)
      yield* textPieces(result, formatter.texts, formatter);
    else if (result.encoded && formatter.copies !== undefined)
      yield* wholeList(copiedPieces(result, formatter.copies, formatter, around), formatter, around);
    else yield* rowPieces(result, formatter, around, view);
  } else yield* recordPieces(result.data, view, around);
}
/**
 * Raw output is written unchanged: a command that prints a token on purpose prints it. Only a terminal is
 * protected.
 */
const writeRaw = async (
  chunks: Iterable<string | Uint8Array> | AsyncIterable<string | Uint8Array>,
  host: Host,
): Promise<void> => {
  const { stdout } = host.terminal;
  const decoder = new TextDecoder();
  for await (const chunk of chunks) {
    if (!stdout.isTty) await stdout.write(chunk);
    else
      await stdout.write(
        printable(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })),
      );
  }
};
type Drawing = { readonly isTable: boolean; readonly isForPeople: boolean };
const drawingOf = ({ options, format }: Environment, view: View): Drawing => {
  // The output of a filter or a template has no cells, so it is escaped as a whole.
  const isOwn = options.jq !== undefined || options.template !== undefined;
  const isForPeople = formatRow(format).isForPeople === true && !isOwn;
  return { isTable: isForPeople && (view.text === undefined || options.columns !== undefined), isForPeople };
};
/** Tables escape data cell by cell, and only they are colored; everything else is escaped as a whole. */
const writeText = async (
  texts: AsyncIterable<string>,
  { isTable, isForPeople }: Drawing,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const { stdout } = host.terminal;
  const redact = redactor.stream();
  const escapes = stdout.isTty && !isTable;
  const signs = isForPeople ? signsFor(host.env) : (text: string) => text;
  const write = async (text: string): Promise<void> => {
    const shown = signs(text);
    if (shown !== '') await stdout.write(escapes ? printable(shown) : shown);
  };
  try {
    for await (const text of texts) await write(redact.push(restoreNumbers(text)));
  } finally {
    await write(redact.end());
  }
};
/** Through a pager where one is used. */
const writeAnswer = async (
  result: Result,
  options: OutputOptions,
  host: Host,
  write: (to: Host) => Promise<void>,
): Promise<void> => {
  const isArriving = result.kind === 'rows' && result.paged === true;
  if (!(isWhole(result) || isArriving) || !host.terminal.stdout.isTty) return write(host);
  const { pagerOf, streamPaged, writePaged } = await import('./page-text.ts');
  if (!isWhole(result)) return streamPaged(host, options, write);
  if (pagerOf(host, options) === undefined) return write(host);
  const collector = collecting(host);
  await write(collector.host);
  await writePaged(collector.text(), host, options);
};
/** A complete result may be longer than the screen. The verdict of a check is its end, which a pager would hide. */
const isWhole = (result: Result): boolean =>
  result.kind === 'record'
    ? result.view?.findings === undefined
    : result.kind === 'rows' && Array.isArray(result.rows);
/** Collects the output to show it in a pager. */
const collecting = (host: Host): { readonly host: Host; readonly text: () => string } => {
  const texts: string[] = [];
  const { stdout } = host.terminal;
  const write = async (text: string | Uint8Array): Promise<void> =>
    void texts.push(typeof text === 'string' ? text : new TextDecoder().decode(text));
  const collector = Object.create(stdout, { write: { value: write } }) as typeof stdout;
  const terminal = Object.create(host.terminal, { stdout: { value: collector } }) as Host['terminal'];
  return {
    host: Object.create(host, { terminal: { value: terminal } }) as Host,
    text: () => texts.join(''),
  };
};
/** Raw output, and a page of help through a pager. */
const writeReady = async (
  { chunks, paged }: Extract<Result, { readonly kind: 'raw' }>,
  options: OutputOptions,
  host: Host,
): Promise<void> => {
  if (!paged) return writeRaw(chunks, host);
  const { writePaged } = await import('./page-text.ts');
  const texts: string[] = [];
  for await (const chunk of chunks) texts.push(signsFor(host.env)(String(chunk)));
  await writePaged(texts.join(''), host, options);
};
const exitOf = (result: Result): Category | 'done' => {
  if (result.kind === 'rows') return result.exit?.() ?? 'done';
  return 'exit' in result ? (result.exit ?? 'done') : 'done';
};
/** Keeps the findings made before the error, for the report of the error. */
const withFindings = (error: unknown, { checked }: OutputOptions, { findings }: View): unknown => {
  if (checked !== undefined) checked.findings = findings?.() ?? [];
  return error;
};
const unreadExit = (result: Result): Category | 'done' =>
  result.kind === 'rows' ? (result.unread?.() ?? 'done') : exitOf(result);
/** The record as its command draws it for a person, unless the person asked for fields. */
const withDrawing = async (
  result: Result,
  view: View,
  { options, host, format }: Environment,
): Promise<View> => {
  const isDrawn =
    result.kind === 'record' &&
    view.drawRecord !== undefined &&
    formatRow(format).isForPeople === true &&
    options.columns === undefined &&
    options.jq === undefined &&
    options.template === undefined &&
    options.allFields !== true;
  if (!isDrawn) return view;
  const { stdout } = host.terminal;
  const width = stdout.isTty || stdout.isWidthGiven === true ? stdout.columns || 80 : 100;
  return { ...view, text: await view.drawRecord?.(result.data, width) };
};
/** Collects the first key that one object of the service has twice. */
const repeatedKeys = (given: Result) => {
  let first = given.kind === 'record' ? lostKey(given.data) : undefined;
  return {
    note: (key: string): void => {
      first ??= key;
    },
    texts: (): readonly string[] =>
      first === undefined
        ? []
        : [
            `warning: the service returned the key ${JSON.stringify(first)} twice in one object; the output shows the last value (-o ndjson prints the rows of a list as the service wrote them)`,
          ],
  };
};
/** --quiet, without a flag that requests data. */
const isSilent = ({ quiet, format, jq, template, columns }: OutputOptions): boolean =>
  quiet === true && (format ?? jq ?? template ?? columns) === undefined;
/** A drawing on the same terminal that contains the message as one of its lines has shown it. */
const isShown = (
  message: string,
  { text }: View,
  { columns }: OutputOptions,
  { stdout }: Host['terminal'],
): boolean => stdout.isTty && columns === undefined && text?.split('\n').includes(message) === true;
/** A script knows from the exit code; a person wants to read what happened, once. */
const messageFor = (
  view: View,
  { kind }: Result,
  { options, format }: Pick<Environment, 'options' | 'format'>,
  { terminal }: Host,
): string | undefined => {
  const { quiet, showAdvice = showPlain } = options;
  if (view.message === undefined || quiet || !(terminal.stderr.isTty || kind === 'nothing')) return undefined;
  const message = showAdvice(view.message, true);
  const isDrawn = kind === 'record' && formatRow(format).isForPeople === true;
  return isDrawn && isShown(message, view, options, terminal) ? undefined : message;
};
/** Writes a line for a person to stderr. */
const makeNote =
  (options: OutputOptions, host: Host, redactor: Redactor) =>
  async (text: string): Promise<void> => {
    const { stderr } = host.terminal;
    const clean = (one: string): string => signsFor(host.env)(printable(redactor.clean(one)));
    // Again after the lines are wrapped, because the words of a command are joined until then.
    const shown = redactor.clean(wrapMessages(clean(text), messageColumns(stderr, host.env)));
    if (!waitsForPager(options, shown)) await host.terminal.stderr.write(`${shown}\n`).catch(() => {});
  };
/**
 * Writes a result to stdout and its message to stderr. If the reader closes the pipe (`| head`), it stops
 * quietly.
 */
export const render = async (
  given: Result,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<Category | 'done'> => {
  const result = given.kind === 'record' ? { ...given, data: plainAdvice(shownValue(given.data)) } : given;
  const view: View = 'view' in result ? (result.view ?? {}) : {};
  const format = formatOf(options, host);
  const note = makeNote(options, host, redactor);
  const warn = async (text: string): Promise<void> => (options.quiet ? undefined : note(text));
  const [hints, repeats] = [[] as string[], repeatedKeys(given)];
  const checkColumns = (rows: readonly Row[]): Promise<void> => columnsAreKnown(options, rows, result, warn);
  const hint = (text: string) => void hints.push(text);
  const around = { options, host, format, warn, checkColumns, hint, noteRepeated: repeats.note };
  try {
    if (view.isReport === true && isSilent(options)) await writeReport(result, options, host, redactor);
    else if (result.kind === 'raw') await writeReady(result, options, host);
    else {
      const drawn = await withDrawing(result, view, around);
      const write = (to: Host): Promise<void> =>
        writeText(pieces(result, drawn, around), drawingOf(around, drawn), to, redactor);
      await writeAnswer(result, options, host, write);
    }
  } catch (error) {
    if (!isClosedPipe(error)) throw withFindings(error, options, view);
    await writeReport(result, options, host, redactor);
    releaseNotes({ notes: takeNotes(options) }, host);
    return unreadExit(result);
  }
  releaseNotes({ notes: takeNotes(options) }, host);
  for (const text of [...repeats.texts(), ...hints]) await warn(text);
  const message = messageFor(view, result, around, host);
  if (message !== undefined) await note(message);
  await writeReport(result, options, host, redactor);
  return exitOf(result);
};
const isInCi = ({ env }: Host): boolean => !!env.GITHUB_ACTIONS || !!env.GITLAB_CI;
/** A result without findings, in a report: the check did not run, or only its verdict is known. */
const resultFinding = (exit: Category | 'done', { message }: View): CheckFinding => ({
  rule: 'check',
  level: exit === 'done' ? 'pass' : 'fail',
  message: message?.toString() ?? (exit === 'done' ? 'nothing to report' : 'the check is negative'),
});
/** Writes what a check found if --report was given or a CI service runs the command. */
const writeReport = async (
  result: Result,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const view: View = 'view' in result ? (result.view ?? {}) : {};
  const isAsked = options.reports !== undefined;
  if (!isAsked && (view.findings === undefined || !isInCi(host))) return;
  const findings = view.findings?.() ?? [resultFinding(exitOf(result), view)];
  if (options.checked !== undefined) options.checked.isReported = true;
  const { writeReports } = await import('./reports.ts');
  await writeReports(findings, options, host, redactor);
};
