import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { childPath, pathPart } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import { misfit } from '../core/shape.ts';
import type { Files } from '../platform/host.ts';
import { type Change, Deferred, encode, type Key } from './store.ts';

/**
 * The transactions of one write are one line, which is complete or absent: eight hexadecimal digits of
 * CRC-32, a space, then collection, key and value of each change, separated by tabs. An empty value is a
 * deletion. JSON text contains no raw tab or line end, so no escaping is necessary.
 */
const TAB = 9;
const DIGITS = 8;
export type Entry = { readonly collection: string; readonly key: Key; readonly value: Deferred | undefined };
const changeText = ({ c, k, v }: { c: string; k: Key; v?: unknown }): string =>
  `${c}\t${JSON.stringify(k)}\t${v === undefined ? '' : v instanceof Deferred ? v.text() : encode(v)}`;
/** Changes as a line has them, without its checksum; parts of one line are joined by tabs. */
export const changesText = (changes: readonly Change[]): string => changes.map(changeText).join('\t');
export const addChecksum = (text: string): string =>
  `${crc32(text).toString(16).padStart(DIGITS, '0')} ${text}\n`;
/** After a write that failed half-way: everything from `offset` up to this line never happened. */
export const voidLine = (offset: number): string => `\n~${offset}\n`;
/** True when the line between `start` and `end` is whole. */
export const isCompleteLine = (bytes: Buffer, start: number, end: number): boolean =>
  end - start > DIGITS &&
  Number.parseInt(bytes.toString('latin1', start, start + DIGITS), 16) ===
    crc32(bytes.subarray(start + DIGITS + 1, end)) &&
  bytes[start + DIGITS] === 0x20;
const keyOf = (text: string): Key =>
  text.charCodeAt(0) === 0x22 ? (JSON.parse(text) as string) : Number(text);
const nextTab = (bytes: Buffer, from: number, end: number): number => {
  const at = bytes.indexOf(TAB, from);
  return at === -1 ? end : Math.min(at, end);
};
/** The changes of one sound line; values stay bytes. */
export const entriesOf = (bytes: Buffer, start: number, end: number): Entry[] => {
  const entries: Entry[] = [];
  let at = start + DIGITS + 1;
  while (at < end) {
    const afterName = nextTab(bytes, at, end);
    const afterKey = nextTab(bytes, afterName + 1, end);
    const afterValue = nextTab(bytes, afterKey + 1, end);
    entries.push({
      collection: bytes.toString('latin1', at, afterName),
      key: keyOf(bytes.toString('utf8', afterName + 1, afterKey)),
      value: afterValue === afterKey + 1 ? undefined : new Deferred(bytes, afterKey + 1, afterValue),
    });
    at = afterValue + 1;
  }
  return entries;
};

/** The saved state of the mock server is not readable: `why` describes the file at `path`. */
const stateDamaged = (path: string, why: string, otherwise: readonly string[] = []): AppError =>
  new AppError('config', `the state of the mock server is damaged: ${why}`, {
    code: 'MOCK_STATE_DAMAGED',
    tryThis: [
      `restore ${path} from a copy`,
      ...otherwise,
      'opsctl mock reset --discard (starts over with the demo data)',
      'opsctl mock serve --ephemeral (saves no state)',
    ],
  });

export const HEADER = 'opsctl-mock 1\n';
const LINE_END = 10;
const VOID = 0x7e;
const makeDamagedError = (path: string, line: number, offset: number): AppError =>
  stateDamaged(path, `line ${line} of ${path} (byte ${offset}) does not match its checksum`);
const foreign = (path: string): AppError =>
  new AppError('config', `${path} was not written by this version of the mock server`, {
    code: 'MOCK_STATE_FOREIGN',
    tryThis: [
      'opsctl mock reset --discard (starts over with the demo data)',
      'use another directory with OPSCTL_HOME',
    ],
  });
/**
 * Applies lines in order, delayed by one line: a later line may mark the previous line as unacknowledged (its
 * write failed halfway, or only its line end is missing).
 */
class Replay {
  readonly #path: string;
  readonly #apply: (entry: Entry) => void;
  #count = 0;
  #last: { readonly offset: number; readonly entries: readonly Entry[] } | undefined;
  #doubt: { readonly line: number; readonly offset: number } | undefined;
  constructor(path: string, apply: (entry: Entry) => void) {
    this.#path = path;
    this.#apply = apply;
  }
  line(bytes: Buffer, start: number, end: number): void {
    this.#count += 1;
    if (this.#count === 1) {
      if (bytes.toString('latin1', start, end + 1) !== HEADER) throw foreign(this.#path);
    } else if (bytes[start] === VOID) this.#forget(Number(bytes.toString('latin1', start + 1, end)));
    else if (end > start && this.#doubt === undefined) {
      this.#flush();
      if (isCompleteLine(bytes, start, end))
        this.#last = { offset: start, entries: entriesOf(bytes, start, end) };
      else this.#doubt = { line: this.#count, offset: start };
    }
  }
  end(): void {
    if (this.#doubt) throw makeDamagedError(this.#path, this.#doubt.line, this.#doubt.offset);
    this.#flush();
  }
  #forget(offset: number): void {
    if (this.#doubt && this.#doubt.offset >= offset) this.#doubt = undefined;
    if (this.#last && this.#last.offset >= offset) this.#last = undefined;
  }
  #flush(): void {
    for (const entry of this.#last?.entries ?? []) this.#apply(entry);
    this.#last = undefined;
  }
}
/** After a loss of power a file may have its length and not its content: blocks of zeros. */
const writtenBytes = (bytes: Buffer): number => {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end -= 1;
  return end;
};
/**
 * Reads one journal or snapshot and passes each change to `apply` in order. Resolves with the valid size of
 * the file: an incomplete last line was being written when the process crashed, so its write was never
 * confirmed. The file is one block of memory. Records are read from it on demand, and after all of them were
 * read the whole block is freed.
 */
export const readJournal = async (
  files: Files,
  path: string,
  apply: (entry: Entry) => void,
): Promise<{ goodBytes: number; sizeBytes: number }> => {
  const content = (await files.readBytes(path)) ?? new Uint8Array(0);
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  const replay = new Replay(path, apply);
  let start = 0;
  for (let end = bytes.indexOf(LINE_END); end !== -1; end = bytes.indexOf(LINE_END, start)) {
    replay.line(bytes, start, end);
    start = end + 1;
  }
  replay.end();
  if (start === 0 && writtenBytes(bytes) >= HEADER.length) throw foreign(path);
  return { goodBytes: start, sizeBytes: bytes.length };
};

/** Next to the state: the sizes that its files had on the disk when a server closed it. */
export const SIZES = 'sizes.json';
export type Sizes = Readonly<Record<string, number>>;
const shorter = (path: string, bytes: number, noted: number): AppError =>
  stateDamaged(path, `${path} has ${bytes} bytes, and had ${noted} when the server was last stopped`);
const unreadable = (path: string, why: string): AppError =>
  stateDamaged(path, `${path}: ${why}`, [
    `delete ${path} (then it is not checked whether the other files are whole)`,
  ]);
const notedIn = async (files: Files, path: string): Promise<Sizes> => {
  const text = await files.read(path);
  if (text === undefined) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw unreadable(path, 'it is not JSON');
  }
  const names = Object.keys(value ?? {});
  const wrong = misfit(value, Object.fromEntries(names.map((name) => [name, 'number'])));
  if (wrong !== undefined) throw unreadable(path, wrong);
  return value as Sizes;
};
/**
 * Files of the state only grow, until a later snapshot replaces them. A file that is shorter than its
 * recorded size has lost data, even if the cut looks like the end of a line. After a crash there is no newer
 * size, and an unrecorded piece may be missing (docs/decisions/0022). Resolves with the recorded sizes.
 */
export const refuseShorter = async (
  files: Files,
  directory: string,
  found: { readonly sizes: Sizes; readonly snapshot: number },
): Promise<Sizes> => {
  const noted = await notedIn(files, join(directory, SIZES));
  for (const [name, bytes] of Object.entries(noted)) {
    const isReplaced = Number(name.split('-')[1]) < found.snapshot;
    const now = found.sizes[name] ?? 0;
    if (!isReplaced && now < bytes) throw shorter(childPath(directory, pathPart(name)), now, bytes);
  }
  return noted;
};
/**
 * Only for files that are certainly on the disk with this size: synced, and up to the last acknowledged line.
 */
export const noteSizes = (files: Files, directory: string, sizes: Sizes): Promise<void> =>
  files.replace(join(directory, SIZES), `${JSON.stringify(sizes)}\n`, 0o600);
