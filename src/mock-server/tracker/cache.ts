import type { Store } from '../store.ts';
import { Json } from '../table-service.ts';
import { LongList, type Shown } from './long-list.ts';

/** Bounds of what is kept, so that a workspace of 100,000 stories fits into little memory. */
const LIST_CHARACTERS = 8_000_000;
const RECORD_TEXTS = 20_000;
const VALUES = 16;
/** Bytes of long lists that are kept in their encoded form. */
const LONG_BYTES = 256 * 1024 * 1024;

/**
 * JSON text of answers. A whole list is kept until any record changes; the text of one record for as long as the record
 * and what it shows of others are the same values (records are never changed in place).
 */
export class Cache {
  readonly #store: Store;
  #version = -1;
  #characters = 0;
  #texts = 0;
  readonly #lists = new Map<string, Json>();
  readonly #records = new Map<
    string,
    WeakMap<object, { readonly seen: readonly unknown[]; readonly text: string }>
  >();
  readonly #values = new Map<string, { readonly version: number; readonly value: unknown }>();
  readonly #long = new Map<string, LongList>();
  readonly #once = new Map<string, unknown>();
  constructor(store: Store) {
    this.#store = store;
  }
  /** A list by its name (path and query); `make` gives the texts of its records. */
  list(name: string, make: () => Iterable<string>): Json {
    if (this.#version !== this.#store.version || this.#characters > LIST_CHARACTERS) {
      this.#lists.clear();
      this.#characters = 0;
      this.#version = this.#store.version;
    }
    const found = this.#lists.get(name);
    if (found !== undefined) return found;
    const made = new Json(`[${[...make()].join(',')}]`);
    this.#lists.set(name, made);
    this.#characters += made.text.length;
    return made;
  }
  /** A list that still holds. */
  found(name: string): Json | undefined {
    const long = this.#long.get(name);
    if (long?.isOf(this.#store.version)) return new Json('', long);
    return this.#version === this.#store.version ? this.#lists.get(name) : undefined;
  }
  /** A list of so many records that it is kept as bytes and written piece by piece. */
  longList(name: string, all: readonly Shown[], text: (at: number) => string): Json {
    const list = this.#long.get(name) ?? new LongList();
    list.update(this.#store.version, all, text);
    // The one that was just asked for is kept, whatever its size: most workspaces have one such list.
    const others = [...this.#long.values()].filter((one) => one !== list);
    if (others.reduce((sum, one) => sum + one.bytes, list.bytes) > LONG_BYTES) this.#long.clear();
    this.#long.set(name, list);
    return new Json('', list);
  }
  /** Something that is made once for this state. */
  once<T>(name: string, make: () => T): T {
    const made = this.#once.get(name) ?? make();
    this.#once.set(name, made);
    return made as T;
  }
  /** The text of a record; made again when one of `seen` is another value than the last time. */
  text(kind: string, record: object, seen: readonly unknown[], make: () => string): string {
    let texts = this.#records.get(kind);
    if (texts === undefined) {
      texts = new WeakMap();
      this.#records.set(kind, texts);
    }
    const found = texts.get(record);
    if (
      found !== undefined &&
      found.seen.length === seen.length &&
      found.seen.every((one, i) => one === seen[i])
    )
      return found.text;
    const text = make();
    if (this.#texts >= RECORD_TEXTS) {
      this.#records.clear();
      this.#texts = 0;
      return text;
    }
    this.#texts += 1;
    texts.set(record, { seen, text });
    return text;
  }
  /** Any value that holds while `version` is the same. */
  value<T>(name: string, version: number, make: () => T): T {
    const found = this.#values.get(name);
    if (found !== undefined && found.version === version) return found.value as T;
    const value = make();
    if (this.#values.size >= VALUES) this.#values.clear();
    this.#values.set(name, { version, value });
    return value;
  }
}
