import { grantTypes } from '../../api-specs/oauth/grant-types.ts';
import { authPaths, challengeMethods } from '../../api-specs/oauth/endpoints.ts';
import { allScopes } from '../../api-specs/oauth/scopes.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { bearerOf } from './bearer.ts';
import { userClaims } from './id-token.ts';
import { issuerFor } from './issuer.ts';
import { jsonReply } from './json-reply.ts';
import type { Signer } from './keys.ts';
import type { Auth } from './state.ts';
import { liveAccess } from './tokens.ts';

/** RFC 8414 and OpenID Connect Discovery; spec/sign-in#check-12.1: true to fact. */
export const metadataOf = (auth: Auth, request: MockRequest): Record<string, unknown> => {
  const origin = issuerFor(auth.env, request);
  const authentication = ['client_secret_post', 'client_secret_basic', 'none'];
  return {
    issuer: origin,
    authorization_endpoint: origin + authPaths.authorize,
    token_endpoint: origin + authPaths.token,
    revocation_endpoint: origin + authPaths.revoke,
    userinfo_endpoint: origin + authPaths.userinfo,
    jwks_uri: origin + authPaths.keys,
    scopes_supported: allScopes,
    response_types_supported: ['code'],
    response_modes_supported: auth.env.options.stateIn === 'fragment' ? ['query', 'fragment'] : ['query'],
    grant_types_supported: Object.keys(grantTypes),
    device_authorization_endpoint: origin + authPaths.device,
    token_endpoint_auth_methods_supported: authentication,
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: challengeMethods,
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    claims_supported: [
      'sub',
      'iss',
      'aud',
      'exp',
      'iat',
      'email',
      'email_verified',
      'name',
      'hd',
      'nonce',
      'at_hash',
    ],
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  };
};

/** The public keys may be kept for an hour; everything else of the metadata follows the settings. */
export const keysReply = (signer: Signer): MockReply =>
  jsonReply(200, { keys: signer.publicKeys() }, { 'cache-control': 'public, max-age=3600', pragma: '' });

export const userinfoReply = (auth: Auth, request: MockRequest): MockReply => {
  const { token } = bearerOf(request);
  const access = token === undefined ? undefined : liveAccess(auth, token);
  const user = access && auth.users.get(access.family.user);
  if (access === undefined || user === undefined) {
    return jsonReply(
      401,
      { error: 'invalid_token', error_description: 'Invalid Credentials' },
      { 'www-authenticate': 'Bearer error="invalid_token"' },
    );
  }
  return jsonReply(200, userClaims(user, access.scopes));
};
