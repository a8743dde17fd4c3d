/** What is under way: work that gives results, and the one read that brings the next item. */
class Underway<I, O> {
  readonly ready: O[] = [];
  running = 0;
  isOver = false;
  isReading = false;
  failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;
  readonly #work: (item: I) => Promise<O>;

  constructor(work: (item: I) => Promise<O>) {
    this.#work = work;
  }

  readonly #fail = (error: unknown): void => {
    this.failure ??= { error };
  };
  #start(item: I): void {
    this.running += 1;
    this.#work(item)
      .then((result) => this.ready.push(result), this.#fail)
      .finally(() => {
        this.running -= 1;
        this.#wake();
      });
  }
  read(source: AsyncIterator<I>): void {
    this.isReading = true;
    source
      .next()
      .then((next) => {
        if (next.done === true) this.isOver = true;
        else this.#start(next.value);
      }, this.#fail)
      .finally(() => {
        this.isReading = false;
        this.#wake();
      });
  }
  /** Until something was read or done. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/**
 * Runs `work` over a stream, at most `size` at a time, and yields each result when it is ready, even while the stream has
 * nothing new. The stream is read no faster than the work goes.
 */
export async function* pooled<I, O>(items: AsyncIterable<I>, size: number, work: (item: I) => Promise<O>): AsyncIterable<O> {
  const source = items[Symbol.asyncIterator]();
  const at = new Underway<I, O>(work);
  for (;;) {
    while (at.ready.length > 0) yield at.ready.shift() as O;
    const isStopping = at.isOver || at.failure !== undefined;
    if (isStopping && at.running === 0 && !at.isReading) break;
    if (!isStopping && !at.isReading && at.running < size) at.read(source);
    await at.changed();
  }
  if (at.failure) throw at.failure.error;
}
