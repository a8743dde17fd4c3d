import { grantTypes, isGrantType } from '../../../api-specs/oauth/grant-types.ts';
import type { Params } from '../params.ts';
import { clientTypeRows } from '../../../api-specs/oauth/client-types.ts';
import { basicChallenge } from './client-credentials.ts';
import { isClientActive } from '../client-life.ts';
import { OAuthError } from '../errors.ts';
import { categoryOf, countRequest, effectiveState } from '../integrity.ts';
import { secretIsRight as matches } from '../tokens.ts';
import { type ClientCall, type Rule, type TokenCall, given } from './rule.ts';

/** spec/sign-in#exchange and spec/sign-in#refresh: grant_type. RFC 6749 5.2 for the codes. */
const grantOf = (params: Params) => {
  const type = given(params, 'grant_type') ?? '';
  return grantTypes[isGrantType(type) ? type : 'authorization_code'];
};
const grantTypeIsKnown: Rule<TokenCall> = ({ params }) => {
  const type = given(params, 'grant_type');
  if (type === undefined) throw new OAuthError('invalid_request', 'Missing required field: grant_type');
  if (!isGrantType(type))
    throw new OAuthError(
      'unsupported_grant_type',
      `grant_type must be one of ${Object.keys(grantTypes).join(', ')}`,
    );
};

/** RFC 6749 2.3: one way of authentication in a request. */
const credentialsAgree: Rule<TokenCall> = ({ params, credentials }) => {
  if (!credentials.isBasic) return;
  const id = given(params, 'client_id');
  if (given(params, 'client_secret') !== undefined)
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
  const token = given(params, 'integrity_token') ?? request.headers['x-integrity-token'];
  const category = categoryOf(auth, client, token, request.headers['user-agent'] ?? '');
  countRequest(auth, client, category);
  if (state === 'enforced' && category !== 'verified') {
    throw new OAuthError(
      'unauthorized_client',
      `The integrity check of the client is enforced and the integrity token is ${token === undefined ? 'missing' : 'invalid'}.`,
    );
  }
};

/** Who asks, before the client is looked up. */
export const identityRules: readonly Rule<TokenCall>[] = [
  grantTypeIsKnown,
  credentialsAgree,
  tokenClientIsGiven,
  tokenClientIsKnown,
];
/** What holds of a client that is known. */
export const clientRules: readonly Rule<ClientCall>[] = [
  tokenClientIsNotDeleted,
  secretIsRight,
  integrityIsVerified,
];
