import type { Host } from '../platform/host.ts';
import { nearest } from '../core/nearest.ts';
import type { Category } from '../core/problem.ts';
import type { Result, View } from '../core/result.ts';
import { asciiSigns, isAsciiOnly, signsFor } from './ascii.ts';
import { type Rows, valuesOf } from './batches.ts';
import { type Row, cellText, columnOf, isRecord, keysOf, project } from './cells.ts';
import type { Formatter } from './formatter.ts';
import { formatOf, formatterFor, tableOptions } from './formats.ts';
import { jsonText } from './json.ts';
import { releaseNotes } from './notes.ts';
import { oneLine, printable } from './printable.ts';
import type { Format, OutputOptions, Redactor } from './types.ts';

type Surroundings = {
  readonly options: OutputOptions;
  readonly host: Host;
  readonly format: Format;
  readonly warn: (text: string) => Promise<void>;
};

/** A mistyped column would be an empty one; the command has run already, so that a warning is all that is left. */
const unknownColumns = (columns: readonly string[], rows: readonly Row[]): string[] => {
  const known = keysOf(rows);
  const missing = columns.filter((column) => rows.every((row) => columnOf(row, column) === undefined));
  return missing.map((column) => {
    const close = nearest(column, known);
    return `warning: --columns: no row has \`${oneLine(column)}\`${close === undefined ? '' : `; did you mean ${close}?`}`;
  });
};

async function* rowPieces(rows: Rows, formatter: Formatter, around: Surroundings): AsyncGenerator<string> {
  let isFirst = true;
  for await (const burst of valuesOf(rows)) {
    if (isFirst)
      for (const text of unknownColumns(around.options.columns ?? [], burst)) await around.warn(text);
    isFirst = false;
    yield await formatter.rows(burst);
  }
  yield formatter.close();
  if (isFirst && around.format === 'table' && around.host.terminal.stdout.isTty)
    await around.warn('nothing found');
}

async function* filtered(
  result: { data: unknown } | Rows,
  program: string,
  { options, format, host, warn }: Surroundings,
): AsyncGenerator<string> {
  const { jqPieces, startFilter } = await import('./jq.ts');
  const run = options.filter?.run ?? (await startFilter(host, program, format));
  yield* jqPieces(run, result, format, warn);
}

const recordPiece = async (data: unknown, view: View, around: Surroundings): Promise<string> => {
  const { options, format, host } = around;
  if (format === 'json') return jsonText(isRecord(data) ? project(data, options.columns) : data);
  if (format === 'yaml')
    return (await import('./yaml.ts')).yamlText(isRecord(data) ? project(data, options.columns) : data);
  if (view.text !== undefined && options.columns === undefined)
    return view.text.endsWith('\n') ? view.text : `${view.text}\n`;
  if (!isRecord(data)) return `${oneLine(cellText(data))}\n`;
  const { recordText } = await import('./table.ts');
  return recordText(data, view.columns ?? [], await tableOptions(options, options.columns, host));
};

async function* recordPieces(data: unknown, view: View, around: Surroundings): AsyncGenerator<string> {
  const { format } = around;
  const isOne =
    format === 'json' ||
    format === 'yaml' ||
    (format === 'table' && !(Array.isArray(data) && view.text === undefined));
  if (isOne) yield await recordPiece(data, view, around);
  else
    yield* rowPieces(
      { rows: Array.isArray(data) ? data : [data] },
      await formatterFor(format, view, around.options, around.host),
      around,
    );
}

async function* pieces(result: Result, view: View, around: Surroundings): AsyncGenerator<string> {
  const { options, format, host } = around;
  if (result.kind === 'nothing' || result.kind === 'raw') return;
  if (options.jq !== undefined) yield* filtered(result, options.jq, around);
  else if (result.kind === 'rows')
    yield* rowPieces(result, await formatterFor(format, view, options, host), around);
  else yield* recordPieces(result.data, view, around);
}

/** Ready-made output is written as it is: a command that prints a token on purpose prints it. Only a terminal is protected. */
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

/** Tables escape data cell by cell, and only they are coloured; everything else is escaped as a whole. */
const writeText = async (
  texts: AsyncIterable<string>,
  { isTable, isForPeople }: Drawing,
  host: Host,
  redactor: Redactor,
): Promise<void> => {
  const { stdout } = host.terminal;
  const redact = redactor.stream();
  const escapes = stdout.isTty && !isTable;
  const isAscii = isForPeople && isAsciiOnly(host.env);
  const write = async (text: string): Promise<void> => {
    const shown = isAscii ? asciiSigns(text) : text;
    if (shown !== '') await stdout.write(escapes ? printable(shown) : shown);
  };
  try {
    for await (const text of texts) await write(redact.push(text));
  } finally {
    await write(redact.end());
  }
};

const isClosedPipe = (error: unknown): boolean => (error as { code?: string } | null)?.code === 'EPIPE';

/** Writes a result to stdout and its message to stderr. A reader that went away (`| head`) ends it quietly. */
export const render = async (
  result: Result,
  options: OutputOptions,
  host: Host,
  redactor: Redactor,
): Promise<Category | 'done'> => {
  const { stderr } = host.terminal;
  const view: View = 'view' in result ? (result.view ?? {}) : {};
  const format = formatOf(options, host);
  const note = (text: string): Promise<void> =>
    stderr.write(`${signsFor(host.env)(printable(redactor.clean(text)))}\n`).catch(() => {});
  const warn = async (text: string): Promise<void> => (options.quiet ? undefined : note(text));
  const isDrawn =
    format === 'table' &&
    options.jq === undefined &&
    (view.text === undefined || options.columns !== undefined);
  releaseNotes(options, host);
  try {
    if (result.kind === 'raw') await writeRaw(result.chunks, host);
    else {
      const drawing = { isTable: isDrawn, isForPeople: format === 'table' && options.jq === undefined };
      await writeText(pieces(result, view, { options, host, format, warn }), drawing, host, redactor);
    }
  } catch (error) {
    if (isClosedPipe(error)) return result.kind === 'rows' ? (result.unread?.() ?? 'done') : 'done';
    throw error;
  }
  releaseNotes(options, host);
  // A script knows from the exit code; a person wants to read what happened.
  if (view.message !== undefined && !options.quiet && (stderr.isTty || result.kind === 'nothing'))
    await note(view.message);
  if (result.kind === 'rows') return result.exit?.() ?? 'done';
  return 'exit' in result ? (result.exit ?? 'done') : 'done';
};
