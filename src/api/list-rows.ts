import { crc32 } from 'node:zlib';
import { jsonRow } from '../core/json.ts';
import type { Operation } from '../core/operation.ts';
import { AppError } from '../core/problem.ts';
import { type Bytes, type HttpReply, NetworkError } from '../platform/host.ts';
import { type DeploymentWords, isUsual, neutral } from './dialect.ts';
import { JsonRows } from './json-rows.ts';
import { expectShape } from './response-shape.ts';
import { answerFrom } from './response.ts';
import { decodeUtf8 } from '../core/utf8.ts';
import { limits } from '../core/limits.ts';

/** Rows of a list as JSON texts, those of one piece together. */
export type RowBatches = AsyncGenerator<Bytes[]>;

/** Formats take their columns from the first batch. */
const FIRST_ROWS = 500;

/** Blanks before the first byte that means something; more of them are no list. */
const MOST_BLANKS = 64;

const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const isSkipped = (byte: number): boolean =>
  byte === 0x20 ||
  byte === 0x0a ||
  byte === 0x0d ||
  byte === 0x09 ||
  byte === 0xef ||
  byte === 0xbb ||
  byte === 0xbf;
/** The first byte that means something; blanks and a byte order mark do not. */
const firstOf = (bytes: Bytes): number | undefined => bytes.find((byte) => !isSkipped(byte));

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
    // What came before a failure was read and is shown.
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
      throw new AppError('network', `${what}: the answer is larger than ${limits.besideRowsBytes} bytes`, {
        code: 'TOO_LARGE',
      });
  }
  const bytes = Buffer.concat(parts);
  // An error page may have any encoding; JSON is stored.
  return firstOf(bytes) === OPEN_OBJECT
    ? decodeUtf8(bytes, what, 'network')
    : new TextDecoder().decode(bytes);
};

/** Only a list may take as long as it has rows. */
const restOf = <T>(reply: HttpReply, read: () => Promise<T>): Promise<T> => {
  reply.limitWhole?.();
  return read();
};

async function* none(): RowBatches {}

/** An answer whose head is here: the rows of a list, or the text of anything else. */
export const openAnswer = async (
  reply: HttpReply,
  what: string,
): Promise<{ readonly rows?: RowBatches; readonly text?: string }> => {
  const stream = reply.stream()[Symbol.asyncIterator]();
  let head: Bytes = new Uint8Array();
  while (firstOf(head) === undefined && head.length < MOST_BLANKS) {
    const next = await stream.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const isSuccess = reply.status >= 200 && reply.status < 300;
  return isSuccess && firstOf(head) === OPEN_LIST
    ? { rows: batches(head, stream, what) }
    : { text: await restOf(reply, () => textOf(head, stream, what)) };
};

/** The rows of an answer whose head is here. Anything but a list is the error that it means. */
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
const changed = (given: number): AppError =>
  new AppError('network', `the line was cut, and the list is another one now: ${given} rows had been read`, {
    code: 'LIST_CHANGED',
    retryable: true,
    tryThis: ['run it again'],
  });

/** Leaves out the rows that were handed on before the line was cut; they must be the same. */
async function* without(again: RowBatches, given: number, mark: number): RowBatches {
  let [skipped, found] = [0, 0];
  for await (const batch of again) {
    const same = batch.slice(0, given - skipped);
    for (const row of same) found = crc32(row, found);
    skipped += same.length;
    if (skipped === given && found !== mark) throw changed(given);
    if (same.length < batch.length) yield batch.slice(same.length);
  }
  if (skipped < given) throw changed(given);
}

async function* resumed(
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

/** A list that is asked for once more when the line is cut in the middle of it: too late for the retries of the sending. */
export const listRows = async (
  open: () => Promise<RowBatches>,
  onCut: (error: NetworkError) => void,
): Promise<RowBatches> => {
  try {
    return resumed(await open(), open, onCut);
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
    yield batch.map((row) => Buffer.from(JSON.stringify(neutral(jsonRow(row), words))));
}
