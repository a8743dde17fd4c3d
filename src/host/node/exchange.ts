import { setMaxListeners } from 'node:events';
import { type Bytes, type HttpReply, type HttpRequest, NetworkError } from '../host.ts';
import { networkErrorFrom } from './network-error.ts';
import type { Attempt, Prepared, Progress, Transport, Wire } from './transport.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_REPLY_BYTES = 64 * 1024 * 1024;

/** A clock that is wound up again at each sign of life. */
const alarm = (ring: () => void) => {
  let timer: NodeJS.Timeout | undefined;
  let wound = 0;
  const stop = (): void => {
    clearTimeout(timer);
    wound = 0;
  };
  return {
    stop,
    wind(ms: number): void {
      if (timer !== undefined && wound === ms) {
        timer.refresh();
        return;
      }
      stop();
      wound = ms;
      timer = setTimeout(ring, ms);
    },
  };
};

/** One request under way: what every transport has in common. */
type Call = {
  readonly where: string;
  readonly timeoutMs: number;
  sent: boolean;
  /** Set by whatever ended the request from this side; it names the failure better than the transport can. */
  ended: NetworkError | undefined;
  attempt: Attempt | undefined;
  fail(error: unknown): NetworkError;
  onAbort(): void;
};

const end = (call: Call, error: NetworkError): void => {
  call.ended = error;
  call.attempt?.destroy(error);
};

const timeoutError = (call: { where: string; sent: boolean; timeoutMs: number }, connectMs: number): NetworkError =>
  call.sent
    ? new NetworkError('TIMEOUT', `${call.where} did not answer within ${call.timeoutMs / 1000} s; --timeout changes the limit`, true)
    : new NetworkError('CONNECT_TIMEOUT', `cannot reach ${call.where}: no connection within ${connectMs / 1000} s`, false);

async function* bodyOf(wire: Wire, call: Call, signal: AbortSignal | undefined): AsyncGenerator<Bytes> {
  const iterator = wire.body[Symbol.asyncIterator]();
  const clock = alarm(() => end(call, timeoutError(call, 0)));
  let isDone = false;
  try {
    for (;;) {
      clock.wind(call.timeoutMs);
      const next = await iterator.next();
      clock.stop();
      if (next.done) {
        isDone = true;
        return;
      }
      yield next.value;
    }
  } catch (error) {
    isDone = true;
    throw call.fail(error);
  } finally {
    clock.stop();
    signal?.removeEventListener('abort', call.onAbort);
    if (!isDone) await iterator.return?.();
  }
}

const collect = async (body: AsyncIterable<Bytes>, limit: number, where: string): Promise<Bytes> => {
  const chunks: Bytes[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) throw new NetworkError('TOO_LARGE', `the answer of ${where} is larger than ${limit} bytes`, true);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, size);
};

const utf8 = new TextDecoder();

const replyFrom = (wire: Wire, call: Call, request: HttpRequest): HttpReply => {
  const stream = (): AsyncIterable<Bytes> => bodyOf(wire, call, request.signal);
  const bytes = (): Promise<Bytes> => collect(stream(), request.maxReplyBytes ?? DEFAULT_REPLY_BYTES, call.where);
  if (wire.isEmpty) request.signal?.removeEventListener('abort', call.onAbort);
  const { status, headers, trailers } = wire;
  return {
    status,
    headers,
    stream,
    bytes,
    text: async () => utf8.decode(await bytes()),
    ...(trailers === undefined ? {} : { trailers }),
  };
};

/** Sends one request with the limits of `HttpRequest`, whatever carries it. Throws NetworkError only. */
export const exchange = async (transport: Transport, request: HttpRequest, prepared: Prepared): Promise<HttpReply> => {
  const connectMs = request.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS;
  const where = prepared.url.origin;
  if (request.signal?.aborted) throw new NetworkError('ABORTED', `the request to ${where} was cancelled`, false, request.signal.reason);
  const call: Call = {
    where,
    timeoutMs: request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    sent: false,
    ended: undefined,
    attempt: undefined,
    fail: (error) => call.ended ?? networkErrorFrom(error, where, call.sent, prepared.proxy),
    onAbort: () => end(call, new NetworkError('ABORTED', `the request to ${where} was cancelled`, call.sent, request.signal?.reason)),
  };
  const clock = alarm(() => end(call, timeoutError(call, connectMs)));
  clock.wind(connectMs);
  let isAnswered = false;
  const progress: Progress = {
    connected() {
      call.sent = true;
      clock.wind(call.timeoutMs);
    },
    // After an early answer the upload may go on; the clock is then the answer's.
    moved: () => (isAnswered ? undefined : clock.wind(call.timeoutMs)),
  };
  // One signal stops all requests of a run: many listeners are no leak.
  if (request.signal !== undefined && request.transport === 'pooled') setMaxListeners(0, request.signal);
  request.signal?.addEventListener('abort', call.onAbort, { once: true });
  try {
    // Throws at once for a header that cannot be sent.
    call.attempt = transport.start(prepared, progress);
    return replyFrom(await call.attempt.reply, call, request);
  } catch (error) {
    request.signal?.removeEventListener('abort', call.onAbort);
    throw call.fail(error);
  } finally {
    isAnswered = true;
    clock.stop();
  }
};
