import { AppError } from '../core/problem.ts';
import type { Bytes } from '../platform/host.ts';
import { limits } from '../core/limits.ts';

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
 * Cuts a JSON list into the texts of its elements while the bytes arrive. Only brackets, quotes and commas are looked at:
 * whoever reads a row parses it.
 */
export class JsonRows {
  readonly #what: string;
  readonly #mostBytes: number;
  #place: Place = 'before';
  #depth = 0;
  #isText = false;
  #isEscaped = false;
  /** Pieces of the row that has begun. */
  #held: Bytes[] = [];
  #heldBytes = 0;
  #count = 0;

  constructor(what: string, mostBytes = limits.rowBytes) {
    this.#what = what;
    this.#mostBytes = mostBytes;
  }

  /** The rows that end in this piece. */
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
  /** To be called when there is no more. */
  end(): void {
    if (this.#place !== 'after') throw this.#broken();
  }

  #open(chunk: Bytes): number {
    const at = chunk.indexOf(OPEN_LIST);
    this.#place = 'within';
    return at + 1;
  }
  /** Where the row that `from` is in ends; the length of the piece when that is not here. Few lines for each byte: lists are long. */
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
  /** Where the text that `from` is in ends; the length of the piece when that is not here. */
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
      `${this.#what}: the list is not JSON but broken off after ${this.#count} rows`,
      {
        code: 'NOT_JSON',
        tryThis: ['check the base URL: a proxy or sign-in page may be answering'],
      },
    );
  }
}
