/**
 * Runs `work` over a stream, at most `size` at a time, and yields each result when it is ready, even while the stream has
 * nothing new. The stream is read no faster than the work goes.
 */
export async function* pooled<I, O>(items: AsyncIterable<I>, size: number, work: (item: I) => Promise<O>): AsyncIterable<O> {
  const source = items[Symbol.asyncIterator]();
  const ready: O[] = [];
  let running = 0;
  let isOver = false;
  let isReading = false;
  let failure: { readonly error: unknown } | undefined;
  let wake: () => void = () => undefined;
  const fail = (error: unknown): void => {
    failure ??= { error };
  };
  const start = (item: I): void => {
    running += 1;
    work(item)
      .then((result) => ready.push(result), fail)
      .finally(() => {
        running -= 1;
        wake();
      });
  };
  const read = (): void => {
    isReading = true;
    source
      .next()
      .then((next) => {
        if (next.done === true) isOver = true;
        else start(next.value);
      }, fail)
      .finally(() => {
        isReading = false;
        wake();
      });
  };
  for (;;) {
    while (ready.length > 0) yield ready.shift() as O;
    const isStopping = isOver || failure !== undefined;
    if (isStopping && running === 0 && !isReading) break;
    if (!isStopping && !isReading && running < size) read();
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    await changed;
  }
  if (failure) throw failure.error;
}
