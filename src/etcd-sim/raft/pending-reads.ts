type Read = { readonly id: number; readonly index: number; readonly round: number };

/** Reads that wait until a majority has confirmed that their leader still leads. */
export class PendingReads {
  #waiting: Read[] = [];
  #ready: { readonly id: number; readonly index: number }[] = [];

  add(read: Read): void {
    this.#waiting.push(read);
  }
  drop(): void {
    this.#waiting = [];
  }
  /** Releases the reads whose round is confirmed, in order. */
  release(isConfirmed: (round: number) => boolean): void {
    for (let first = this.#waiting[0]; first && isConfirmed(first.round); first = this.#waiting[0]) {
      this.#waiting.shift();
      this.#ready.push({ id: first.id, index: first.index });
    }
  }
  take(): readonly { readonly id: number; readonly index: number }[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
}
