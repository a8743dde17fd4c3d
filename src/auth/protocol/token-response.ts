import { AppError } from '../../core/problem.ts';
import { type Host, type HttpReply, NetworkError } from '../../platform/host.ts';
import { isLoopback } from '../endpoints.ts';
import { scopesFrom } from '../scopes.ts';
import { withDeadline } from './deadline.ts';
import { outage, serviceFailure, strangeReply } from './failure.ts';
import type { TokenClient, HttpResponse } from './token-client.ts';
import { bodyOf, errorIn, isJson, isSendable } from './token-body.ts';

export type Identity = { readonly sub: string; readonly email?: string; readonly name?: string };
/** spec/sign-in#token, after all checks. Times in seconds as sent. */
export type TokenResponse = {
  readonly accessToken: string;
  readonly expiresInS?: number;
  readonly refreshToken?: string;
  readonly refreshExpiresInS?: number;
  /** Absent when the server did not say: RFC 6749 5.1, then it is what was asked for. */
  readonly scopes?: readonly string[];
  readonly idToken?: string;
  readonly identity?: Identity;
};

type Oauth = typeof import('oauth4webapi');
type AuthorizationServer = import('oauth4webapi').AuthorizationServer;
type Processed = Awaited<ReturnType<Oauth['processRefreshTokenResponse']>>;

/** What a refused token request says; RFC 6749 5.2 and spec/sign-in#errors. */
export const refusalOf = (what: string, read: HttpResponse, nowMs: number): AppError => {
  const said = errorIn(bodyOf(read));
  if (read.status === 429 || read.status >= 500) return outage(what, read, said?.error, nowMs);
  if (said === undefined) return strangeReply(what, read);
  return serviceFailure(what, said.error, said.description, read.status);
};

/** Ten years: a longer life is as good as none, and dates have an end. */
const longestS = 10 * 366 * 86_400;
const inReach = (seconds: number): number => Math.min(seconds, longestS);
const positive = (value: unknown): number | undefined => {
  const number = typeof value === 'string' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) && number >= 0 ? inReach(number) : undefined;
};

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const tokenResponseFrom = (oauth: Oauth, body: Processed): TokenResponse => {
  if (!isSendable(body.access_token))
    throw new Error('"access_token" holds blanks or characters that no header can carry');
  const claims = oauth.getValidatedIdTokenClaims(body);
  const refreshExpiresInS = positive(body.refresh_token_expires_in);
  const email = text(claims?.email);
  const name = text(claims?.name);
  return {
    accessToken: body.access_token,
    ...(body.expires_in === undefined ? {} : { expiresInS: inReach(body.expires_in) }),
    ...(body.refresh_token === undefined ? {} : { refreshToken: body.refresh_token }),
    ...(refreshExpiresInS === undefined ? {} : { refreshExpiresInS }),
    ...(body.scope === undefined ? {} : { scopes: scopesFrom(body.scope) }),
    ...(body.id_token === undefined ? {} : { idToken: body.id_token }),
    ...(claims === undefined
      ? {}
      : {
          identity: {
            sub: claims.sub,
            ...(email === undefined ? {} : { email }),
            ...(name === undefined ? {} : { name }),
          },
        }),
  };
};

const unexpected = (what: string, error: unknown): AppError =>
  new AppError(
    'refused',
    `${what}: the answer breaks the protocol (${error instanceof Error ? error.message : 'unknown cause'})`,
    {
      code: 'BAD_TOKEN_ANSWER',
      tryThis: ['opsctl auth conformance --auth-url … names what the server does differently'],
    },
  );

/** The JSON of an answer that is no refusal, in whatever form servers refuse. */
const givenIn = (what: string, received: HttpResponse, nowMs: number): unknown => {
  if (received.status !== 200) throw refusalOf(what, received, nowMs);
  const given = isJson(received) ? bodyOf(received) : undefined;
  if (given === undefined) throw strangeReply(what, received);
  const said = errorIn(given);
  if (said !== undefined && (given as { access_token?: unknown }).access_token === undefined)
    throw serviceFailure(what, said.error, said.description, received.status);
  return given;
};

export type Checks =
  | { readonly kind: 'exchange'; readonly nonce: string | undefined }
  | { readonly kind: 'refresh' };

/** The server as oauth4webapi wants it described. */
const authorizationServerOf = (tokenClient: TokenClient, read: HttpResponse): AuthorizationServer => ({
  // Without metadata the issuer is compared with itself; audience, times and nonce still hold.
  issuer: tokenClient.issuer ?? text(claimsIn(read).iss) ?? new URL(tokenClient.endpoints.token).origin,
  token_endpoint: tokenClient.endpoints.token,
  ...(tokenClient.jwksUri === undefined ? {} : { jwks_uri: tokenClient.jwksUri }),
});

/** spec/sign-in knows no nonce: a server without metadata may leave it out; one that gives it must give the right one. */
const nonceCheck = (
  { issuer }: TokenClient,
  read: HttpResponse,
  nonce: string | undefined,
): { expectedNonce?: string } => {
  const isAsked =
    idTokenIn(read) !== undefined && (issuer !== undefined || claimsIn(read).nonce !== undefined);
  return isAsked && nonce !== undefined ? { expectedNonce: nonce } : {};
};

/** The protocol checks of a token answer: fields and types, `Bearer`, and of an id_token issuer, audience, times, nonce and signature. */
export const processTokenResponse = async (
  what: string,
  tokenClient: TokenClient,
  received: HttpResponse,
  checks: Checks,
  host: Host,
  signal?: AbortSignal,
): Promise<TokenResponse> => {
  const read = { ...received, text: JSON.stringify(givenIn(what, received, host.now())) };
  const oauth = await import('oauth4webapi');
  const server = authorizationServerOf(tokenClient, read);
  // The clock of a server and of this machine may differ by minutes without harm.
  const client = {
    client_id: tokenClient.clientId,
    [oauth.clockTolerance]: 300,
    [oauth.clockSkew]: skewOf(tokenClient, read, host.now()),
  };
  const response = new Response(read.text, {
    status: read.status,
    headers: { 'content-type': 'application/json' },
  });
  try {
    const body =
      checks.kind === 'refresh'
        ? await oauth.processRefreshTokenResponse(server, client, response)
        : await oauth.processAuthorizationCodeResponse(
            server,
            client,
            response,
            nonceCheck(tokenClient, read, checks.nonce),
          );
    if (body.id_token !== undefined) await checkSignature(oauth, server, response, fetchOver(host, signal));
    return tokenResponseFrom(oauth, body);
  } catch (error) {
    throw error instanceof AppError || error instanceof NetworkError ? error : unexpected(what, error);
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
const claimsIn = (
  read: HttpResponse,
): { readonly iss?: unknown; readonly iat?: unknown; readonly nonce?: unknown } => {
  const payload = idTokenIn(read)?.split('.')[1];
  try {
    return payload === undefined
      ? {}
      : (JSON.parse(Buffer.from(payload, 'base64url').toString('utf8')) as object);
  } catch {
    return {};
  }
};

/** A server on this machine may run on a clock that was set for a test: its time is then the time of its tokens. */
const skewOf = (tokenClient: TokenClient, read: HttpResponse, nowMs: number): number => {
  const { iat } = claimsIn(read);
  return isLoopback(new URL(tokenClient.endpoints.token)) && typeof iat === 'number'
    ? Math.round(iat - nowMs / 1000)
    : 0;
};

/** The keys of the server could not be had; nothing is said about the token. */
class NoKeys extends Error {}
/**
 * OpenID Connect Core 3.1.3.7, 6: a token that came from the token endpoint itself needs no signature, because the
 * connection proves where it is from. So a key set that is out of order does not cost a sign-in whose code is used up.
 */
const withoutKeys = (error: unknown): void => {
  if (!(error instanceof NoKeys)) throw error;
};

const keysMs = 10_000;
/** Of an id_token, when the server publishes its keys. */
const checkSignature = async (
  oauth: Oauth,
  server: AuthorizationServer,
  response: Response,
  fetch: ReturnType<typeof fetchOver>,
): Promise<void> => {
  if (server.jwks_uri === undefined) return;
  const insecure = server.jwks_uri.startsWith('http:') ? { [oauth.allowInsecureRequests]: true } : {};
  await oauth
    .validateApplicationLevelSignature(server, response, { [oauth.customFetch]: fetch, ...insecure })
    .catch(withoutKeys);
};

/** What oauth4webapi needs of `fetch` to read a key set, over the host's network (proxy, CA, limits). */
const fetchOver =
  (host: Host, signal: AbortSignal | undefined) =>
  async (url: string, options: { headers: Record<string, string> }): Promise<Response> => {
    const asked = {
      method: 'GET',
      url,
      headers: options.headers,
      maxReplyBytes: 1024 * 1024,
      timeoutMs: keysMs,
    };
    const read = async (stop: AbortSignal): Promise<readonly [HttpReply, string]> => {
      const reply = await host.network.request({ ...asked, signal: stop });
      return [reply, await reply.text()];
    };
    const [reply, text] = await withDeadline(host, keysMs, signal, read).catch((error: unknown) => {
      throw error instanceof NetworkError && signal?.aborted !== true ? new NoKeys() : error;
    });
    if (reply.status !== 200) throw new NoKeys();
    return new Response(text, {
      status: 200,
      headers: { 'content-type': reply.headers['content-type'] ?? '' },
    });
  };
