export type Key = string | number;
type Keys = Key | null | undefined | readonly Key[];

/** Most values belong to one record: a set for each of them would be half of the memory and of the work. */
type Entry = Key | Set<Key>;
const keysOfEntry = (entry: Entry): Iterable<Key> => (entry instanceof Set ? entry : [entry]);

type Records<T> = { get(key: Key): T | undefined; scan(): Iterable<readonly [Key, T]> };

/** Records by something else than their key, kept up to date with the collection; built at the first question. */
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
    const entry = this.#built().get(value);
    return entry === undefined ? ([] as T[])[Symbol.iterator]() : this.#walk(keysOfEntry(entry));
  }
  *#walk(keys: Iterable<Key>): IterableIterator<T> {
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record !== undefined) yield record;
    }
  }
  first(value: Key): T | undefined {
    const entry = this.#built().get(value);
    if (entry === undefined) return undefined;
    const [key] = keysOfEntry(entry);
    return key === undefined ? undefined : this.#records.get(key);
  }
  count(value: Key): number {
    const entry = this.#built().get(value);
    return entry instanceof Set ? entry.size : entry === undefined ? 0 : 1;
  }
  /** Called by the collection for each change; `undefined` is absent. */
  changed(key: Key, before: T | undefined, after: T | undefined): void {
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
  #built(): Map<Key, Entry> {
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
