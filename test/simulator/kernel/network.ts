/**
 * HTTP between simulated processes. A message may be delayed, lost, truncated in either direction, or delivered twice
 * if HTTP allows it.
 */
import {
  type Address,
  type Handler,
  type HttpReply,
  type HttpRequest,
  type Incoming,
  type Network,
  NetworkError,
  type Outgoing,
} from '../../../src/platform/host.ts';
import { Failed, type Kernel, type Process } from './kernel.ts';

export type Weather = {
  /** Shares of requests, from 0 to 1. */
  readonly lost: number;
  readonly cutAfter: number;
  readonly refused: number;
  readonly twice: number;
  readonly late: number;
};
export const calmWeather: Weather = { lost: 0, cutAfter: 0, refused: 0, twice: 0, late: 0 };
type Listening = { readonly handler: Handler; readonly owner: Process };
export type Lan = {
  weather: Weather;
  readonly listening: Map<number, Listening>;
  /** Returns whether the connection between two machines is cut. */
  isCut(from: string, to: string): boolean;
};
export const lan = (): Lan => ({ weather: calmWeather, listening: new Map(), isCut: () => false });

const LATE_MS = 3_000;
const isRepeatable = (method: string): boolean => method !== 'POST' && method !== 'PATCH';

const gathered = async (body: HttpRequest['body'] | Outgoing['body']): Promise<Buffer> => {
  if (body === undefined) return Buffer.alloc(0);
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as string);
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
};

const incomingFrom = (request: HttpRequest, body: Buffer): Incoming => {
  const { pathname, search, host } = new URL(request.url);
  const headers: Record<string, string> = { host };
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[name.toLowerCase()] = value;
  if (request.body !== undefined) headers['content-length'] = String(body.length);
  let signal: AbortSignal | undefined;
  return {
    method: request.method,
    url: pathname + search,
    headers,
    remoteAddress: '127.0.0.1',
    isTls: false,
    // A signal is slow to make, and few handlers read it.
    get signal() {
      signal ??= new AbortController().signal;
      return signal;
    },
    async *body() {
      yield body;
    },
    receive: async (limit, take) => {
      if (body.length > limit) throw new NetworkError('TOO_LARGE', 'the body is too large', true);
      take(body);
    },
    read: async (limit) => {
      if (body.length > limit) throw new NetworkError('TOO_LARGE', 'the body is too large', true);
      return body;
    },
  };
};

const replyFrom = async (out: Outgoing): Promise<HttpReply> => {
  const bytes = await gathered(out.body);
  const headers: Record<string, string> = { 'content-length': String(bytes.length) };
  for (const [name, value] of Object.entries(out.headers ?? {}))
    headers[name.toLowerCase()] = Array.isArray(value) ? value.join(', ') : String(value);
  return {
    status: out.status,
    headers,
    async *stream() {
      yield bytes;
    },
    bytes: async () => bytes,
    text: async () => bytes.toString('utf8'),
  };
};

const fails = (code: NetworkError['code'], isSent: boolean): NetworkError =>
  new NetworkError(code, `simulated: ${code.toLowerCase()}`, isSent);

/** Returns the response of the handler, which runs in the listening process. Rejects if that process is killed first. */
const answered = (kernel: Kernel, { handler, owner }: Listening, incoming: Incoming): Promise<HttpReply> =>
  new Promise((resolve, reject) => {
    const gone = (): void => reject(fails('RESET', true));
    if (owner.isDead) return gone();
    owner.onDeath.add(gone);
    const over = (act: () => void): void => {
      owner.onDeath.delete(gone);
      if (!owner.isDead) act();
    };
    const serve = async (): Promise<HttpReply> => {
      const out = await handler(incoming);
      if (out.cut === true) throw fails('RESET', true);
      return replyFrom(out);
    };
    kernel.later(
      () => {
        serve().then(
          (reply) => over(() => resolve(reply)),
          (error: unknown) =>
            over(() => reject(error instanceof NetworkError ? error : fails('RESET', true))),
        );
      },
      0,
      owner,
    );
  });

const exchange = async (
  kernel: Kernel,
  net: Lan,
  client: Process,
  request: HttpRequest,
): Promise<HttpReply> => {
  const { random } = kernel;
  const { weather } = net;
  const port = Number(new URL(request.url).port);
  const limit = request.timeoutMs ?? 30_000;
  const body = await gathered(request.body);
  // Schedules the pause for the client, although the code of another process may be running.
  const pause = (ms: number): Promise<void> => new Promise((resolve) => kernel.later(resolve, ms, client));
  const hit = (name: keyof Weather): boolean => {
    const isHit = weather[name] > 0 && random.chance(weather[name]);
    if (isHit) kernel.fault(`request ${name}`);
    return isHit;
  };
  await kernel
    .call(() => kernel.effect(`${request.method} ${request.url}`, () => undefined))
    .catch((error: unknown) => {
      throw error instanceof Failed ? fails('RESET', false) : error;
    });
  // Simulated members support HTTP/1.1 only, as the real members of a rehearsal do.
  if (request.transport === 'http2') throw fails('OTHER', true);
  const target = net.listening.get(port);
  if (target === undefined || hit('refused')) throw fails('REFUSED', false);
  if (net.isCut(client.machine.name, target.owner.machine.name) || hit('lost')) {
    await pause(limit);
    throw fails('TIMEOUT', true);
  }
  await pause(hit('late') ? random.below(LATE_MS) : random.below(3));
  const incoming = (): Incoming => incomingFrom(request, body);
  if (isRepeatable(request.method) && hit('twice'))
    await answered(kernel, target, incoming()).catch(() => undefined);
  const reply = await answered(kernel, target, incoming());
  await pause(hit('late') ? random.below(LATE_MS) : random.below(3));
  if (hit('cutAfter')) throw fails('RESET', true);
  return reply;
};

/** The network from the view of one process. The process that sent the request processes the response. */
export const networkOf = (kernel: Kernel, net: Lan, process: Process): Network => ({
  request: (request) =>
    new Promise((resolve, reject) => {
      if (process.isDead) return;
      const { signal } = request;
      if (signal?.aborted) return reject(signal.reason);
      const timeout = kernel.later(
        () => reject(fails('TIMEOUT', true)),
        request.timeoutMs ?? 30_000,
        process,
      );
      const back = (act: () => void): void => {
        timeout.isCancelled = true;
        signal?.removeEventListener('abort', abort);
        kernel.later(act, 0, process);
      };
      const abort = (): void => back(() => reject(fails('ABORTED', true)));
      signal?.addEventListener('abort', abort, { once: true });
      exchange(kernel, net, process, request).then(
        (reply) => back(() => resolve(reply)),
        (error: unknown) => back(() => reject(error)),
      );
    }),
  listen: (handler, at: Address) =>
    kernel.call(() => {
      let { port } = at;
      while (port === 0 || (at.port === 0 && net.listening.has(port)))
        port = 40_000 + kernel.random.below(20_000);
      if (at.host === '::1' || net.listening.has(port))
        throw Object.assign(new Error('EADDRINUSE: simulated'), { code: 'EADDRINUSE' });
      net.listening.set(port, { handler, owner: process });
      const close = async (): Promise<void> => {
        if (net.listening.get(port)?.owner === process) net.listening.delete(port);
      };
      process.onDeath.add(() => void close());
      return { host: at.host, port, close };
    }),
  probe: async () => ({}),
  canConnect: async (_host, port) => net.listening.has(port),
  freePorts: async (count) =>
    Array.from({ length: count }, (_, i) => 61_000 + kernel.random.below(400) * 10 + i),
  close: async () => {},
});
