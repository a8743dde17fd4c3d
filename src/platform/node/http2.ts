import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';
import { connectHost, hostWithoutBrackets } from '../../core/external-url.ts';
import type { Bytes } from '../host.ts';
import {
  type Attempt,
  flatHeaders,
  headersWithLength,
  isStream,
  emptyBytes,
  type PreparedRequest,
  type Progress,
  tlsOptions,
  type Transport,
  usualAuthorities,
  type Wire,
} from './transport.ts';
import { builtin } from './builtin.ts';

/** Large windows: the default of 64 KiB makes a long download wait for the other side all the time. */
const windowBytes = 8 * 1024 * 1024;

const connect = (prepared: PreparedRequest): ClientHttp2Session => {
  const {
    to: { url },
    request: { tls },
  } = prepared;
  const host = connectHost(prepared);
  const secure = url.protocol === 'https:' ? tlsOptions(tls, usualAuthorities) : {};
  const name = hostWithoutBrackets(url.hostname);
  const session = builtin.http2.connect(url.origin, {
    // These replace the host of the origin, which stays the :authority of the requests and the name in the certificate.
    ...(builtin.net.isIP(name) === 0 ? { host, servername: name } : {}),
    settings: { initialWindowSize: windowBytes, enablePush: false },
    ...secure,
  });
  session.once('connect', () => {
    // A connection that was cut or aborted immediately is still reported as open.
    if (!session.destroyed) session.setLocalWindowSize(windowBytes);
  });
  return session;
};

/** A stream fails with a general error if its session ends. The error of the session has the reason. */
const causeOf = (error: Error & { code?: string }): Error =>
  error.code === 'ERR_HTTP2_STREAM_CANCEL' && error.cause instanceof Error ? error.cause : error;

const earlyEnd = (): Error => Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' });

/**
 * Passes the body through a separate pipe. If the stream is iterated directly, Node 24 ends it with a
 * premature close when both sides close it before its last bytes are read.
 */
const flowing = (stream: ClientHttp2Stream): AsyncIterable<Bytes> => {
  const body = new builtin.stream.PassThrough();
  // Its reader receives the error. A body without a reader, for example before the first read, must not end the process.
  body.on('error', () => {});
  stream.pipe(body);
  stream.on('error', (error) => body.destroy(error));
  stream.once('aborted', () => body.destroy(earlyEnd()));
  stream.once('close', () => {
    if (!stream.readableEnded) body.destroy(earlyEnd());
  });
  return body;
};

const wireFrom = (headers: IncomingHttpHeaders, stream: ClientHttp2Stream, isEmpty: boolean): Wire => {
  const plain = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':')));
  let trailers: Record<string, string> = {};
  stream.on('trailers', (found) => {
    trailers = flatHeaders(found);
  });
  const body = isEmpty ? emptyBytes : flowing(stream);
  if (isEmpty) stream.resume();
  return { status: Number(headers[':status']), headers: flatHeaders(plain), body, trailers: () => trailers };
};

/** HTTP/2, without an upgrade on plain connections ("prior knowledge"): one session for each request, closed after it. */
export const http2Transport = (): Transport => {
  const open = new Set<ClientHttp2Session>();
  return {
    start(prepared: PreparedRequest, progress: Progress): Attempt {
      const { request, to } = prepared;
      const session = connect(prepared);
      open.add(session);
      session.once('close', () => open.delete(session));
      session.once('connect', () => progress.onConnected());
      const { 'content-length': _, ...headers } = headersWithLength(request);
      const stream = session.request({ ':method': request.method, ':path': to.path, ...headers });
      const reply = new Promise<Wire>((resolve, reject) => {
        session.on('error', reject);
        stream.on('error', (error) => reject(causeOf(error)));
        stream.once('response', (found, flags) =>
          resolve(wireFrom(found, stream, (flags & builtin.http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0)),
        );
        stream.once('close', () => {
          reject(earlyEnd());
          session.close();
        });
      });
      if (!isStream(request.body)) stream.end(request.body);
      else builtin.stream.Readable.from(request.body).pipe(stream);
      return {
        reply,
        destroy: (reason) => {
          stream.destroy(reason);
          session.destroy();
        },
      };
    },
    async close() {
      for (const session of open) session.destroy();
    },
  };
};
