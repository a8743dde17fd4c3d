import type { MockReply, MockRequest } from '../service-set.ts';
import { jsonReply, OAuthError, oauthErrorReply, OAuthPageError, type Params, readParams } from './errors.ts';
import { base64url, sha256 } from './keys.ts';
import { ProofError, proofKeyOf } from './proofs.ts';
import { requestRules } from './rules/authorize.ts';
import { checkRules, readParam, type RequestCall } from './rules/rule.ts';
import { clientRules, credentialsOf, formRules, identityRulesOfPush } from './rules/token-client.ts';
import type { Auth } from './state.ts';

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
