import { revocationRules } from './rules/form.ts';
import { checkRules, given } from './rules/rule.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { OAuthError } from './errors.ts';
import { jsonReply, oauthErrorReply } from './json-reply.ts';
import { type Params, readParams } from './params.ts';
import { emitTokenRevoked } from './security-events.ts';
import type { Auth, Family } from './state.ts';
import { formOf } from './token-endpoint.ts';
import { isLive, readAccess, readRefresh, revokeFamily } from './tokens.ts';

/** spec/sign-in#revoke has the token in the query; RFC 7009 has it in the body. Both are read. */
const tokenOf = (query: Params, body: Params): string => {
  if (query.repeated.includes('token'))
    throw new OAuthError('invalid_request', 'Field given more than once: token');
  const token = given(query, 'token') ?? given(body, 'token');
  if (token === undefined) throw new OAuthError('invalid_request', 'Missing required parameter: token');
  return token;
};

/** spec/sign-in#revoke: "The token is an access token or a refresh token." An access token takes its refresh token along. */
const familyOf = (auth: Auth, token: string): Family => {
  const family = readRefresh(auth, token) ?? readAccess(auth, token)?.family;
  if (
    family === undefined ||
    family.revoked_at !== null ||
    (readRefresh(auth, token) && !isLive(auth, family))
  ) {
    throw new OAuthError('invalid_token', 'Token expired or revoked');
  }
  // spec/sign-in#check-7.13: a token of a service account has no user who could take it back.
  if (family.client === '') throw new OAuthError('invalid_token', 'Token is not revocable.');
  return family;
};

/** `POST /revoke`: 200, or 400 with an error code. No client authentication, any content type (spec/sign-in#check-7.9, spec/sign-in#check-7.10). */
export const revokeEndpoint = (auth: Auth, keepRate: () => void, request: MockRequest): MockReply => {
  const body = formOf(request);
  try {
    checkRules(revocationRules, { auth, request, params: body });
    keepRate();
    const family = familyOf(auth, tokenOf(readParams(request.query), body));
    auth.env.store.transact(() => {
      revokeFamily(auth, family);
      emitTokenRevoked(auth, family);
    });
    return jsonReply(200, {});
  } catch (error) {
    if (error instanceof OAuthError) return oauthErrorReply(error);
    throw error;
  }
};
