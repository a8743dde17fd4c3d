import { argumentName } from '../core/flag.ts';
import { crcOfRows, jsonRow, markChecked } from '../core/json.ts';
import {
  BACKSLASH,
  CLOSE_LIST,
  CLOSE_RECORD,
  COMMA,
  NOWHERE,
  OPEN_LIST,
  OPEN_RECORD,
  QUOTE,
  RowShapes,
} from '../core/json-scan.ts';
import { limits } from '../core/limits.ts';
import type { Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { decodeUtf8 } from '../core/text.ts';
import { type Bytes, type HttpReply, NetworkError, type Host } from '../platform/host.ts';
import { type DeploymentWords, isUsual, normalizeResponse } from './request.ts';
import { answerFrom, expectShape } from './response.ts';
import { join } from 'node:path';
import type { Settings } from '../config/settings.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { isRecord } from '../core/shape.ts';

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isBlank = (bytes: Bytes): boolean => bytes.every(isSpace);
type Place = 'before' | 'within' | 'after';
/**
 * Splits a JSON list into the texts of its elements while the bytes arrive. A row with the keys of an earlier one
 * is checked completely. Of any other row it inspects brackets, quotes and commas only, and the consumer parses it.
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
  readonly #shapes = new RowShapes();
  /** True if each row of the last piece has been checked, so that no consumer has to parse it. */
  areChecked = true;

  constructor(what: string, mostBytes = limits.rowBytes) {
    this.#what = what;
    this.#mostBytes = mostBytes;
  }

  /** The rows whose end is in this piece. */
  push(chunk: Bytes): Bytes[] {
    const rows: Bytes[] = [];
    this.areChecked = true;
    let start = this.#place === 'before' ? this.#open(chunk) : 0;
    while (this.#place === 'within') {
      const checked = this.#isInRow() ? NOWHERE : this.#checkedEnd(chunk, start);
      const at = checked === NOWHERE ? this.#rowEnd(chunk, start) : checked;
      if (at === chunk.length) break;
      this.#take(rows, chunk.subarray(start, at), chunk[at] === CLOSE_LIST, checked !== NOWHERE);
      start = at + 1;
    }
    if (this.#place === 'within') this.#hold(chunk.subarray(start));
    else if (!isBlank(chunk.subarray(start))) throw this.#listError();
    return rows;
  }
  /** Called after the last byte. */
  end(): void {
    if (this.#place !== 'after') throw this.#listError();
  }

  #isInRow(): boolean {
    return this.#isText || this.#depth > 0 || this.#held.length > 0;
  }
  /** A row that came in one piece and is checked needs no other work. Most rows are of this kind. */
  #take(rows: Bytes[], row: Bytes, isLast: boolean, isChecked: boolean): void {
    if (isChecked && row.length <= this.#mostBytes) {
      this.#add(rows, row, isLast);
      return;
    }
    this.#end(rows, row, isLast);
    if (!isChecked) this.areChecked = this.#check(rows.at(-1)) && this.areChecked;
  }
  /** The end of the row at `from`, if the keys of the row are known and the row ends in this piece. */
  #checkedEnd(chunk: Bytes, from: number): number {
    const end = this.#shapes.endOf(chunk, from);
    return chunk[end] === COMMA || chunk[end] === CLOSE_LIST ? end : NOWHERE;
  }
  /** Checks a row that came in several pieces or has other keys than the rows before it. */
  #check(row: Bytes | undefined): boolean {
    if (row === undefined || this.#shapes.endOf(row, 0) === row.length) return true;
    return this.#shapes.learn(row);
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
    this.#hold(last);
    const row =
      this.#held.length === 1 && this.#held[0] !== undefined ? this.#held[0] : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    const isNone = isBlank(row);
    // `[]` has no row; `[1,]` has one too few.
    if (isNone && isLast && this.#count === 0) {
      this.#place = 'after';
      return;
    }
    if (isNone) throw this.#listError();
    this.#add(rows, row, isLast);
  }
  #add(rows: Bytes[], row: Bytes, isLast: boolean): void {
    if (isLast) this.#place = 'after';
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
  #listError(): AppError {
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
  let areChecked = cut.areChecked;
  let isFirst = true;
  let isDone = false;
  try {
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      for (const row of cut.push(next.value)) held.push(row);
      areChecked &&= cut.areChecked;
      if (held.length === 0 || (isFirst && held.length < FIRST_ROWS)) continue;
      isFirst = false;
      yield areChecked ? markChecked(held) : held;
      [held, areChecked] = [[], true];
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
    found = crcOfRows(same, found);
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
  // The checksum of the last rows waits until more follow: most lists are short, and the checksum loads a module.
  let last: readonly Bytes[] = [];
  try {
    for await (const batch of first) {
      mark = crcOfRows(last, mark);
      given += batch.length;
      last = batch;
      yield batch;
    }
    return;
  } catch (error) {
    if (!isCut(error)) throw error;
    onCut(error as NetworkError);
  }
  yield* without(await open(), given, crcOfRows(last, mark));
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

/** A record that shell completion can offer: the text to type, and its title. */
export type CompletionRecord = { readonly id: string; readonly names: readonly string[] };
/** What one run has seen of one kind: `whole` when it was the full list. */
export type CompletionKind = {
  isWhole: boolean;
  readonly known: Map<string, CompletionRecord>;
  readonly gone: Set<string>;
};
type Row = Readonly<Record<string, unknown>>;
const texts = (...values: unknown[]): string[] => [
  ...new Set(values.filter((value): value is string => typeof value === 'string' && value !== '')),
];
/** Parameters that leave no record out. */
const WHOLE: ReadonlySet<string> = new Set(['slim', 'includes_description']);
const TITLE = 60;
/** The record's kind (its `entity_type`), id and names; the first name is the one that people type. */
const seenOf = (row: Row): { readonly kind: string; readonly seen: CompletionRecord } | undefined => {
  const label = typeof row.name === 'string' ? /^labels\/([^/]+)$/.exec(row.name)?.[1] : undefined;
  if (label !== undefined) {
    const { title } = isRecord(row.properties) ? row.properties : {};
    return { kind: 'label-title', seen: { id: label, names: texts(title) } };
  }
  const { id, entity_type: kind } = row;
  if (typeof kind !== 'string' || (typeof id !== 'number' && typeof id !== 'string')) return undefined;
  const profile = isRecord(row.profile) ? row.profile : {};
  const text = typeof row.text === 'string' ? row.text : row.description;
  const short = typeof text === 'string' ? text.slice(0, TITLE) : undefined;
  const own = texts(row.mention_name, profile.mention_name, row.full_name, row.name, profile.name, row.title);
  return { kind, seen: { id: String(id), names: own.length > 0 ? own : texts(row.filename, short) } };
};
const rowsIn = (answer: unknown): unknown[] => {
  if (Array.isArray(answer)) return answer;
  if (!isRecord(answer)) return [];
  return 'entity_type' in answer || 'id' in answer
    ? [answer, ...listNested(answer)]
    : Object.values(answer).filter(Array.isArray).flat();
};
/** Workflow states are separate records. */
const NESTED = ['states', 'epic_states'] as const;
const listNested = (row: Row): unknown[] =>
  NESTED.flatMap((name) => (Array.isArray(row[name]) ? (row[name] as unknown[]) : []));
const hasNested = ({ states, epic_states: epicStates }: Row): boolean =>
  (Array.isArray(states) && states.length > 0) || (Array.isArray(epicStates) && epicStates.length > 0);
/** What the argument of an operation is called: `{label-public-id}` names a label. */
const kindOfPath = (path: string): string | undefined => {
  const [, param = ''] = /\{([^}]+)\}$/.exec(path) ?? [];
  if (param.startsWith('name=labels/')) return param === 'name=labels/*' ? 'label-title' : undefined;
  return argumentName(param) || undefined;
};
/**
 * Enough for a person who presses TAB. Of more records of a kind TAB offers the first: memory does not grow with a list,
 * or with the rows of a bulk run.
 */
export const MAX_CACHED = 2000;
const MAX_GONE = 10_000;
const isFull = ({ known }: CompletionKind): boolean => known.size >= MAX_CACHED;
const add = (at: (kind: string) => CompletionKind, value: Row): void => {
  const found = seenOf(value);
  if (found === undefined) return;
  const kind = at(found.kind);
  if (isFull(kind) && !kind.known.has(found.seen.id)) return;
  kind.known.set(found.seen.id, found.seen);
  kind.gone.delete(found.seen.id);
};
const addAll = (at: (kind: string) => CompletionKind, rows: readonly unknown[]): void => {
  for (const row of rows.flatMap((one) => (isRecord(one) ? [one, ...listNested(one)] : [])))
    if (isRecord(row)) add(at, row);
};
/** True for a record that has no effect, because its kind is full. A bulk run has many of them. */
const isOfFullKind = (kinds: ReadonlyMap<string, CompletionKind>, row: Row): boolean => {
  const kind = typeof row.entity_type === 'string' ? kinds.get(row.entity_type) : undefined;
  const isLabelTitle = typeof row.name === 'string' && row.name.startsWith('labels/');
  return (
    kind !== undefined && isFull(kind) && !kind.known.has(String(row.id)) && !isLabelTitle && !hasNested(row)
  );
};
/**
 * Records in the responses of one run. They are written when the run finishes, so that a bulk change writes
 * once.
 */
export const createCompletionCache = () => {
  const kinds = new Map<string, CompletionKind>();
  const at = (kind: string): CompletionKind => {
    const found = kinds.get(kind) ?? { isWhole: false, known: new Map(), gone: new Set() };
    kinds.set(kind, found);
    return found;
  };
  const forget = (path: string, params: Row): void => {
    const kind = kindOfPath(path);
    const id = String(Object.values(params).at(-1) ?? '').replace(/^labels\//, '');
    if (kind === undefined || id === '') return;
    if (at(kind).gone.size < MAX_GONE) at(kind).gone.add(id);
    at(kind).known.delete(id);
  };
  return {
    kinds,
    note(operation: Operation, params: Row | undefined, query: Row | undefined, answer: unknown): void {
      if (operation.method === 'DELETE') {
        forget(operation.path, params ?? {});
        return;
      }
      if (isRecord(answer) && isOfFullKind(kinds, answer)) return;
      const rows = rowsIn(answer);
      addAll(at, rows);
      const isList = Array.isArray(answer) && operation.method === 'GET' && operation.params === undefined;
      const isFiltered = Object.keys(query ?? {}).some(
        (name) => query?.[name] !== undefined && !WHOLE.has(name),
      );
      const kind = isRecord(rows[0]) ? seenOf(rows[0])?.kind : undefined;
      if (isList && !isFiltered && kind !== undefined) at(kind).isWhole = !isFull(at(kind));
    },
  };
};
export type CompletionCache = ReturnType<typeof createCompletionCache>;

type Entry = readonly [id: string, seenMs: number, ...names: string[]];
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
const parse = (text: string | undefined): Entry[] =>
  (text ?? '')
    .split('\n')
    .map((line) => line.split('\t'))
    .flatMap(([id = '', at = '', ...names]): Entry[] => (id === '' ? [] : [[id, Number(at), ...names]]));
/**
 * The list after a run: adds seen records, removes deleted ones, and after a complete list removes all
 * others. Pure.
 */
export const mergeCompletions = (before: readonly Entry[], seen: CompletionKind, now: number): Entry[] => {
  const fresh = [...seen.known.values()].map(({ id, names }): Entry => [id, now, ...names.map(oneLine)]);
  const kept = seen.isWhole ? [] : before.filter(([id]) => !seen.known.has(id) && !seen.gone.has(id));
  return [...fresh, ...kept].slice(0, MAX_CACHED);
};
/** Completion offers a record for a week, so its time need not be written at each command. */
const RENEW_MS = 3_600_000;
/** True if the file has these records in this order, and each was seen a short time ago. */
const isWritten = (before: readonly Entry[], after: readonly Entry[], now: number): boolean =>
  before.length === after.length &&
  after.every(([id, , ...names], i) => {
    const [knownId, at, ...knownNames] = before[i] ?? ['', Number.NaN];
    return id === knownId && Math.abs(now - at) < RENEW_MS && names.join('\t') === knownNames.join('\t');
  });
/**
 * Writes the records for completion: a line for each record of a kind, in the cache of the profile. An
 * unwritable cache is not a failure. A file that has these records stays: a new one needs modules that cost more than
 * the request.
 */
export const writeCompletions = async (
  host: Host,
  { directories }: Settings,
  { kinds }: CompletionCache,
): Promise<void> => {
  const directory = join(directories.cache, 'records');
  try {
    for (const [kind, seen] of kinds) {
      if (!/^[a-z-]+$/.test(kind)) continue;
      const path = childPath(directory, pathPart(kind));
      const before = parse(host.files.readNow(path));
      const entries = mergeCompletions(before, seen, host.now());
      if (isWritten(before, entries, host.now())) continue;
      await host.files.makeDirectory(directory, 0o700);
      await host.files.replace(path, entries.map((entry) => `${entry.join('\t')}\n`).join(''), 0o600);
    }
  } catch {
    // Completion offers what it knew before.
  }
};
