export type Key = string | number;
type Keys = Key | null | undefined | readonly Key[];

type Records<T> = { get(key: Key): T | undefined; scan(): Iterable<readonly [Key, T]> };

/** Records by something else than their key, kept up to date with the collection; built at the first question. */
export class Index<T> {
  readonly #keysOf: (record: T) => Keys;
  readonly #records: Records<T>;
  #sets: Map<Key, Set<Key>> | undefined;
  constructor(keysOf: (record: T) => Keys, records: Records<T>) {
    this.#keysOf = keysOf;
    this.#records = records;
  }
  /** Records that came under `value`, in the order they did. */
  get(value: Key): IterableIterator<T> {
    const keys = this.#built().get(value);
    return keys === undefined ? ([] as T[])[Symbol.iterator]() : this.#walk(keys);
  }
  *#walk(keys: Iterable<Key>): IterableIterator<T> {
    for (const key of keys) {
      const record = this.#records.get(key);
      if (record !== undefined) yield record;
    }
  }
  first(value: Key): T | undefined {
    const [key] = this.#built().get(value) ?? [];
    return key === undefined ? undefined : this.#records.get(key);
  }
  count(value: Key): number {
    return this.#built().get(value)?.size ?? 0;
  }
  /** Called by the collection for each change; `undefined` is absent. */
  changed(key: Key, before: T | undefined, after: T | undefined): void {
    if (this.#sets === undefined) return;
    const old = before === undefined ? [] : this.#list(before);
    const now = after === undefined ? [] : this.#list(after);
    for (const value of old) if (!now.includes(value)) this.#remove(value, key);
    for (const value of now) if (!old.includes(value)) this.#add(this.#sets, value, key);
  }
  /** Forgets everything; the next question builds it again. */
  drop(): void {
    this.#sets = undefined;
  }
  get isBuilt(): boolean {
    return this.#sets !== undefined;
  }
  #built(): Map<Key, Set<Key>> {
    if (this.#sets !== undefined) return this.#sets;
    const sets = new Map<Key, Set<Key>>();
    for (const [key, record] of this.#records.scan())
      for (const value of this.#list(record)) this.#add(sets, value, key);
    this.#sets = sets;
    return sets;
  }
  #list(record: T): readonly Key[] {
    const keys = this.#keysOf(record);
    if (keys === null || keys === undefined) return [];
    return typeof keys === 'object' ? keys : [keys];
  }
  #add(sets: Map<Key, Set<Key>>, value: Key, key: Key): void {
    const set = sets.get(value);
    if (set === undefined) sets.set(value, new Set([key]));
    else set.add(key);
  }
  #remove(value: Key, key: Key): void {
    const set = this.#sets?.get(value);
    set?.delete(key);
    if (set?.size === 0) this.#sets?.delete(value);
  }
}
