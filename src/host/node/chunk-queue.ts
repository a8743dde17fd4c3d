import type { Bytes } from '../host.ts';

/** Chunks that wait to be read before the sender is asked to pause. */
const MOST_BYTES = 64 * 1024;

type Source = { resume(): void; abort(why: Error): void };
type Step = IteratorResult<Bytes, undefined>;
type Reader = { resolve(step: Step): void; reject(error: Error): void };

/** A body that is read once, as fast as it is consumed: what a Node stream does, at a small part of its cost per request. */
export const chunkQueue = (source: Source) => {
  const waiting: Bytes[] = [];
  let size = 0;
  let isOver = false;
  let failure: Error | undefined;
  let reader: Reader | undefined;
  const take = (): Step | undefined => {
    const value = waiting.shift();
    if (value === undefined) return isOver ? { done: true, value: undefined } : undefined;
    if (size >= MOST_BYTES && size - value.length < MOST_BYTES) source.resume();
    size -= value.length;
    return { done: false, value };
  };
  const next = (): Promise<Step> => {
    // What has arrived whole is given before the failure that follows it.
    const step = waiting.length > 0 || failure === undefined ? take() : undefined;
    if (step !== undefined) return Promise.resolve(step);
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise((resolve, reject) => {
      reader = { resolve, reject };
    });
  };
  const close = async (): Promise<Step> => {
    if (!isOver && failure === undefined) source.abort(new Error('closed'));
    isOver = true;
    return { done: true, value: undefined };
  };
  const wake = (): void => {
    const waked = reader;
    reader = undefined;
    if (failure !== undefined) waked?.reject(failure);
    else if (waked !== undefined) waked.resolve(take() as Step);
  };
  const chunks: AsyncIterable<Bytes> = { [Symbol.asyncIterator]: () => ({ next, return: close }) };
  return {
    chunks,
    /** False when the sender should pause. */
    push(chunk: Bytes): boolean {
      waiting.push(chunk);
      size += chunk.length;
      if (reader !== undefined) wake();
      return size < MOST_BYTES;
    },
    end(): void {
      isOver = true;
      wake();
    },
    fail(error: Error): void {
      if (isOver) return;
      failure ??= error;
      wake();
    },
  };
};
