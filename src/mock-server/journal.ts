import { childPath, pathPart } from '../core/file-name.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { isDeepStrictEqual } from 'node:util';
import type { AppendFile, Files } from '../platform/host.ts';
import { type Change, type Key, Store, Deferred, encode } from './store.ts';
import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { misfit } from '../core/shape.ts';

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
const SIZES = 'sizes.json';
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
const refuseShorter = async (
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
const noteSizes = (files: Files, directory: string, sizes: Sizes): Promise<void> =>
  files.replace(join(directory, SIZES), `${JSON.stringify(sizes)}\n`, 0o600);

/** A journal is folded into a snapshot when it is larger than this and than the last snapshot: while it is written, and when it is closed. */
const COMPACT_AT_BYTES = 64 * 1024 * 1024;
const TIDY_AT_BYTES = 4 * 1024 * 1024;
const CHUNK_CHARACTERS = 256 * 1024;
const PRIVATE = 0o600;

type Found = { readonly generation: number; readonly snapshotBytes: number; readonly noted: Sizes };

/**
 * State on disk: `snapshot-N` and the journals from `journal-N` on. A snapshot is complete or absent (written
 * to another file, then renamed). As soon as it is started, new changes go to `journal-N+1`, so a crash at
 * any point leaves one readable pair.
 */
export class Journal {
  readonly #files: Files;
  readonly #directory: string;
  readonly #store: Store;
  readonly #compactAtBytes: number;
  /** Changes that wait for the next write, and that write. */
  #text = '';
  #next: Promise<void> | undefined;
  #generation: number;
  readonly #noted: Sizes;
  #file: AppendFile;
  #snapshotBytes: number;
  /** Size of the file up to its last acknowledged line, while a failed write may have left a piece behind it. */
  #failedAt: number | undefined;
  #compaction: Promise<void> | undefined;
  constructor(files: Files, directory: string, store: Store, found: Found, compactAtBytes: number) {
    this.#files = files;
    this.#directory = directory;
    this.#store = store;
    this.#generation = found.generation;
    this.#snapshotBytes = found.snapshotBytes;
    this.#noted = found.noted;
    this.#compactAtBytes = compactAtBytes;
    this.#file = this.#open();
  }
  #open(): AppendFile {
    const file = this.#files.append(
      childPath(this.#directory, pathPart(`journal-${this.#generation}`)),
      PRIVATE,
    );
    if (file.sizeBytes() === 0) file.write(HEADER);
    return file;
  }
  /**
   * Adds the changes of one transaction to the next write. Requests that arrive together are processed before
   * any other work, so one write serves them all. No response leaves before the write (`written`).
   */
  commit(changes: readonly Change[]): 'later' {
    this.#text = this.#text === '' ? changesText(changes) : `${this.#text}\t${changesText(changes)}`;
    this.#next ??= new Promise((resolve, reject) => setImmediate(() => this.#flush(resolve, reject)));
    // Callers that wait for the write receive its failure. Without a caller, the failure must not end the
    // process.
    this.#next.catch(() => {});
    return 'later';
  }
  /** Resolves when the operating system has all changes so far, so that killing this process cannot lose them; undefined when it has. */
  whenWritten(): Promise<void> | undefined {
    return this.#next;
  }
  #flush(resolve: () => void, reject: (error: unknown) => void): void {
    const line = addChecksum(this.#text);
    this.#text = '';
    this.#next = undefined;
    const size = this.#failedAt ?? this.#file.sizeBytes();
    try {
      this.#file.write(this.#failedAt === undefined ? line : voidLine(this.#failedAt) + line);
      this.#failedAt = undefined;
      this.#store.confirmWritten();
      resolve();
    } catch (error) {
      this.#failedAt = size;
      this.#store.revertUnwritten();
      const why = messageOf(error);
      reject(
        new AppError('unknown', `the mock server cannot write its state in ${this.#directory}: ${why}`, {
          cause: error,
        }),
      );
    }
    if (this.#file.sizeBytes() > Math.max(this.#compactAtBytes, this.#snapshotBytes)) this.#compactSoon();
  }
  #compactSoon(): void {
    this.#compaction ??= this.#compact()
      // The journal continues without it; the next write retries.
      .catch(() => {})
      .finally(() => {
        this.#compaction = undefined;
      });
  }
  /** Folds everything into one snapshot; resolves when the old files are gone. */
  async compact(): Promise<void> {
    await this.#next;
    await this.#compaction;
    await this.#compact();
  }
  async #compact(): Promise<void> {
    // Pending changes are in the snapshot and will also be in the new journal. The values are equal, so this
    // causes no damage.
    const state = picture(this.#store);
    if (this.#failedAt !== undefined) this.#file.write(voidLine(this.#failedAt));
    const before = this.#generation;
    // The disk may take the next file first: a crash of the machine costs the last moment, never one in the middle.
    this.#file.sync();
    this.#file.close();
    this.#generation += 1;
    this.#file = this.#open();
    this.#failedAt = undefined;
    this.#snapshotBytes = await this.#files.replaceStream(
      childPath(this.#directory, pathPart(`snapshot-${this.#generation}`)),
      snapshotOf(state),
      PRIVATE,
    );
    for (let old = before; old > 0 && (await this.#removeGeneration(old)); old--);
  }
  async #removeGeneration(generation: number): Promise<boolean> {
    const paths = [
      childPath(this.#directory, pathPart(`snapshot-${generation}`)),
      childPath(this.#directory, pathPart(`journal-${generation}`)),
    ];
    const found = await Promise.all(paths.map((path) => this.#files.info(path)));
    await Promise.all(paths.map((path) => this.#files.remove(path)));
    return found.some((info) => info !== undefined);
  }
  /** Folds a journal that has grown, so that the next start has little to read. */
  async close(): Promise<void> {
    await this.#next?.catch(() => {});
    await this.#compaction;
    if (this.#file.sizeBytes() > Math.max(Math.min(TIDY_AT_BYTES, this.#compactAtBytes), this.#snapshotBytes))
      await this.#compact();
    // Without the note the state is read as after a kill; a disk that is full does not end the server otherwise.
    await this.#noteSizes().catch(() => {});
    this.#file.close();
  }
  async #noteSizes(): Promise<void> {
    const sizes: Record<string, number> = {};
    for (const name of (await this.#files.list(this.#directory)).filter(isStateFile))
      sizes[name] = (await this.#files.info(childPath(this.#directory, pathPart(name))))?.sizeBytes ?? 0;
    sizes[`journal-${this.#generation}`] = this.#failedAt ?? this.#file.sizeBytes();
    // There are no changes to write: a read-only command does not wait for the disk.
    if (isDeepStrictEqual(sizes, this.#noted)) return;
    this.#file.sync();
    await noteSizes(this.#files, this.#directory, sizes);
  }
}
const isStateFile = (name: string): boolean => /^(snapshot|journal)-\d+$/.test(name);

type Picture = readonly { readonly name: string; readonly records: readonly (readonly [Key, unknown])[] }[];

/** Records are values, so a list of references shows this moment however the store changes after it. */
const picture = (store: Store): Picture =>
  [...store.collections()].map((collection) => ({
    name: collection.name,
    records: [...collection.heldRecords()],
  }));

const encoder = new TextEncoder();
/** One line a record, in pieces large enough for the disk and small enough to let requests through between them. */
const snapshotOf = async function* (state: Picture): AsyncGenerator<Uint8Array> {
  let text = HEADER;
  for (const { name, records } of state) {
    for (const [k, v] of records) {
      text += addChecksum(changesText([{ c: name, k, v }]));
      if (text.length < CHUNK_CHARACTERS) continue;
      yield encoder.encode(text);
      text = '';
    }
  }
  yield encoder.encode(text);
};

const listNumbered = (names: readonly string[], word: string): number[] =>
  names
    .flatMap((name) =>
      name.startsWith(word) && /^\d+$/.test(name.slice(word.length)) ? [Number(name.slice(word.length))] : [],
    )
    .sort((a, b) => a - b);

/** A write that was cut off when the process ended. No response had confirmed it. */
export type CutOff = { readonly path: string; readonly bytes: number };
export type State = { readonly store: Store; readonly journal: Journal; readonly cutOff: readonly CutOff[] };

type Torn = CutOff & { readonly goodBytes: number };
/** Hands every change that is kept to `apply`, oldest first; changes no file. */
const readState = async (
  files: Files,
  directory: string,
  names: readonly string[],
  apply: (entry: Entry) => void,
): Promise<Found & { readonly snapshot: number; readonly torn: readonly Torn[] }> => {
  const snapshot = listNumbered(names, 'snapshot-').at(-1) ?? 0;
  const journals = listNumbered(names, 'journal-').filter((generation) => generation >= snapshot);
  const sizes: Record<string, number> = {};
  const torn: Torn[] = [];
  const read = async (name: string): Promise<Torn> => {
    const path = childPath(directory, pathPart(name));
    const { goodBytes, sizeBytes } = await readJournal(files, path, apply);
    sizes[name] = goodBytes;
    return { path, goodBytes, bytes: sizeBytes - goodBytes };
  };
  const snapshotBytes = snapshot === 0 ? 0 : (await read(`snapshot-${snapshot}`)).goodBytes;
  for (const generation of journals) {
    const one = await read(`journal-${generation}`);
    if (one.bytes > 0) torn.push(one);
  }
  const noted = await refuseShorter(files, directory, { sizes, snapshot });
  return { snapshot, generation: journals.at(-1) ?? Math.max(snapshot, 1), snapshotBytes, noted, torn };
};

/**
 * Reads the state kept in `directory` (created if missing) and continues writing there. One process at a
 * time: see owner.ts.
 */
export const openState = async (
  files: Files,
  directory: string,
  compactAtBytes = COMPACT_AT_BYTES,
): Promise<State> => {
  await files.makeDirectory(directory, 0o700);
  const names = await files.list(directory);
  let journal: Journal | undefined;
  const store: Store = new Store((changes) => journal?.commit(changes));
  const found = await readState(files, directory, names, ({ collection, key, value }) =>
    store.collection(collection).load(key, value),
  );
  for (const { path, goodBytes } of found.torn) await files.truncate(path, goodBytes);
  const left = names.filter((name) => isStateFile(name) && Number(name.split('-')[1]) < found.snapshot);
  for (const name of left) await files.remove(childPath(directory, pathPart(name)));
  journal = new Journal(files, directory, store, found, compactAtBytes);
  const cutOff = found.torn.map(({ path, bytes }) => ({ path, bytes }));
  return { store, journal, cutOff };
};

/** Deletes the saved state in `directory`, readable or not. */
export const discardState = async (files: Files, directory: string): Promise<void> => {
  for (const name of await files.list(directory))
    if (isStateFile(name) || name === SIZES) await files.remove(childPath(directory, pathPart(name)));
};
