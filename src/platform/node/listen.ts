import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Address, Handler, Listener, Outgoing } from '../host.ts';
import { answer } from './answer.ts';
import { builtin } from './builtin.ts';
import { incomingFrom } from './incoming.ts';

const DEFAULT_REQUEST_TIMEOUT_MS = 60_000;
const DEFAULT_URL_BYTES = 16 * 1024;
const HEADER_BYTES = 16 * 1024;
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

const onRequest = (handler: Handler, at: Address) => {
  const maxUrl = at.maxUrlBytes ?? DEFAULT_URL_BYTES;
  const isTls = at.tls !== undefined;
  return (message: IncomingMessage, response: ServerResponse): void => {
    const give = (outgoing: Outgoing): void => {
      try {
        answer(message, response, outgoing);
      } catch {
        // A header that cannot be written, for example text from a request in `location`.
        if (response.headersSent) response.destroy();
        else answer(message, response, failed);
      }
    };
    if ((message.url as string).length > maxUrl) {
      give(tooLong);
      return;
    }
    try {
      const made = handler(incomingFrom(message, response, isTls));
      // A handler that answers at once costs no promise.
      if (made instanceof Promise) made.then(give, () => give(failed));
      else give(made);
    } catch {
      give(failed);
    }
  };
};

const makeServer = (handler: Handler, at: Address): Server => {
  const requestTimeout = at.requestTimeoutMs ?? DEFAULT_REQUEST_TIMEOUT_MS;
  const options = {
    requestTimeout,
    headersTimeout: requestTimeout,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: Math.max(50, Math.min(requestTimeout / 2, 30_000)),
    maxHeaderSize: HEADER_BYTES + (at.maxUrlBytes ?? DEFAULT_URL_BYTES),
    noDelay: true,
  };
  const server =
    at.tls === undefined
      ? builtin.http.createServer(options)
      : builtin.https.createServer({ ...options, ...at.tls });
  server.on('request', onRequest(handler, at));
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
