/** How a stream of lists of items is worked off. */
export type Pool<I, O> = {
  /** Most that is under way at once. */
  readonly size: number;
  /** What is known at once need not be waited for. */
  readonly work: (item: I) => O | Promise<O>;
  /** See `Host.turn`: results that come together are handed on together. */
  readonly turn: () => Promise<void>;
  /** No new item is begun once it is aborted. */
  readonly signal: AbortSignal;
};

/** Results that wait for a slow reader before no more work is begun. */
const MOST_READY = 500;

/** What is under way: work that gives results, and the one read that brings the next items. */
class Underway<I, O> {
  readonly #source: AsyncIterator<readonly I[]>;
  readonly #pool: Pool<I, O>;
  #items: readonly I[] = [];
  #at = 0;
  #ready: O[] = [];
  #running = 0;
  #isOver = false;
  #isReading = false;
  #wake: () => void = () => undefined;
  failure: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterator<readonly I[]>, pool: Pool<I, O>) {
    this.#source = source;
    this.#pool = pool;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }
  get isDone(): boolean {
    const { aborted } = this.#pool.signal;
    const willStart = !this.#isOver && this.failure === undefined && !aborted;
    return !willStart && this.#running === 0 && (!this.#isReading || aborted);
  }
  /** Begins as much as there is room for. */
  fill(): void {
    const { size, signal } = this.#pool;
    while (
      this.#running < size &&
      this.#ready.length < MOST_READY &&
      !this.#isOver &&
      this.failure === undefined &&
      !signal.aborted
    ) {
      const item = this.#items[this.#at];
      if (item === undefined) {
        this.#read();
        return;
      }
      this.#at += 1;
      this.#begin(item);
    }
  }
  take(): O[] {
    const taken = this.#ready;
    this.#ready = [];
    return taken;
  }
  /** The reader has gone. */
  stop(): void {
    this.#isOver = true;
  }
  /** Until something was read or done. */
  changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
  readonly wake = (): void => this.#wake();

  readonly #fail = (error: unknown): void => {
    this.failure ??= { error };
    this.#wake();
  };
  readonly #finished = (result: O): void => {
    this.#running -= 1;
    this.#ready.push(result);
    this.fill();
    this.#wake();
  };
  readonly #broke = (error: unknown): void => {
    this.#running -= 1;
    this.#fail(error);
  };
  #begin(item: I): void {
    try {
      const result = this.#pool.work(item);
      if (!(result instanceof Promise)) this.#ready.push(result);
      else {
        this.#running += 1;
        result.then(this.#finished, this.#broke);
      }
    } catch (error) {
      this.#fail(error);
    }
  }
  readonly #arrived = (next: IteratorResult<readonly I[]>): void => {
    this.#isReading = false;
    this.#at = 0;
    this.#items = next.done === true ? [] : next.value;
    if (next.done === true) this.#isOver = true;
    this.fill();
    this.#wake();
  };
  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#source.next().then(this.#arrived, (error: unknown) => {
      this.#isReading = false;
      this.#fail(error);
    });
  }
}

/**
 * Works off a stream, at most `size` at a time, and yields results when they are ready, even while the stream has nothing
 * new. The stream is read no faster than the work goes, and the work goes no faster than its results are taken.
 */
export async function* pooled<I, O>(
  items: AsyncIterable<readonly I[]>,
  pool: Pool<I, O>,
): AsyncGenerator<O[]> {
  const at = new Underway(items[Symbol.asyncIterator](), pool);
  pool.signal.addEventListener('abort', at.wake);
  try {
    for (at.fill(); !at.isDone || at.hasReady; at.fill()) {
      if (!at.hasReady) await at.changed();
      else {
        await pool.turn();
        yield at.take();
      }
    }
  } finally {
    at.stop();
    pool.signal.removeEventListener('abort', at.wake);
  }
  if (at.failure) throw at.failure.error;
}
