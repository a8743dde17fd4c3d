import { cutText } from '../../../core/problem.ts';
import type { JwtParts } from '../../../core/json.ts';
import { clientTypeRows, grantTypes, isGrantType } from '../../../api-specs/oauth/console-records.ts';
import { authPaths, scopeName, verifierPattern } from '../../../api-specs/oauth/endpoints.ts';
import { limits } from '../../../core/limits.ts';
import type { MockRequest } from '../../service-set.ts';
import { parseScopes, OAuthError, type Params, unknownScopes } from '../errors.ts';
import {
  categoryOf,
  countRequest,
  effectiveState,
  isClientActive,
  audiencesOf,
  sameText,
  sha256,
} from '../keys.ts';
import type { Auth, User } from '../state.ts';
import { isCodeOver, isLive, secretIsRight as matches, refusedRefresh } from '../tokens.ts';
import {
  type ClientCall,
  type Credentials,
  type ExchangeCall,
  readParam,
  type RefreshCall,
  type RequestCall,
  type Rule,
  type TokenCall,
} from './rule.ts';

const basicChallenge = { 'www-authenticate': 'Basic realm="oauth", charset="UTF-8"' } as const;
const decodeText = (text: string): string => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
};
/** RFC 6749 2.3.1: HTTP Basic with form-encoded ID and secret, or both in the body. */
export const credentialsOf = (request: MockRequest, params: Params): Credentials => {
  const basic = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(request.headers.authorization ?? '')?.[1];
  if (basic === undefined)
    return { id: readParam(params, 'client_id'), secret: readParam(params, 'client_secret'), isBasic: false };
  const text = Buffer.from(basic, 'base64').toString('utf8');
  const cut = text.indexOf(':');
  const [id, secret] = cut < 0 ? [text, ''] : [text.slice(0, cut), text.slice(cut + 1)];
  return { id: decodeText(id), secret: secret === '' ? undefined : decodeText(secret), isBasic: true };
};

/** spec/sign-in#exchange and spec/sign-in#refresh: grant_type. RFC 6749 5.2 for the codes. */
const grantOf = (params: Params) => {
  const type = readParam(params, 'grant_type') ?? '';
  return grantTypes[isGrantType(type) ? type : 'authorization_code'];
};
const grantTypeIsKnown: Rule<TokenCall> = ({ params }) => {
  const type = readParam(params, 'grant_type');
  if (type === undefined) throw new OAuthError('invalid_request', 'Missing required field: grant_type');
  if (!isGrantType(type))
    throw new OAuthError(
      'unsupported_grant_type',
      `grant_type must be one of ${Object.keys(grantTypes).join(', ')}`,
    );
};
/** RFC 6749 2.3: only one authentication method per request. */
const credentialsAgree: Rule<TokenCall> = ({ params, credentials }) => {
  if (!credentials.isBasic) return;
  const id = readParam(params, 'client_id');
  if (readParam(params, 'client_secret') !== undefined)
    throw new OAuthError(
      'invalid_request',
      'The client secret came by HTTP Basic and in the body; use one of them',
    );
  if (id !== undefined && id !== credentials.id)
    throw new OAuthError('invalid_request', 'client_id in the body differs from the one in HTTP Basic');
};
/** spec/sign-in#authentication-1: every request to the token endpoint carries client_id. */
const tokenClientIsGiven: Rule<TokenCall> = ({ credentials, params }) => {
  if (credentials.id === undefined && grantOf(params).client === 'required')
    throw new OAuthError('invalid_request', 'Missing required field: client_id');
};
/** RFC 6749 5.2 invalid_client; spec/sign-in#check-5.24 for the text. */
const tokenClientIsKnown: Rule<TokenCall> = ({ auth, credentials }) => {
  if (credentials.id !== undefined && !auth.clients.has(credentials.id))
    throw new OAuthError('invalid_client', 'The OAuth client was not found.', undefined, basicChallenge);
};
/** spec/sign-in#states: using a deleted client yields deleted_client. */
const tokenClientIsNotDeleted: Rule<ClientCall> = ({ auth, client }) => {
  if (!isClientActive(auth, client)) throw new OAuthError('deleted_client', 'The OAuth client was deleted.');
};
/**
 * spec/sign-in#authentication-1: "client_secret is sent by clients that have one"; spec/sign-in#refresh: not used for mobile A, mobile B and
 * extensions, so what they send is ignored (spec/sign-in#check-5.22).
 */
export const secretIsRight: Rule<ClientCall> = ({ client, credentials }) => {
  if (client.secret_hash === null || !clientTypeRows[client.type].mayHaveSecret) return;
  if (credentials.secret === undefined)
    throw new OAuthError('invalid_client', 'client_secret is missing.', undefined, basicChallenge);
  if (!matches(client, credentials.secret))
    throw new OAuthError('invalid_client', 'The client secret is wrong.', undefined, basicChallenge);
};
/**
 * spec/sign-in#authentication-7 and spec/sign-in#states: monitoring counts, enforcement rejects requests without a valid integrity token.
 * The token is the field `integrity_token` or the header `X-Integrity-Token`; spec/sign-in#check-10.14: rejected as unauthorized_client.
 */
const integrityIsVerified: Rule<ClientCall> = ({ auth, client, params, request }) => {
  const state = client.type === 'mobile-b' ? effectiveState(auth, client) : 'disabled';
  if (state === 'disabled') return;
  const token = readParam(params, 'integrity_token') ?? request.headers['x-integrity-token'];
  const category = categoryOf(auth, client, token, request.headers['user-agent'] ?? '');
  countRequest(auth, client, category);
  if (state === 'enforced' && category !== 'verified') {
    throw new OAuthError(
      'unauthorized_client',
      `The integrity check of the client is enforced and the integrity token is ${token === undefined ? 'missing' : 'invalid'}.`,
    );
  }
};
/** The client credentials, before the client is resolved. */
export const identityRules: readonly Rule<TokenCall>[] = [
  grantTypeIsKnown,
  credentialsAgree,
  tokenClientIsGiven,
  tokenClientIsKnown,
];
/** RFC 9126 2.1: the check for a pushed request, which has no grant type. */
export const identityRulesOfPush: readonly Rule<TokenCall>[] = [credentialsAgree, tokenClientIsKnown];
/** The rules for a known client. */
export const clientRules: readonly Rule<ClientCall>[] = [
  tokenClientIsNotDeleted,
  secretIsRight,
  integrityIsVerified,
];

/** spec/sign-in#refresh: "over HTTPS". A server with TLS accepts no token over plain HTTP. */
const tokenConnectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (!request.isTls && auth.env.origin().startsWith('https:'))
    throw new OAuthError('invalid_request', 'Plain HTTP is refused: use HTTPS');
};
/** spec/sign-in#exchange to spec/sign-in#revoke: POST. */
const tokenMethodIsPost: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'POST')
    throw new OAuthError('invalid_request', `${request.method} is not supported; use POST`, 405, {
      allow: 'POST',
    });
};
/** spec/sign-in#check-5.27: a huge body or thousands of fields end here, before they are parsed. */
const bodyIsSmall: Rule<RequestCall> = ({ request, params }) => {
  if (request.body.length > limits.formBytes)
    throw new OAuthError('invalid_request', `The body must have at most ${limits.formBytes} bytes`, 413);
  if (params.count > 100) throw new OAuthError('invalid_request', 'The form must have at most 100 fields');
};
/** spec/sign-in#exchange: Content-Type application/x-www-form-urlencoded; spec/sign-in#check-5.5: JSON or no type is refused. */
const bodyIsAForm: Rule<RequestCall> = ({ request }) => {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new OAuthError('invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
};
/** RFC 6749 3.2: "parameters … MUST NOT be included more than once"; broken percent-encoding is a malformed request. */
const formIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new OAuthError('invalid_request', 'A field is not valid percent-encoded UTF-8');
  if (params.repeated.length > 0)
    throw new OAuthError('invalid_request', `Field given more than once: ${params.repeated[0]}`);
};
/**
 * spec/sign-in#exchange and spec/sign-in#refresh: a form over a secure connection, checked before its fields
 * are read.
 */
export const formRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  bodyIsAForm,
  formIsWellFormed,
];
/** spec/sign-in#choices-7: only the strict mode of the server requires the content type of a revocation. */
const strictBodyIsAForm: Rule<RequestCall> = (call) => {
  if (call.auth.env.options.isStrict) bodyIsAForm(call);
};
/**
 * spec/sign-in#revoke: the token may be in the query. Any content type is then accepted
 * (spec/sign-in#check-7.9, spec/sign-in#check-7.10).
 */
export const revocationRules: readonly Rule<RequestCall>[] = [
  tokenConnectionIsSafe,
  tokenMethodIsPost,
  bodyIsSmall,
  strictBodyIsAForm,
  formIsWellFormed,
];

/** A JWT of another issuer, after the verification of its signature. */
export type AssertionCall = {
  readonly auth: Auth;
  readonly jwt: JwtParts;
  /** What the token is called in messages. */
  readonly what: string;
  /** This server's own names, as the client may have known them. */
  readonly audiences: readonly string[];
};
const skewS = 300;
const longestS = 3600;
const seconds = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);
const invalid = (text: string): OAuthError => new OAuthError('invalid_grant', text);
/** RFC 7523 3, 3: the audience is this server. */
const checkAssertionAudience: Rule<AssertionCall> = ({ jwt, what, audiences }) => {
  const given = audiencesOf(jwt);
  if (!given.some((aud) => audiences.includes(aud)))
    throw invalid(
      `The audience of the ${what} is ${cutText(given.join(' '), 200) || 'missing'}; it must be ${audiences[0]}.`,
    );
};
/** RFC 7523 3, 4: it has an expiry time in the near future. */
export const checkAssertionTimes: Rule<AssertionCall> = ({ auth, jwt, what }) => {
  const now = auth.env.now() / 1000;
  const [end, begin] = [seconds(jwt.claims.exp), seconds(jwt.claims.iat)];
  if (end === undefined) throw invalid(`The ${what} has no exp.`);
  if (end + skewS < now) throw invalid(`The ${what} has expired.`);
  if (end > now + longestS + skewS) throw invalid(`The ${what} lives longer than an hour.`);
  if (begin !== undefined && begin > now + skewS)
    throw invalid(`The ${what} was issued in the future: check the clock of the client.`);
};
/** spec/sign-in#data-api-3: service accounts, and only while they are active. */
export const accountIsAServiceAccount = (user: User | undefined, name: string): User => {
  if (user === undefined || user.state !== 'active' || user.kind !== 'service-account')
    throw new OAuthError('invalid_grant', `There is no active service account ${cutText(name, 320)}.`);
  return user;
};
/** Scopes that a machine asks for; no person is there to choose. */
export const machineScopes = (auth: Auth, text: string, allowed: readonly string[] = []): string[] => {
  const asked = parseScopes(text);
  if (asked.length === 0) throw new OAuthError('invalid_scope', 'Missing scope: a machine names its scopes.');
  const unknown = unknownScopes(auth, asked);
  if (unknown.length > 0)
    throw new OAuthError('invalid_scope', `Unknown scope: ${cutText(unknown.join(' '), 300)}`);
  const refused =
    allowed.length === 0 ? [] : asked.filter((scope) => !allowed.map(scopeName).includes(scopeName(scope)));
  if (refused.length > 0)
    throw new OAuthError('invalid_scope', `The trust does not allow: ${cutText(refused.join(' '), 300)}`);
  return asked;
};
export const assertionRules: readonly Rule<AssertionCall>[] = [checkAssertionAudience, checkAssertionTimes];
export const tokenAudiences = (issuer: string): readonly string[] => [issuer + authPaths.token, issuer];

/** spec/sign-in#exchange: fields of the code exchange. */
export const codeIsGiven: Rule<ClientCall> = ({ params }) => {
  for (const name of ['code', 'redirect_uri'] as const) {
    if (readParam(params, name) === undefined)
      throw new OAuthError('invalid_request', `Missing required field: ${name}`);
  }
};
/** spec/sign-in#limits: code_verifier has 43 to 128 characters of A-Z a-z 0-9 - . _ ~. */
export const verifierIsWellFormed: Rule<ClientCall> = ({ params }) => {
  const verifier = readParam(params, 'code_verifier');
  if (verifier !== undefined && !verifierPattern.test(verifier)) {
    throw new OAuthError(
      'invalid_grant',
      'Invalid code verifier: it has 43 to 128 characters of A-Z a-z 0-9 - . _ ~.',
    );
  }
};
/** RFC 6749 4.1.3: the code was issued to this client. */
export const codeIsOfTheClient: Rule<ExchangeCall> = ({ client, code }) => {
  if (code.asked.client !== client.id)
    throw new OAuthError('invalid_grant', 'The code was issued to another client.');
};
/** RFC 6749 4.1.2: a code is valid for at most ten minutes. */
const codeIsInTime: Rule<ExchangeCall> = ({ auth, code }) => {
  if (isCodeOver(auth, code)) throw new OAuthError('invalid_grant', 'The code has expired.');
};
/** RFC 6749 4.1.3: redirect_uri is identical to the one of the authorization request. */
export const redirectIsTheSame: Rule<ExchangeCall> = ({ code, params }) => {
  if (params.get('redirect_uri') !== code.asked.redirect_uri) {
    throw new OAuthError(
      'invalid_grant',
      'redirect_uri is not the one of the authorization request (redirect_uri_mismatch).',
    );
  }
};
/** spec/sign-in#pkce; RFC 9700 2.1.1: a verifier without a challenge is a downgrade and refused. */
export const verifierMatchesTheChallenge: Rule<ExchangeCall> = ({ code, params }) => {
  const verifier = readParam(params, 'code_verifier');
  const { challenge, method } = code.asked;
  if (challenge === null) {
    if (verifier !== undefined)
      throw new OAuthError('invalid_grant', 'code_verifier is not needed: no code_challenge was sent.');
    return;
  }
  if (verifier === undefined) throw new OAuthError('invalid_grant', 'Missing code verifier.');
  if (!sameText(method === 'S256' ? sha256(verifier) : verifier, challenge))
    throw new OAuthError('invalid_grant', 'Invalid code verifier.');
};
/** RFC 9449 10: a code of a request with `dpop_jkt` is valid only for the holder of that key. */
const keyIsTheOneOfTheRequest: Rule<ExchangeCall> = ({ code, boundTo }) => {
  const wanted = code.asked.dpop_jkt ?? null;
  if (wanted === null) return;
  if (boundTo === undefined)
    throw new OAuthError('invalid_dpop_proof', 'The code is bound to a key: the DPoP header is missing.');
  if (!sameText(wanted, boundTo))
    throw new OAuthError('invalid_grant', 'The code is bound to another key than the one of the DPoP proof.');
};
/** spec/sign-in#exchange, before the code is resolved. */
export const codeRules: readonly Rule<ClientCall>[] = [codeIsGiven, verifierIsWellFormed];
/** The rules for a known code. */
export const exchangeRules: readonly Rule<ExchangeCall>[] = [
  codeIsOfTheClient,
  codeIsInTime,
  redirectIsTheSame,
  verifierMatchesTheChallenge,
  keyIsTheOneOfTheRequest,
];

/** spec/sign-in#refresh: refresh_token. */
export const refreshTokenIsGiven: Rule<ClientCall> = ({ params }) => {
  if (readParam(params, 'refresh_token') === undefined)
    throw new OAuthError('invalid_request', 'Missing required field: refresh_token');
};
/** RFC 9449 5: the refresh token of a public client is bound to its key. */
const keyIsTheOneOfTheFamily: Rule<RefreshCall> = ({ family, boundTo }) => {
  const wanted = family.dpop_jkt ?? null;
  if (wanted === null) return;
  if (boundTo === undefined)
    throw new OAuthError(
      'invalid_dpop_proof',
      'The refresh token is bound to a key: the DPoP header is missing.',
    );
  if (!sameText(wanted, boundTo))
    throw new OAuthError('invalid_grant', 'The refresh token is bound to another key.');
};
/** RFC 6749 6: bound to the client it was issued to. */
const refreshTokenIsOfTheClient: Rule<RefreshCall> = ({ client, family }) => {
  if (family.client !== client.id)
    throw new OAuthError('invalid_grant', 'The refresh token was issued to another client.');
};
/** spec/sign-in#states: refresh of a revoked, expired or pushed-out token fails with invalid_grant. */
const refreshTokenIsLive: Rule<RefreshCall> = ({ auth, family }) => {
  if (!isLive(auth, family)) throw refusedRefresh(auth, family);
};
/** spec/sign-in#check-6.18: a policy asks for a new sign-in after some time; the token itself is not over. Off unless a setting gives the time. */
const signInIsRecent: Rule<RefreshCall> = ({ auth, family }) => {
  const seconds = auth.settings().reauth_after_seconds;
  if (seconds === null || auth.env.now() < family.issued_at + seconds * 1000) return;
  throw new OAuthError('invalid_grant', 'reauth related error (invalid_rapt)', undefined, {}, 'invalid_rapt');
};
/** RFC 6749 6: a refresh may ask for fewer scopes, never for more. */
const refreshScopeIsGranted: Rule<RefreshCall> = ({ params, family }) => {
  const more = parseScopes(readParam(params, 'scope') ?? '').filter(
    (scope) => !family.scopes.includes(scope),
  );
  if (more.length > 0)
    throw new OAuthError('invalid_scope', 'The scope was not granted to this refresh token.');
};
/** spec/sign-in#errors-6: "user account deleted or disabled". */
export const tokenAccountIsActive: Rule<{ readonly auth: Auth; readonly owner: string }> = ({
  auth,
  owner,
}) => {
  if (auth.users.get(owner)?.state !== 'active')
    throw new OAuthError('invalid_grant', 'The account has been deleted or disabled.');
};
/** spec/sign-in#refresh: the rules for a known refresh token. */
export const refreshRules: readonly Rule<RefreshCall>[] = [
  refreshTokenIsOfTheClient,
  keyIsTheOneOfTheFamily,
  refreshTokenIsLive,
  signInIsRecent,
  refreshScopeIsGranted,
];
