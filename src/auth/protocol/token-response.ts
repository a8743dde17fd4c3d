import {
  claimsOf,
  headerOf,
  isOtherKind,
  jwtAmbiguity,
  keysFor,
  type PublishedKey,
} from '../../core/json.ts';
import { cutText, AppError, firstReason } from '../../core/problem.ts';
import { type Host, NetworkError } from '../../platform/host.ts';
import { isUnclear, type KeyMemory, requestKeySet } from './discovery.ts';
import {
  type Endpoints,
  isLoopback,
  type HttpResponse,
  type TokenClient,
  type Tolerance,
} from './token-client.ts';
import { safeText, scopesFrom } from '../auth-context.ts';
import { errorRows } from './hints.ts';
import {
  bodyOf,
  type ErrorInBody,
  errorIn,
  isSendable,
  normalizeTokens,
  rejectedBody,
} from './read-response.ts';
import { outage, providerFailure, serviceFailure, makeUnexpectedResponseError } from './send.ts';

export type Identity = {
  readonly sub: string;
  /** The issuer that vouches for `sub`: together they name a person. */
  readonly iss?: string;
  readonly email?: string;
  readonly name?: string;
  /**
   * True if the server publishes keys and none of them confirms the id_token. Such a subject does not identify a person: it gives an
   * account no name and no email. It still contradicts another person, so it never replaces the tokens of one.
   */
  readonly isUnconfirmed?: true;
};
/** Why no key set could be read, so that no key could confirm the person of an id_token. */
export type UnreadKeys = { readonly url: string; readonly why: string };
export type TokenType = 'Bearer' | 'DPoP';
/** spec/sign-in#token, after all checks. Times in seconds as sent. */
export type TokenResponse = {
  readonly accessToken: string;
  /** opsctl rejects every other type (RFC 6749 7.1), and the type that was not requested. */
  readonly tokenType?: TokenType;
  /** The server's deviations from the standards. The tokens are still valid. */
  readonly deviations?: readonly Tolerance[];
  readonly expiresInS?: number;
  readonly refreshToken?: string;
  readonly refreshExpiresInS?: number;
  /** Absent if the server did not report it: RFC 6749 5.1 then means the requested value. */
  readonly scopes?: readonly string[];
  readonly idToken?: string;
  readonly identity?: Identity;
  /** Absent if the id_token was confirmed, and if the keys were read and its key is not one of them. */
  readonly unreadKeys?: UnreadKeys | undefined;
  /** The new location of the server after a move. */
  readonly endpoints?: Endpoints;
};
type Oauth = typeof import('oauth4webapi');
type AuthorizationServer = import('oauth4webapi').AuthorizationServer;
type Processed = Awaited<ReturnType<Oauth['processRefreshTokenResponse']>>;
/** An error object with a code of the standards is that error, whichever form it has. */
const failureOf = (
  what: string,
  read: HttpResponse,
  { error, description, isStandard }: ErrorInBody,
): AppError =>
  isStandard || Object.hasOwn(errorRows, error)
    ? serviceFailure(what, error, description, read.status)
    : providerFailure(what, read, error, description);
/** The error of a rejected token request; RFC 6749 5.2 and spec/sign-in#errors. */
export const refusalOf = (what: string, read: HttpResponse, nowMs: number): AppError => {
  const isOutage = read.status === 429 || read.status >= 500;
  // An outage stays an outage: the text of a gateway does not matter.
  const said = errorIn(isOutage ? rejectedBody(read) : bodyOf(read));
  if (isOutage)
    return outage(
      what,
      read,
      [said?.error, said?.description].filter(Boolean).join(': ') || undefined,
      nowMs,
    );
  if (said === undefined) return makeUnexpectedResponseError(what, read);
  return failureOf(what, read, said);
};
const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const tokenResponseFrom = (
  oauth: Oauth,
  body: Processed,
  deviations: readonly Tolerance[],
  tokenType: TokenType,
): TokenResponse => {
  if (!isSendable(body.access_token))
    throw new Error('"access_token" contains spaces or characters that are not allowed in headers');
  const claims = oauth.getValidatedIdTokenClaims(body);
  const lifetime: unknown = body.refresh_token_expires_in;
  const refreshExpiresInS = typeof lifetime === 'number' ? lifetime : undefined;
  const email = text(claims?.email);
  const name = text(claims?.name);
  return {
    accessToken: body.access_token,
    tokenType,
    deviations,
    ...(body.expires_in === undefined ? {} : { expiresInS: body.expires_in }),
    ...(body.refresh_token === undefined ? {} : { refreshToken: body.refresh_token }),
    ...(refreshExpiresInS === undefined ? {} : { refreshExpiresInS }),
    ...(body.scope === undefined ? {} : { scopes: scopesFrom(body.scope) }),
    ...(body.id_token === undefined ? {} : { idToken: body.id_token }),
    ...(claims === undefined
      ? {}
      : {
          identity: {
            sub: claims.sub,
            iss: claims.iss,
            ...(email === undefined ? {} : { email }),
            ...(name === undefined ? {} : { name }),
            ...(deviations.includes('id-token-key') ? { isUnconfirmed: true as const } : {}),
          },
        }),
  };
};
/** The library names the header field; the value shows the operator what to change. */
const algorithmText = (error: unknown, read: HttpResponse): string => {
  if (!/JWT "alg"/.test(String((error as Error | undefined)?.message))) return '';
  const { alg } = headerOf(idTokenIn(read)) as { readonly alg?: unknown };
  return ` (${typeof alg === 'string' ? safeText(alg, 20) : 'no text'})`;
};
const makeUnexpectedError = (what: string, error: unknown, read: HttpResponse): AppError =>
  new AppError(
    'refused',
    `${what}: the token response is not valid: ${error instanceof Error ? error.message : 'unknown cause'}${algorithmText(error, read)}`,
    {
      code: 'BAD_TOKEN_ANSWER',
      tryThis: /"(?:exp|iat|nbf)"/.test(String((error as Error | undefined)?.message))
        ? ['check the clock of this machine and of the server', 'opsctl doctor auth']
        : ['opsctl auth conformance (shows how the server deviates from the standards)'],
    },
  );
/** RFC 9449 5: a server that ignores the proof issues a token that any holder can use. */
const makeDowngradeError = (what: string, shown: string): AppError =>
  new AppError(
    'refused',
    `${what}: the server issued a token of type ${shown}, although opsctl requested a DPoP token; opsctl discarded the response`,
    {
      code: 'TOKEN_DOWNGRADED',
      tryThis: [
        'configure the client at the server for DPoP-bound access tokens',
        'opsctl login --no-dpop, if Bearer tokens are acceptable (opsctl config unset auth.dpop)',
      ],
    },
  );
/** RFC 6749 7.1: a client must not use a token of a type that it does not implement, such as MAC. */
const checkTokenType = (what: string, body: Readonly<Record<string, unknown>>, wanted: TokenType): void => {
  const type = body.token_type;
  const given = typeof type === 'string' ? type.trim().toLowerCase() : '';
  if (given === wanted.toLowerCase()) return;
  const shown = typeof type === 'string' ? safeText(type, 40) : cutText(JSON.stringify(type), 40);
  if (wanted === 'DPoP') throw makeDowngradeError(what, shown);
  const isDpop = given === 'dpop';
  throw new AppError(
    'refused',
    `${what}: the server issued a token of type ${shown}; opsctl requested ${isDpop ? 'a Bearer token' : 'Bearer and supports Bearer and DPoP'}`,
    {
      code: 'BAD_TOKEN_ANSWER',
      tryThis: isDpop
        ? ['opsctl login --dpop', 'opsctl config set auth.dpop true']
        : ['configure the client at the server to use Bearer or DPoP tokens'],
    },
  );
};
/** Returns the tokens of a response that is not a rejection, in any form of rejection. */
const tokensIn = (
  what: string,
  received: HttpResponse,
  requested: readonly string[] | undefined,
  wanted: TokenType,
  nowMs: number,
): { readonly body: Readonly<Record<string, unknown>>; readonly deviations: readonly Tolerance[] } => {
  if (received.status < 200 || received.status > 299) throw refusalOf(what, received, nowMs);
  const { body, deviations } = normalizeTokens(received, requested);
  if (typeof body !== 'object' || body === null) throw makeUnexpectedResponseError(what, received);
  const given = body as Readonly<Record<string, unknown>>;
  const said = errorIn(given);
  if (said !== undefined && given.access_token === undefined) throw failureOf(what, received, said);
  // A page or an empty object in place of tokens is not worth a word about token types.
  if (given.access_token !== undefined) checkTokenType(what, given, wanted);
  return { body: { ...given, token_type: 'Bearer' }, deviations };
};
/** The person of an account: later responses must be about the same one. */
export type Person = { readonly sub?: string | undefined; readonly iss?: string | undefined };
export type Checks = (
  | { readonly kind: 'exchange'; readonly nonce: string | undefined }
  | { readonly kind: 'refresh'; readonly person?: Person }
) & { readonly requested?: readonly string[]; readonly keyMemory?: KeyMemory };
/** OpenID Connect Core 12.2: `sub` and `iss` of a refreshed id_token MUST be those of the first one. */
const checkPerson = (what: string, identity: Identity | undefined, person: Person | undefined): void => {
  if (identity === undefined || person === undefined) return;
  const differs = (['sub', 'iss'] as const).find(
    (name) => person[name] !== undefined && person[name] !== identity[name],
  );
  if (differs === undefined) return;
  throw new AppError(
    'auth',
    `${what}: the server returned an id_token with another ${differs} (${safeText(identity[differs] ?? 'none', 60)}) than the account has (${safeText(person[differs] ?? '', 60)}); opsctl discarded the response`,
    {
      code: 'OTHER_IDENTITY',
      tryThis: ['opsctl logout, then opsctl login', 'report it to the operator of the server'],
    },
  );
};
/** Algorithms with a public key. The library expects RS256 alone unless it knows what the server uses. */
const SIGNATURES = /^(?:(?:RS|PS|ES)(?:256|384|512)|EdDSA|Ed25519)$/;
const signaturesOf = (read: HttpResponse): Partial<AuthorizationServer> => {
  const alg = text(headerOf(idTokenIn(read)).alg);
  return alg !== undefined && SIGNATURES.test(alg) ? { id_token_signing_alg_values_supported: [alg] } : {};
};
/** The server as oauth4webapi wants it described. */
const authorizationServerOf = (tokenClient: TokenClient, read: HttpResponse): AuthorizationServer => ({
  ...signaturesOf(read),
  // Without metadata the issuer is compared with itself; audience, times and nonce still hold.
  issuer: tokenClient.issuer ?? text(claimsIn(read).iss) ?? new URL(tokenClient.endpoints.token).origin,
  token_endpoint: tokenClient.endpoints.token,
  ...(tokenClient.jwksUri === undefined ? {} : { jwks_uri: tokenClient.jwksUri }),
});
/**
 * spec/sign-in defines no nonce: a server without metadata may omit it. A nonce in the token must be correct.
 */
const nonceCheck = (
  { issuer }: TokenClient,
  read: HttpResponse,
  nonce: string | undefined,
): { expectedNonce?: string } => {
  const isAsked =
    idTokenIn(read) !== undefined && (issuer !== undefined || claimsIn(read).nonce !== undefined);
  return isAsked && nonce !== undefined ? { expectedNonce: nonce } : {};
};
const jsonResponse = (body: object): Response =>
  new Response(JSON.stringify(body), { status: 200, headers: { 'content-type': 'application/json' } });
/** An access token or a logout token of the same server has a valid signature as well (RFC 8725 2.8). */
const refuseOtherKind = (read: HttpResponse): void => {
  const header = headerOf(idTokenIn(read));
  if (isOtherKind(header, 'id_token+jwt'))
    throw new Error(`the id_token is a token of another kind (${safeText(String(header.typ), 40)})`);
};
/** OpenID Connect Core 2: the longest `sub`, in ASCII characters. */
const longestSub = 255;
/** Refuses an id_token without a subject, one that two readers could understand differently, or of another kind. */
const refuseUnclearToken = (read: HttpResponse): void => {
  const idToken = idTokenIn(read);
  if (idToken === undefined) return;
  const ambiguity = jwtAmbiguity(idToken);
  if (ambiguity !== undefined) throw new Error(`in the id_token, ${ambiguity}`);
  const { sub } = claimsOf(idToken);
  if (sub === '') throw new Error('the "sub" of the id_token is empty');
  if (typeof sub === 'string' && sub.length > longestSub)
    throw new Error(`the "sub" of the id_token is longer than ${longestSub} characters`);
  refuseOtherKind(read);
};
/** The clock of a server and of this machine may differ by minutes without harm. */
const clientOf = (oauth: Oauth, tokenClient: TokenClient, read: HttpResponse, nowMs: number) => ({
  client_id: tokenClient.clientId,
  [oauth.clockTolerance]: 300,
  [oauth.clockSkew]: skewOf(tokenClient, read, nowMs),
});
/**
 * The protocol checks of a token response: fields and types, `Bearer`, and of an id_token issuer, audience,
 * times, nonce and signature.
 */
export const processTokenResponse = async (
  what: string,
  tokenClient: TokenClient,
  received: HttpResponse,
  checks: Checks,
  host: Host,
  signal?: AbortSignal,
): Promise<TokenResponse> => {
  const wanted = tokenClient.prover === undefined ? 'Bearer' : 'DPoP';
  const { body: tokens, deviations } = tokensIn(what, received, checks.requested, wanted, host.now());
  const read = { ...received, status: 200, text: JSON.stringify(tokens) };
  const oauth = await import('oauth4webapi');
  const [server, wire] = [authorizationServerOf(tokenClient, read), jsonResponse(tokens)];
  const source = keySource(host, checks.keyMemory, signal);
  const client = clientOf(oauth, tokenClient, read, host.now());
  try {
    refuseUnclearToken(read);
    const body =
      checks.kind === 'refresh'
        ? await oauth.processRefreshTokenResponse(server, client, wire)
        : await oauth.processAuthorizationCodeResponse(
            server,
            client,
            wire,
            nonceCheck(tokenClient, read, checks.nonce),
          );
    const missed = await checkSignature(oauth, server, wire, read, source);
    const found = missed === undefined ? deviations : [...deviations, 'id-token-key' as const];
    const response = {
      ...tokenResponseFrom(oauth, body, found, wanted),
      ...(missed?.unread === undefined ? {} : { unreadKeys: missed.unread }),
    };
    checkPerson(what, response.identity, checks.kind === 'refresh' ? checks.person : undefined);
    return response;
  } catch (error) {
    throw error instanceof AppError || error instanceof NetworkError
      ? error
      : makeUnexpectedError(what, error, read);
  }
};
const idTokenIn = (read: HttpResponse): string | undefined => {
  try {
    return text((JSON.parse(read.text) as { id_token?: unknown }).id_token);
  } catch {
    return undefined;
  }
};
/** Unchecked: only for what has to be known before the check can be made. */
const claimsIn = (read: HttpResponse): ReturnType<typeof claimsOf> => claimsOf(idTokenIn(read));
/** A server on this machine may run on a clock that was set for a test: its time is then the time of its tokens. */
const skewOf = (tokenClient: TokenClient, read: HttpResponse, nowMs: number): number => {
  const { iat } = claimsIn(read);
  return isLoopback(new URL(tokenClient.endpoints.token)) && typeof iat === 'number'
    ? Math.round(iat - nowMs / 1000)
    : 0;
};
/** The keys of the server were not available, or not the one that the token names, so the token was not verified. */
class NoKeys extends Error {
  /** Undefined if the keys were read. */
  readonly unread: UnreadKeys | undefined;
  constructor(unread?: UnreadKeys) {
    super('no key confirms the token');
    this.unread = unread;
  }
}
/**
 * Verifies the signature with one key. The library reads its key set through this function. The key is without its
 * algorithm, because `keysFor` compared it and knows both names of Ed25519.
 */
const verifyWith = (
  oauth: Oauth,
  server: AuthorizationServer,
  response: Response,
  { alg: _, ...key }: PublishedKey,
): Promise<void> =>
  oauth.validateApplicationLevelSignature({ ...server }, response, {
    [oauth.customFetch]: async () => jsonResponse({ keys: [key] }),
    // The key is already here: this request reaches no network.
    [oauth.allowInsecureRequests]: true,
  });
/**
 * Verifies the signature of an id_token if the server publishes its keys. OpenID Connect Core 3.1.3.7, 6: a token that
 * came from the token endpoint itself needs no signature, because the connection proves where it is from. So a key set
 * that is out of order, or without the key of the token, does not cost a sign-in whose code is used up. The person of
 * the token is unconfirmed then, and the result contains the reason. A key that the server made for another purpose is an error.
 */
const checkSignature = async (
  oauth: Oauth,
  server: AuthorizationServer,
  response: Response,
  read: HttpResponse,
  source: KeySource,
): Promise<NoKeys | undefined> => {
  const header = headerOf(idTokenIn(read));
  if (server.jwks_uri === undefined || idTokenIn(read) === undefined) return undefined;
  try {
    const fitting = await source(server.jwks_uri, header);
    if (fitting === 'unfit')
      throw new Error(`the key of the server is not for ${safeText(String(header.alg), 20)} signatures`);
    await Promise.any(fitting.map((key) => verifyWith(oauth, server, response, key)));
    return undefined;
  } catch (error) {
    if (error instanceof NoKeys) return error;
    throw firstReason(error);
  }
};
type Header = ReturnType<typeof headerOf>;
type KeySource = (
  url: string,
  header: Header,
) => Promise<Exclude<ReturnType<typeof keysFor<PublishedKey>>, 'unknown'>>;
/** The keys that fit the header of a token. An unknown key causes at most one request in a minute. */
const keySource =
  (host: Host, memory: KeyMemory | undefined, signal: AbortSignal | undefined): KeySource =>
  async (url, header) => {
    const read = async () => {
      const recalled = await memory?.recall(url);
      const keys = recalled ?? (await keySetAt(host, url, signal));
      const fitting = keysFor(header, keys);
      if (fitting !== 'unknown') return fitting;
      if (recalled === undefined) await memory?.note(url, keys);
      throw new NoKeys();
    };
    return memory === undefined ? read() : memory.alone(url, read);
  };
const keySetAt = async (
  host: Host,
  url: string,
  signal: AbortSignal | undefined,
): Promise<readonly PublishedKey[]> => {
  const { keys, response } = await requestKeySet(host, url, signal).catch((error: unknown) => {
    const isUnread = error instanceof NetworkError || isUnclear(error);
    if (!isUnread || signal?.aborted === true) throw error;
    const isLate = error instanceof NetworkError && error.code === 'ABORTED';
    throw new NoKeys({ url, why: isLate ? 'the response was not complete in time' : error.message });
  });
  if (keys !== undefined) return keys;
  const why = response.status === 200 ? 'the response contains no key set' : `HTTP ${response.status}`;
  throw new NoKeys({ url, why });
};

const what = 'code exchange';
export const processExchange = (
  tokenClient: TokenClient,
  read: HttpResponse,
  nonce: string | undefined,
  host: Host,
  signal?: AbortSignal,
): Promise<TokenResponse> =>
  processTokenResponse(what, tokenClient, read, { kind: 'exchange', nonce }, host, signal);
export type Revoked = 'revoked' | 'was-invalid' | 'wants-standard';
/** spec/sign-in#revoke: 200, or 400 with a code. A token that is no longer valid is what a sign-out wants. */
export const processRevoke = (read: HttpResponse, nowMs: number): Revoked => {
  if (read.status === 200 || read.status === 204) return 'revoked';
  const error = errorIn(bodyOf(read))?.error;
  if (read.status === 400 && (error === 'invalid_token' || error === 'invalid_grant')) return 'was-invalid';
  // Some servers return invalid_client with 400 if the client is missing.
  const wantsClient = error === 'invalid_request' || error === 'invalid_client';
  if ((read.status === 400 && wantsClient) || read.status === 401) return 'wants-standard';
  throw refusalOf('revoke', read, nowMs);
};
