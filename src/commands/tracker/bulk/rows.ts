import { type Problem, problem } from '../../../kernel/problem.ts';

/** One line of the input: either a record of keys or what is wrong with it. `line` counts from 1. */
export type Line = { readonly line: number; readonly bytes: number; readonly row?: Readonly<Record<string, unknown>>; readonly problem?: Problem };
export type Format = 'ndjson' | 'csv';

/** Text lines of a byte stream without holding more than one; `\r\n` and a missing last newline are fine. */
async function* textLines(bytes: AsyncIterable<Uint8Array>): AsyncIterable<{ text: string; bytes: number }> {
  const decoder = new TextDecoder();
  let rest = '';
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) yield { text: part.endsWith('\r') ? part.slice(0, -1) : part, bytes: read };
  }
  rest += decoder.decode();
  if (rest !== '') yield { text: rest, bytes: read };
}

const parse = (text: string): { row: Record<string, unknown> } | { problem: Problem } => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { row: value as Record<string, unknown> };
    return { problem: problem('', 'type', 'must be a JSON object') };
  } catch (error) {
    return { problem: problem('', 'type', `is not JSON: ${error instanceof Error ? error.message : error}`) };
  }
};

async function* ndjson(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Line> {
  let line = 0;
  for await (const { text, bytes: read } of textLines(bytes)) {
    line += 1;
    if (text.trim() !== '') yield { line, bytes: read, ...parse(text.replace(/^\uFEFF/, '')) };
  }
}

/** Splits one CSV record; undefined when a quoted cell goes on in the next line. */
export const csvCells = (text: string): string[] | undefined => {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const comma = text.indexOf(',', at);
      cells.push(comma === -1 ? text.slice(at) : text.slice(at, comma));
      if (comma === -1) return cells;
      at = comma + 1;
      continue;
    }
    let end = at + 1;
    for (;;) {
      end = text.indexOf('"', end);
      if (end === -1) return undefined;
      if (text[end + 1] !== '"') break;
      end += 2;
    }
    cells.push(text.slice(at + 1, end).replaceAll('""', '"'));
    if (text[end + 1] !== ',') return cells;
    at = end + 2;
  }
};

async function* csv(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Line> {
  let header: string[] | undefined;
  let line = 0;
  let start = 0;
  let held = '';
  for await (const { text, bytes: read } of textLines(bytes)) {
    line += 1;
    if (held === '') start = line;
    const whole = held === '' ? text : `${held}\n${text}`;
    if (whole.trim() === '') continue;
    const cells = csvCells(header === undefined ? whole.replace(/^\uFEFF/, '') : whole);
    held = cells === undefined ? whole : '';
    if (cells === undefined) continue;
    if (header === undefined) {
      header = cells.map((cell) => cell.trim());
      continue;
    }
    const names = header;
    if (cells.length > names.length)
      yield { line: start, bytes: read, problem: problem('', 'rule', `has ${cells.length} cells, the header has ${names.length}`) };
    else yield { line: start, bytes: read, row: Object.fromEntries(cells.flatMap((cell, i) => (cell === '' ? [] : [[names[i] ?? '', cell]]))) };
  }
  if (held !== '') yield { line: start, bytes: 0, problem: problem('', 'format', 'opens a quote that is never closed') };
}

/** The lines of a file, one at a time: memory does not grow with its size. */
export const readRows = (bytes: AsyncIterable<Uint8Array>, format: Format): AsyncIterable<Line> => (format === 'csv' ? csv(bytes) : ndjson(bytes));
