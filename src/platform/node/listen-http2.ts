import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2ServerResponse, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Bytes, Outgoing } from '../host.ts';
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

const pump = async (response: Http2ServerResponse, body: AsyncIterable<Bytes>): Promise<void> => {
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
  else if (body !== undefined) await pump(response, body);
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
