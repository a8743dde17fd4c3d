/** One change of the state: `v` absent means deleted. What the journal writes, one list a request. */
export type Change = { readonly c: string; readonly k: string | number; readonly v?: unknown };
type Undo = () => void;

/**
 * Records by key, in the order they were made. Records are values: change one by putting a new object, never in place
 * (undo, the journal and the cache of rendered JSON all rely on it).
 */
export class Collection<T> {
  readonly name: string;
  readonly #records = new Map<string | number, T>();
  readonly #changed: (change: Change, undo: Undo) => void;
  constructor(name: string, changed: (change: Change, undo: Undo) => void) {
    this.name = name;
    this.#changed = changed;
  }
  get size(): number {
    return this.#records.size;
  }
  get(key: string | number): T | undefined {
    return this.#records.get(key);
  }
  has(key: string | number): boolean {
    return this.#records.has(key);
  }
  values(): IterableIterator<T> {
    return this.#records.values();
  }
  find(test: (record: T) => boolean): T | undefined {
    for (const record of this.#records.values()) if (test(record)) return record;
    return undefined;
  }
  filter(test: (record: T) => boolean): T[] {
    const found: T[] = [];
    for (const record of this.#records.values()) if (test(record)) found.push(record);
    return found;
  }
  put(key: string | number, value: T): void {
    const before = this.#records.get(key);
    this.#records.set(key, value);
    this.#changed({ c: this.name, k: key, v: value }, () => {
      if (before === undefined) this.#records.delete(key);
      else this.#records.set(key, before);
    });
  }
  delete(key: string | number): boolean {
    const before = this.#records.get(key);
    if (before === undefined) return false;
    // Undo must give the record its old place back, so the order is kept with it.
    const order = [...this.#records];
    this.#records.delete(key);
    this.#changed({ c: this.name, k: key }, () => {
      this.#records.clear();
      for (const [k, v] of order) this.#records.set(k, v);
    });
    return true;
  }
  /** From the journal: no change is reported. */
  load(key: string | number, value: T | undefined): void {
    if (value === undefined) this.#records.delete(key);
    else this.#records.set(key, value);
  }
}

/** All state of the mock services. Outside `transact` it is read-only. */
export class Store {
  readonly #collections = new Map<string, Collection<any>>();
  readonly #commit: (changes: readonly Change[]) => void;
  #changes: Change[] | undefined;
  #undo: Undo[] = [];
  /** Grows with each committed change of any collection; caches compare it. */
  version = 0;
  /** `commit` is called before `transact` returns, so that nothing is acknowledged that the journal does not have. */
  constructor(commit: (changes: readonly Change[]) => void = () => {}) {
    this.#commit = commit;
  }
  collection<T>(name: string): Collection<T> {
    let found = this.#collections.get(name);
    if (found === undefined) {
      found = new Collection<T>(name, (change, undo) => this.#note(change, undo));
      this.#collections.set(name, found);
    }
    return found;
  }
  collections(): Iterable<Collection<unknown>> {
    return this.#collections.values();
  }
  #note(change: Change, undo: Undo): void {
    if (this.#changes === undefined) throw new Error(`change of ${change.c} outside a transaction`);
    this.#changes.push(change);
    this.#undo.push(undo);
  }
  /** All changes of `work` or, when it throws, none. Synchronous, so that requests never interleave. */
  transact<R>(work: () => R): R {
    if (this.#changes !== undefined) return work();
    this.#changes = [];
    this.#undo = [];
    try {
      const result = work();
      if (this.#changes.length > 0) {
        this.#commit(this.#changes);
        this.version += 1;
      }
      return result;
    } catch (error) {
      for (const undo of this.#undo.reverse()) undo();
      throw error;
    } finally {
      this.#changes = undefined;
      this.#undo = [];
    }
  }
  /** The next number of a sequence, from 1. Part of the state, so that ids are never used twice. */
  next(sequence: string, first = 1): number {
    const sequences = this.collection<number>('sequences');
    const value = (sequences.get(sequence) ?? first - 1) + 1;
    sequences.put(sequence, value);
    return value;
  }
}
