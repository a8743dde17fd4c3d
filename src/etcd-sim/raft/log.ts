import type { Entry } from './message.ts';

const MAX_BATCH = 500;
const MAX_BATCH_CHARACTERS = 4 << 20;

/** The replicated log in memory, from index 1, with what was not handed to the disk yet. It is kept whole: this is a rehearsal. */
export class RaftLog<D> {
  readonly #entries: Entry<D>[];
  #stored: number;
  #cutAfter: number | undefined;

  constructor(entries: readonly Entry<D>[] = []) {
    this.#entries = [...entries];
    this.#stored = entries.length;
  }
  get lastIndex(): number {
    return this.#entries.length;
  }
  get lastTerm(): number {
    return this.term(this.lastIndex) ?? 0;
  }
  /** True when a log that ends there has everything that this one has committed (Raft 5.4.1). */
  isCoveredBy(lastIndex: number, lastTerm: number): boolean {
    return lastTerm > this.lastTerm || (lastTerm === this.lastTerm && lastIndex >= this.lastIndex);
  }
  /** Term of the entry; 0 before the first, undefined past the last. */
  term(index: number): number | undefined {
    return index === 0 ? 0 : this.#entries[index - 1]?.term;
  }
  slice(after: number, upTo: number): Entry<D>[] {
    return this.#entries.slice(after, upTo);
  }
  /** At most one message's worth of entries. */
  batch(after: number): Entry<D>[] {
    const found: Entry<D>[] = [];
    let size = 0;
    for (
      let i = after;
      i < this.#entries.length && found.length < MAX_BATCH && size < MAX_BATCH_CHARACTERS;
      i += 1
    ) {
      const entry = this.#entries[i] as Entry<D>;
      found.push(entry);
      size += sizeOf(entry);
    }
    return found;
  }
  push(term: number, data: D | undefined): Entry<D> {
    const entry: Entry<D> = { term, index: this.#entries.length + 1, data };
    this.#entries.push(entry);
    return entry;
  }
  /** Takes a leader's entries: what contradicts them goes, what is there already stays. */
  accept(entries: readonly Entry<D>[]): void {
    for (const entry of entries) {
      const known = this.term(entry.index);
      if (known === entry.term) continue;
      if (known !== undefined) this.#cut(entry.index - 1);
      this.#entries.push(entry);
    }
  }
  #cut(after: number): void {
    this.#entries.length = after;
    if (after < this.#stored) {
      this.#stored = after;
      this.#cutAfter = after;
    }
  }
  /** What the disk must get next. */
  unstored(): { cutAfter?: number; entries: Entry<D>[] } {
    const found = { cutAfter: this.#cutAfter, entries: this.#entries.slice(this.#stored) };
    this.#stored = this.#entries.length;
    this.#cutAfter = undefined;
    return found;
  }
}

/** Roughly the characters of an entry: values are the only part that grows. */
const sizeOf = (entry: Entry<unknown>): number => {
  const value = (entry.data as { command?: { value?: unknown } } | undefined)?.command?.value;
  return 100 + (typeof value === 'string' ? value.length : 0);
};
