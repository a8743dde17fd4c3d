import { tokenTypes } from '../../api-specs/oauth/grant-types.ts';
import type { MockReply } from '../service.ts';
import { OAuthError } from './errors.ts';
import { issuerFor } from './issuer.ts';
import { jsonReply } from './json-reply.ts';
import { isSignedBy, type Jwt, parseJwt } from './jwt.ts';
import type { Signer } from './keys.ts';
import { findUser } from './passwords.ts';
import {
  accountIsAServiceAccount,
  assertionIsInTime,
  assertionRules,
  machineScopes,
  tokenAudiences,
} from './rules/machine.ts';
import { type ClientCall, type TokenCall, checkRules, given } from './rules/rule.ts';
import type { User } from './state.ts';
import { issueForMachine } from './tokens.ts';
import { trustFor } from './trust.ts';

const answer = (
  call: TokenCall,
  user: User,
  scopes: readonly string[],
  more: Readonly<Record<string, string>> = {},
): MockReply => {
  const owner = { user: user.id, client: call.credentials.id ?? '' };
  const issued = call.auth.env.store.transact(() => issueForMachine(call.auth, owner, scopes));
  return jsonReply(200, { ...issued, scope: scopes.join(' '), ...more });
};

/** RFC 6749 4.4: a confidential client acts for the service account that belongs to it. */
export const clientCredentials = (call: ClientCall): MockReply => {
  const { auth, client, params } = call;
  if (client.secret_hash === null || !client.service_account)
    throw new OAuthError(
      'unauthorized_client',
      'The client has no secret or no service account: client credentials are not for it.',
    );
  const user = accountIsAServiceAccount(findUser(auth, client.service_account), client.service_account);
  return answer(call, user, machineScopes(auth, given(params, 'scope') ?? ''));
};

const signedBy = (
  jwt: Jwt | undefined,
  keys: readonly Readonly<Record<string, unknown>>[],
  what: string,
): Jwt => {
  if (jwt === undefined) throw new OAuthError('invalid_grant', `The ${what} is not a signed JWT.`);
  if (!keys.some((key) => isSignedBy(jwt, key)))
    throw new OAuthError('invalid_grant', `The signature of the ${what} does not fit any known key.`);
  return jwt;
};

/** RFC 7523 2.1: a service account signs with a key that it was given. */
export const jwtBearer = (call: TokenCall): MockReply => {
  const { auth, params } = call;
  const what = 'assertion';
  const text = given(params, 'assertion');
  if (text === undefined) throw new OAuthError('invalid_request', 'Missing required field: assertion');
  const parsed = parseJwt(text);
  const name = String(parsed?.claims.iss ?? '');
  const user = accountIsAServiceAccount(findUser(auth, name), name);
  const keys = [...auth.serviceKeys.values()].filter((key) => key.user === user.id).map(({ jwk }) => jwk);
  const jwt = signedBy(parsed, keys, what);
  const audiences = tokenAudiences(issuerFor(auth.env, call.request));
  checkRules(assertionRules, { auth, jwt, what, audiences });
  return answer(call, user, machineScopes(auth, given(params, 'scope') ?? String(jwt.claims.scope ?? '')));
};

const subjectTypes: readonly string[] = [tokenTypes.jwt, tokenTypes.idToken];

/** RFC 8693: an identity token of somebody whom a trust names becomes a token of a service account. */
export const tokenExchange = async (call: TokenCall, signer: Signer): Promise<MockReply> => {
  const { auth, params } = call;
  const what = 'subject token';
  const text = given(params, 'subject_token');
  if (text === undefined) throw new OAuthError('invalid_request', 'Missing required field: subject_token');
  const type = given(params, 'subject_token_type');
  if (type === undefined || !subjectTypes.includes(type))
    throw new OAuthError('invalid_request', `subject_token_type must be ${subjectTypes.join(' or ')}`);
  const wanted = given(params, 'requested_token_type');
  if (wanted !== undefined && wanted !== tokenTypes.accessToken)
    throw new OAuthError('invalid_request', `requested_token_type must be ${tokenTypes.accessToken}`);
  const parsed = parseJwt(text);
  const own = issuerFor(auth.env, call.request);
  const { trust, keys } = await trustFor(auth, parsed, own, signer);
  const jwt = signedBy(parsed, keys, what);
  assertionIsInTime({ auth, jwt, what, audiences: [] });
  const user = accountIsAServiceAccount(auth.users.get(trust.user), trust.user);
  return answer(call, user, machineScopes(auth, given(params, 'scope') ?? '', trust.scopes), {
    issued_token_type: tokenTypes.accessToken,
  });
};
