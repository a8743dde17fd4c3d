import { isHeaderName, isHeaderValue } from '../../core/operation.ts';
import type { OnReadOpts, Socket } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { connectHost, hostWithoutBrackets } from '../../core/external-url.ts';
import type { Bytes, HttpRequest, Tls } from '../host.ts';
import { builtin, elapsedMs } from './builtin.ts';
import { Answer, closedEarly, LastHead } from './http1-answer.ts';
import {
  type Attempt,
  awaitDrain,
  type PreparedRequest,
  type Progress,
  statesItsLength,
  tlsOptions,
  type Transport,
  usualAuthorities,
} from './transport.ts';

const chunk = (bytes: Bytes): Bytes =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
/**
 * Writes a body at the speed of the server, in chunks unless the length was announced. Rejects if the source
 * fails or has a different length than announced, because that would corrupt the next request on the
 * connection.
 */
const upload = async (
  socket: Socket,
  body: AsyncIterable<Bytes>,
  announced: number | undefined,
  progress: Progress,
): Promise<void> => {
  let size = 0;
  for await (const bytes of body) {
    if (socket.destroyed) return;
    size += bytes.length;
    if (announced !== undefined && size > announced)
      throw new Error(`the body has more than the ${announced} bytes that were announced`);
    if (bytes.length > 0 && !socket.write(announced === undefined ? chunk(bytes) : bytes))
      await awaitDrain(socket);
    progress.onMoved();
  }
  if (announced === undefined) socket.write('0\r\n\r\n');
  else if (size < announced)
    throw new Error(`the body has ${size} bytes and not the ${announced} that were announced`);
};

/** What becomes of a connection that has done its work. */
export type Owner = {
  idle(connection: Connection, keptMs: number): void;
  onClosed(connection: Connection): void;
};
const READ_BYTES = 32 * 1024;
/** One socket with one request at a time. */
class Connection {
  readonly #socket: Socket;
  readonly #owner: Owner;
  readonly #lastHead = new LastHead();
  #answer: Answer | undefined;
  #isUploading = false;

  /**
   * `open` receives the target for incoming bytes: one buffer for all reads, without the overhead of Node's
   * streams.
   */
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
      owner.onClosed(this);
    });
  }

  get isUsable(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }
  close(): void {
    this.#socket.destroy();
  }
  /** `ready` names the event after which a new socket accepts data; undefined for a reused socket. */
  send(
    prepared: PreparedRequest,
    lines: Lines,
    progress: Progress,
    ready: 'connect' | 'secureConnect' | undefined,
  ): Attempt {
    const answer = new Answer(prepared.request.method, this.#socket, this.#lastHead);
    this.#answer = answer;
    const begin = (): void => {
      progress.onConnected();
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
    { request: { method, body }, to: { path, host } }: PreparedRequest,
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
    // Unrequested data.
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
    // A server that responds before it has the whole request does not want the rest.
    if (keptMs === 0 || this.#isUploading || this.#socket.writableLength > 0 || !this.isUsable)
      this.#socket.destroy();
    else {
      // The reader of a long response may be slow. The next response must not wait for it.
      if (this.#socket.isPaused()) this.#socket.resume();
      this.#owner.idle(this, keptMs);
    }
  }
  #fail(error: Error): void {
    this.#answer?.fail(error);
    this.#answer = undefined;
  }
}

/** This side defines the length of the body. */
const OURS = new Set(['content-length', 'transfer-encoding']);
/** Headers as they go over the wire. `isAscii`: head and body can be written as one text. */
export type Lines = {
  readonly text: string;
  readonly hasHost: boolean;
  readonly isAscii: boolean;
  readonly length: string | undefined;
};
const line = (name: string, value: string): string => {
  if (!isHeaderName(name)) throw new Error(`the header name ${JSON.stringify(name)} cannot be sent`);
  if (!isHeaderValue(value)) throw new Error(`the header ${name} has a character that cannot be sent`);
  return `${name}: ${value}\r\n`;
};
const linesFrom = (headers: Readonly<Record<string, string>>): Lines => {
  const given = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  if (!given.has('connection')) given.set('connection', 'keep-alive');
  const text = [...given].map(([name, value]) => (OURS.has(name) ? '' : line(name, value))).join('');
  return {
    text,
    hasHost: given.has('host'),
    isAscii: Buffer.byteLength(text) === text.length,
    length: given.get('content-length'),
  };
};
/** Puts headers into words. A caller that sends many requests gives the same object with each: it is read once. */
export const headerLines = (): ((headers: HttpRequest['headers']) => Lines) => {
  const known = new WeakMap<object, Lines>();
  const none = {};
  return (headers = none) => {
    const found = known.get(headers);
    if (found !== undefined) return found;
    const lines = linesFrom(headers);
    known.set(headers, lines);
    return lines;
  };
};
/** The method is written into the first line unchanged. */
export const checkMethod = (method: string): void => {
  if (!isHeaderName(method)) throw new Error(`the method ${JSON.stringify(method)} cannot be sent`);
};

const connect = (prepared: PreparedRequest, onread: OnReadOpts): Socket => {
  const {
    to: { url },
    request: { tls },
  } = prepared;
  const host = hostWithoutBrackets(url.hostname);
  if (url.protocol === 'http:')
    return builtin.net.connect({ host: connectHost(prepared), port: Number(url.port) || 80, onread });
  const secure: ConnectionOptions & { onread: OnReadOpts } = {
    host: connectHost(prepared),
    port: Number(url.port) || 443,
    ALPNProtocols: ['http/1.1'],
    ...(builtin.net.isIP(host) === 0 ? { servername: host } : {}),
    ...tlsOptions(tls, usualAuthorities),
    onread,
  };
  return builtin.tls.connect(secure);
};
type Waiting = { readonly connection: Connection; readonly untilMs: number };
/** Connections that wait for their next request, the last used first; each is closed before its server would. */
class Idle {
  readonly #waiting = new Map<string, Waiting[]>();
  #timer: NodeJS.Timeout | undefined;

  put(key: string, connection: Connection, keptMs: number): void {
    const list = this.#waiting.get(key);
    const waiting = { connection, untilMs: elapsedMs() + keptMs };
    if (list === undefined) this.#waiting.set(key, [waiting]);
    else list.push(waiting);
    this.#timer ??= setTimeout(() => this.#sweep(), keptMs).unref();
  }
  take(key: string): Connection | undefined {
    const list = this.#waiting.get(key);
    for (let last = list?.pop(); last !== undefined; last = list?.pop()) {
      if (last.connection.isUsable && last.untilMs > elapsedMs()) return last.connection;
      last.connection.close();
    }
    return undefined;
  }
  closeAll(): void {
    this.#drop(() => true);
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #drop(isOver: (waiting: Waiting) => boolean): void {
    for (const [key, list] of this.#waiting) {
      const over = list.filter(isOver);
      const left = list.filter((waiting) => !over.includes(waiting));
      if (left.length > 0) this.#waiting.set(key, left);
      else this.#waiting.delete(key);
      for (const { connection } of over) connection.close();
    }
  }
  #sweep(): void {
    const now = elapsedMs();
    this.#timer = undefined;
    this.#drop(({ connection, untilMs }) => untilMs <= now || !connection.isUsable);
    if (this.#waiting.size > 0) this.#timer = setTimeout(() => this.#sweep(), 1000).unref();
  }
}
const keyOf = (origin: string, tls: Tls | undefined): string =>
  tls === undefined ? origin : JSON.stringify([origin, tls]);
/**
 * HTTP/1.1 over dedicated sockets, one per concurrent request. A first request takes 4 ms less than with node:http, which
 * is a quarter of the start of Node, and much less than with undici (spec/program#startup).
 */
export const http1Transport = (): Transport => {
  const idle = new Idle();
  const open = new Set<Connection>();
  const linesOf = headerLines();
  const openConnection = (key: string, prepared: PreparedRequest): Connection => {
    const connection = new Connection((onread) => connect(prepared, onread), {
      idle: (done, keptMs) => idle.put(key, done, keptMs),
      onClosed: (closed) => void open.delete(closed),
    });
    open.add(connection);
    return connection;
  };
  return {
    start(prepared, progress) {
      const { request, to } = prepared;
      checkMethod(request.method);
      const lines = linesOf(request.headers);
      const key = keyOf(to.origin, request.tls);
      const kept = idle.take(key);
      if (kept !== undefined) return kept.send(prepared, lines, progress, undefined);
      const ready = to.url.protocol === 'https:' ? 'secureConnect' : 'connect';
      return openConnection(key, prepared).send(prepared, lines, progress, ready);
    },
    async close() {
      idle.closeAll();
      for (const connection of open) connection.close();
    },
  };
};
