import { builtin } from './builtin.ts';

type Env = Readonly<Record<string, string | undefined>>;
/** As git does: `less` ends when all fits on one screen, passes colors through and leaves the text on the screen. */
const defaults = { LESS: 'FRX', LV: '-c' } as const;
/** Shows text in a pager and waits for its reader. False when no pager could be started, so that the text is still to be written. */
export const page = (command: string, text: string, env: Env): Promise<boolean> =>
  new Promise((resolve) => {
    const child = builtin.childProcess.spawn('sh', ['-c', command], {
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { ...process.env, ...defaults, ...env },
    });
    let isStarted = true;
    child.once('error', () => resolve(false));
    // 127: the shell did not find the command, so no text was shown.
    child.once('close', (code) => resolve(isStarted && code !== 127));
    // A reader who leaves early closes the pipe.
    child.stdin.on('error', () => {});
    child.stdin.end(text);
    child.once('error', () => {
      isStarted = false;
    });
  });

/** Yields single keys until the signal is aborted, then restores the terminal. */
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
