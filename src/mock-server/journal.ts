import { childPath, pathPart } from '../core/file-name.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { isDeepStrictEqual } from 'node:util';
import type { AppendFile, Files } from '../platform/host.ts';
import { type Change, type Key, Store } from './store.ts';
import {
  changesText,
  addChecksum,
  type Entry,
  HEADER,
  noteSizes,
  readJournal,
  refuseShorter,
  SIZES,
  type Sizes,
  voidLine,
} from './journal-read.ts';

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
  written(): Promise<void> | undefined {
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
      this.#store.kept();
      resolve();
    } catch (error) {
      this.#failedAt = size;
      this.#store.lost();
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
  [...store.collections()].map((collection) => ({ name: collection.name, records: [...collection.held()] }));

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
