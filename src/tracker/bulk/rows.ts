import { messageOf, type Problem, problem, usageError } from '../../core/problem.ts';
import { repeatedKeyIn } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { utf8Decoder } from '../../core/utf8.ts';
import { csvReader, type Format, type Line, type Reader, type ReadOptions } from './csv.ts';

/** A line that does not end would fill the memory: such a file holds no rows. */
const refuseLongRow = (bytes: number): void => {
  if (bytes > limits.rowBytes)
    throw usageError(
      `a line of the input has more than ${limits.rowBytes} bytes; the rows before it are done`,
      [problem('--file', 'max', 'must hold one record a line')],
      ['name a file with one record a line (NDJSON) or a table (CSV)'],
    );
};

/**
 * Yields the text lines of a byte stream, grouped by piece. `\r\n` and a missing last newline are allowed.
 */
async function* textLines(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncIterable<{ texts: string[]; bytes: number }> {
  const decoder = utf8Decoder(name);
  // In pieces: joined at each piece of the input, one long line would be copied thousands of times.
  let rest: string[] = [];
  let read = 0;
  let begun = 0;
  for await (const chunk of bytes) {
    read += chunk.length;
    const [first = '', ...more] = decoder.push(chunk).split('\n');
    rest.push(first);
    const last = more.pop();
    if (last === undefined) refuseLongRow(read - begun);
    else {
      yield { texts: [rest.join(''), ...more], bytes: read };
      rest = [last];
      begun = read;
    }
  }
  const end = rest.join('') + decoder.end();
  if (end !== '') yield { texts: [end], bytes: read };
}

const repeatedKey = (key: string): Problem =>
  problem(key, 'rule', 'is given twice in the same object', 'remove one of the two');

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
        if (typeof row !== 'object' || row === null || Array.isArray(row))
          return { line, bytes, text, problem: problem('', 'type', 'must be a JSON object') };
        const repeated = repeatedKeyIn(text, row);
        return repeated === undefined
          ? { line, bytes, text, row: row as Record<string, unknown> }
          : { line, bytes, text, problem: repeatedKey(repeated) };
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

/** The lines of a file, piece by piece: memory does not grow with its size. Throws for text that is not UTF-8 and for malformed CSV. */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
  options: ReadOptions = {},
): AsyncIterable<readonly Line[]> {
  const { name = 'standard input' } = options;
  const reader = format === 'csv' ? csvReader(name, options) : ndjson();
  for await (const { texts, bytes: read } of textLines(bytes, name)) {
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
