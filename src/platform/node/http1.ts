import type { OnReadOpts, Socket } from 'node:net';
import { type Attempt, type Prepared, type Progress, statesItsLength } from './transport.ts';
import { Answer, closedEarly } from './http1-answer.ts';
import type { Lines } from './request-lines.ts';
import { upload } from './upload.ts';

/** What becomes of a connection that has done its work. */
export type Owner = {
  idle(connection: Connection, keptMs: number): void;
  gone(connection: Connection): void;
};

const READ_BYTES = 32 * 1024;

/** One socket with one request at a time. */
export class Connection {
  readonly #socket: Socket;
  readonly #owner: Owner;
  #answer: Answer | undefined;
  #isUploading = false;

  /** `open` is told where bytes go: into one buffer for all reads, past the machinery of Node's streams. */
  constructor(open: (onread: OnReadOpts) => Socket, owner: Owner) {
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
    const callback = (length: number): boolean => {
      this.#read(Buffer.from(buffer.subarray(0, length)));
      return !this.#socket.isPaused();
    };
    const socket = open({ buffer, callback });
    this.#socket = socket;
    this.#owner = owner;
    socket.setNoDelay(true);
    socket.on('end', () => this.#answer?.end());
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => {
      this.#fail(closedEarly());
      owner.gone(this);
    });
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }
  close(): void {
    this.#socket.destroy();
  }
  /** `ready` names the event after which a new socket takes data; none for one that was used before. */
  send(
    prepared: Prepared,
    lines: Lines,
    progress: Progress,
    ready: 'connect' | 'secureConnect' | undefined,
  ): Attempt {
    const answer = new Answer(prepared.request.method, this.#socket);
    this.#answer = answer;
    const begin = (): void => {
      progress.connected();
      this.#write(prepared, lines, progress);
    };
    if (ready === undefined) begin();
    else this.#socket.once(ready, begin);
    const destroy = (reason: Error): void => {
      // The socket may serve another request already.
      if (answer.isDone) return;
      answer.fail(reason);
      this.#socket.destroy();
    };
    return { reply: answer.reply, destroy };
  }

  #write(
    { request: { method, body }, to: { path, host } }: Prepared,
    lines: Lines,
    progress: Progress,
  ): void {
    const head = `${method} ${path} HTTP/1.1\r\n${lines.hasHost ? '' : `host: ${host}\r\n`}${lines.text}`;
    const socket = this.#socket;
    if (typeof body === 'string' && lines.isAscii) {
      socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    } else if (body === undefined) {
      socket.write(`${head}${statesItsLength(method) ? 'content-length: 0\r\n' : ''}\r\n`, 'latin1');
    } else if (typeof body === 'string' || body instanceof Uint8Array) {
      socket.cork();
      socket.write(`${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n`, 'latin1');
      socket.write(body);
      socket.uncork();
    } else {
      socket.write(
        `${head}${lines.length === undefined ? 'transfer-encoding: chunked' : `content-length: ${lines.length}`}\r\n\r\n`,
        'latin1',
      );
      this.#isUploading = true;
      upload(socket, body, lines.length === undefined ? undefined : Number(lines.length), progress).then(
        () => {
          this.#isUploading = false;
        },
        (error: Error) => {
          this.#fail(error);
          socket.destroy();
        },
      );
    }
  }
  #read(bytes: Buffer): void {
    const answer = this.#answer;
    // Nothing was asked for.
    if (answer === undefined) return void this.#socket.destroy();
    try {
      answer.push(bytes);
    } catch (error) {
      answer.fail(error as Error);
      this.#socket.destroy();
      return;
    }
    if (answer.isDone) this.#rest(answer.keptMs);
  }
  #rest(keptMs: number): void {
    this.#answer = undefined;
    // A server that answers before it has the whole request does not want the rest.
    if (keptMs === 0 || this.#isUploading || this.#socket.writableLength > 0 || !this.isUsable)
      this.#socket.destroy();
    else {
      // The reader of a long answer may be behind; the next one must not wait for it.
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#owner.idle(this, keptMs);
    }
  }
  #fail(error: Error): void {
    this.#answer?.fail(error);
    this.#answer = undefined;
  }
}
