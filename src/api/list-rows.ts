import { crc32 } from 'node:zlib';
import { jsonRow } from '../core/json.ts';
import { limits } from '../core/limits.ts';
import type { Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { decodeUtf8 } from '../core/text.ts';
import { type Bytes, type HttpReply, NetworkError } from '../platform/host.ts';
import { type DeploymentWords, isUsual, normalizeResponse } from './request.ts';
import { answerFrom, expectShape } from './response.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_RECORD = 0x7b;
const CLOSE_RECORD = 0x7d;
const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isBlank = (bytes: Bytes): boolean => bytes.every(isSpace);
type Place = 'before' | 'within' | 'after';
/**
 * Splits a JSON list into the texts of its elements while the bytes arrive. It inspects brackets, quotes and
 * commas only. The consumer of a row parses it.
 */
export class JsonRows {
  readonly #what: string;
  readonly #mostBytes: number;
  #place: Place = 'before';
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** Pieces of the current row. */
  #held: Bytes[] = [];
  #heldBytes = 0;
  #count = 0;

  constructor(what: string, mostBytes = limits.rowBytes) {
    this.#what = what;
    this.#mostBytes = mostBytes;
  }

  /** The rows whose end is in this piece. */
  push(chunk: Bytes): Bytes[] {
    const rows: Bytes[] = [];
    let start = this.#place === 'before' ? this.#open(chunk) : 0;
    while (this.#place === 'within') {
      const at = this.#rowEnd(chunk, start);
      if (at === chunk.length) break;
      this.#end(rows, chunk.subarray(start, at), chunk[at] === CLOSE_LIST);
      start = at + 1;
    }
    if (this.#place === 'within') this.#hold(chunk.subarray(start));
    else if (!isBlank(chunk.subarray(start))) throw this.#broken();
    return rows;
  }
  /** Called after the last byte. */
  end(): void {
    if (this.#place !== 'after') throw this.#broken();
  }

  #open(chunk: Bytes): number {
    const at = chunk.indexOf(OPEN_LIST);
    this.#place = 'within';
    return at + 1;
  }
  /**
   * Returns the end of the row that contains `from`, or the length of the piece if the row ends later.
   * Optimized for few operations per byte, because lists are long.
   */
  #rowEnd(chunk: Bytes, from: number): number {
    let at = this.#isText ? this.#textEnd(chunk, from) + 1 : from;
    this.#isText = at > chunk.length;
    let depth = this.#depth;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === QUOTE) {
        at = this.#textEnd(chunk, at + 1);
        this.#isText = at === chunk.length;
      } else if (byte === OPEN_LIST || byte === OPEN_RECORD) depth += 1;
      else if (depth === 0 && (byte === COMMA || byte === CLOSE_LIST)) break;
      else if (byte === CLOSE_LIST || byte === CLOSE_RECORD) depth -= 1;
    }
    this.#depth = depth;
    return Math.min(at, chunk.length);
  }
  /**
   * Returns the end of the string that contains `from`, or the length of the piece if the string ends later.
   */
  #textEnd(chunk: Bytes, from: number): number {
    let at = this.#isEscaped ? from + 1 : from;
    for (; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === QUOTE) break;
      if (byte === BACKSLASH) at += 1;
    }
    this.#isEscaped = at > chunk.length;
    return Math.min(at, chunk.length);
  }
  #end(rows: Bytes[], last: Bytes, isLast: boolean): void {
    if (isLast) this.#place = 'after';
    this.#hold(last);
    const row =
      this.#held.length === 1 && this.#held[0] !== undefined ? this.#held[0] : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    const isNone = isBlank(row);
    // `[]` has no row; `[1,]` has one too few.
    if (isNone && isLast && this.#count === 0) return;
    if (isNone) throw this.#broken();
    this.#count += 1;
    rows.push(row);
  }
  #hold(piece: Bytes): void {
    if (piece.length === 0) return;
    this.#held.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > this.#mostBytes)
      throw new AppError(
        'network',
        `${this.#what}: row ${this.#count + 1} of the list is larger than ${this.#mostBytes} bytes`,
        { code: 'TOO_LARGE' },
      );
  }
  #broken(): AppError {
    return new AppError(
      'network',
      `${this.#what}: the list is invalid or incomplete JSON after row ${this.#count}`,
      {
        code: 'NOT_JSON',
        tryThis: ['check the base URL: a proxy or sign-in page may be answering'],
      },
    );
  }
}

/** Yields the rows of a list as JSON texts, grouped by piece. */
export type RowBatches = AsyncGenerator<Bytes[]>;
/** Formats take their columns from the first batch. */
const FIRST_ROWS = 500;
/**
 * The limit of whitespace before the first significant byte. More whitespace means that the body is not a
 * list.
 */
const MOST_BLANKS = 64;
const OPEN_OBJECT = 0x7b;
const isSkipped = (byte: number): boolean =>
  byte === 0x20 ||
  byte === 0x0a ||
  byte === 0x0d ||
  byte === 0x09 ||
  byte === 0xef ||
  byte === 0xbb ||
  byte === 0xbf;
/** Returns the first significant byte, after whitespace and a byte order mark. */
const findSignificantByte = (bytes: Bytes): number | undefined => bytes.find((byte) => !isSkipped(byte));
async function* batches(head: Bytes, rest: AsyncIterator<Bytes>, what: string): RowBatches {
  const cut = new JsonRows(what);
  let held: Bytes[] = cut.push(head);
  let isFirst = true;
  let isDone = false;
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      held.push(...cut.push(next.value));
      if (held.length === 0 || (isFirst && held.length < FIRST_ROWS)) continue;
      isFirst = false;
      yield held;
      held = [];
    }
    isDone = true;
  } catch (error) {
    isDone = true;
    // Rows that arrived before a failure are shown.
    if (held.length > 0) yield held;
    throw error;
  } finally {
    if (!isDone) await rest.return?.();
  }
  if (held.length > 0) yield held;
  cut.end();
}
const textOf = async (head: Bytes, rest: AsyncIterator<Bytes>, what: string): Promise<string> => {
  const parts = [head];
  let size = head.length;
  for (let next = await rest.next(); !next.done; next = await rest.next()) {
    parts.push(next.value);
    size += next.value.length;
    if (size > limits.besideRowsBytes)
      throw new AppError('network', `${what}: the response is larger than ${limits.besideRowsBytes} bytes`, {
        code: 'TOO_LARGE',
      });
  }
  const bytes = Buffer.concat(parts);
  // An error page may have any encoding; JSON is stored.
  return findSignificantByte(bytes) === OPEN_OBJECT
    ? decodeUtf8(bytes, what, 'network')
    : new TextDecoder().decode(bytes);
};
/** Only a list has no total time limit. */
const restOf = <T>(reply: HttpReply, read: () => Promise<T>): Promise<T> => {
  reply.limitWhole?.();
  return read();
};
async function* none(): RowBatches {}
/** A response whose head has arrived: the rows of a list, or the text of any other body. */
export const openAnswer = async (
  reply: HttpReply,
  what: string,
): Promise<{ readonly rows?: RowBatches; readonly text?: string }> => {
  const stream = reply.stream()[Symbol.asyncIterator]();
  let head: Bytes = new Uint8Array();
  while (findSignificantByte(head) === undefined && head.length < MOST_BLANKS) {
    const next = await stream.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const isSuccess = reply.status >= 200 && reply.status < 300;
  return isSuccess && findSignificantByte(head) === OPEN_LIST
    ? { rows: batches(head, stream, what) }
    : { text: await restOf(reply, () => textOf(head, stream, what)) };
};
/** Returns the rows of a response whose head has arrived. Throws the error that any other response means. */
export const openList = async (operation: Operation, reply: HttpReply, url: string): Promise<RowBatches> => {
  const { rows, text = '' } = await openAnswer(reply, `${operation.method} ${new URL(url).pathname}`);
  if (rows !== undefined) return rows;
  expectShape(
    operation,
    answerFrom(operation, { status: reply.status, headers: reply.headers, text }, url),
    url,
  );
  return none();
};
const isCut = (error: unknown): boolean => error instanceof NetworkError && error.code === 'RESET';
const makeChangedListError = (given: number): AppError =>
  new AppError('network', `connection lost after ${given} rows, and the list has changed since then`, {
    code: 'LIST_CHANGED',
    retryable: true,
    tryThis: ['run it again'],
  });
/** Skips the rows that were delivered before the connection was lost. They must be identical. */
async function* without(again: RowBatches, given: number, mark: number): RowBatches {
  let [skipped, found] = [0, 0];
  for await (const batch of again) {
    const same = batch.slice(0, given - skipped);
    for (const row of same) found = crc32(row, found);
    skipped += same.length;
    if (skipped === given && found !== mark) throw makeChangedListError(given);
    if (same.length < batch.length) yield batch.slice(same.length);
  }
  if (skipped < given) throw makeChangedListError(given);
}
async function* resumeRows(
  first: RowBatches,
  open: () => Promise<RowBatches>,
  onCut: (error: NetworkError) => void,
): RowBatches {
  let [given, mark] = [0, 0];
  try {
    for await (const batch of first) {
      given += batch.length;
      for (const row of batch) mark = crc32(row, mark);
      yield batch;
    }
    return;
  } catch (error) {
    if (!isCut(error)) throw error;
    onCut(error as NetworkError);
  }
  yield* without(await open(), given, mark);
}
/**
 * A list that is requested again if the connection is lost in the middle of it, which is too late for the
 * retries of the transport.
 */
export const listRows = async (
  open: () => Promise<RowBatches>,
  onCut: (error: NetworkError) => void,
): Promise<RowBatches> => {
  try {
    return resumeRows(await open(), open, onCut);
  } catch (error) {
    if (!isCut(error)) throw error;
    onCut(error as NetworkError);
    return open();
  }
};
/** The rows in the words of the documents. */
export const neutralRows = (rows: RowBatches, words: DeploymentWords): RowBatches =>
  isUsual(words) ? rows : inUsualWords(rows, words);
async function* inUsualWords(rows: RowBatches, words: DeploymentWords): RowBatches {
  for await (const batch of rows)
    yield batch.map((row) => Buffer.from(JSON.stringify(normalizeResponse(jsonRow(row), words))));
}
