/** Keys as they are pressed, one by one, until the signal; the terminal is as before afterwards. */
export async function* keys(signal: AbortSignal): AsyncGenerator<string> {
  const { stdin } = process;
  const waiting: string[] = [];
  let wake: () => void = () => {};
  const take = (chunk: Buffer): void => {
    waiting.push(...chunk.toString('utf8'));
    wake();
  };
  const stop = (): void => wake();
  stdin.setRawMode(true);
  stdin.on('data', take);
  stdin.resume();
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      const key = waiting.shift();
      if (key !== undefined) yield key;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    signal.removeEventListener('abort', stop);
    stdin.off('data', take);
    stdin.setRawMode(false);
    stdin.pause();
  }
}
