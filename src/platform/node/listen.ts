import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import { limits } from '../../core/limits.ts';
import {
  type Address,
  type Bytes,
  type Handler,
  type Incoming,
  type Listener,
  NetworkError,
  type Outgoing,
} from '../host.ts';
import { builtin } from './builtin.ts';
import { awaitDrain } from './transport.ts';

/** The first bytes of HTTP/2 with prior knowledge (RFC 9113, 3.4). No HTTP/1.1 request starts with them. */
const PREFACE = Buffer.from('PRI * HTTP/2.0');
/**
 * An idle connection is closed after this time. An HTTP/2 connection without a running call is kept ten times
 * as long, because clients reuse it.
 */
const IDLE_MS = 60_000;
const SESSION_TIMES = 10;

const pumpHttp2 = async (response: Http2ServerResponse, body: AsyncIterable<Bytes>): Promise<void> => {
  for await (const chunk of body) {
    if (response.destroyed || response.stream.destroyed) return;
    if (!response.write(chunk)) await awaitDrain(response.stream);
  }
};

const write = async (response: Http2ServerResponse, { status, headers, body, trailers }: Outgoing) => {
  for (const [name, value] of Object.entries(headers ?? {}))
    if (name !== 'connection') response.setHeader(name, value as string | string[]);
  response.writeHead(status);
  if (typeof body === 'string' || body instanceof Uint8Array) response.write(body);
  else if (body !== undefined) await pumpHttp2(response, body);
  if (trailers !== undefined) response.addTrailers(trailers());
  response.end();
};

/**
 * Writes one response over HTTP/2. If the source fails or the response is cut, it resets the stream or ends
 * the connection.
 */
const answerHttp2 = (response: Http2ServerResponse, outgoing: Outgoing): void => {
  if (response.stream.destroyed) return;
  if (outgoing.cut === true) response.stream.session?.destroy();
  else write(response, outgoing).catch(() => response.stream.destroy());
};

/**
 * Detects the protocol of a client by reading as few bytes as possible. The bytes stay in the socket for the
 * actual reader.
 */
const firstBytes = (socket: Socket, told: (isHttp2: boolean) => void): void => {
  let seen = Buffer.alloc(0);
  // Sockets of this server stay open for responses after the client has sent all its data. Here there was no
  // request.
  const destroySocket = (): void => void socket.destroy();
  const look = (chunk: Buffer): void => {
    seen = Buffer.concat([seen, chunk]);
    const isSoFar = PREFACE.subarray(0, seen.length).equals(seen.subarray(0, PREFACE.length));
    if (isSoFar && seen.length < PREFACE.length) return;
    socket.off('data', look);
    socket.off('end', destroySocket);
    socket.removeAllListeners('timeout');
    socket.pause();
    socket.unshift(seen);
    told(isSoFar);
    if (!isSoFar) process.nextTick(() => socket.resume());
  };
  socket.on('data', look);
  socket.once('end', destroySocket);
};

/**
 * After a protocol error, Node does not notice that a client disconnects. Without a limit its socket would
 * stay open forever.
 */
const endIdle = (session: ServerHttp2Session, idleMs: number): void => {
  let calls = 0;
  session.on('stream', (stream) => {
    calls += 1;
    stream.once('close', () => {
      calls -= 1;
    });
  });
  session.setTimeout(idleMs, () => {
    if (calls === 0) session.destroy();
  });
};

type OnRequest = (
  message: IncomingMessage,
  response: ServerResponse,
  give: (outgoing: Outgoing) => void,
) => void;

/**
 * One port for both protocols: a connection that starts with the preface uses HTTP/2, all others stay with
 * `http1`.
 */
export const addHttp2 = (http1: Server, onRequest: OnRequest, idleMs = IDLE_MS): void => {
  const http2 = builtin.http2.createServer();
  http2.on('request', (message, response) => {
    // Node's compatibility interface has the members of the older one that are used here.
    const [asked, answered] = [message, response] as unknown as [IncomingMessage, ServerResponse];
    onRequest(asked, answered, (outgoing) => answerHttp2(response, outgoing));
  });
  http2.on('sessionError', () => {});
  http2.on('session', (session) => endIdle(session, SESSION_TIMES * idleMs));
  const takers = http1.listeners('connection');
  const take = (socket: Socket, isHttp2: boolean): void => {
    if (isHttp2) {
      // Otherwise the socket of a client that disconnects silently would stay open forever.
      socket.allowHalfOpen = false;
      http2.emit('connection', socket);
    } else for (const taker of takers) taker.call(http1, socket);
  };
  http1.removeAllListeners('connection');
  http1.on('connection', (socket: Socket) => {
    socket.setTimeout(idleMs, () => void socket.destroy());
    socket.on('error', () => {});
    firstBytes(socket, (isHttp2) => {
      socket.setTimeout(0);
      take(socket, isHttp2);
    });
  });
};

/** Headers as Node's raw list, which it writes without looking each one up. */
const rawHeaders = (outgoing: Outgoing, length: number | undefined): string[] => {
  const raw: string[] = [];
  const { headers } = outgoing;
  for (const name in headers) {
    const value = headers[name];
    if (typeof value === 'string') raw.push(name, value);
    else if (value !== undefined) for (const one of value) raw.push(name, one);
  }
  if (length !== undefined && headers?.['content-length'] === undefined)
    raw.push('content-length', String(length));
  return raw;
};
/** A failing source cuts the connection, so that the client does not treat a partial response as complete. */
const pump = async (response: ServerResponse, body: AsyncIterable<Bytes>): Promise<void> => {
  try {
    for await (const chunk of body) {
      if (response.destroyed) return;
      if (!response.write(chunk)) await awaitDrain(response);
    }
    response.end();
  } catch {
    response.destroy();
  }
};
/** Half of the body when there is one, then the end of the connection. */
const cutConnection = (response: ServerResponse, outgoing: Outgoing): void => {
  const { body } = outgoing;
  if (typeof body !== 'string' || body === '') return void response.socket?.destroy();
  response.writeHead(outgoing.status, rawHeaders(outgoing, Buffer.byteLength(body)));
  response.write(body.slice(0, Math.ceil(body.length / 2)), () => response.socket?.destroy());
};
const sizeOf = (body: string | Bytes | undefined): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : (body?.length ?? 0);
/** Text without multibyte characters needs no second scan. */
const encodingOf = (body: string | Bytes, size: number): 'latin1' | 'utf8' =>
  body.length === size ? 'latin1' : 'utf8';
/** Writes one response. Strings and bytes are sent in one piece with their length. */
export const answer = (message: IncomingMessage, response: ServerResponse, outgoing: Outgoing): void => {
  if (response.destroyed) return;
  if (outgoing.cut) {
    cutConnection(response, outgoing);
    return;
  }
  const { body, status } = outgoing;
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    const isBodyless = status === 204 || status === 304;
    const size = sizeOf(body);
    response.writeHead(status, rawHeaders(outgoing, isBodyless ? undefined : size));
    if (body === undefined || isBodyless || message.method === 'HEAD') response.end();
    else response.end(body, encodingOf(body, size));
    return;
  }
  response.writeHead(status, rawHeaders(outgoing, undefined));
  if (message.method === 'HEAD') response.end();
  else void pump(response, body);
};

const NOTHING = new Uint8Array(0);
const tooLarge = (limit: number): NetworkError =>
  new NetworkError('TOO_LARGE', `the body is larger than ${limit} bytes`, true);
const makeGoneError = (): NetworkError =>
  new NetworkError('RESET', 'the client closed the connection before its request was complete', true);
const isOver = ({ headers }: IncomingMessage, limit: number): boolean =>
  Number(headers['content-length'] ?? 0) > limit;
/** Listens for pieces, which costs less than iterating. */
const receive = <T>(
  message: IncomingMessage,
  limit: number,
  take: (chunk: Buffer) => void,
  whole: () => T,
): Promise<T> =>
  new Promise((resolve, reject) => {
    if (isOver(message, limit)) return reject(tooLarge(limit));
    let size = 0;
    let isRefused = false;
    const refuse = (error: unknown): void => {
      isRefused = true;
      reject(error);
    };
    // Data after a rejection is read and dropped, so that the client sees the response.
    message.on('data', (chunk: Buffer) => {
      if (isRefused) return;
      size += chunk.length;
      if (size > limit) return refuse(tooLarge(limit));
      try {
        take(chunk);
      } catch (error) {
        refuse(error);
      }
    });
    message.on('end', () => resolve(whole()));
    message.on('error', () => reject(makeGoneError()));
    // Every request closes; making an error each time would be a tenth of the work of a small request.
    message.on('close', () => {
      if (!message.readableEnded) reject(makeGoneError());
    });
  });
const collect = (message: IncomingMessage, limit: number): Promise<Bytes> => {
  // No more data of it will arrive, not even its end.
  if (message.destroyed) return Promise.reject(makeGoneError());
  const chunks: Buffer[] = [];
  return receive(
    message,
    limit,
    (chunk) => chunks.push(chunk),
    () => (chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
  );
};
const whole = (message: IncomingMessage, limit: number): Bytes => {
  if (message.readableLength > limit) throw tooLarge(limit);
  return (message.read() as Buffer | null) ?? NOTHING;
};
/** The usual body comes in one packet with its head, and is here when the packet is parsed: it needs no listeners. */
const readAll = (message: IncomingMessage, limit: number): Promise<Bytes> =>
  isOver(message, limit)
    ? Promise.reject(tooLarge(limit))
    : Promise.resolve().then(() =>
        message.complete && !message.destroyed ? whole(message, limit) : collect(message, limit),
      );
/** One request as the handler sees it. Rarely used properties are created on first access. */
class Request implements Incoming {
  readonly method: string;
  readonly url: string;
  readonly isTls: boolean;
  #message: IncomingMessage;
  #response: ServerResponse;
  #abort: AbortController | undefined;

  constructor(message: IncomingMessage, response: ServerResponse, isTls: boolean) {
    this.method = message.method as string;
    this.url = message.url as string;
    this.isTls = isTls;
    this.#message = message;
    this.#response = response;
  }

  get headers(): Incoming['headers'] {
    // Only set-cookie is ever a list, and it is not a request header.
    return this.#message.headers as Incoming['headers'];
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? '';
  }

  get remotePort(): number | undefined {
    return this.#message.socket.remotePort;
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      const abort = new AbortController();
      this.#abort = abort;
      const response = this.#response;
      if (response.destroyed) abort.abort(makeGoneError());
      else response.once('close', () => !response.writableFinished && abort.abort(makeGoneError()));
    }
    return this.#abort.signal;
  }

  async *body(): AsyncGenerator<Bytes> {
    try {
      for await (const chunk of this.#message) yield chunk as Bytes;
    } catch {
      throw makeGoneError();
    }
  }

  #hasBody(): boolean {
    const { headers, httpVersionMajor } = this.#message;
    return (
      headers['content-length'] !== undefined ||
      headers['transfer-encoding'] !== undefined ||
      httpVersionMajor === 2
    );
  }

  receive(limitBytes: number, take: (chunk: Bytes) => void): Promise<void> {
    return this.#hasBody() ? receive(this.#message, limitBytes, take, () => undefined) : Promise.resolve();
  }

  read(limitBytes: number): Promise<Bytes> {
    return this.#hasBody() ? readAll(this.#message, limitBytes) : Promise.resolve(NOTHING);
  }
}
const incomingFrom = (message: IncomingMessage, response: ServerResponse, isTls: boolean): Incoming =>
  new Request(message, response, isTls);

/** Longer than clients keep theirs, so that a connection is not closed under a request that is on its way. */
const KEEP_ALIVE_MS = 75_000;
const CLOSE_GRACE_MS = 1000;
const IDLE_LOOK_MS = 20;
const tooLong: Outgoing = {
  status: 414,
  headers: { 'content-type': 'text/plain', connection: 'close' },
  body: 'the URL is too long',
};
const failed: Outgoing = {
  status: 500,
  headers: { 'content-type': 'application/json' },
  body: '{"message":"internal error"}',
};
const listenTooLarge: Outgoing = {
  status: 413,
  headers: { 'content-type': 'application/json', connection: 'close' },
  body: '{"message":"the request body is too large"}',
};
/** The response for a client if a handler returned none. */
const failureAnswer = (error: unknown): Outgoing =>
  error instanceof NetworkError && error.code === 'TOO_LARGE' ? listenTooLarge : failed;
const twoHosts: Outgoing = {
  status: 400,
  headers: { 'content-type': 'text/plain', connection: 'close' },
  body: 'the request has more than one Host header',
};
/** RFC 9112 3.2: respond with 400, because a proxy in front of this server may have used the other value. */
const hasOneHost = ({ rawHeaders }: IncomingMessage): boolean => {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts <= 1;
};
const onRequest = (handler: Handler, at: Address) => {
  const maxUrl = at.maxUrlBytes ?? limits.urlBytes;
  const isTls = at.tls !== undefined;
  return (message: IncomingMessage, response: ServerResponse, give: (outgoing: Outgoing) => void): void => {
    if ((message.url as string).length > maxUrl) {
      give(tooLong);
      return;
    }
    if (!hasOneHost(message)) {
      give(twoHosts);
      return;
    }
    try {
      const made = handler(incomingFrom(message, response, isTls));
      // A handler that returns synchronously costs no promise.
      if (made instanceof Promise) made.then(give, (error: unknown) => give(failureAnswer(error)));
      else give(made);
    } catch {
      give(failed);
    }
  };
};
/** Over HTTP/1.1. */
const giver =
  (message: IncomingMessage, response: ServerResponse) =>
  (outgoing: Outgoing): void => {
    try {
      answer(message, response, outgoing);
    } catch {
      // A header that cannot be written, for example text from a request in `location`.
      if (response.headersSent) response.destroy();
      else answer(message, response, failed);
    }
  };
const makeServer = (handler: Handler, at: Address): Server => {
  const requestTimeout = at.requestTimeoutMs ?? limits.requestMs;
  const options = {
    requestTimeout,
    headersTimeout: Math.min(requestTimeout, limits.headMs),
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.max(50, Math.min(requestTimeout / 2, limits.headMs / 3)),
    maxHeaderSize: limits.headerBytes + (at.maxUrlBytes ?? limits.urlBytes),
    noDelay: true,
  };
  const server =
    at.tls === undefined
      ? builtin.http.createServer(options)
      : builtin.https.createServer({ ...options, ...at.tls });
  const taken = onRequest(handler, at);
  server.on('request', (message, response) => taken(message, response, giver(message, response)));
  if (at.http2 === true) addHttp2(server, taken);
  if (at.maxConnections !== undefined) server.maxConnections = at.maxConnections;
  return server;
};
const close = (server: Server, sockets: Set<Socket>): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => {
      for (const socket of sockets) socket.destroy();
    }, CLOSE_GRACE_MS);
    // A client keeps a connection open after its response. The connection is idle only from that moment on.
    const idle = setInterval(() => server.closeIdleConnections(), IDLE_LOOK_MS);
    server.close(() => {
      clearTimeout(timer);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
/** Serves until closed; see `Network.listen`. */
export const listen = (handler: Handler, at: Address): Promise<Listener> =>
  new Promise((resolve, reject) => {
    const server = makeServer(handler, at);
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    server.once('error', reject);
    server.listen({ host: at.host, port: at.port }, () => {
      server.off('error', reject);
      // Running out of file descriptors must not end the process; the client sees a refused connection.
      server.on('error', () => {});
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : at.port;
      resolve({ host: at.host, port, close: () => close(server, sockets) });
    });
  });
