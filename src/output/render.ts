import type { Host } from '../host/host.ts';
import type { Category } from '../kernel/problem.ts';
import type { Result, View } from '../kernel/result.ts';
import { at, cell, columnsOf, csvCell } from './cells.ts';
import { paintFor } from './color.ts';
import { recordLines, tableLines } from './table.ts';
import type { Format, OutputOptions, Redactor } from './types.ts';
import { visible } from './visible.ts';

type Rows = Iterable<unknown> | AsyncIterable<unknown>;
const PAGE = 100;

/** Rows in pages: what is there at once forms one page, so that the first row is printed before the last has come. */
async function* pagesOf(rows: Rows): AsyncIterable<readonly unknown[]> {
  let page: unknown[] = [];
  for await (const row of rows) {
    page.push(row);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

async function* jsonArray(rows: Rows): AsyncIterable<string> {
  let isFirst = true;
  for await (const row of rows) {
    yield `${isFirst ? '[\n' : ',\n'}${JSON.stringify(row, null, 2).replace(/^/gm, '  ')}`;
    isFirst = false;
  }
  yield isFirst ? '[]\n' : '\n]\n';
}
async function* csv(rows: Rows, view: View, options: OutputOptions): AsyncIterable<string> {
  let columns: readonly string[] | undefined;
  for await (const row of rows) {
    if (columns === undefined) {
      columns = columnsOf(row, options.columns ?? view.columns);
      if (options.header) yield `${columns.map(csvCell).join(',')}\n`;
    }
    yield `${columns.map((name) => csvCell(cell(at(row, name)))).join(',')}\n`;
  }
}
async function* yamlItems(rows: Rows): AsyncIterable<string> {
  const { stringify } = await import('./yaml.ts');
  let isEmpty = true;
  for await (const row of rows) {
    isEmpty = false;
    yield stringify([row]);
  }
  if (isEmpty) yield '[]\n';
}
async function* each(rows: Rows, text: (row: unknown) => string): AsyncIterable<string> {
  for await (const row of rows) yield `${text(row)}\n`;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const picked = (row: unknown, columns: readonly string[] | undefined): unknown =>
  columns === undefined || !isObject(row) ? row : Object.fromEntries(columns.map((name) => [name, at(row, name)]));

/** One record in one of the formats. */
async function* recordChunks(data: unknown, format: Format, view: View, options: OutputOptions, host: Host): AsyncIterable<string> {
  if (format === 'table' && view.text !== undefined && options.columns === undefined) yield view.text.endsWith('\n') ? view.text : `${view.text}\n`;
  else if (format === 'table') {
    const paint = await paintFor('stdout', options, host);
    yield isObject(data) ? `${recordLines(data, options.columns, paint).join('\n')}\n` : `${cell(data)}\n`;
  } else if (format === 'json') yield `${JSON.stringify(picked(data, options.columns), null, 2)}\n`;
  else if (format === 'yaml') yield (await import('./yaml.ts')).stringify(picked(data, options.columns));
  else yield* rowChunks([data], format, view, options, host);
}

async function* rowChunks(rows: Rows, format: Format, view: View, options: OutputOptions, host: Host): AsyncIterable<string> {
  const chosen = options.columns;
  switch (format) {
    case 'json':
      return yield* jsonArray(chosen ? mapped(rows, (row) => picked(row, chosen)) : rows);
    case 'ndjson':
      return yield* each(rows, (row) => JSON.stringify(picked(row, chosen)));
    case 'yaml':
      return yield* yamlItems(chosen ? mapped(rows, (row) => picked(row, chosen)) : rows);
    case 'csv':
      return yield* csv(rows, view, options);
    case 'name':
      return yield* each(rows, (row) => cell(isObject(row) ? at(row, view.name ?? 'id') : row));
    default: {
      const { isTty, columns } = host.terminal.stdout;
      const paint = await paintFor('stdout', options, host);
      const lines = tableLines(pagesOf(rows), { columns: chosen ?? view.columns, header: options.header, maxWidth: isTty ? columns : undefined, paint });
      for await (const line of lines) yield `${line}\n`;
    }
  }
}
async function* mapped(rows: Rows, change: (row: unknown) => unknown): AsyncIterable<unknown> {
  for await (const row of rows) yield change(row);
}

async function* chunksOf(result: Result, options: OutputOptions, host: Host): AsyncIterable<string | Uint8Array> {
  const view = 'view' in result ? (result.view ?? {}) : {};
  const format = options.format ?? (host.terminal.stdout.isTty ? 'table' : 'json');
  if (options.jq !== undefined && (result.kind === 'record' || result.kind === 'rows')) {
    const { jqChunks } = await import('./jq.ts');
    yield* jqChunks(result.kind === 'record' ? result.data : await all(result.rows), options.jq);
  } else if (result.kind === 'raw') yield* result.chunks;
  else if (result.kind === 'rows') yield* rowChunks(result.rows, format, view, options, host);
  else if (result.kind === 'record') yield* recordChunks(result.data, format, view, options, host);
}
const all = async (rows: Rows): Promise<unknown[]> => {
  const found: unknown[] = [];
  for await (const row of rows) found.push(row);
  return found;
};

const FLUSH = 16_384;
/** Small pieces are written together; the first piece at once, so that a reader sees the beginning early. */
async function* gathered(chunks: AsyncIterable<string | Uint8Array>): AsyncIterable<string | Uint8Array> {
  let text = '';
  let isFirst = true;
  for await (const chunk of chunks) {
    if (typeof chunk !== 'string') {
      if (text !== '') yield text;
      text = '';
      yield chunk;
      continue;
    }
    text += chunk;
    if (!isFirst && text.length < FLUSH) continue;
    yield text;
    text = '';
    isFirst = false;
  }
  if (text !== '') yield text;
}

/** Writes a result to stdout and its message to stderr. A reader that went away (`| head`) ends it quietly. */
export const render = async (result: Result, options: OutputOptions, host: Host, redactor: Redactor): Promise<Category | 'done'> => {
  const { stdout, stderr } = host.terminal;
  const clean = (text: string) => redactor.clean(stdout.isTty && result.kind !== 'raw' ? text : text);
  try {
    for await (const chunk of gathered(chunksOf(result, options, host))) await stdout.write(typeof chunk === 'string' ? clean(chunk) : chunk);
  } catch (error) {
    if ((error as { code?: string }).code === 'EPIPE') return 'done';
    throw error;
  }
  const message = 'view' in result ? result.view?.message : undefined;
  if (message !== undefined && !options.quiet && (stderr.isTty || result.kind === 'nothing')) await stderr.write(`${visible(redactor.clean(message))}\n`);
  if (result.kind === 'rows') return result.exit?.() ?? 'done';
  return (result.kind === 'record' || result.kind === 'nothing') && result.exit ? result.exit : 'done';
};
