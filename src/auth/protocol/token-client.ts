import { clientAssertionType } from '../../api-specs/oauth/console-records.ts';
import { type ClientAuthentication, clientAuthentications } from '../../core/shape.ts';
import type { HttpRequest } from '../../platform/host.ts';
import type { AuthContext } from '../auth-context.ts';
import { privateKeyFrom, signJwt, type DpopProver } from '../sign-jwt.ts';
import { parseUrl } from '../../core/external-url.ts';
import { type Problem, problem } from '../../core/problem.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import type { CheckedCallback } from '../callback.ts';

/** Both sides of a token request. `issuer` and `jwksUri` are there after discovery. */
export type TokenClient = {
  readonly endpoints: Endpoints;
  readonly clientId: string;
  /** spec/sign-in#client: only some types have one. */
  readonly clientSecret?: string;
  /** How the secret is sent (default: in the body). */
  readonly clientAuth?: ClientAuthentication;
  /** A signature for one request, if the client has a key instead of a secret. */
  readonly assertion?: string;
  readonly issuer?: string;
  readonly jwksUri?: string;
  /** Present if the tokens have to be bound to a key: then the server must not return Bearer tokens. */
  readonly prover?: DpopProver;
};
/** A response that was read completely. The checks need no network. */
export type HttpResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** How the transfer deviated from the standards. */
  readonly deviations?: readonly Tolerance[];
};
/** A field without a value is omitted; a list is sent as a repeated field (RFC 8707 2). */
export type FormFields = Readonly<Record<string, string | readonly string[] | undefined>>;
/** spec/sign-in#exchange to spec/sign-in#revoke: form-encoded, the client named in the body, the secret sent by clients that have one. */
export const formRequest = (url: string, fields: FormFields): HttpRequest => {
  const form = new URLSearchParams();
  for (const [name, given] of Object.entries(fields))
    for (const value of typeof given === 'string' ? [given] : (given ?? [])) form.append(name, value);
  return {
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      accept: 'application/json',
      'accept-encoding': 'identity',
    },
    body: form.toString(),
    needsTls: true,
    maxReplyBytes: 1024 * 1024,
  };
};

export const isClientAuthentication = (text: string): text is ClientAuthentication =>
  (clientAuthentications as readonly string[]).includes(text);
/** A key of the client, in PEM form. */
export type ClientKey = { readonly pem: string; readonly origin: string; readonly keyId?: string };
const assertionLifeS = 300;
/**
 * A signature for one request, which expires soon and is never used again. Its only audience is the issuer, as the revision
 * of RFC 7523 requires; the token endpoint if the issuer is not known.
 */
export const clientAssertion = (
  { host, log }: Pick<AuthContext, 'host' | 'log'>,
  client: { readonly clientId: string; readonly audience: string },
  key: ClientKey,
): string => {
  const now = Math.floor(host.now() / 1000);
  const claims = {
    iss: client.clientId,
    sub: client.clientId,
    aud: client.audience,
    iat: now,
    exp: now + assertionLifeS,
    jti: Buffer.from(host.random(16)).toString('base64url'),
  };
  const assertion = signJwt(privateKeyFrom(key.pem, key.origin), key.origin, claims, key.keyId);
  log.hide(assertion);
  return assertion;
};
/** RFC 6749 2.3.1: form-encoded before it is joined, so that a colon or a space in a secret survives. */
const encodeText = (text: string): string => new URLSearchParams({ x: text }).toString().slice(2);
/** A form with the client's proof, by the method of this server. */
export const clientRequest = (
  client: Pick<TokenClient, 'clientId' | 'clientSecret' | 'clientAuth' | 'assertion'>,
  url: string,
  fields: FormFields,
): HttpRequest => {
  const { clientId, clientSecret, clientAuth, assertion } = client;
  const id = clientId === '' ? undefined : clientId;
  if (assertion !== undefined)
    return formRequest(url, {
      client_id: id,
      client_assertion_type: clientAssertionType,
      client_assertion: assertion,
      ...fields,
    });
  if (clientAuth !== 'basic' || clientSecret === undefined)
    return formRequest(url, { client_id: id, client_secret: clientSecret, ...fields });
  const request = formRequest(url, fields);
  const basic = Buffer.from(`${encodeText(clientId)}:${encodeText(clientSecret)}`).toString('base64');
  return { ...request, headers: { ...request.headers, authorization: `Basic ${basic}` } };
};

/** Ways in which responses of real servers differ from the standards without harm to the user. `auth conformance` reports each of them. */
export const tolerances = {
  'content-type': { rule: 'a response has the content type application/json', source: 'RFC 6749 5.1' },
  'content-encoding': {
    rule: 'a response is not compressed if the request asks for identity',
    source: 'RFC 9110 12.5.3',
  },
  'byte-order-mark': { rule: 'JSON does not start with a byte order mark', source: 'RFC 8259 8.1' },
  'form-response': { rule: 'a response is JSON', source: 'RFC 6749 5.1' },
  charset: { rule: 'JSON is encoded in UTF-8', source: 'RFC 8259 8.1' },
  'null-field': { rule: 'a field without a value is omitted', source: 'RFC 6749 5.1' },
  'scope-array': { rule: 'scope is a string', source: 'RFC 6749 3.3' },
  'scope-commas': { rule: 'scopes are separated by spaces', source: 'RFC 6749 3.3' },
  'missing-token-type': { rule: 'token_type is present', source: 'RFC 6749 5.1' },
  'expires-in': { rule: 'expires_in is a positive whole number of seconds', source: 'RFC 6749 5.1' },
  'id-token-key': {
    rule: 'the keys of an id_token can be read at jwks_uri',
    source: 'OpenID Connect Core 10.1',
  },
  'form-post': {
    rule: 'the response comes in the query if the request asks for no other mode',
    source: 'OAuth 2.0 Multiple Response Types 2.1',
  },
  'success-status': { rule: 'a token response has status 200', source: 'RFC 6749 5.1' },
  'error-status': { rule: 'an error has status 400 or 401', source: 'RFC 6749 5.2, RFC 8628 3.5' },
  'error-object': { rule: 'error is a string with an error code', source: 'RFC 6749 5.2' },
} as const satisfies Readonly<Record<string, { readonly rule: string; readonly source: string }>>;
export type Tolerance = keyof typeof tolerances;
export const toleranceLine = (what: string, name: Tolerance): string =>
  `${what}: the server deviates from ${tolerances[name].source} (${tolerances[name].rule}); opsctl accepts the response`;
/** Whole addresses. `device` and `pushed` are known from metadata only. */
export type Endpoints = {
  /** Absent if the metadata of the server contain none: such a server has no sign-in with a browser. */
  readonly authorize?: string;
  readonly token: string;
  readonly revoke: string;
  readonly device?: string;
  /** Where authorization requests are pushed to (RFC 9126). */
  readonly pushed?: string;
};

const isBare = (url: URL): boolean => url.pathname === '/' && url.search === '';

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]']);
export const isLoopback = (url: URL): boolean =>
  loopbackNames.has(url.hostname) || /^127(\.\d{1,3}){3}$/.test(url.hostname);

/** A bare host gets the path of the document. A URL with a path is the endpoint itself. */
const withPath = (text: string, path: string): string => {
  const url = parseUrl(text);
  if (url === undefined) return text;
  return isBare(url) ? `${url.origin}${path}` : text;
};

/** spec/sign-in#authorize, spec/sign-in#exchange, spec/sign-in#revoke: `{auth_url}/o/oauth2/v2/auth`, `{token_url}/token`, `{token_url}/revoke`. */
export const endpointsFrom = (given: {
  readonly auth: string;
  readonly token?: string;
  readonly revoke?: string;
}): Endpoints => {
  const authorize = withPath(given.auth, '/o/oauth2/v2/auth');
  const tokenBase = given.token ?? parseUrl(given.auth)?.origin ?? given.auth;
  const token = withPath(tokenBase, '/token');
  const revoke = given.revoke === undefined ? siblingOf(token) : withPath(given.revoke, '/revoke');
  return { authorize, token, revoke };
};

const siblingOf = (token: string): string => {
  const url = parseUrl(token);
  if (url === undefined) return token;
  url.pathname = url.pathname.replace(/[^/]*$/, 'revoke');
  return url.href;
};

const flagOf = { auth: 'auth-url', token: 'token-url', revoke: 'revoke-url' } as const;

/**
 * spec/sign-in#authorize: TLS only; plain HTTP is for a server on this machine. Missing endpoints are derived
 * from the given ones and cause no second message.
 */
export const endpointProblems = (
  given: Partial<Readonly<Record<keyof typeof flagOf, string | undefined>>>,
): Problem[] =>
  (Object.keys(flagOf) as (keyof typeof flagOf)[]).flatMap((key) => {
    const text = given[key];
    const flag = `--${flagOf[key]}`;
    if (text === undefined) return [];
    const url = parseUrl(text);
    if (url === undefined)
      return [
        problem(
          flag,
          'format',
          'must be an absolute address',
          `for example ${flag} https://accounts.example.com`,
        ),
      ];
    if (url.username !== '' || url.password !== '')
      return [
        problem(
          flag,
          'rule',
          'must not hold a user name or password',
          'use --client-id, and OPSCTL_CLIENT_SECRET for a secret',
        ),
      ];
    // RFC 6749 3.1 and 3.2.
    if (url.hash !== '') return [problem(flag, 'rule', 'must not have a fragment (#…)')];
    if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return [];
    return [
      problem(
        flag,
        'rule',
        `must be https, is ${url.protocol.slice(0, -1)} (plain http is for loopback only)`,
      ),
    ];
  });

/** True if no revocation endpoint was configured. */
export const isRevokeGuessed = ({ token, revoke }: Endpoints): boolean => revoke === siblingOf(token);

/**
 * Accounts of one authorization server belong together, and a token is never sent to another server. Realms
 * and tenants on one host are separate servers: the path without its last segment distinguishes them.
 */
export const serverKey = (endpoints: Endpoints): string => {
  const address = endpoints.authorize ?? endpoints.token;
  const url = parseUrl(address);
  if (url === undefined) return address;
  if (url.pathname === authPaths.authorize) return url.origin;
  return `${url.origin}${url.pathname.replace(/\/[^/]*$/, '')}`;
};

/** spec/sign-in#exchange. Only a checked callback can be exchanged. */
export const exchangeRequest = (
  tokenClient: TokenClient,
  callback: CheckedCallback,
  redirectUri: string,
  verifier: string,
  resource?: readonly string[],
): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.token, {
    code: callback.code,
    code_verifier: verifier,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    resource,
  });

/** spec/sign-in#refresh. Without a scope, the granted scopes stay, including after a partial consent. */
export const refreshRequest = (tokenClient: TokenClient, refreshToken: string): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.token, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });

/** spec/sign-in#revoke: the token is in the query. */
export const revokeRequest = (tokenClient: TokenClient, token: string): HttpRequest => {
  const url = new URL(tokenClient.endpoints.revoke);
  url.searchParams.set('token', token);
  return formRequest(url.href, {});
};
/** RFC 7009 2.1: standard servers expect it in the body, together with the client. */
export const standardRevokeRequest = (tokenClient: TokenClient, token: string): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.revoke, { token });
