import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Bytes, Outgoing } from '../host.ts';
import { builtin } from './builtin.ts';
import { drained } from './drained.ts';

/** The first bytes of HTTP/2 with prior knowledge (RFC 9113, 3.4), which no request of HTTP/1.1 begins with. */
const PREFACE = Buffer.from('PRI * HTTP/2.0');
/** A connection that says nothing at all is not kept. */
const FIRST_BYTES_MS = 60_000;

const pump = async (response: Http2ServerResponse, body: AsyncIterable<Bytes>): Promise<void> => {
  for await (const chunk of body) {
    if (response.destroyed || response.stream.destroyed) return;
    if (!response.write(chunk)) await drained(response.stream);
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

/** Writes one answer over HTTP/2. A source that fails, or a cut, resets the stream or ends the connection. */
const answerHttp2 = (response: Http2ServerResponse, outgoing: Outgoing): void => {
  if (response.stream.destroyed) return;
  if (outgoing.cut === true) response.stream.session?.destroy();
  else write(response, outgoing).catch(() => response.stream.destroy());
};

type OnRequest = (
  message: IncomingMessage,
  response: ServerResponse,
  give: (outgoing: Outgoing) => void,
) => void;

/** One port for both: a connection that begins with the preface speaks HTTP/2, every other one stays with `http1`. */
export const addHttp2 = (http1: Server, onRequest: OnRequest): void => {
  const http2 = builtin.http2.createServer();
  http2.on('request', (message, response) => {
    // Node's compatibility interface has the members of the older one that are used here.
    const [asked, answered] = [message, response] as unknown as [IncomingMessage, ServerResponse];
    onRequest(asked, answered, (outgoing) => answerHttp2(response, outgoing));
  });
  http2.on('sessionError', () => {});
  const takers = http1.listeners('connection');
  const take = (socket: Socket, isHttp2: boolean): void => {
    if (isHttp2) http2.emit('connection', socket);
    else for (const taker of takers) taker.call(http1, socket);
  };
  http1.removeAllListeners('connection');
  http1.on('connection', (socket: Socket) => {
    const giveUp = (): void => void socket.destroy();
    socket.setTimeout(FIRST_BYTES_MS, giveUp);
    socket.on('error', () => {});
    socket.once('data', (chunk) => {
      socket.setTimeout(0);
      socket.off('timeout', giveUp);
      socket.pause();
      socket.unshift(chunk);
      const length = Math.min(chunk.length, PREFACE.length);
      const isHttp2 = chunk.subarray(0, length).equals(PREFACE.subarray(0, length));
      take(socket, isHttp2);
      if (!isHttp2) process.nextTick(() => socket.resume());
    });
  });
};
