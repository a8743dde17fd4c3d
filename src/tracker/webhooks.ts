import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { EngineContext } from '../api/context.ts';
import { textFile } from '../api/input.ts';
import { refuseLongSecret } from '../core/field.ts';
import { limits } from '../core/limits.ts';
import { AppError, invalidArguments, messageOf, problem } from '../core/problem.ts';
import type { Incoming, Outgoing } from '../platform/host.ts';
import { isFromPage } from '../platform/trust.ts';

/**
 * spec/tracker#webhooks: deliveries that a receiver must reject, with the status that informs the sender of
 * the reason.
 */
export type Refusal = {
  readonly status: 400 | 401 | 413;
  readonly code: 'invalid_signature' | 'payload_too_large' | 'invalid_body';
  readonly message: string;
};
export const MAX_BODY_BYTES = limits.eventBytes;
/** Lower-case hex of HMAC-SHA-256 over the exact bytes of the body, without a prefix. */
const signature = (secret: string, body: Uint8Array): string =>
  createHmac('sha256', secret).update(body).digest('hex');
/** Compared in constant time, for input of any length. Hexadecimal digits have no case. */
export const isSignedBy = (secret: string, body: Uint8Array, header: string | undefined): boolean => {
  const expected = Buffer.from(signature(secret, body), 'utf8');
  const given = Buffer.from((header ?? '').toLowerCase(), 'utf8');
  return given.length === expected.length && timingSafeEqual(given, expected);
};
/**
 * Returns one delivery as an event, or the reason for its rejection. Without a secret, the signature is not
 * checked. Pure.
 */
export const readEvent = (
  body: Uint8Array,
  header: string | undefined,
  secret: string | undefined,
): { readonly event: Record<string, unknown> } | Refusal => {
  if (body.length > MAX_BODY_BYTES)
    return { status: 413, code: 'payload_too_large', message: `a body has at most ${MAX_BODY_BYTES} bytes` };
  if (secret !== undefined && !isSignedBy(secret, body, header)) {
    return {
      status: 401,
      code: 'invalid_signature',
      message:
        header === undefined
          ? 'the header Payload-Signature is missing'
          : 'the signature does not fit the body',
    };
  }
  try {
    const event: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof event === 'object' && event !== null && !Array.isArray(event))
      return { event: event as Record<string, unknown> };
  } catch {
    // Falls through to the refusal below.
  }
  return { status: 400, code: 'invalid_body', message: 'the body must be a JSON object' };
};

const json = { 'content-type': 'application/json' };
/** The secret of the webhook: from the file that is named, else from the environment. */
export const secretOf = async (
  context: EngineContext,
  given: string | undefined,
): Promise<string | undefined> => {
  if (given === undefined) {
    const secret = context.host.env.OPSCTL_WEBHOOK_SECRET || undefined;
    if (secret === undefined) return undefined;
    refuseLongSecret('config', 'OPSCTL_WEBHOOK_SECRET', secret);
    context.log.hide(secret);
    return secret;
  }
  const secret = (await textFile(context, given, '--secret-file')).replace(/\r?\n$/, '');
  if (!secret) throw invalidArguments([problem('--secret-file', 'rule', `${given} is empty`)]);
  refuseLongSecret('usage', '--secret-file', secret);
  context.log.hide(secret);
  return secret;
};
/**
 * Forwards a delivery unchanged: same bytes, same signature. The receiver's status becomes our status, so
 * that the sender retries a failed delivery.
 */
const forward = async (
  context: EngineContext,
  to: string,
  body: Uint8Array,
  header: string | undefined,
): Promise<number> => {
  const headers = {
    'content-type': 'application/json',
    ...(header === undefined ? {} : { 'payload-signature': header }),
  };
  const reply = await context.host.network.request({
    method: 'POST',
    url: to,
    headers,
    body,
    timeoutMs: 10_000,
  });
  await reply.bytes();
  return reply.status;
};
const receiver =
  (
    context: EngineContext,
    secret: string | undefined,
    to: string | undefined,
    accept: (event: Record<string, unknown>) => void,
  ) =>
  async (request: Incoming): Promise<Outgoing> => {
    if (request.method !== 'POST')
      return { status: 405, headers: { ...json, allow: 'POST' }, body: '{"error":"method_not_allowed"}' };
    // A page can send a request to this address, but it cannot sign the request.
    if (secret === undefined && isFromPage(request.headers)) {
      context.log.warn('refused a delivery that a web page sent');
      return { status: 403, headers: json, body: '{"error":"web_page"}' };
    }
    const header = request.headers['payload-signature'];
    const body = await request.read(MAX_BODY_BYTES + 1).catch(() => new Uint8Array(MAX_BODY_BYTES + 1));
    const read = readEvent(body, header, secret);
    if (!('event' in read)) {
      context.log.warn(`refused a delivery from ${request.remoteAddress}: ${read.message}`);
      return {
        status: read.status,
        headers: json,
        body: JSON.stringify({ error: read.code, message: read.message }),
      };
    }
    try {
      const status = to === undefined ? 200 : await forward(context, to, body, header);
      if (status < 400) accept(read.event);
      else context.log.warn(`${to} responded with status ${status}; the sender will retry`);
      return { status, headers: json, body: '{}' };
    } catch (error) {
      context.log.warn(`${to} could not be reached: ${messageOf(error)}`);
      return { status: 502, headers: json, body: '{"error":"forward_failed"}' };
    }
  };

/** Deliveries that are remembered, so that a repeated one is marked. */
const MOST_REMEMBERED = 10_000;
/** Marks an event that was accepted before: by its ID, or by its bytes if it has no ID. */
export const makeReplayMarker = (
  most = MOST_REMEMBERED,
): ((event: Record<string, unknown>) => Record<string, unknown>) => {
  const seen = new Set<string>();
  return (event) => {
    const mark = hash('sha256', JSON.stringify(event.id ?? event), 'base64');
    if (seen.has(mark)) return { ...event, replayed: true };
    seen.add(mark);
    const [oldest] = seen;
    if (seen.size > most && oldest !== undefined) seen.delete(oldest);
    return event;
  };
};
type Queue = { push(event: unknown): void; end(): void; rows: AsyncIterable<unknown> };
const makeQueue = (): Queue => {
  const waiting: unknown[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  async function* rows(): AsyncIterable<unknown> {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift();
      if (isOver) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return {
    push: (event) => {
      waiting.push(event);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
    rows: rows(),
  };
};
async function* closing(rows: AsyncIterable<unknown>, close: () => Promise<void>): AsyncIterable<unknown> {
  try {
    yield* rows;
  } finally {
    await close();
  }
}
/** Where to listen, what signs the deliveries, and where they go. */
export type ListenOptions = {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly secret: string | undefined;
  readonly forward?: string | undefined;
  readonly count?: number | undefined;
};
const refusedAt =
  ({ host, port }: { readonly host: string; readonly port: number }) =>
  (error: Error & { code?: string }): never => {
    throw new AppError('config', `cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
      tryThis: ['--port 0 takes a free port'],
    });
  };
/** The events of good deliveries, as they come, until the count is reached or Ctrl-C. */
export const listenForEvents = async (
  context: EngineContext,
  asked: ListenOptions,
): Promise<AsyncIterable<unknown>> => {
  const queue = makeQueue();
  let left = asked.count ?? Number.POSITIVE_INFINITY;
  const markReplay = makeReplayMarker();
  const accept = (event: Record<string, unknown>): void => {
    if (left <= 0) return;
    left -= 1;
    const marked = markReplay(event);
    if (marked.replayed === true)
      context.log.warn(`delivery ${String(event.id ?? '')} was received before; it is marked as replayed`);
    queue.push(marked);
    if (left === 0) queue.end();
  };
  const at = {
    host: asked.host ?? '127.0.0.1',
    port: asked.port ?? 0,
    requestTimeoutMs: 10_000,
    maxConnections: 64,
  };
  const listener = await context.host.network
    .listen(receiver(context, asked.secret, asked.forward, accept), at)
    .catch(refusedAt(at));
  context.signal.addEventListener('abort', () => queue.end(), { once: true });
  context.log.info(`listening on http://${listener.host}:${listener.port}/`);
  return closing(queue.rows, () => listener.close());
};
