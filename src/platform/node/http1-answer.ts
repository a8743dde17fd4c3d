import { ChunkQueue } from './chunk-queue.ts';
import type { Wire } from './transport.ts';
import { Chunked } from './chunked.ts';
import { type Head, malformed, parseHead } from './head.ts';
import { limits } from '../../core/limits.ts';

export const closedEarly = (): Error =>
  Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });

type Socket = { pause(): unknown; resume(): unknown; destroy(): unknown };

/** One answer as it arrives on a socket. A body that comes with its head is handed on whole, any other through a queue. */
export class Answer {
  readonly reply: Promise<Wire>;
  isDone = false;
  /** Known when it is done: see `Head`. */
  keptMs = 0;
  readonly #method: string;
  readonly #socket: Socket;
  #resolve!: (wire: Wire) => void;
  #reject!: (error: Error) => void;
  #early: Buffer | undefined;
  #head: Head | undefined;
  #queue: ChunkQueue | undefined;
  #chunked: Chunked | undefined;
  #left = 0;

  constructor(method: string, socket: Socket) {
    this.#method = method;
    this.#socket = socket;
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** Throws when the bytes are not HTTP. */
  push(bytes: Buffer): void {
    const rest = this.#head === undefined ? this.#readHead(bytes) : bytes;
    if (rest !== undefined && rest.length > 0) this.#body(rest);
  }
  /** The server has closed its side. */
  end(): void {
    if (this.#head?.framing === 'to-end') this.#finish();
    else this.fail(closedEarly());
  }
  fail(error: Error): void {
    if (this.isDone) return;
    this.isDone = true;
    this.#reject(error);
    this.#queue?.fail(error);
  }

  /** The bytes after the head, once it is whole. */
  #readHead(bytes: Buffer): Buffer | undefined {
    let given = this.#early === undefined ? bytes : Buffer.concat([this.#early, bytes]);
    for (;;) {
      const end = given.indexOf('\r\n\r\n');
      if (end === -1) break;
      const head = parseHead(given.toString('latin1', 0, end), this.#method);
      given = given.subarray(end + 4);
      if (head.status === 101) throw malformed('another protocol was not asked for');
      // Interim answers (100, 103) come before the one that counts.
      if (head.status < 200) continue;
      this.#begin(head, given);
      return given;
    }
    if (given.length > limits.replyHeadBytes) throw malformed('its head does not end');
    if (given.length >= 5 && given.toString('latin1', 0, 5) !== 'HTTP/')
      throw malformed('it has no status line');
    this.#early = given;
    return undefined;
  }
  #begin(head: Head, rest: Buffer): void {
    const { status, headers, framing } = head;
    this.#head = head;
    this.#early = undefined;
    if (typeof framing === 'number') this.#left = framing;
    if (typeof framing === 'number' && rest.length >= framing) {
      this.#resolve({ status, headers, body: rest.subarray(0, framing) });
      if (framing === 0) this.#finish(rest.length > 0);
      return;
    }
    if (framing === 'chunked') this.#chunked = new Chunked();
    this.#queue = new ChunkQueue({
      resume: () => this.#socket.resume(),
      abort: () => this.#socket.destroy(),
    });
    this.#resolve({ status, headers, body: this.#queue.chunks });
  }
  #give(data: Buffer): void {
    if (this.#queue?.push(data) === false) this.#socket.pause();
  }
  #body(bytes: Buffer): void {
    if (this.isDone) return;
    if (this.#chunked !== undefined) {
      const rest = this.#chunked.push(bytes, (data) => this.#give(data));
      if (this.#chunked.isDone) this.#finish(rest.length > 0);
    } else if (this.#head?.framing === 'to-end') this.#give(bytes);
    else {
      const data = bytes.subarray(0, this.#left);
      this.#left -= data.length;
      this.#give(data);
      if (this.#left === 0) this.#finish(bytes.length > data.length);
    }
  }
  /** What follows an answer was not asked for: nothing on that connection can be trusted any more. */
  #finish(hasMore = false): void {
    this.isDone = true;
    this.keptMs = hasMore ? 0 : (this.#head?.keptMs ?? 0);
    this.#queue?.end();
  }
}
