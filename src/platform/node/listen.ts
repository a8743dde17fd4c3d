import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Address, type Handler, type Listener, NetworkError, type Outgoing } from '../host.ts';
import { limits } from '../../core/limits.ts';
import { answer } from './answer.ts';
import { builtin } from './builtin.ts';
import { incomingFrom } from './incoming.ts';
import { addHttp2 } from './listen-http2.ts';

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

const tooLarge: Outgoing = {
  status: 413,
  headers: { 'content-type': 'application/json', connection: 'close' },
  body: '{"message":"the request body is too large"}',
};
/** What the client hears when a handler gave no answer. */
const failureAnswer = (error: unknown): Outgoing =>
  error instanceof NetworkError && error.code === 'TOO_LARGE' ? tooLarge : failed;

const twoHosts: Outgoing = {
  status: 400,
  headers: { 'content-type': 'text/plain', connection: 'close' },
  body: 'the request has more than one Host header',
};
/** RFC 9112 3.2: answered with 400. What is in front of this server may have looked at the other one. */
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
      // A handler that answers at once costs no promise.
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
    // A connection whose answer is out is kept alive by its client: it is idle by then, not before.
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
