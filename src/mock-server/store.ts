import { Buffer } from 'node:buffer';

const MARK = '"$bytes"';
/** Records may be bytes or hold bytes in their first level (uploaded files); JSON has no form for them, so they get one here. */
export const encode = (value: unknown): string => {
  if (value instanceof Uint8Array) return JSON.stringify(wrapBytes(value));
  if (typeof value === 'object' && value !== null) {
    for (const key in value) {
      const inner = (value as Record<string, unknown>)[key];
      if (inner instanceof Uint8Array) return JSON.stringify(withWrapped(value as Record<string, unknown>));
    }
  }
  return JSON.stringify(value);
};
const wrapBytes = (bytes: Uint8Array) => ({
  $bytes: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
});
const withWrapped = (value: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      inner instanceof Uint8Array ? wrapBytes(inner) : inner,
    ]),
  );
const unwrapBytes = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && typeof (value as { $bytes?: unknown }).$bytes === 'string'
    ? new Uint8Array(Buffer.from((value as { $bytes: string }).$bytes, 'base64'))
    : value;
/** `parsed` is the JSON value of the text if the caller has it. */
export const decode = (text: string, parsed?: unknown): unknown =>
  text.includes(MARK) ? JSON.parse(text, unwrapBytes) : (parsed ?? JSON.parse(text));
/**
 * A record as stored in the journal, parsed on first access: a state of 100,000 stories starts in a fraction
 * of a second, and a command that needs one of them parses only that one.
 */
export class Deferred {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }
  text(): string {
    return this.#bytes.toString('utf8', this.#start, this.#end);
  }
  value(): unknown {
    return decode(this.text());
  }
}

export type Key = string | number;
type Keys = Key | null | undefined | readonly Key[];
/** Most values belong to one record: a set for each of them would be half of the memory and of the work. */
type Entry = Key | Set<Key>;
const keysOfEntry = (entry: Entry): Iterable<Key> => (entry instanceof Set ? entry : [entry]);
type Records<T> = { get(key: Key): T | undefined; scan(): Iterable<readonly [Key, T]> };
/** Records by another key, updated with the collection; built on first access. */
export class Index<T> {
  readonly #keysOf: (record: T) => Keys;
  readonly #records: Records<T>;
  #entries: Map<Key, Entry> | undefined;
  constructor(keysOf: (record: T) => Keys, records: Records<T>) {
    this.#keysOf = keysOf;
    this.#records = records;
  }
  /** Records that came under `value`, in the order they did. */
  get(value: Key): IterableIterator<T> {
    const entry = this.#buildOnce().get(value);
    return entry === undefined ? ([] as T[])[Symbol.iterator]() : this.#walk(keysOfEntry(entry));
  }
  *#walk(keys: Iterable<Key>): IterableIterator<T> {
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record !== undefined) yield record;
    }
  }
  first(value: Key): T | undefined {
    const entry = this.#buildOnce().get(value);
    if (entry === undefined) return undefined;
    const [key] = keysOfEntry(entry);
    return key === undefined ? undefined : this.#records.get(key);
  }
  count(value: Key): number {
    const entry = this.#buildOnce().get(value);
    return entry instanceof Set ? entry.size : entry === undefined ? 0 : 1;
  }
  /** Called by the collection for each change; `undefined` is absent. */
  noteChange(key: Key, before: T | undefined, after: T | undefined): void {
    if (this.#entries === undefined) return;
    const old = before === undefined ? [] : this.#list(before);
    const now = after === undefined ? [] : this.#list(after);
    for (const value of old) if (!now.includes(value)) this.#remove(value, key);
    for (const value of now) if (!old.includes(value)) this.#add(this.#entries, value, key);
  }
  /** Forgets everything; the next question builds it again. */
  drop(): void {
    this.#entries = undefined;
  }
  get isBuilt(): boolean {
    return this.#entries !== undefined;
  }
  #buildOnce(): Map<Key, Entry> {
    if (this.#entries !== undefined) return this.#entries;
    const entries = new Map<Key, Entry>();
    for (const [key, record] of this.#records.scan())
      for (const value of this.#list(record)) this.#add(entries, value, key);
    this.#entries = entries;
    return entries;
  }
  #list(record: T): readonly Key[] {
    const keys = this.#keysOf(record);
    if (keys === null || keys === undefined) return [];
    return typeof keys === 'object' ? keys : [keys];
  }
  #add(entries: Map<Key, Entry>, value: Key, key: Key): void {
    const entry = entries.get(value);
    if (entry === undefined) entries.set(value, key);
    else if (entry instanceof Set) entry.add(key);
    else if (entry !== key) entries.set(value, new Set([entry, key]));
  }
  #remove(value: Key, key: Key): void {
    const entry = this.#entries?.get(value);
    if (entry instanceof Set) entry.delete(key);
    if (entry === key || (entry instanceof Set && entry.size === 0)) this.#entries?.delete(value);
  }
}

/** One change of the state: `v` absent means deleted. What the journal writes, one list a request. */
export type Change = { readonly c: string; readonly k: Key; readonly v?: unknown };
type Undo = () => void;
/**
 * Replaces a deleted record until the transaction ends. The record keeps its position in the order, so undo
 * costs no time and a delete never copies the map.
 */
const GONE = Symbol('deleted in this transaction');
type Held<T> = T | Deferred | typeof GONE;
/** Receives each change and each undo of a change; `undefined` means absent. */
type Watcher<T> = {
  readonly isWatching: () => boolean;
  readonly onChange: (before: T | undefined, after: T | undefined) => void;
};
/**
 * Records by key, in the order they were made. Records are values: change one by putting a new object, never in place
 * (undo, the journal and the cache of rendered JSON all rely on it). A record is JSON, or bytes, or an object with
 * bytes among its own values.
 */
export class Collection<T> {
  readonly name: string;
  /** Grows with each change; caches compare it. */
  version = 0;
  readonly #records = new Map<Key, Held<T>>();
  readonly #indexes = new Map<string, Index<T>>();
  readonly #watchers: Watcher<T>[] = [];
  readonly #changed: (change: Change, undo: Undo) => void;
  readonly #isChanging: () => boolean;
  /** The number of entries that are not plain records. If it is zero, iteration is the map's own. */
  #deferred = 0;
  #gone = 0;
  constructor(name: string, changed: (change: Change, undo: Undo) => void, isChanging: () => boolean) {
    this.name = name;
    this.#changed = changed;
    this.#isChanging = isChanging;
  }
  get size(): number {
    return this.#records.size - this.#gone;
  }
  get(key: Key): T | undefined {
    const held = this.#records.get(key);
    return held === undefined || this.#isPlain(held) ? held : this.#parse(key, held);
  }
  has(key: Key): boolean {
    const held = this.#records.get(key);
    return held !== undefined && held !== GONE;
  }
  values(): IterableIterator<T> {
    // In a transaction, a record may be deleted during an iteration over the others.
    return this.#deferred + this.#gone === 0 && !this.#isChanging()
      ? (this.#records.values() as IterableIterator<T>)
      : this.#valuesOpened();
  }
  *entries(): IterableIterator<[Key, T]> {
    for (const [key, held] of this.#records) {
      const value = this.#isPlain(held) ? held : this.#parse(key, held);
      if (value !== undefined) yield [key, value];
    }
  }
  /**
   * Yields every record once, for counting and indexing. An unparsed record is read and released again, so
   * that an iteration over 100,000 stories does not keep them twice.
   */
  *scan(): IterableIterator<[Key, T]> {
    for (const [key, held] of this.#records) {
      const value = this.#plain(held);
      if (value !== undefined) yield [key, value];
    }
  }
  /** Records as stored: an unparsed record is still the journal's bytes. For copies of the whole state. */
  *heldRecords(): IterableIterator<[Key, T | Deferred]> {
    for (const [key, held] of this.#records) if (held !== GONE) yield [key, held as T | Deferred];
  }
  find(test: (record: T) => boolean): T | undefined {
    for (const record of this.values()) if (test(record)) return record;
    return undefined;
  }
  filter(test: (record: T) => boolean): T[] {
    const found: T[] = [];
    for (const record of this.values()) if (test(record)) found.push(record);
    return found;
  }
  /** Records by another value (or several): `stories.index('epic', (s) => s.epic_id).get(12)`. Made once per name. */
  index(name: string, keysOf: (record: T) => Key | null | undefined | readonly Key[]): Index<T> {
    const found = this.#indexes.get(name) ?? new Index<T>(keysOf, this);
    this.#indexes.set(name, found);
    return found;
  }
  /** For counters over all records. Records are parsed for it only while `isWatching` is true. */
  watch(watcher: Watcher<T>): void {
    this.#watchers.push(watcher);
  }
  put(key: Key, value: T): void {
    const before = this.#hold(key, value);
    this.#changed({ c: this.name, k: key, v: value }, () =>
      before === undefined ? this.#drop(key) : void this.#hold(key, before),
    );
  }
  delete(key: Key): boolean {
    const before = this.#records.get(key);
    if (before === undefined || before === GONE) return false;
    this.#hold(key, GONE);
    this.#changed({ c: this.name, k: key }, () => void this.#hold(key, before));
    return true;
  }
  /** From the journal: no change is reported. */
  load(key: Key, value: T | Deferred | undefined): void {
    if (value === undefined) this.#drop(key);
    else this.#hold(key, value);
  }
  /** The transaction has finished: positions of deleted records are released. */
  settle(key: Key): void {
    if (this.#records.get(key) === GONE) this.#drop(key);
  }
  *#valuesOpened(): IterableIterator<T> {
    for (const [, value] of this.entries()) yield value;
  }
  #isPlain(held: Held<T>): held is T {
    return held !== GONE && !(held instanceof Deferred);
  }
  #parse(key: Key, held: Held<T>): T | undefined {
    if (held === GONE) return undefined;
    if (!(held instanceof Deferred)) return held as T;
    const value = held.value() as T;
    this.#records.set(key, value);
    this.#deferred -= 1;
    return value;
  }
  /** Returns the previous value. */
  #hold(key: Key, held: Held<T>): Held<T> | undefined {
    const before = this.#records.get(key);
    this.#records.set(key, held);
    this.#count(before, -1);
    this.#count(held, 1);
    this.#tell(key, before, held);
    return before;
  }
  #drop(key: Key): void {
    const before = this.#records.get(key);
    if (before === undefined) return;
    this.#records.delete(key);
    this.#count(before, -1);
    this.#tell(key, before, undefined);
  }
  #count(held: Held<T> | undefined, by: 1 | -1): void {
    if (held === GONE) this.#gone += by;
    else if (held instanceof Deferred) this.#deferred += by;
  }
  #tell(key: Key, before: Held<T> | undefined, after: Held<T> | undefined): void {
    this.version += 1;
    for (const index of this.#indexes.values()) {
      if (index.isBuilt) index.noteChange(key, this.#plain(before), this.#plain(after));
    }
    for (const watcher of this.#watchers) {
      if (watcher.isWatching()) watcher.onChange(this.#plain(before), this.#plain(after));
    }
  }
  #plain(held: Held<T> | undefined): T | undefined {
    if (held === undefined || held === GONE) return undefined;
    return held instanceof Deferred ? (held.value() as T) : (held as T);
  }
}
/**
 * Called before `transact` returns. When it throws, the transaction is undone. `'later'` means that the changes wait for
 * one write together with those of other transactions: `kept` or `lost` follows.
 */
export type Commit = (changes: readonly Change[]) => void | 'later';
/** All state of the mock services. Outside `transact` it is read-only. */
export class Store {
  readonly #collections = new Map<string, Collection<any>>();
  readonly #commit: Commit;
  #changes: Change[] | undefined;
  #undo: Undo[] = [];
  /** Of transactions that are not written yet. */
  #waiting: { changes: Change[]; undo: Undo[] } = { changes: [], undo: [] };
  /** Grows with each committed change of any collection; caches compare it. */
  version = 0;
  constructor(commit: Commit = () => {}) {
    this.#commit = commit;
  }
  /** What waited is written. */
  confirmWritten(): void {
    this.#settle(this.#waiting.changes);
    this.#waiting = { changes: [], undo: [] };
  }
  /** What waited could not be written and never happened. */
  revertUnwritten(): void {
    for (const undo of this.#waiting.undo.reverse()) undo();
    this.#waiting = { changes: [], undo: [] };
    this.version += 1;
  }
  #settle(changes: readonly Change[]): void {
    for (const { c, k, v } of changes) if (v === undefined) this.collection(c).settle(k);
  }
  collection<T>(name: string): Collection<T> {
    let found = this.#collections.get(name);
    if (found === undefined) {
      found = new Collection<T>(
        name,
        (change, undo) => this.#note(change, undo),
        () => this.#changes !== undefined,
      );
      this.#collections.set(name, found);
    }
    return found;
  }
  collections(): Iterable<Collection<unknown>> {
    return this.#collections.values();
  }
  #note(change: Change, undo: Undo): void {
    if (this.#changes === undefined) {
      undo();
      throw new Error(`change of ${change.c} outside a transaction`);
    }
    this.#changes.push(change);
    this.#undo.push(undo);
  }
  /**
   * Applies all changes of `work`, or none if it throws. This includes nested transactions. Synchronous, so
   * that requests never interleave.
   */
  transact<R>(work: () => R): R {
    if (this.#changes !== undefined) return this.#inner(this.#changes, work);
    const changes: Change[] = [];
    this.#changes = changes;
    this.#undo = [];
    try {
      const result = work();
      if (changes.length > 0) this.#commitChanges(changes);
      return result;
    } catch (error) {
      this.#rollBack(0);
      throw error;
    } finally {
      this.#changes = undefined;
      this.#undo = [];
    }
  }
  #commitChanges(changes: readonly Change[]): void {
    const isLater = this.#commit(net(changes)) === 'later';
    this.version += 1;
    if (isLater) {
      for (const change of changes) this.#waiting.changes.push(change);
      for (const undo of this.#undo) this.#waiting.undo.push(undo);
    } else this.#settle(changes);
  }
  #inner<R>(changes: Change[], work: () => R): R {
    const mark = changes.length;
    try {
      return work();
    } catch (error) {
      this.#rollBack(mark);
      throw error;
    }
  }
  #rollBack(mark: number): void {
    for (let i = this.#undo.length - 1; i >= mark; i--) this.#undo[i]?.();
    this.#undo.length = mark;
    if (this.#changes) this.#changes.length = mark;
  }
  /** Deletes every record of every collection; call it inside `transact`. */
  clear(): void {
    for (const collection of this.#collections.values())
      for (const [key] of [...collection.heldRecords()]) collection.delete(key);
  }
  /** The next number of a sequence, from 1. Part of the state, so that ids are never used twice. */
  next(sequence: string, first = 1): number {
    const sequences = this.collection<number>('sequences');
    const value = (sequences.get(sequence) ?? first - 1) + 1;
    sequences.put(sequence, value);
    return value;
  }
}
/** Up to this many, comparing all pairs is cheaper than a map of made-up keys. */
const FEW = 8;
const isSame = (a: Change | undefined, b: Change | undefined): boolean => a?.k === b?.k && a?.c === b?.c;
const netOfFew = (changes: readonly Change[]): readonly Change[] =>
  changes.flatMap((change, at) =>
    changes.findIndex((one) => isSame(one, change)) < at
      ? []
      : (changes.findLast((one) => isSame(one, change)) as Change),
  );
/**
 * The last change of each record, at the position of its first change: the content of the next journal line,
 * in the order of the records.
 */
const net = (changes: readonly Change[]): readonly Change[] => {
  if (changes.length === 1 || (changes.length === 2 && !isSame(changes[0], changes[1]))) return changes;
  if (changes.length <= FEW) return netOfFew(changes);
  const last = new Map<string, Change>();
  for (const change of changes) last.set(`${change.c} ${typeof change.k} ${change.k}`, change);
  return last.size === changes.length ? changes : [...last.values()];
};
