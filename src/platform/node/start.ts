import type { ChildProcess, SpawnOptions } from 'node:child_process';
import fs from 'node:fs';
import type { Exit, Processes, Started } from '../host.ts';
import { builtin } from './builtin.ts';
import { refuseToAppend } from './read-file.ts';

type Options = NonNullable<Parameters<Processes['start']>[2]>;

/** Lines that came before anybody asked are kept up to this many, so that an unread child does not fill memory. */
const KEPT_LINES = 10_000;

/** Reads at once, so that a full pipe never stops the child. */
const lineQueue = (child: ChildProcess): (() => AsyncGenerator<string>) => {
  const lines: string[] = [];
  let isEnded = child.stdout === null;
  let wake: () => void = () => {};
  if (child.stdout !== null) {
    const reader = builtin.readline.createInterface({
      input: child.stdout,
      crlfDelay: Number.POSITIVE_INFINITY,
    });
    reader.on('line', (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      wake();
    });
    reader.on('close', () => {
      isEnded = true;
      wake();
    });
  }
  return async function* () {
    for (;;) {
      const line = lines.shift();
      if (line !== undefined) yield line;
      else if (isEnded) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  };
};

const spawned = (child: ChildProcess): Promise<void> =>
  new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });

/** See `Processes.start`. Rejects with the system's `code` when the command cannot be started. */
export const start = async (command: string, args: readonly string[], options: Options): Promise<Started> => {
  if (options.logFile !== undefined) refuseToAppend(options.logFile);
  const log = options.logFile === undefined ? undefined : fs.openSync(options.logFile, 'a', 0o600);
  try {
    const output = log ?? (options.detached ? 'ignore' : 'pipe');
    const settings: SpawnOptions = {
      cwd: options.cwd,
      env: options.env as NodeJS.ProcessEnv,
      detached: options.detached ?? false,
      stdio: ['ignore', output, log ?? (options.detached ? 'ignore' : 'inherit')],
      windowsHide: true,
    };
    const child = builtin.childProcess.spawn(command, [...args], settings);
    const exited = new Promise<Exit>((resolve) =>
      child.once('exit', (code, signal) => resolve({ code, signal })),
    );
    const lines = lineQueue(child);
    await spawned(child);
    // A later failure (a signal that cannot be sent) is the answer of `kill`, not an exception nobody catches.
    child.on('error', () => {});
    if (options.detached) child.unref();
    return {
      pid: child.pid as number,
      exited,
      kill: (signal) => child.kill(signal as NodeJS.Signals),
      lines,
    };
  } finally {
    if (log !== undefined) fs.closeSync(log);
  }
};
