import type { Bytes } from '../host.ts';

/** Chunks that wait to be read before the sender is asked to pause. */
const MOST_BYTES = 64 * 1024;

type Source = { resume(): void; abort(why: Error): void };
type Step = IteratorResult<Bytes, undefined>;
type Reader = { resolve(step: Step): void; reject(error: Error): void };

/** A body that is read once, as fast as it is consumed: what a Node stream does, at a small part of its cost per request. */
export class ChunkQueue {
  readonly #source: Source;
  readonly #waiting: Bytes[] = [];
  #size = 0;
  #isOver = false;
  #failure: Error | undefined;
  #reader: Reader | undefined;
  readonly chunks: AsyncIterable<Bytes> = {
    [Symbol.asyncIterator]: () => ({ next: () => this.#next(), return: () => this.#close() }),
  };

  constructor(source: Source) {
    this.#source = source;
  }

  /** False when the sender should pause. */
  push(chunk: Bytes): boolean {
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#reader !== undefined) this.#wake();
    return this.#size < MOST_BYTES;
  }
  end(): void {
    this.#isOver = true;
    this.#wake();
  }
  fail(error: Error): void {
    if (this.#isOver) return;
    this.#failure ??= error;
    this.#wake();
  }

  #take(): Step | undefined {
    const value = this.#waiting.shift();
    if (value === undefined) return this.#isOver ? { done: true, value: undefined } : undefined;
    if (this.#size >= MOST_BYTES && this.#size - value.length < MOST_BYTES) this.#source.resume();
    this.#size -= value.length;
    return { done: false, value };
  }
  #next(): Promise<Step> {
    // What has arrived whole is given before the failure that follows it.
    const step = this.#waiting.length > 0 || this.#failure === undefined ? this.#take() : undefined;
    if (step !== undefined) return Promise.resolve(step);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      this.#reader = { resolve, reject };
    });
  }
  async #close(): Promise<Step> {
    if (!this.#isOver && this.#failure === undefined) this.#source.abort(new Error('closed'));
    this.#isOver = true;
    return { done: true, value: undefined };
  }
  #wake(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    if (this.#failure !== undefined) reader?.reject(this.#failure);
    else if (reader !== undefined) reader.resolve(this.#take() as Step);
  }
}
