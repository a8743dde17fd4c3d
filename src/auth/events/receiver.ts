import { parseUrl } from '../../core/external-url.ts';
import { createHash, createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import { headerOf, type JwtParts, keysFor, type PublishedKey, readJwt } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import { redactedUrl } from '../../core/redact-secrets.ts';
import { type Incoming, type Listener, NetworkError, type Outgoing } from '../../platform/host.ts';
import { type AuthContext, safeText } from '../auth-context.ts';
import { type Account, endedAccount, type StoredCredentials } from '../credential-store/account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { discover, keyPauseMs, requestKeySet } from '../protocol/discovery.ts';
import { isLoopback } from '../protocol/token-client.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { AppError } from '../../core/problem.ts';
import { keyMemory } from '../issued-tokens.ts';
import type { LoginServer } from '../settings.ts';

/** What one event did to one account. */
type Effect = {
  readonly event: string;
  readonly account: string;
  readonly did: 'dropped the credential' | 'dropped the access token';
};
const sha512 = (data: string | Uint8Array): Buffer => createHash('sha512').update(data).digest();
/** A token is named by a hash or by its first characters; the token itself is never sent. */
const namesToken = (subject: Readonly<Record<string, unknown>>, token: string | undefined): boolean => {
  if (token === undefined || typeof subject.token !== 'string') return false;
  if (subject.token_identifier_alg === 'prefix')
    return subject.token.length >= 16 && token.startsWith(subject.token);
  return (
    subject.token_identifier_alg === 'hash_base64_sha512_sha512' &&
    sha512(sha512(token)).toString('base64') === subject.token
  );
};
const isOf = (account: Account, event: SecurityEvent, { subject = {} }: EventBody): boolean =>
  account.clientId === event.audience &&
  typeof subject.sub === 'string' &&
  subject.sub === account.subject &&
  (subject.iss ?? event.issuer) === event.issuer;
/** The last part decides: {secevent_base} is open in the document. */
const kindOf = (type: string): string => type.slice(type.lastIndexOf('/') + 1);
const withoutAccess = (account: Account): Account => {
  const { accessToken, accessExpiresMs, ...rest } = account;
  return rest;
};
/** spec/sign-in#events: what each of the three types means for a stored account; undefined when it does not concern it. */
const changeAccount = (
  account: Account,
  event: SecurityEvent,
  type: string,
  body: EventBody,
): { readonly account: Account; readonly did: Effect['did'] } | undefined => {
  const kind = kindOf(type);
  const ends = (why: string) => ({
    account: endedAccount(account, why),
    did: 'dropped the credential' as const,
  });
  if (
    kind === 'token-revoked' &&
    account.clientId === event.audience &&
    namesToken(body.subject ?? {}, account.refreshToken)
  )
    return ends('a security event revoked the token');
  if (kind === 'tokens-revoked' && isOf(account, event, body))
    return ends('a security event revoked all tokens of the account');
  if (kind === 'account-disabled' && isOf(account, event, body)) return ends('the account was disabled');
  if (kind === 'account-purged' && isOf(account, event, body)) return ends('the account was deleted');
  // The browser sessions ended. The service decides at the next use whether the refresh token is still valid.
  if (kind === 'sessions-revoked' && isOf(account, event, body) && account.accessToken !== undefined)
    return { account: withoutAccess(account), did: 'dropped the access token' };
  return undefined;
};
export const applyEvent = (
  data: StoredCredentials,
  event: SecurityEvent,
): { readonly data: StoredCredentials; readonly effects: readonly Effect[] } => {
  const effects: Effect[] = [];
  const accounts = data.accounts.map((stored) =>
    Object.entries(event.events).reduce((account, [type, body]) => {
      const change = changeAccount(account, event, type, body);
      if (change === undefined) return account;
      effects.push({ event: kindOf(type), account: account.name, did: change.did });
      return change.account;
    }, stored),
  );
  return { data: effects.length === 0 ? data : { ...data, accounts }, effects };
};

/** RFC 8935 2.4: why a delivery was not accepted. */
type Rejection = {
  readonly err: 'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience';
  readonly description: string;
};
/** RFC 8417: one signed statement of a service about an account. */
export type SecurityEvent = {
  readonly id: string;
  readonly issuer: string;
  readonly audience: string;
  readonly issuedMs: number;
  readonly events: Readonly<Record<string, EventBody>>;
};
type EventBody = {
  readonly subject?: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
};
export type Key = JsonWebKey & PublishedKey;
export type Trust = {
  readonly issuer: string;
  readonly audiences: readonly string[];
  readonly keys: readonly Key[];
  readonly nowMs: number | 'any';
  /** The clock of this machine, where `nowMs` is `any`: an end that the event names still counts. */
  readonly wallMs?: number;
};
/** `none` and the symmetric ones are not here: a receiver accepts what the issuer alone can sign. */
const digests: Readonly<Record<string, string>> = {
  RS256: 'sha256',
  RS384: 'sha384',
  RS512: 'sha512',
  ES256: 'sha256',
  ES384: 'sha384',
};
/** RFC 7518 3.3. */
const leastRsaBits = 2048;
const maxAgeMs = 7 * 24 * 3600_000;
const skewMs = 300_000;
const reject = (err: Rejection['err'], description: string): Rejection => ({ err, description });
const signatureHolds = (key: Key, hash: string, signed: string, signature: Uint8Array): boolean => {
  try {
    const publicKey = createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
    const bits = publicKey.asymmetricKeyDetails?.modulusLength ?? leastRsaBits;
    if (bits < leastRsaBits) return false;
    return verify(
      hash,
      Buffer.from(signed, 'ascii'),
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      signature,
    );
  } catch {
    return false;
  }
};
const checkSignature = (
  { header, text, signature }: JwtParts,
  keys: readonly Key[],
): Rejection | undefined => {
  const alg = String(header.alg);
  const hash = Object.hasOwn(digests, alg) ? digests[alg] : undefined;
  if (typeof header.alg !== 'string' || hash === undefined)
    return reject('invalid_key', 'the signature algorithm is not accepted');
  const fitting = keysFor(header, keys);
  if (fitting === 'unknown') return reject('invalid_key', 'no key of the issuer is for this token');
  if (fitting === 'unfit') return reject('invalid_key', `the key of the issuer is not for ${alg} signatures`);
  return fitting.some((key) => signatureHolds(key, hash, text, signature))
    ? undefined
    : reject('invalid_key', 'the signature does not verify');
};
/** RFC 7519 4.1.4 and 4.1.5: an event that names its end or its start holds only between them. */
const checkPeriod = (
  { exp, nbf }: Record<string, unknown>,
  { nowMs, wallMs }: Trust,
): Rejection | undefined => {
  const now = nowMs === 'any' ? wallMs : nowMs;
  for (const [name, time] of [
    ['exp', exp],
    ['nbf', nbf],
  ] as const) {
    if (time === undefined) continue;
    if (typeof time !== 'number') return reject('invalid_request', `${name} is not a number`);
    if (now === undefined) continue;
    const isOutside = name === 'exp' ? time * 1000 <= now : time * 1000 > now + skewMs;
    if (isOutside)
      return reject(
        'invalid_request',
        name === 'exp' ? 'the event has expired' : 'the event is not valid yet',
      );
  }
  return undefined;
};
const checkClaims = (claims: Record<string, unknown>, trust: Trust): Rejection | SecurityEvent => {
  const { iss, aud, iat, jti, events } = claims;
  if (iss !== trust.issuer) return reject('invalid_issuer', 'the event is from another issuer');
  const audience = (Array.isArray(aud) ? aud : [aud]).find(
    (one): one is string => typeof one === 'string' && trust.audiences.includes(one),
  );
  if (audience === undefined) return reject('invalid_audience', 'the event is for another application');
  if (typeof jti !== 'string' || jti === '') return reject('invalid_request', 'jti is missing');
  if (typeof iat !== 'number') return reject('invalid_request', 'iat is missing');
  const ageMs = trust.nowMs === 'any' ? 0 : trust.nowMs - iat * 1000;
  if (ageMs < -skewMs || ageMs > maxAgeMs) return reject('invalid_request', 'the event is from another time');
  const outside = checkPeriod(claims, trust);
  if (outside !== undefined) return outside;
  if (typeof events !== 'object' || events === null || Object.keys(events).length === 0)
    return reject('invalid_request', 'events are missing');
  return {
    id: jti,
    issuer: trust.issuer,
    audience,
    issuedMs: iat * 1000,
    events: events as SecurityEvent['events'],
  };
};
/** The signature is verified first, the claims after it: no unsigned value is trusted. */
export const verifyEvent = (token: string, trust: Trust): Rejection | SecurityEvent => {
  // With padding, one signed event would have several spellings.
  const jwt = token.includes('=') ? undefined : readJwt(token);
  if (jwt === undefined) return reject('invalid_request', 'the body is not a signed token');
  const { header, claims } = jwt;
  // RFC 7515 4.1.11: extensions that must be understood, and none is.
  if ('crit' in header)
    return reject('invalid_request', 'the header names extensions that must be understood (crit)');
  // An id_token or access token of the same issuer must not pass for an event (RFC 8417 4.6).
  if (
    header.typ !== undefined &&
    (typeof header.typ !== 'string' ||
      header.typ.toLowerCase().replace('application/', '') !== 'secevent+jwt')
  )
    return reject('invalid_request', 'the token is of another kind');
  return checkSignature(jwt, trust.keys) ?? checkClaims(claims, trust);
};

type ReceiverOptions = {
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
  const fail = (why: string): AppError =>
    new AppError(
      'network',
      `cannot read the keys of the security events from ${redactedUrl(jwksUri)}: ${why}`,
      {
        code: 'EVENT_KEYS',
        tryThis: ['check --jwks-url, or the jwks_uri in the metadata of the server'],
      },
    );
  const { keys, response } = await requestKeySet(context.host, jwksUri, context.signal).catch(
    (error: unknown) => {
      const isLate = error instanceof NetworkError && error.code === 'ABORTED' && !context.signal.aborted;
      if (isLate) throw fail('the response was not complete in time');
      // The reader of JSON names the authorization server and its tokens, but this is about --jwks-url.
      throw error instanceof AppError ? fail(error.message) : error;
    },
  );
  if (keys !== undefined) return keys as readonly Key[];
  const type = safeText(response.headers['content-type'] ?? 'no content type', 60);
  throw fail(`expected HTTP 200 and a JSON key set, got HTTP ${response.status} (${type})`);
};
/** `old`: another process read the key set a moment ago. `failed`: no key set could be read. */
type Refreshed = 'read' | 'old' | 'failed';
type KeyCache = {
  keys: readonly Key[];
  /** The last request that returned a key set. */
  readMs?: number;
  /** The last request that failed. */
  failedMs?: number;
  reading?: Promise<Refreshed> | undefined;
};
/** False if no key can verify the token. */
const hasAcceptedAlgorithm = ({ alg }: ReturnType<typeof headerOf>): boolean =>
  typeof alg === 'string' && Object.hasOwn(digests, alg);
/** True if the token names a key that is not in the key set; only a newer key set can verify it. */
const isUnknown = (token: string, keys: readonly Key[]): boolean => {
  const header = headerOf(token);
  return (
    hasAcceptedAlgorithm(header) && typeof header.kid === 'string' && keysFor(header, keys) === 'unknown'
  );
};
const isPaused = ({ host }: AuthContext, sinceMs: number | undefined): boolean =>
  sinceMs !== undefined && host.elapsed() - sinceMs < keyPauseMs;
/** Reads the keys again; deliveries that arrive in the meantime wait for the same request. */
const refreshKeys = (
  context: AuthContext,
  { jwksUri }: Pick<ReceiverOptions, 'jwksUri'>,
  cache: KeyCache,
  token: string,
): Promise<Refreshed> => {
  const memory = keyMemory(context);
  const read = async (): Promise<Refreshed> => {
    const recalled = await memory.recall(jwksUri);
    // The times of a recalled key set must stay, or a flood would prevent every later request.
    if (recalled !== undefined) {
      cache.keys = recalled as readonly Key[];
      return 'old';
    }
    cache.keys = await readKeys(context, jwksUri);
    cache.readMs = context.host.elapsed();
    if (isUnknown(token, cache.keys)) await memory.note(jwksUri, cache.keys);
    return 'read';
  };
  const readOrWarn = (): Promise<Refreshed> =>
    memory.alone(jwksUri, read).catch((error: unknown) => {
      if (context.signal.aborted) throw error;
      cache.failedMs = context.host.elapsed();
      const why = error instanceof Error ? error.message : String(error);
      context.log.warn(
        `the service has to deliver events again, because their keys are not available: ${why}`,
      );
      return 'failed';
    });
  cache.reading ??= readOrWarn().finally(() => {
    cache.reading = undefined;
  });
  return cache.reading;
};
/**
 * Keys are read again if an event names an unknown one, because services rotate keys without notice. Undefined if only
 * a newer key set can decide and none can be read now: the service then has to deliver the event again, because it gives
 * up after an error with a code (RFC 8935 2.3).
 */
export const verifyWithFreshKeys = async (
  context: AuthContext,
  options: Omit<ReceiverOptions, 'onEvent' | 'host' | 'port'>,
  cache: KeyCache,
  token: string,
): Promise<ReturnType<typeof verifyEvent> | undefined> => {
  // The clock of a server on this machine may have been set for a test.
  const issuer = parseUrl(options.issuer);
  const isLocal = issuer !== undefined && isLoopback(issuer);
  const check = () =>
    verifyEvent(token, {
      ...options,
      keys: cache.keys,
      nowMs: isLocal ? 'any' : context.host.now(),
      wallMs: context.host.now(),
    });
  const first = check();
  const isFinal = !('err' in first) || first.err !== 'invalid_key' || !hasAcceptedAlgorithm(headerOf(token));
  if (isFinal) return first;
  if (cache.reading === undefined && isPaused(context, cache.failedMs)) return undefined;
  if (cache.reading === undefined && isPaused(context, cache.readMs))
    return isUnknown(token, cache.keys) ? undefined : first;
  const refreshed = await refreshKeys(context, options, cache, token);
  if (refreshed === 'failed') return undefined;
  return refreshed === 'old' && isUnknown(token, cache.keys) ? undefined : check();
};
const invalidRequest = (status: number, description: string): Outgoing =>
  reply(status, { err: 'invalid_request', description });
/** Returns the token of a delivery, or the response to an invalid request. */
export const deliveredIn = async (request: Incoming): Promise<{ token: string } | { refusal: Outgoing }> => {
  if (request.method !== 'POST') return { refusal: invalidRequest(405, 'only POST is supported') };
  if (!/^application\/secevent\+jwt\b/i.test(request.headers['content-type'] ?? ''))
    return { refusal: invalidRequest(400, 'the content type must be application/secevent+jwt') };
  const bytes = await request.read(limits.securityEventBytes).catch(() => undefined);
  return bytes === undefined
    ? { refusal: invalidRequest(413, 'the body is too large') }
    : { token: Buffer.from(bytes).toString('latin1') };
};
/** Applies the effect of an event once. The same event arrives again if our response was lost. */
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
const listenForEvents = async (context: AuthContext, options: ReceiverOptions): Promise<Listener> => {
  const cache: { keys: readonly Key[] } = { keys: await readKeys(context, options.jwksUri) };
  const take = takeOnce(context, options);
  const handle = async (request: Incoming): Promise<Outgoing> => {
    const delivered = await deliveredIn(request);
    if ('refusal' in delivered) return delivered.refusal;
    const event = await verifyWithFreshKeys(context, options, cache, delivered.token).catch(() => undefined);
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

/** Received events in the order of their arrival, as they arrive. */
export const queue = (signal: AbortSignal, most: number) => {
  const waiting: Received[] = [];
  let wake: () => void = () => undefined;
  signal.addEventListener('abort', () => wake(), { once: true });
  return {
    push: (event: Received): void => {
      waiting.push(event);
      wake();
    },
    async *events(): AsyncGenerator<Received> {
      for (let given = 0; given < most; ) {
        const next = waiting.shift();
        if (next !== undefined) {
          given++;
          yield next;
          continue;
        }
        if (signal.aborted) throw signal.reason;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
};

/** Has the embedded server deliver its events to this address, until the function that it gives is called. */
const subscribe = async (
  context: AuthContext,
  origin: string,
  client: string,
  url: string,
): Promise<() => Promise<void>> => {
  const base = `${origin}${authPaths.console}/events/subscriptions`;
  const headers = { 'content-type': 'application/json' };
  const reply = await context.host.network.request({
    method: 'POST',
    url: base,
    headers,
    body: JSON.stringify({ client, receiver: url }),
  });
  const { id } = JSON.parse(await reply.text()) as { id?: string };
  if (reply.status >= 400 || id === undefined)
    throw new AppError(
      'refused',
      `the embedded server did not accept the subscription (HTTP ${reply.status})`,
      { httpStatus: reply.status },
    );
  return async () => {
    await (
      await context.host.network.request({ method: 'DELETE', url: `${base}/${encodeURIComponent(id)}` })
    ).text();
  };
};
type Asked = { readonly port?: number | undefined; readonly subscribe?: boolean | undefined };
type Listening = { readonly url: string; close(): Promise<void> };
/** Listens, and registers the receiver at the embedded server if requested. */
export const receiveEvents = async (
  context: AuthContext,
  server: LoginServer,
  values: Asked,
  expected: Omit<ReceiverOptions, 'host' | 'port'>,
): Promise<Listening> => {
  const listener = await listenForEvents(context, {
    ...expected,
    host: '127.0.0.1',
    port: values.port ?? 0,
  });
  const url = `http://127.0.0.1:${listener.port}/`;
  const subscribed =
    values.subscribe === true
      ? subscribe(context, new URL(server.endpoints.token).origin, server.clientId, url)
      : undefined;
  const unsubscribe = await subscribed?.catch(async (error: unknown) => {
    await listener.close();
    throw error;
  });
  return {
    url,
    close: async () => {
      await unsubscribe?.().catch(() => undefined);
      await listener.close();
    },
  };
};

type Expected = { readonly issuer: string; readonly jwksUri: string };
type ExpectedEvents = { readonly issuer?: string | undefined; readonly 'jwks-url'?: string | undefined };
/** The issuer of the events and its keys: as configured, otherwise as published by the server. */
export const expectedOf = async (
  context: AuthContext,
  server: LoginServer,
  values: ExpectedEvents,
): Promise<Expected> => {
  const metadata = await discover(context.host, server.endpoints, context.signal);
  const issuer: string | undefined = values.issuer ?? metadata?.issuer;
  const jwksUri: string | undefined = values['jwks-url'] ?? metadata?.jwksUri;
  if (issuer === undefined || jwksUri === undefined)
    throw new AppError('config', 'the server does not publish its issuer and keys', {
      code: 'NO_METADATA',
      tryThis: ['give --issuer and --jwks-url'],
    });
  return { issuer, jwksUri };
};
/** The clients that an event may concern, including those of the stored accounts at this server. */
export const audiencesOf = (server: LoginServer, accounts: readonly Account[]): string[] => [
  ...new Set([
    server.clientId,
    ...accounts.filter((account) => account.server === server.key).map(({ clientId }) => clientId),
  ]),
];
