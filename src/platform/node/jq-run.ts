import { Worker } from 'node:worker_threads';
import type { Bytes, JqRun } from '../host.ts';
import { buildFile, isSingleExecutable, keepHeapSmall } from './builtin.ts';

/** Places in the memory that both threads see; jq-thread.mjs has the same. */
const FILLED = 0;
const ENDED = 1;
const WANTS_ROOM = 2;
const EVENT = 3;
const POSTED = 4;
const RING_BYTES = 256 * 1024;

type Message = {
  readonly output?: Bytes;
  readonly ready?: true;
  readonly room?: true;
  readonly code?: number;
  readonly stderr?: string;
};

/** A thread starts from a file. Without a file, it starts from a URL that contains the code. */
const threadStart = (): URL => {
  const file = new URL('./jq-thread.mjs', import.meta.url);
  return isSingleExecutable
    ? new URL(`data:text/javascript;base64,${buildFile(file).toString('base64')}`)
    : file;
};
const threadModule = (): Bytes | undefined =>
  isSingleExecutable ? buildFile(new URL('./jq.wasm', import.meta.url)) : undefined;

const utf8 = new TextEncoder();

/**
 * Runs jq in a separate thread: this thread still handles signals, and jq waits for slow input and slow
 * readers.
 */
class Run implements JqRun {
  readonly #control = new Int32Array(new SharedArrayBuffer(5 * 4));
  readonly #ring = new Uint8Array(new SharedArrayBuffer(RING_BYTES));
  readonly #worker: Worker;
  readonly #pieces: Bytes[] = [];
  readonly compiled: JqRun['compiled'];
  readonly finished: JqRun['finished'];
  #writeAt = 0;
  #isOver = false;
  #onRoom: () => void = () => undefined;
  #onOutput: () => void = () => undefined;

  constructor(program: string, args: readonly string[]) {
    this.#worker = new Worker(threadStart(), {
      workerData: { control: this.#control, ring: this.#ring.buffer, args, program, module: threadModule() },
      env: {},
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    let resolveCompiled: (answer: 'yes' | 'no') => void = () => undefined;
    let resolveFinished: (end: Awaited<JqRun['finished']>) => void = () => undefined;
    this.compiled = new Promise((resolve) => {
      resolveCompiled = resolve;
    });
    this.finished = new Promise((resolve) => {
      resolveFinished = resolve;
    });
    const end = (code: number | null, stderr: string): void => {
      this.#isOver = true;
      resolveCompiled('no');
      resolveFinished({ code, stderr });
      this.#onRoom();
      this.#onOutput();
    };
    this.#worker.on('message', ({ output, ready, room, code, stderr }: Message) => {
      if (output !== undefined) this.#pieces.push(output);
      if (output !== undefined) this.#onOutput();
      if (ready) resolveCompiled('yes');
      if (room) this.#onRoom();
      if (code !== undefined) end(code, stderr ?? '');
    });
    this.#worker.on('online', keepHeapSmall);
    this.#worker.on('error', (error: Error) => end(5, `jq: error: ${error.message}`));
    this.#worker.on('exit', () => end(null, ''));
  }

  async write(data: string | Bytes): Promise<boolean> {
    const bytes = typeof data === 'string' ? utf8.encode(data) : data;
    for (let at = 0; at < bytes.length && !this.#isOver; ) {
      const room = RING_BYTES - Atomics.load(this.#control, FILLED);
      if (room === 0) {
        await this.#room();
        continue;
      }
      const size = Math.min(bytes.length - at, room, RING_BYTES - this.#writeAt);
      this.#ring.set(bytes.subarray(at, at + size), this.#writeAt);
      this.#writeAt = (this.#writeAt + size) % RING_BYTES;
      at += size;
      Atomics.add(this.#control, FILLED, size);
      this.#wake();
    }
    return !this.#isOver;
  }
  end(): void {
    Atomics.store(this.#control, ENDED, 1);
    this.#wake();
  }
  async *output(): AsyncGenerator<Bytes> {
    for (;;) {
      const piece = this.#pieces.shift();
      if (piece !== undefined) {
        Atomics.sub(this.#control, POSTED, 1);
        Atomics.notify(this.#control, POSTED);
        yield piece;
      } else if (this.#isOver) return;
      else
        await new Promise<void>((resolve) => {
          this.#onOutput = resolve;
        });
    }
  }
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  #wake(): void {
    Atomics.add(this.#control, EVENT, 1);
    Atomics.notify(this.#control, EVENT);
  }
  #room(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRoom = resolve;
      Atomics.store(this.#control, WANTS_ROOM, 1);
      // The queue may already be empty, and no other event would follow.
      if (Atomics.load(this.#control, FILLED) <= RING_BYTES / 2) resolve();
    });
  }
}

export const startJq = (program: string, args: readonly string[]): JqRun => new Run(program, args);
