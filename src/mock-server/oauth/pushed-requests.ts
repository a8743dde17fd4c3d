import { parseUrl } from '../../core/external-url.ts';
import { hash } from 'node:crypto';
import type { MockReply, MockRequest } from '../service-set.ts';
import { jsonReply, OAuthError, oauthErrorReply, OAuthPageError, type Params, readParams } from './errors.ts';
import { base64url, sha256, hmac, isSignedBy, issuerFor, type Jwk, sameText } from './keys.ts';
import { requestRules } from './rules/authorize.ts';
import { checkRules, readParam, type RequestCall } from './rules/rule.ts';
import { clientRules, credentialsOf, formRules, identityRulesOfPush } from './rules/token-client.ts';
import type { Auth } from './state.ts';
import { type JwtParts, readJwt } from '../../core/json.ts';
import { type Access, liveAccess } from './tokens.ts';

/** RFC 9449: proofs that a request comes from the holder of a key. An extension: the document knows Bearer tokens, which stay the default. */
export const proofAlgorithms = ['ES256', 'RS256'] as const;
type ProofErrorCode = 'invalid_dpop_proof' | 'use_dpop_nonce' | 'invalid_token';
/** A rule of RFC 9449 refuses a request; the endpoint chooses the form of the response. */
export class ProofError extends Error {
  readonly code: ProofErrorCode;
  readonly headers: Readonly<Record<string, string>>;
  constructor(code: ProofErrorCode, detail: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail);
    this.name = 'ProofError';
    this.code = code;
    this.headers = headers;
  }
}
const invalid = (text: string): ProofError => new ProofError('invalid_dpop_proof', text);

/** RFC 7638: the hash of the required members in lexicographic order. */
const thumbprintOf = (jwk: Jwk): string => {
  const names = jwk.kty === 'EC' ? ['crv', 'kty', 'x', 'y'] : ['e', 'kty', 'n'];
  const text = JSON.stringify(Object.fromEntries(names.map((name) => [name, String(jwk[name] ?? '')])));
  return hash('sha256', text, 'base64url');
};

const windowMs = 300_000;
const nonceAt = (auth: Auth, window: number): string => hmac(auth.secret(), `dpop nonce ${window}`);
const windowOf = (auth: Auth): number => Math.floor(auth.env.now() / windowMs);
/** RFC 9449 8: derived from the time, so that it needs no storage. The previous one is also valid. */
const isFreshNonce = (auth: Auth, nonce: unknown): boolean =>
  typeof nonce === 'string' && [0, 1].some((age) => sameText(nonceAt(auth, windowOf(auth) - age), nonce));
const wantNonce = (auth: Auth, text: string): ProofError =>
  new ProofError('use_dpop_nonce', text, { 'dpop-nonce': nonceAt(auth, windowOf(auth)) });

/** RFC 9449 4.3, 9 and 11.1: a fresh nonce, or a time near the one of this server. */
const checkFreshness = (auth: Auth, { claims }: JwtParts): void => {
  const { nonce, iat } = claims;
  if (isFreshNonce(auth, nonce)) return;
  if (nonce !== undefined) throw wantNonce(auth, 'The nonce of the DPoP proof is not valid any more.');
  if (auth.settings().require_dpop_nonce) throw wantNonce(auth, 'The DPoP proof needs a nonce.');
  if (typeof iat !== 'number') throw invalid('The DPoP proof has no iat.');
  if (Math.abs(iat * 1000 - auth.env.now()) > windowMs)
    throw wantNonce(auth, 'The time of the DPoP proof is not the time of this server: send its nonce.');
};
/** RFC 9449 4.3, 8 and 9: without query and fragment, and in the form of RFC 3986 6.2.2. */
const plainUrl = (text: unknown): string | undefined => {
  const url = typeof text === 'string' ? parseUrl(text) : undefined;
  return url && url.origin + url.pathname;
};
/** RFC 9449 11.1: a proof is good for one request. */
const checkReplay = (auth: Auth, thumbprint: string, jti: unknown): void => {
  if (typeof jti !== 'string' || jti === '') throw invalid('The DPoP proof has no jti.');
  const id = sha256(`${thumbprint} ${jti}`);
  if (auth.proofs.has(id)) throw invalid('The DPoP proof was used already.');
  auth.env.store.transact(() => auth.proofs.put(id, auth.env.now()));
};
const keyIn = ({ header }: JwtParts): Jwk => {
  const { typ, alg, jwk } = header;
  if (typ !== 'dpop+jwt') throw invalid('The typ of the DPoP proof must be dpop+jwt.');
  if (!(proofAlgorithms as readonly unknown[]).includes(alg))
    throw invalid(`The alg of the DPoP proof must be ${proofAlgorithms.join(' or ')}.`);
  if (typeof jwk !== 'object' || jwk === null) throw invalid('The DPoP proof has no jwk.');
  if ('d' in jwk) throw invalid('The jwk of the DPoP proof contains a private key.');
  return jwk as Jwk;
};
/** RFC 9449 4.3: all checks of a proof, in its order. Returns the thumbprint of its key. */
const checkProof = (
  auth: Auth,
  request: MockRequest,
  text: string,
  accessToken: string | undefined,
): string => {
  const jwt = readJwt(text);
  if (jwt === undefined) throw invalid('The DPoP header must contain one signed JWT.');
  const jwk = keyIn(jwt);
  if (!isSignedBy(jwt, jwk)) throw invalid('The signature of the DPoP proof does not fit its jwk.');
  if (jwt.claims.htm !== request.method) throw invalid('The htm of the DPoP proof is another method.');
  if (plainUrl(jwt.claims.htu) !== plainUrl(issuerFor(auth.env, request) + request.path))
    throw invalid('The htu of the DPoP proof is another URL.');
  checkFreshness(auth, jwt);
  if (accessToken !== undefined && jwt.claims.ath !== sha256(accessToken))
    throw invalid('The ath of the DPoP proof is not the hash of the access token.');
  const thumbprint = thumbprintOf(jwk);
  checkReplay(auth, thumbprint, jwt.claims.jti);
  return thumbprint;
};
/** The key of a request at the token endpoint; undefined if the client asks for Bearer tokens. */
export const proofKeyOf = (auth: Auth, request: MockRequest): string | undefined => {
  const { dpop } = request.headers;
  if (dpop !== undefined) return checkProof(auth, request, dpop, undefined);
  if (auth.settings().require_dpop)
    throw invalid('This server issues tokens only to requests with a DPoP proof.');
  return undefined;
};

/** A request that passes several services is checked once: its proof is used after that. */
const checkedKeys = new WeakMap<MockRequest, string>();
/** How an access token was sent. */
export type SentToken = { readonly token: string; readonly isBound: boolean };
/** RFC 7235: the scheme in any case. */
export const tokenInHeader = (header: string): SentToken | undefined => {
  const [, scheme = '', token] = /^(bearer|dpop) +([A-Za-z0-9\-._~+/]+=*) *$/i.exec(header) ?? [];
  return token === undefined ? undefined : { token, isBound: scheme.toLowerCase() === 'dpop' };
};
/**
 * The access of a token at this moment; undefined for a token without access. RFC 9449 7.1 and 7.2: a bound
 * token needs a proof with its key and is rejected as a Bearer token. A Bearer token that claims to be bound
 * is also rejected.
 */
export const openedBy = (auth: Auth, request: MockRequest, sent: SentToken): Access | undefined => {
  const access = liveAccess(auth, sent.token);
  if (access === undefined) return undefined;
  if (access.boundTo === undefined && !sent.isBound) return access;
  if (access.boundTo === undefined) throw new ProofError('invalid_token', 'The token is a Bearer token.');
  if (!sent.isBound)
    throw new ProofError(
      'invalid_token',
      'The token is bound to a key: send it with the scheme DPoP and a proof.',
    );
  const { dpop } = request.headers;
  if (dpop === undefined) throw invalid('The DPoP header is missing.');
  const key = checkedKeys.get(request) ?? checkProof(auth, request, dpop, sent.token);
  checkedKeys.set(request, key);
  if (!sameText(key, access.boundTo))
    throw new ProofError('invalid_token', 'The token is bound to another key than the one of the proof.');
  return access;
};
/** RFC 9449 7.1. */
export const proofChallenge = ({ code, message }: ProofError): string =>
  `DPoP error="${code}", error_description="${message}", algs="${proofAlgorithms.join(' ')}"`;

/** RFC 9126: the client sends the parameters of an authorization request itself, and the browser carries a reference. An extension. */
const prefix = 'urn:ietf:params:oauth:request_uri:';
const lifeS = 90;
/** Client authentication is not a parameter of the authorization request (RFC 9126 2.1). */
const own = new Set(['client_secret', 'client_assertion', 'client_assertion_type']);
const parametersIn = (body: string): string =>
  body
    .split('&')
    .filter((pair) => !own.has(decodeURIComponent((pair.split('=')[0] ?? '').replaceAll('+', ' '))))
    .join('&');
/** The rules of the authorization endpoint, whose refusals are pages there and JSON here. */
const checkRequest = (call: RequestCall): void => {
  try {
    // GET is the method of the browser that will come; everything else of the request is here.
    checkRules(requestRules, { ...call, request: { ...call.request, method: 'GET' } });
  } catch (error) {
    if (!(error instanceof OAuthPageError)) throw error;
    const code = error.code === 'invalid_scope' ? 'invalid_scope' : 'invalid_request';
    throw new OAuthError(code, `${error.message} (${error.code})`);
  }
};
/** RFC 9449 10.1: a proof binds the request like `dpop_jkt`; both must name one key. */
const keyOfRequest = (auth: Auth, request: MockRequest, params: Params): string | undefined => {
  const named = readParam(params, 'dpop_jkt');
  const proven = request.headers.dpop === undefined ? undefined : proofKeyOf(auth, request);
  if (named !== undefined && proven !== undefined && named !== proven)
    throw new OAuthError('invalid_dpop_proof', 'dpop_jkt is not the thumbprint of the key of the proof.');
  return named ?? proven;
};
const accept = (auth: Auth, request: MockRequest): MockReply => {
  const body = Buffer.from(request.body).toString('utf8');
  const params = readParams(body);
  checkRules(formRules, { auth, request, params });
  if (params.get('request_uri') !== undefined)
    throw new OAuthError('invalid_request', 'request_uri cannot be pushed.');
  const call = { auth, request, params, credentials: credentialsOf(request, params) };
  checkRules(identityRulesOfPush, call);
  const client = auth.clients.get(call.credentials.id ?? '');
  if (client === undefined) throw new OAuthError('invalid_client', 'The OAuth client was not found.');
  checkRules(clientRules, { ...call, client });
  const key = keyOfRequest(auth, request, params);
  const named = params.get('client_id') === undefined ? `&client_id=${encodeURIComponent(client.id)}` : '';
  const bound =
    key === undefined || params.get('dpop_jkt') !== undefined ? '' : `&dpop_jkt=${encodeURIComponent(key)}`;
  const form = `${parametersIn(body)}${named}${bound}`;
  checkRequest({ auth, request, params: readParams(form) });
  const id = base64url(auth.env.random(32));
  auth.env.store.transact(() => auth.pushed.put(sha256(id), { form, created_at: auth.env.now() }));
  return jsonReply(201, { request_uri: prefix + id, expires_in: lifeS });
};
/** `POST /par`. */
export const pushEndpoint = (auth: Auth, keepRate: () => void, request: MockRequest): MockReply => {
  try {
    keepRate();
    return accept(auth, request);
  } catch (error) {
    if (error instanceof ProofError)
      return oauthErrorReply(new OAuthError(error.code, error.message, 400, error.headers));
    if (error instanceof OAuthError) return oauthErrorReply(error);
    throw error;
  }
};
/**
 * The effective parameters of the authorization endpoint: the pushed ones instead of those in the URL (RFC
 * 9126 4, RFC 9101 6.3). A request URI is valid until it expires, because a browser may load its URL twice.
 */
export const requestedParams = (auth: Auth, params: Params): Params => {
  const requestUri = params.get('request_uri');
  if (requestUri === undefined) {
    if (auth.settings().require_pushed_requests)
      throw new OAuthPageError('invalid_request', 'This server accepts pushed authorization requests only');
    return params;
  }
  const pushed = auth.pushed.get(sha256(requestUri.slice(prefix.length)));
  const isOver = pushed === undefined || auth.env.now() >= pushed.created_at + lifeS * 1000;
  if (isOver || !requestUri.startsWith(prefix))
    throw new OAuthPageError('invalid_request', 'The request_uri is not known, or has expired');
  const own = readParams(pushed.form);
  if (own.get('client_id') !== params.get('client_id'))
    throw new OAuthPageError('invalid_request', 'The request_uri belongs to another client');
  return own;
};
