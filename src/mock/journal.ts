import { join } from 'node:path';
import { AppError } from '../kernel/problem.ts';
import type { AppendFile, Files } from '../host/host.ts';
import type { Key } from './indexed.ts';
import { type Entry, lineOf, voidLine } from './journal-line.ts';
import { HEADER, readJournal } from './journal-read.ts';
import { type Change, Store } from './store.ts';

/** A journal is folded into a snapshot when it is larger than this and than the last snapshot: while it is written, and when it is closed. */
const COMPACT_AT_BYTES = 64 * 1024 * 1024;
const TIDY_AT_BYTES = 4 * 1024 * 1024;
const CHUNK_CHARACTERS = 256 * 1024;
const PRIVATE = 0o600;

/**
 * State on disk: `snapshot-N` and the journals from `journal-N` on. A snapshot is complete or absent (written beside,
 * then renamed), and from the moment it is begun new changes go to `journal-N+1`, so dying at any point leaves one
 * readable pair.
 */
export class Journal {
  readonly #files: Files;
  readonly #folder: string;
  readonly #compactAtBytes: number;
  #generation: number;
  #file: AppendFile;
  #snapshotBytes: number;
  /** Size of the file up to its last acknowledged line, while a failed write may have left a piece behind it. */
  #failedAt: number | undefined;
  #compaction: Promise<void> | undefined;
  /** Why the last compaction did not work; the journal goes on without it. */
  compactionError: unknown;
  constructor(files: Files, folder: string, found: { generation: number; snapshotBytes: number }, compactAtBytes: number) {
    this.#files = files;
    this.#folder = folder;
    this.#generation = found.generation;
    this.#snapshotBytes = found.snapshotBytes;
    this.#compactAtBytes = compactAtBytes;
    this.#file = this.#open();
  }
  #open(): AppendFile {
    const file = this.#files.append(join(this.#folder, `journal-${this.#generation}`), PRIVATE);
    if (file.sizeBytes() === 0) file.write(HEADER);
    return file;
  }
  /** One write; when it returns the operating system has the line, so killing this process cannot lose it. */
  commit(changes: readonly Change[], store: Store): void {
    const size = this.#failedAt ?? this.#file.sizeBytes();
    try {
      this.#file.write(this.#failedAt === undefined ? lineOf(changes) : voidLine(this.#failedAt) + lineOf(changes));
      this.#failedAt = undefined;
    } catch (error) {
      this.#failedAt = size;
      throw new AppError('unknown', `the mock server cannot write its state in ${this.#folder}: ${(error as Error).message}`, { cause: error });
    }
    if (this.#file.sizeBytes() > Math.max(this.#compactAtBytes, this.#snapshotBytes)) this.#compactSoon(store);
  }
  #compactSoon(store: Store): void {
    if (this.#compaction !== undefined) return;
    // Not now: the transaction that this commit belongs to is still open.
    this.#compaction = Promise.resolve()
      .then(() => this.#compact(store))
      .catch((error: unknown) => {
        this.compactionError = error;
      })
      .finally(() => {
        this.#compaction = undefined;
      });
  }
  /** Folds everything into one snapshot; resolves when the old files are gone. */
  async compact(store: Store): Promise<void> {
    await this.#compaction;
    await this.#compact(store);
  }
  async #compact(store: Store): Promise<void> {
    const state = picture(store);
    if (this.#failedAt !== undefined) this.#file.write(voidLine(this.#failedAt));
    const before = this.#generation;
    this.#file.close();
    this.#generation += 1;
    this.#file = this.#open();
    this.#failedAt = undefined;
    this.#snapshotBytes = await this.#files.replaceStream(join(this.#folder, `snapshot-${this.#generation}`), snapshotOf(state), PRIVATE);
    for (let old = before; old > 0 && (await this.#removeGeneration(old)); old--);
  }
  async #removeGeneration(generation: number): Promise<boolean> {
    const paths = [join(this.#folder, `snapshot-${generation}`), join(this.#folder, `journal-${generation}`)];
    const found = await Promise.all(paths.map((path) => this.#files.info(path)));
    await Promise.all(paths.map((path) => this.#files.remove(path)));
    return found.some((info) => info !== undefined);
  }
  /** Folds a journal that has grown, so that the next start has little to read. */
  async close(store: Store): Promise<void> {
    await this.#compaction;
    if (this.#file.sizeBytes() > Math.max(Math.min(TIDY_AT_BYTES, this.#compactAtBytes), this.#snapshotBytes)) await this.#compact(store);
    this.#file.close();
  }
}

type Picture = readonly { readonly name: string; readonly records: readonly (readonly [Key, unknown])[] }[];

/** Records are values, so a list of references shows this moment however the store changes after it. */
const picture = (store: Store): Picture => [...store.collections()].map((collection) => ({ name: collection.name, records: [...collection.held()] }));

const encoder = new TextEncoder();
/** One line a record, in pieces large enough for the disk and small enough to let requests through between them. */
const snapshotOf = async function* (state: Picture): AsyncGenerator<Uint8Array> {
  let text = HEADER;
  for (const { name, records } of state) {
    for (const [k, v] of records) {
      text += lineOf([{ c: name, k, v }]);
      if (text.length < CHUNK_CHARACTERS) continue;
      yield encoder.encode(text);
      text = '';
    }
  }
  yield encoder.encode(text);
};

const numbered = (names: readonly string[], word: string): number[] =>
  names
    .flatMap((name) => (name.startsWith(word) && /^\d+$/.test(name.slice(word.length)) ? [Number(name.slice(word.length))] : []))
    .sort((a, b) => a - b);

export type State = { readonly store: Store; readonly journal: Journal };

/** Reads the state kept in `folder` (made when missing) and goes on writing there. One process at a time: see owner.ts. */
export const openState = async (files: Files, folder: string, compactAtBytes = COMPACT_AT_BYTES): Promise<State> => {
  await files.makeFolder(folder, 0o700);
  const names = await files.list(folder);
  const snapshot = numbered(names, 'snapshot-').at(-1) ?? 0;
  const journals = numbered(names, 'journal-').filter((generation) => generation >= snapshot);
  let journal: Journal | undefined;
  const store: Store = new Store((changes) => journal?.commit(changes, store));
  const apply = ({ collection, key, value }: Entry) => store.collection(collection).load(key, value);
  const snapshotBytes = snapshot === 0 ? 0 : (await readJournal(files, join(folder, `snapshot-${snapshot}`), apply)).sizeBytes;
  for (const generation of journals) {
    const path = join(folder, `journal-${generation}`);
    const { goodBytes, sizeBytes } = await readJournal(files, path, apply);
    if (goodBytes < sizeBytes) await files.truncate(path, goodBytes);
  }
  const left = names.filter((name) => /^(snapshot|journal)-\d+$/.test(name) && Number(name.split('-')[1]) < snapshot);
  for (const name of left) await files.remove(join(folder, name));
  journal = new Journal(files, folder, { generation: journals.at(-1) ?? Math.max(snapshot, 1), snapshotBytes }, compactAtBytes);
  return { store, journal };
};

/** Deletes what is kept in `folder`, readable or not. */
export const discardState = async (files: Files, folder: string): Promise<void> => {
  for (const name of await files.list(folder)) if (/^(snapshot|journal)-\d+/.test(name)) await files.remove(join(folder, name));
};
