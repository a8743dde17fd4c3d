import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
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
import { addHttp2 } from './listen-http2.ts';
import { awaitDrain } from './transport.ts';

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
export const incomingFrom = (message: IncomingMessage, response: ServerResponse, isTls: boolean): Incoming =>
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
