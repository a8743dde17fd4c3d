import { parseExactJson } from '../core/json.ts';
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_RECORD,
  COMMA,
  NOWHERE,
  OPEN_LIST,
  OPEN_RECORD,
  QUOTE,
} from '../core/json-scan.ts';

/**
 * Writes checked rows of a list (`areChecked`) in a format, directly from their bytes. A value that the format
 * would write in another way than the service did, such as `1.0` or `"\/"`, is parsed alone.
 */
type Bytes = Uint8Array;
export const COLON = 0x3a;
const AT = 0x40;
const SPACE = 0x20;
const LINE_END = 0x0a;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const LETTER_N = 0x6e;
const LAST_ASCII = 0x7e;
const isDigit = (byte: number): boolean => byte >= ZERO && byte <= 0x39;
const isOpen = (byte: number | undefined): boolean => byte === OPEN_RECORD || byte === OPEN_LIST;
const isClose = (byte: number | undefined): boolean => byte === CLOSE_RECORD || byte === CLOSE_LIST;
export const textOf = (row: Bytes, from: number, end: number): string =>
  Buffer.from(row.buffer, row.byteOffset + from, end - from).toString();
const parseValue = (row: Bytes, from: number, end: number): unknown => parseExactJson(textOf(row, from, end));

/** The position after a string that begins at `from`. */
export const stringEnd = (row: Bytes, from: number): number => {
  let at = from + 1;
  while (row[at] !== QUOTE) at += row[at] === BACKSLASH ? 2 : 1;
  return at + 1;
};
const compoundEnd = (row: Bytes, from: number): number => {
  let depth = 0;
  for (let at = from; ; ) {
    const byte = row[at];
    if (byte === QUOTE) {
      at = stringEnd(row, at);
      continue;
    }
    at += 1;
    if (isOpen(byte)) depth += 1;
    else if (isClose(byte)) depth -= 1;
    if (depth === 0) return at;
  }
};
/** The end of a number or a word, which is also the end of a row of one value. */
export const scalarEnd = (row: Bytes, from: number): number => {
  let at = from;
  while (at < row.length && row[at] !== COMMA && !isClose(row[at])) at += 1;
  return at;
};
export const valueEnd = (row: Bytes, from: number): number => {
  if (row[from] === QUOTE) return stringEnd(row, from);
  return isOpen(row[from]) ? compoundEnd(row, from) : scalarEnd(row, from);
};
/** A number of at most 15 digits that JavaScript writes with the same digits. */
const MOST_DIGITS = 15;
export const isPlainNumber = (row: Bytes, from: number, end: number): boolean => {
  if (end - from > MOST_DIGITS) return false;
  const first = row[from] === MINUS ? from + 1 : from;
  let points = 0;
  for (let at = first; at < end; at++) {
    if (row[at] === POINT) points += 1;
    else if (!isDigit(row[at] ?? 0)) return false;
  }
  if (points === 0) return row[first] !== ZERO || (first === from && end === from + 1);
  return row[first] !== ZERO && row[end - 1] !== ZERO;
};

/** The bytes of an output piece. A caller reserves room before it puts single bytes. */
export class Output {
  #bytes = Buffer.allocUnsafe(65_536);
  length = 0;

  reserve(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.length + more));
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }
  put(byte: number): void {
    this.#bytes[this.length] = byte;
    this.length += 1;
  }
  copy(row: Bytes, from: number, end: number): void {
    const bytes = this.#bytes;
    let to = this.length;
    for (let at = from; at < end; at++) bytes[to++] = row[at] ?? 0;
    this.length = to;
  }
  /** Copies bytes up to one that is not of these; the position of that one. The loop uses local variables only, which takes half of the time. */
  copyWhile(row: Bytes, from: number, isCopied: Uint8Array): number {
    const bytes = this.#bytes;
    let to = this.length;
    let at = from;
    for (; at < row.length; at++) {
      const byte = row[at] ?? 0;
      if (isCopied[byte] === 0) break;
      bytes[to++] = byte;
    }
    this.length = to;
    return at;
  }
  /** Copies a JSON string with each quote doubled; the position after it, or `NOWHERE` if it has a backslash. */
  copyDoubled(row: Bytes, from: number): number {
    const bytes = this.#bytes;
    let to = this.length;
    bytes[to++] = QUOTE;
    bytes[to++] = QUOTE;
    let at = from + 1;
    for (; row[at] !== QUOTE; at++) {
      const byte = row[at] ?? 0;
      if (byte === BACKSLASH) return NOWHERE;
      bytes[to++] = byte;
    }
    bytes[to++] = QUOTE;
    bytes[to++] = QUOTE;
    this.length = to;
    return at + 1;
  }
  /** The byte before the end. */
  last(): number {
    return this.#bytes[this.length - 1] ?? 0;
  }
  /** Removes one byte. */
  remove(at: number): void {
    this.#bytes.copyWithin(at, at + 1, this.length);
    this.length -= 1;
  }
  text(text: string): void {
    this.reserve(3 * text.length);
    this.length += this.#bytes.write(text, this.length);
  }
  /** A copy, because the next piece overwrites the bytes. */
  takeBytes(): Bytes {
    const bytes = Uint8Array.from(this.#bytes.subarray(0, this.length));
    this.length = 0;
    return bytes;
  }
  take(): string {
    const text = this.#bytes.toString('utf8', 0, this.length);
    this.length = 0;
    return text;
  }
}

/** The bytes of a string that a loop copies, as a table of zeros and ones. */
const tableOf = (isCopied: (byte: number) => boolean): Uint8Array =>
  Uint8Array.from({ length: 256 }, (_, byte) => Number(isCopied(byte)));
const isPlain = (byte: number): boolean => byte !== QUOTE && byte !== BACKSLASH;
export const PLAIN = tableOf(isPlain);
const ASCII = tableOf((byte) => isPlain(byte) && byte <= LAST_ASCII);
/** A comma needs quotes in a CSV field. Line ends and quotes have an escape in JSON, so their text is parsed. */
const ASCII_FIELD = tableOf((byte) => isPlain(byte) && byte <= LAST_ASCII && byte !== COMMA);

/** A row of more bytes or levels is parsed: the room for its indentation would be large. */
const LARGEST_ROW = 16_384;
const DEEPEST_ROW = 12;
const newLine = (out: Output, depth: number): void => {
  out.put(LINE_END);
  for (let i = 0; i < depth; i++) {
    out.put(SPACE);
    out.put(SPACE);
  }
};
/** A string as JSON; the position after it. */
const putString = (out: Output, row: Bytes, from: number): number => {
  const before = out.length;
  out.put(QUOTE);
  const at = out.copyWhile(row, from + 1, PLAIN);
  if (row[at] === QUOTE) {
    out.put(QUOTE);
    return at + 1;
  }
  out.length = before;
  const end = stringEnd(row, from);
  out.text(JSON.stringify(JSON.parse(textOf(row, from, end))));
  out.reserve(room(row));
  return end;
};
const putScalar = (out: Output, row: Bytes, from: number): number => {
  const end = scalarEnd(row, from);
  const first = row[from] ?? 0;
  const isNumber = first === MINUS || isDigit(first);
  if (!isNumber || isPlainNumber(row, from, end)) out.copy(row, from, end);
  else {
    out.text(JSON.stringify(parseValue(row, from, end)));
    out.reserve(room(row));
  }
  return end;
};
/** Each byte can begin a line. */
const room = (row: Bytes): number => (row.length + 1) * (2 * DEEPEST_ROW + 2);
/** Writes a bracket, a comma or a colon with the space that belongs to it, and returns the new depth. */
const putSign = (out: Output, byte: number, depth: number): number => {
  if (byte === COLON) {
    out.put(COLON);
    out.put(SPACE);
    return depth;
  }
  if (isClose(byte)) {
    newLine(out, depth - 1);
    out.put(byte);
    return depth - 1;
  }
  const inner = isOpen(byte) ? depth + 1 : depth;
  out.put(byte);
  newLine(out, inner);
  return inner;
};
const isSign = (byte: number): boolean => byte === COMMA || byte === COLON || isOpen(byte) || isClose(byte);
/** Writes a row as `JSON.stringify(list, null, 2)` does; false for a row that is too large or too deep. */
const putIndented = (out: Output, row: Bytes): boolean => {
  if (row.length > LARGEST_ROW) return false;
  out.reserve(room(row));
  let depth = 1;
  newLine(out, depth);
  for (let at = 0; at < row.length; ) {
    const byte = row[at] ?? 0;
    if (byte === QUOTE) at = putString(out, row, at);
    else if (!isSign(byte)) at = putScalar(out, row, at);
    else if (isOpen(byte) && isClose(row[at + 1])) {
      out.copy(row, at, at + 2);
      at += 2;
    } else {
      depth = putSign(out, byte, depth);
      if (depth > DEEPEST_ROW) return false;
      at += 1;
    }
  }
  return true;
};
/** What makes the indented rows of a list; `parse` writes one that must be parsed. */
export const makeIndentedRows = (parse: (row: unknown) => string): ((rows: readonly Bytes[]) => string) => {
  const out = new Output();
  return (rows) => {
    for (const [i, row] of rows.entries()) {
      out.reserve(1);
      if (i > 0) out.put(COMMA);
      const before = out.length;
      if (putIndented(out, row)) continue;
      out.length = before;
      out.text(parse(parseValue(row, 0, row.length)));
    }
    return out.take();
  };
};

/** Finds the values of some keys in a row. Rows of a list have their keys in the same order, so each key is compared once. */
export class Values {
  readonly starts: Int32Array;
  readonly #columns: ReadonlyMap<string, number>;
  readonly #order: Key[] = [];

  constructor(columns: readonly string[]) {
    this.#columns = new Map(columns.map((column, i) => [column, i]));
    this.starts = new Int32Array(columns.length);
  }
  /** False if the value at this position is not an object. A key that it does not have is `NOWHERE`. */
  find(row: Bytes, start = 0): boolean {
    this.starts.fill(NOWHERE);
    if (row[start] !== OPEN_RECORD) return false;
    let left = this.#columns.size;
    for (let at = start + 1, i = 0; row[at] === QUOTE && left > 0; i++) {
      const { key, column } = this.keyAt(row, at, i);
      const from = at + key.length;
      if (column !== NOWHERE) {
        this.starts[column] = from;
        left -= 1;
      }
      if (left > 0) at = valueEnd(row, from) + 1;
    }
    return true;
  }
  /** The key at this position, which is number `i` of its row. */
  keyAt(row: Bytes, at: number, i: number): Key {
    const known = this.#order[i];
    if (known !== undefined && hasKey(row, at, known.key)) return known;
    const end = stringEnd(row, at);
    const column = this.#columns.get(textOf(row, at + 1, end - 1)) ?? NOWHERE;
    const found = { key: Uint8Array.from(row.subarray(at, end + 1)), column };
    this.#order[i] = found;
    return found;
  }
}
/** The bytes of a key with its quotes and its colon, and its column. */
type Key = { readonly key: Bytes; readonly column: number };
const hasKey = (row: Bytes, at: number, key: Bytes): boolean => {
  for (let i = 0; i < key.length; i++) if (row[at + i] !== key[i]) return false;
  return true;
};
/** A path reaches into a record or names a key with a point: the row is parsed. */
const arePaths = (columns: readonly string[]): boolean => columns.some((column) => column.includes('.'));

/** Copies a string that has only bytes of the table, without its quotes; the position after it, or `NOWHERE` for any other string. */
const putAscii = (out: Output, row: Bytes, from: number, isCopied: Uint8Array): number => {
  const end = out.copyWhile(row, from + 1, isCopied);
  return row[end] === QUOTE ? end + 1 : NOWHERE;
};
/** The text starts like an ID, a flag, a member or `name:`, which `-o name` may print with a prefix. */
const mayNeedPrefix = (row: Bytes, at: number): boolean => {
  const first = row[at] ?? 0;
  return isDigit(first) || first === MINUS || first === AT || row[at + 4] === COLON;
};
/** What makes the lines of -o name; `parse` writes the line of a row that must be parsed. */
export const makeNames = (
  field: string,
  parse: (row: unknown) => string,
): ((rows: readonly Bytes[]) => string | undefined) => {
  const out = new Output();
  const values = new Values([field]);
  const put = (row: Bytes): boolean => {
    if (!values.find(row)) return false;
    const from = values.starts[0] ?? NOWHERE;
    if (from === NOWHERE) return false;
    if (row[from] === QUOTE)
      return !mayNeedPrefix(row, from + 1) && putAscii(out, row, from, ASCII) !== NOWHERE;
    const end = scalarEnd(row, from);
    if (!isPlainNumber(row, from, end)) return false;
    out.copy(row, from, end);
    return true;
  };
  return (rows) => {
    if (arePaths([field])) return undefined;
    for (const row of rows) {
      out.reserve(row.length + 1);
      const before = out.length;
      if (!put(row)) {
        out.length = before;
        out.text(parse(parseValue(row, 0, row.length)));
      }
      out.reserve(1);
      out.put(LINE_END);
    }
    return out.take();
  };
};

const putPlainScalar = (out: Output, row: Bytes, from: number): number => {
  const end = scalarEnd(row, from);
  const first = row[from] ?? 0;
  if ((first === MINUS || isDigit(first)) && !isPlainNumber(row, from, end)) return NOWHERE;
  out.copy(row, from, end);
  return end;
};
/** How many levels a sign opens. */
const levelsOf = (sign: number): number => {
  if (isOpen(sign)) return 1;
  return isClose(sign) ? -1 : 0;
};
/** Writes the JSON of a list or an object as a CSV field; the position after it, or `NOWHERE` if a value in it must be parsed. */
const putCsvJson = (out: Output, row: Bytes, from: number): number => {
  const before = out.length;
  let at = from;
  let depth = 0;
  let isQuoted = false;
  out.put(QUOTE);
  do {
    const byte = row[at] ?? 0;
    if (isSign(byte)) {
      depth += levelsOf(byte);
      out.put(byte);
      at += 1;
    } else at = byte === QUOTE ? out.copyDoubled(row, at) : putPlainScalar(out, row, at);
    if (at === NOWHERE) return NOWHERE;
    isQuoted ||= byte === QUOTE || byte === COMMA;
  } while (depth > 0);
  if (isQuoted) out.put(QUOTE);
  else out.remove(before);
  return at;
};
/** A space at an end needs quotes, and a sign at the beginning can make a formula. */
const FORMULA: ReadonlySet<number> = new Set(Buffer.from('=+-@'));
const putCsvString = (out: Output, row: Bytes, from: number, isSafe: boolean): number => {
  const first = row[from + 1] ?? 0;
  if (first === SPACE || (isSafe && FORMULA.has(first))) return NOWHERE;
  const end = putAscii(out, row, from, ASCII_FIELD);
  const isEmpty = first === QUOTE;
  return !isEmpty && out.last() === SPACE ? NOWHERE : end;
};
/** Writes one CSV field; the position after its value, or `NOWHERE` if the value must be parsed. */
const putCsvField = (out: Output, row: Bytes, from: number, isSafe: boolean): number => {
  const first = row[from] ?? 0;
  if (first === QUOTE) return putCsvString(out, row, from, isSafe);
  if (isOpen(first)) return putCsvJson(out, row, from);
  return first === LETTER_N ? scalarEnd(row, from) : putPlainScalar(out, row, from);
};
/** The lines of rows with these columns; `write` makes the field of a value that must be parsed. */
class CsvLines {
  readonly #columns: readonly string[];
  readonly #isSafe: boolean;
  readonly #write: (value: unknown) => string;
  readonly #out = new Output();
  readonly #values: Values;

  constructor(columns: readonly string[], isSafe: boolean, write: (value: unknown) => string) {
    this.#columns = columns;
    this.#isSafe = isSafe;
    this.#write = write;
    this.#values = new Values(columns);
  }
  of(rows: readonly Bytes[]): string | undefined {
    const out = this.#out;
    for (const row of rows) {
      this.#reserve(row);
      const before = out.length;
      if (!this.#putInOrder(row)) {
        out.length = before;
        if (!this.#values.find(row)) {
          out.take();
          return undefined;
        }
        this.#putFound(row);
      }
      // One empty column would be an empty line, which readers skip.
      if (out.length === before && this.#columns.length === 1) {
        out.put(QUOTE);
        out.put(QUOTE);
      }
      out.put(LINE_END);
    }
    return out.take();
  }
  #reserve(row: Bytes): void {
    this.#out.reserve(2 * row.length + this.#columns.length + 3);
  }
  /** Reads each byte once, if the row has the keys of the columns in their order; otherwise false. */
  #putInOrder(row: Bytes): boolean {
    if (row[0] !== OPEN_RECORD) return false;
    let next = 0;
    for (let at = 1, i = 0; row[at] === QUOTE && next < this.#columns.length; i++) {
      const { key, column } = this.#values.keyAt(row, at, i);
      const from = at + key.length;
      if (column === NOWHERE) at = valueEnd(row, from) + 1;
      else if (column !== next) return false;
      else {
        if (next > 0) this.#out.put(COMMA);
        at = this.#putField(row, from) + 1;
        next += 1;
      }
    }
    return next === this.#columns.length;
  }
  /** Writes the values that `find` found. */
  #putFound(row: Bytes): void {
    for (let i = 0; i < this.#columns.length; i++) {
      if (i > 0) this.#out.put(COMMA);
      const from = this.#values.starts[i] ?? NOWHERE;
      if (from !== NOWHERE) this.#putField(row, from);
    }
  }
  /** The position after the value. */
  #putField(row: Bytes, from: number): number {
    const out = this.#out;
    const before = out.length;
    const end = putCsvField(out, row, from, this.#isSafe);
    if (end !== NOWHERE) return end;
    out.length = before;
    const after = valueEnd(row, from);
    out.text(this.#write(parseValue(row, from, after)));
    this.#reserve(row);
    return after;
  }
}
/** What makes the lines of -o csv. Undefined: these columns need parsed rows, because one is a path or comes twice. */
export const makeCsvLines = (
  columns: readonly string[],
  isSafe: boolean,
  write: (value: unknown) => string,
): ((rows: readonly Bytes[]) => string | undefined) => {
  if (new Set(columns).size < columns.length || arePaths(columns)) return () => undefined;
  const lines = new CsvLines(columns, isSafe, write);
  return (rows) => lines.of(rows);
};
