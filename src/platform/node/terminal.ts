import { fstatSync } from 'node:fs';
import { oneLine, printable } from '../../core/text.ts';
import type { Bytes, Output, Prompts, Terminal } from '../host.ts';
import { builtin } from './builtin.ts';
import { isAccessible } from '../../core/format.ts';

type Env = Readonly<Record<string, string | undefined>>;

const DEFAULT_COLUMNS = 80;

/** The number that Linux has for /dev/null, /dev/zero and /dev/full. */
const MEMORY_DEVICES = 1;
/** True for what cannot be a terminal. Loading node:tty and with it node:net to learn that costs a tenth of the start of Node. */
const isOtherThanTerminal = (fd: number): boolean => {
  if (process.platform !== 'linux') return false;
  try {
    const stats = fstatSync(fd);
    return !stats.isCharacterDevice() || stats.rdev >> 8 === MEMORY_DEVICES;
  } catch {
    return false;
  }
};
const isTerminalAt = (fd: number): boolean => !isOtherThanTerminal(fd) && builtin.tty.isatty(fd);

/** Creating the stream takes milliseconds, so it is created at the first write. */
const output = (fd: 1 | 2, env: Env): Output => {
  let stream: NodeJS.WriteStream | undefined;
  let failure: Error | undefined;
  let isTerminal: boolean | undefined;
  const isTty = (): boolean => (isTerminal ??= isTerminalAt(fd));
  const open = (): NodeJS.WriteStream => {
    if (stream === undefined) {
      stream = fd === 1 ? process.stdout : process.stderr;
      // Without a listener a closed pipe would end the process with a stack trace.
      stream.on('error', (error) => {
        failure = error;
      });
    }
    return stream;
  };
  return {
    get isTty() {
      return isTty();
    },
    get columns() {
      const given = Number(env.COLUMNS);
      return (isTty() ? open().columns : undefined) || (given > 0 ? given : DEFAULT_COLUMNS);
    },
    get isWidthGiven() {
      return Number(env.COLUMNS) > 0;
    },
    get rows() {
      return (isTty() ? open().rows : undefined) || undefined;
    },
    write: (data) =>
      new Promise((resolve, reject) => {
        if (failure !== undefined) return reject(failure);
        open().write(data, (error) => (error ? reject(error) : resolve()));
      }),
  };
};

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/**
 * The bytes of a pipe or a terminal. A sender that stays silent must not keep the process: a signal that the command
 * handles ends the wait with an error, and every other signal ends the process.
 */
export async function* bytesUntilSignal(
  stream: AsyncIterable<Bytes> & { destroy(error: Error): unknown },
): AsyncGenerator<Bytes> {
  const handlers = stopSignals
    .filter((name) => process.listenerCount(name) > 0)
    .map((name) => [name, () => stream.destroy(new Error(`stopped by ${name}`))] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  try {
    yield* stream;
  } finally {
    for (const [name, handler] of handlers) process.off(name, handler);
  }
}
const stdinBytes = (): AsyncGenerator<Bytes> => bytesUntilSignal(process.stdin);

async function* stdinLines(signal?: AbortSignal): AsyncGenerator<string> {
  const reader = builtin.readline.createInterface({
    input: process.stdin,
    crlfDelay: Number.POSITIVE_INFINITY,
    ...(signal ? { signal } : {}),
  });
  try {
    for await (const line of reader) yield line;
  } finally {
    reader.close();
    // Else an open terminal keeps the process alive.
    process.stdin.pause();
  }
}

/** A question often names something that a service or another person chose. It cannot give commands to the terminal. */
export const cleanPrompts = ({ confirm, text, select }: Prompts): Prompts => ({
  confirm: (question, fallback) => confirm(printable(question), fallback),
  text: (question, options) => text(printable(question), options),
  select: (question, choices) =>
    select(
      printable(question),
      choices.map(({ value, label }) => ({ value, label: oneLine(label) })),
    ),
});
const lazyPrompts = (env: Env): Prompts => {
  const load = async (): Promise<Prompts> => {
    if (isAccessible(env) || env.TERM === 'dumb') return (await import('./prompts.ts')).plainPrompts();
    return (await import('./prompts.ts')).inquirerPrompts();
  };
  return cleanPrompts({
    confirm: async (question, fallback) => (await load()).confirm(question, fallback),
    text: async (question, options) => (await load()).text(question, options),
    select: async (question, choices) => (await load()).select(question, choices),
  });
};

/** The three standard streams, and what may be drawn on a terminal. */
export const nodeTerminal = (env: Env): Terminal => {
  const stderr = output(2, env);
  return {
    stdout: output(1, env),
    stderr,
    stdin: {
      get isTty() {
        return isTerminalAt(0);
      },
      bytes: stdinBytes,
      lines: stdinLines,
      async *keys(signal) {
        yield* (await import('./programs.ts')).keys(signal);
      },
    },
    prompts: lazyPrompts(env),
    page: async (command, text) => (await import('./programs.ts')).page(command, text, env),
    async spinner(text) {
      const isPlain = !stderr.isTty || isAccessible(env) || env.TERM === 'dumb' || !process.stderr.columns;
      if (!isPlain) return (await import('./prompts.ts')).spinner(text, !env.NO_COLOR);
      await stderr.write(`${text}\n`);
      return { update: () => {}, stop: () => {} };
    },
  };
};
