/** Reads that wait until the state has come as far as they need. */
export class Behind {
  readonly #waiting: { readonly index: number; readonly done: () => void }[] = [];
  until(index: number, applied: number): Promise<void> {
    if (applied >= index) return Promise.resolve();
    return new Promise((done) => this.#waiting.push({ index, done }));
  }
  reached(applied: number): void {
    for (let i = this.#waiting.length - 1; i >= 0; i -= 1)
      if (applied >= (this.#waiting[i]?.index ?? 0)) this.#waiting.splice(i, 1)[0]?.done();
  }
}
