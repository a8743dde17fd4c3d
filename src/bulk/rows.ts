import { messageOf } from '../core/error-message.ts';
import { limits } from '../core/limits.ts';
import { type Problem, problem, usageError } from '../core/problem.ts';

/** One line of the input: either a record of keys or what is wrong with it. `line` counts from 1; `bytes` were read up to it. */
export type Line = {
  readonly line: number;
  readonly bytes: number;
  readonly text: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly problem?: Problem;
};
export type Format = 'ndjson' | 'csv';

/** A line that does not end would fill the memory: such a file holds no rows. */
const refuseLongRow = (bytes: number): void => {
  if (bytes > limits.rowBytes)
    throw usageError(
      `a line of the input has more than ${limits.rowBytes} bytes; the rows before it are done`,
      [problem('--file', 'max', 'must hold one record a line')],
      ['name a file with one record a line (NDJSON) or a table (CSV)'],
    );
};

/** Text lines of a byte stream, those of one piece together; `\r\n` and a missing last newline are fine. */
async function* textLines(
  bytes: AsyncIterable<Uint8Array>,
): AsyncIterable<{ texts: string[]; bytes: number }> {
  const decoder = new TextDecoder();
  // In pieces: joined at each piece of the input, one long line would be copied thousands of times.
  let rest: string[] = [];
  let read = 0;
  let begun = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    const [first = '', ...more] = decoder.decode(chunk, { stream: true }).split('\n');
    rest.push(first);
    const last = more.pop();
    if (last === undefined) refuseLongRow(read - begun);
    else {
      yield { texts: [rest.join(''), ...more], bytes: read };
      rest = [last];
      begun = read;
    }
  }
  const end = rest.join('') + decoder.decode();
  if (end !== '') yield { texts: [end], bytes: read };
}

/** Takes one text line after the other; a record may need several. */
type Reader = { take(text: string, bytes: number): Line | undefined; end(): Line | undefined };

const ndjson = (): Reader => {
  let line = 0;
  return {
    take(given, bytes) {
      line += 1;
      const bare = given.charCodeAt(0) === 0xfeff ? given.slice(1) : given;
      const text = bare.endsWith('\r') ? bare.slice(0, -1) : bare;
      if (text.trim() === '') return undefined;
      try {
        const row: unknown = JSON.parse(text);
        if (typeof row === 'object' && row !== null && !Array.isArray(row))
          return { line, bytes, text, row: row as Record<string, unknown> };
        return { line, bytes, text, problem: problem('', 'type', 'must be a JSON object') };
      } catch (error) {
        return {
          line,
          bytes,
          text,
          problem: problem('', 'type', `is not JSON: ${messageOf(error)}`),
        };
      }
    },
    end: () => undefined,
  };
};

/** Splits one CSV record; undefined when a quoted cell goes on in the next line. */
export const csvCells = (text: string, delimiter = ','): string[] | undefined => {
  const cells: string[] = [];
  let at = 0;
  for (;;) {
    if (text[at] !== '"') {
      const next = text.indexOf(delimiter, at);
      cells.push(next === -1 ? text.slice(at) : text.slice(at, next));
      if (next === -1) return cells;
      at = next + 1;
      continue;
    }
    const end = closingQuote(text, at + 1);
    if (end === -1) return undefined;
    cells.push(text.slice(at + 1, end).replaceAll('""', '"'));
    if (text[end + 1] !== delimiter) return cells;
    at = end + 2;
  }
};

/** Where the quoted cell ends that begins there; a doubled quote is one of its characters. */
const closingQuote = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 2))
    if (text[end + 1] !== '"') return end;
  return -1;
};

/** The delimiters of spreadsheets, in words. */
export const delimiters = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;
export type Delimiter = keyof typeof delimiters;

/** The delimiter that splits the header into the most names. */
const delimiterOf = (header: string): Delimiter => {
  const counted = (Object.keys(delimiters) as Delimiter[]).map((delimiter) => ({
    delimiter,
    count: csvCells(header, delimiter)?.length ?? 0,
  }));
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).delimiter;
};

/** RFC 4180: a line ends with CRLF or LF; within quotes both are part of the cell. */
const withoutEnd = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text);

const csvLine = (
  line: number,
  bytes: number,
  text: string,
  header: readonly string[],
  cells: string[],
): Line => {
  if (cells.length > header.length)
    return {
      line,
      bytes,
      text,
      problem: problem('', 'rule', `has ${cells.length} cells, the header has ${header.length}`),
    };
  const row = Object.fromEntries(cells.flatMap((cell, i) => (cell === '' ? [] : [[header[i] ?? '', cell]])));
  return { line, bytes, text, row };
};

const neverClosed = (line: number, held: readonly string[]): Line => ({
  line,
  bytes: 0,
  text: held.join('\n'),
  problem: problem('', 'format', 'opens a quote that is never closed'),
});

const csv = ({ delimiter: given, onDelimiter }: ReadOptions): Reader => {
  let names: string[] | undefined;
  let delimiter: Delimiter | undefined = given;
  let line = 0;
  let start = 0;
  let held: string[] = [];
  return {
    take(next, bytes) {
      line += 1;
      if (held.length === 0) start = line;
      held.push(next);
      // Only a quote ends a quoted cell: what lies before it is not split again at each line.
      if (held.length > 1 && !next.includes('"')) return undefined;
      const whole = held.join('\n');
      held = [];
      if (whole.trim() === '') return undefined;
      const record = withoutEnd(names === undefined ? whole.replace(/^\uFEFF/, '') : whole);
      delimiter ??= delimiterOf(record);
      const cells = csvCells(record, delimiter);
      if (cells === undefined) {
        held = [whole];
        return undefined;
      }
      if (names === undefined) {
        names = cells.map((cell) => cell.trim());
        onDelimiter?.(delimiter);
        return undefined;
      }
      // The mark of a line in the journal does not depend on its line ends.
      return csvLine(start, bytes, record.replaceAll('\r\n', '\n'), names, cells);
    },
    end: () => (held.length === 0 ? undefined : neverClosed(start, held)),
  };
};

export type ReadOptions = {
  /** Found in the header when it is not given. */
  readonly delimiter?: Delimiter | undefined;
  readonly onDelimiter?: (delimiter: Delimiter) => void;
};

/** The lines of a file, piece by piece: memory does not grow with its size. */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
  options: ReadOptions = {},
): AsyncIterable<readonly Line[]> {
  const reader = format === 'csv' ? csv(options) : ndjson();
  for await (const { texts, bytes: read } of textLines(bytes)) {
    const lines: Line[] = [];
    for (const text of texts) {
      const line = reader.take(text, read);
      if (line !== undefined) lines.push(line);
    }
    yield lines;
  }
  const last = reader.end();
  if (last !== undefined) yield [last];
}
