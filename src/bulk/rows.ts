import { type Problem, problem } from '../core/problem.ts';

/** One line of the input: either a record of keys or what is wrong with it. `line` counts from 1; `bytes` were read up to it. */
export type Line = {
  readonly line: number;
  readonly bytes: number;
  readonly text: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly problem?: Problem;
};
export type Format = 'ndjson' | 'csv';

/** Text lines of a byte stream, those of one piece together; `\r\n` and a missing last newline are fine. */
async function* textLines(
  bytes: AsyncIterable<Uint8Array>,
): AsyncIterable<{ texts: string[]; bytes: number }> {
  const decoder = new TextDecoder();
  let rest = '';
  let read = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    const texts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = texts.pop() ?? '';
    if (texts.length > 0) yield { texts, bytes: read };
  }
  rest += decoder.decode();
  if (rest !== '') yield { texts: [rest], bytes: read };
}

/** Takes one text line after the other; a record may need several. */
type Reader = { take(text: string, bytes: number): Line | undefined; end(): Line | undefined };

const ndjson = (): Reader => {
  let line = 0;
  return {
    take(given, bytes) {
      line += 1;
      const text = given.charCodeAt(0) === 0xfeff ? given.slice(1) : given;
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
          problem: problem('', 'type', `is not JSON: ${error instanceof Error ? error.message : error}`),
        };
      }
    },
    end: () => undefined,
  };
};

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

const csv = (): Reader => {
  let names: string[] | undefined;
  let line = 0;
  let start = 0;
  let held = '';
  return {
    take(given, bytes) {
      line += 1;
      if (held === '') start = line;
      const whole = held === '' ? given : `${held}\n${given}`;
      if (whole.trim() === '') return undefined;
      const text = names === undefined ? whole.replace(/^\uFEFF/, '') : whole;
      const cells = csvCells(text);
      held = cells === undefined ? whole : '';
      if (cells === undefined) return undefined;
      if (names === undefined) {
        names = cells.map((cell) => cell.trim());
        return undefined;
      }
      const header = names;
      if (cells.length > header.length)
        return {
          line: start,
          bytes,
          text,
          problem: problem('', 'rule', `has ${cells.length} cells, the header has ${header.length}`),
        };
      return {
        line: start,
        bytes,
        text,
        row: Object.fromEntries(cells.flatMap((cell, i) => (cell === '' ? [] : [[header[i] ?? '', cell]]))),
      };
    },
    end: () =>
      held === ''
        ? undefined
        : {
            line: start,
            bytes: 0,
            text: held,
            problem: problem('', 'format', 'opens a quote that is never closed'),
          },
  };
};

/** The lines of a file, piece by piece: memory does not grow with its size. */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
): AsyncIterable<readonly Line[]> {
  const reader = format === 'csv' ? csv() : ndjson();
  for await (const { texts, bytes: read } of textLines(bytes)) {
    const lines: Line[] = [];
    for (const text of texts) {
      const line = reader.take(text.endsWith('\r') ? text.slice(0, -1) : text, read);
      if (line !== undefined) lines.push(line);
    }
    if (lines.length > 0) yield lines;
  }
  const last = reader.end();
  if (last !== undefined) yield [last];
}
