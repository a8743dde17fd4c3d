import { grantTypes } from '../../api-specs/oauth/console-records.ts';
import { knownScopes, authPaths, challengeMethods } from '../../api-specs/oauth/endpoints.ts';
import type { Environment, MockReply, MockRequest, MockService } from '../service-set.ts';
import { authorize } from './authorize.ts';
import { makeConsolePage, makeControlApi } from './console/console-page.ts';
import { deviceDecision, deviceEndpoint } from './device.ts';
import { jsonReply } from './errors.ts';
import { issuerFor, makeSigner, type Signer, userClaims } from './keys.ts';
import { ciIssuer } from './machine-grants.ts';
import { makeMedia, sentToken } from './media.ts';
import { openedBy, proofAlgorithms, proofChallenge, ProofError, pushEndpoint } from './pushed-requests.ts';
import { makeRateRule } from './rules/rule.ts';
import { deliver } from './security-events.ts';
import { seedDemo } from './console/users.ts';
import { type Auth, authState } from './state.ts';
import { revokeEndpoint, tokenEndpoint } from './token-endpoint.ts';
import { type Access, makeSweeper } from './tokens.ts';

const claims = [
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
];
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
    scopes_supported: knownScopes,
    response_types_supported: ['code'],
    response_modes_supported: [
      'query',
      ...(auth.env.options.stateIn === 'fragment' ? ['fragment'] : []),
      'form_post',
    ],
    grant_types_supported: Object.keys(grantTypes),
    device_authorization_endpoint: origin + authPaths.device,
    pushed_authorization_request_endpoint: origin + authPaths.pushed,
    require_pushed_authorization_requests: auth.settings().require_pushed_requests,
    dpop_signing_alg_values_supported: proofAlgorithms,
    token_endpoint_auth_methods_supported: authentication,
    revocation_endpoint_auth_methods_supported: ['none'],
    code_challenge_methods_supported: challengeMethods,
    authorization_response_iss_parameter_supported: true,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256', 'ES256'],
    claims_supported: claims,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
  };
};
/** The public keys may be kept for an hour; everything else of the metadata follows the settings. */
export const keysReply = (signer: Signer): MockReply =>
  jsonReply(200, { keys: signer.publicKeys() }, { 'cache-control': 'public, max-age=3600', pragma: '' });
export const userinfoReply = (auth: Auth, request: MockRequest): MockReply => {
  const { sent } = sentToken(request);
  let access: Access | undefined;
  try {
    access = sent && openedBy(auth, request, sent);
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    const body = { error: error.code, error_description: error.message };
    return jsonReply(401, body, { ...error.headers, 'www-authenticate': proofChallenge(error) });
  }
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

type Handle = (request: MockRequest) => MockReply | Promise<MockReply>;
const exactRoutes = (auth: Auth, signer: Signer): ReadonlyMap<string, Handle> => {
  const keepRate = makeRateRule(auth);
  const metadata = (request: MockRequest) => jsonReply(200, metadataOf(auth, request));
  return new Map<string, Handle>([
    [authPaths.authorize, (request) => authorize(auth, request)],
    [authPaths.token, (request) => tokenEndpoint(auth, signer, keepRate, request)],
    [authPaths.revoke, (request) => revokeEndpoint(auth, keepRate, request)],
    [authPaths.pushed, (request) => pushEndpoint(auth, keepRate, request)],
    [authPaths.device, (request) => deviceEndpoint(auth, keepRate, request)],
    [authPaths.devicePage, (request) => deviceDecision(auth, request)],
    [authPaths.metadata, metadata],
    [authPaths.openidMetadata, metadata],
    [authPaths.keys, () => keysReply(signer)],
    [authPaths.userinfo, (request) => userinfoReply(auth, request)],
    [authPaths.console, () => ({ status: 302, headers: { location: `${authPaths.console}/console` } })],
  ]);
};
const readOnly: Readonly<Record<string, readonly string[]>> = {
  [authPaths.metadata]: ['GET'],
  [authPaths.openidMetadata]: ['GET'],
  [authPaths.keys]: ['GET'],
  [authPaths.devicePage]: ['GET', 'POST'],
  // OpenID Connect Core 5.3: both.
  [authPaths.userinfo]: ['GET', 'POST'],
};
const methodRefusal = ({ path, method }: MockRequest): MockReply | undefined => {
  const methods = readOnly[path];
  if (methods === undefined || methods.includes(method)) return undefined;
  const text = `${method} is not supported; use ${methods.join(' or ')}`;
  return jsonReply(405, { error: 'invalid_request', error_description: text }, { allow: methods.join(', ') });
};
/** Events that were not delivered when the server stopped are delivered by the next one. */
const resume = (auth: Auth): void => {
  for (const delivery of auth.deliveries.filter(({ state }) => state === 'pending'))
    auth.env.later(() => deliver(auth, delivery.id));
};
/** spec/sign-in: the installed-application authorization service with its data API and its developer console. */
export const makeAuth = (env: Environment): MockService => {
  const auth = authState(env);
  const signer = makeSigner(auth);
  const exact = exactRoutes(auth, signer);
  const sweep = makeSweeper(auth);
  const controlApi = makeControlApi(auth);
  const prefixes: readonly (readonly [string, Handle])[] = [
    [`${authPaths.authorize}/`, (request) => authorize(auth, request)],
    [`${authPaths.media}/`, makeMedia(auth)],
    [`${authPaths.ci}/`, (request) => ciIssuer(auth, signer, request)],
    [`${authPaths.console}/console`, makeConsolePage(auth, controlApi)],
    [`${authPaths.console}/`, controlApi],
  ];
  let isResumed = false;
  const handlerOf = (path: string): Handle | undefined =>
    exact.get(path) ?? prefixes.find(([prefix]) => path.startsWith(prefix))?.[1];
  return {
    name: 'auth',
    owns: (path) => handlerOf(path) !== undefined,
    handle: (request) => {
      if (!isResumed) {
        isResumed = true;
        resume(auth);
      }
      const refused = methodRefusal(request);
      if (refused !== undefined) return refused;
      const reply = handlerOf(request.path)?.(request) ?? jsonReply(404, { error: 'not_found' });
      sweep();
      return reply;
    },
    seed: (kind) => {
      if (kind === 'demo') env.store.transact(() => seedDemo(auth));
    },
  };
};
