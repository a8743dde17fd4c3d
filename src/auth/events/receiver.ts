import type { Incoming, Listener, Outgoing } from '../../platform/host.ts';
import { isLoopback } from '../endpoints.ts';
import type { AuthContext } from '../auth-context.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { applyEvent, type Effect } from './effect.ts';
import { type Key, type SecurityEvent, verifyEvent } from './verify.ts';
import { limits } from '../../core/limits.ts';

export type ReceiverOptions = {
  readonly host: string;
  readonly port: number;
  readonly issuer: string;
  /** Whose accounts the events are about. */
  readonly server: string;
  readonly jwksUri: string;
  readonly audiences: readonly string[];
  onEvent(event: Received): void;
};
export type Received = {
  readonly id: string;
  readonly types: readonly string[];
  readonly issued_at: string;
  readonly effects: readonly Effect[];
};

const mostRemembered = 10_000;

const reply = (status: number, body?: object): Outgoing => ({
  status,
  headers: {
    'cache-control': 'no-store',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

const readKeys = async (context: AuthContext, jwksUri: string): Promise<readonly Key[]> => {
  const answer = await context.host.network.request({
    method: 'GET',
    url: jwksUri,
    maxReplyBytes: 256 * 1024,
    timeoutMs: 5000,
  });
  const { keys } = JSON.parse(await answer.text()) as { keys?: Key[] };
  return Array.isArray(keys) ? keys : [];
};

/** Keys are read again when an event names one that is not known: services change them without a word. */
const verified = async (
  context: AuthContext,
  options: ReceiverOptions,
  cache: { keys: readonly Key[] },
  token: string,
) => {
  // The clock of a server on this machine may have been set for a test.
  const isLocal = URL.canParse(options.issuer) && isLoopback(new URL(options.issuer));
  const check = () =>
    verifyEvent(token, { ...options, keys: cache.keys, nowMs: isLocal ? 'any' : context.host.now() });
  const first = check();
  if (!('err' in first) || first.err !== 'invalid_key') return first;
  cache.keys = await readKeys(context, options.jwksUri);
  return check();
};

const invalidRequest = (status: number, description: string): Outgoing =>
  reply(status, { err: 'invalid_request', description });

/** The token of a delivery, or the answer to a request that is none. */
export const deliveredIn = async (request: Incoming): Promise<{ token: string } | { refusal: Outgoing }> => {
  if (request.method !== 'POST') return { refusal: invalidRequest(405, 'only POST is answered') };
  if (!/^application\/secevent\+jwt\b/i.test(request.headers['content-type'] ?? ''))
    return { refusal: invalidRequest(400, 'the content type must be application/secevent+jwt') };
  const bytes = await request.read(limits.securityEventBytes).catch(() => undefined);
  return bytes === undefined
    ? { refusal: invalidRequest(413, 'the body is too large') }
    : { token: Buffer.from(bytes).toString('latin1') };
};

/** Stores the effect of an event once: the same event comes again when our answer was lost. */
const takeOnce = (context: AuthContext, { server, onEvent }: Pick<ReceiverOptions, 'server' | 'onEvent'>) => {
  const seen = new Map<string, true>();
  const take = async (event: SecurityEvent): Promise<void> => {
    const { effects } = await openCredentialStore(context, server).swap((data) => applyEvent(data, event));
    onEvent({
      id: event.id,
      types: Object.keys(event.events),
      issued_at: new Date(event.issuedMs).toISOString(),
      effects,
    });
  };
  return async (event: SecurityEvent): Promise<void> => {
    if (!seen.has(event.id)) await take(event);
    seen.set(event.id, true);
    if (seen.size > mostRemembered) seen.delete(seen.keys().next().value ?? '');
  };
};

/** RFC 8935 2: accepts a push of one event, with 202 once its effect is stored. */
export const listenForEvents = async (context: AuthContext, options: ReceiverOptions): Promise<Listener> => {
  const cache: { keys: readonly Key[] } = { keys: await readKeys(context, options.jwksUri) };
  const take = takeOnce(context, options);
  const handle = async (request: Incoming): Promise<Outgoing> => {
    const delivered = await deliveredIn(request);
    if ('refusal' in delivered) return delivered.refusal;
    const event = await verified(context, options, cache, delivered.token).catch(() => undefined);
    if (event === undefined) return reply(503);
    if ('err' in event) {
      context.log.warn(`a delivery was refused: ${event.description}`);
      return reply(400, event);
    }
    await take(event);
    return reply(202);
  };
  return context.host.network.listen(handle, {
    host: options.host,
    port: options.port,
    maxUrlBytes: 2048,
    requestTimeoutMs: 5000,
    maxConnections: 64,
  });
};
