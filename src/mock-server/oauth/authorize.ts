import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { splitScopes } from '../../api-specs/oauth/scopes.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { type Browser, browserOf } from './browser-session.ts';
import { base64url } from './digest.ts';
import { OAuthPageError, RedirectRefusal } from './errors.ts';
import { type Visit, nextStep, refuse, scripted } from './flow.ts';
import { submitted } from './forms.ts';
import { issuerFor } from './issuer.ts';
import { errorPage } from './pages/error-page.ts';
import { readParams, reencoded } from './params.ts';
import { challengeIsPresent } from './rules/challenge-is-present.ts';
import { challengeIsWellFormed } from './rules/challenge-is-well-formed.ts';
import { challengeMethodIsKnown } from './rules/challenge-method-is-known.ts';
import { clientIdIsGiven } from './rules/client-id-is-given.ts';
import { clientIsKnown } from './rules/client-is-known.ts';
import { clientIsNotDeleted } from './rules/client-is-not-deleted.ts';
import { connectionIsSafe } from './rules/connection-is-safe.ts';
import { customSchemeIsEnabled } from './rules/custom-scheme-is-enabled.ts';
import { customSchemeIsShortEnough } from './rules/custom-scheme-is-short-enough.ts';
import { customSchemeIsWellFormed } from './rules/custom-scheme-is-well-formed.ts';
import { methodIsGet } from './rules/method-is-get.ts';
import { noParameterIsRepeated } from './rules/no-parameter-is-repeated.ts';
import { redirectFitsTheClientType } from './rules/redirect-fits-the-client-type.ts';
import { redirectIsAuthorized } from './rules/redirect-is-authorized.ts';
import { redirectIsNotOutOfBand } from './rules/redirect-is-not-out-of-band.ts';
import { redirectUriIsGiven } from './rules/redirect-uri-is-given.ts';
import { requestIsWellFormed } from './rules/request-is-well-formed.ts';
import { responseTypeIsCode } from './rules/response-type-is-code.ts';
import { type RequestCall, type Rule, broken, clientOf, given } from './rules/rule.ts';
import { scopeIsGiven } from './rules/scope-is-given.ts';
import { scopesAreKnown } from './rules/scopes-are-known.ts';
import { userAgentIsABrowser } from './rules/user-agent-is-a-browser.ts';
import type { Asked, Auth } from './state.ts';

/** doc1 Endpoints 1. Until the redirect URI is authorized nothing may be sent to it, so every refusal here is a page. */
const requestRules: readonly Rule<RequestCall>[] = [
  connectionIsSafe,
  methodIsGet,
  requestIsWellFormed,
  userAgentIsABrowser,
  noParameterIsRepeated,
  clientIdIsGiven,
  clientIsKnown,
  clientIsNotDeleted,
  redirectUriIsGiven,
  redirectIsNotOutOfBand,
  customSchemeIsWellFormed,
  customSchemeIsEnabled,
  redirectFitsTheClientType,
  customSchemeIsShortEnough,
  redirectIsAuthorized,
  responseTypeIsCode,
  scopeIsGiven,
  scopesAreKnown,
  challengeMethodIsKnown,
  challengeIsPresent,
  challengeIsWellFormed,
];
/** Forms of the pages, and pages that the browser comes back to. */
const pageRules: readonly Rule<RequestCall>[] = [connectionIsSafe, requestIsWellFormed, userAgentIsABrowser];

const askedFrom = ({ params }: RequestCall): Asked => {
  const challenge = given(params, 'code_challenge') ?? null;
  return {
    client: params.get('client_id') ?? '',
    redirect_uri: params.get('redirect_uri') ?? '',
    scopes: splitScopes(params.get('scope') ?? ''),
    challenge,
    // doc1: the method is plain when it is omitted.
    method: challenge === null ? null : given(params, 'code_challenge_method') === 'S256' ? 'S256' : 'plain',
    state: params.raw('state') === undefined ? null : reencoded(params.raw('state') ?? ''),
    login_hint: given(params, 'login_hint') ?? null,
    nonce: given(params, 'nonce') ?? null,
    prompt: splitScopes(params.get('prompt') ?? ''),
    include_granted: params.get('include_granted_scopes') === 'true',
  };
};

const begin = (call: RequestCall, browser: Browser): MockReply => {
  const { auth } = call;
  broken(requestRules, call);
  const id = base64url(auth.env.random(18));
  const pending = {
    id,
    asked: askedFrom(call),
    browser: browser.hash,
    user: null,
    failures: 0,
    created_at: auth.env.now(),
  };
  const visit: Visit = {
    auth,
    browser,
    pending,
    client: clientOf(call),
    status: 302,
    issuer: issuerFor(auth.env, call.request),
  };
  try {
    const done = scripted(visit);
    if (done !== undefined) return done;
    if (!pending.asked.prompt.includes('none')) auth.env.store.transact(() => auth.pending.put(id, pending));
    return nextStep(visit);
  } catch (error) {
    if (error instanceof RedirectRefusal) return refuse(visit, pending.asked, error);
    throw error;
  }
};

/** The authorization endpoint and the pages below it. */
export const authorize = (auth: Auth, request: MockRequest): MockReply => {
  const isForm = request.method === 'POST' && request.path !== authPaths.authorize;
  const params = readParams(isForm ? Buffer.from(request.body).toString('utf8') : request.query);
  const call = { auth, request, params };
  try {
    const browser = browserOf(auth, request);
    if (request.path === authPaths.authorize) return begin(call, browser);
    broken(pageRules, call);
    return submitted(call, browser, request.path.slice(authPaths.authorize.length + 1));
  } catch (error) {
    if (error instanceof OAuthPageError) return errorPage(error);
    throw error;
  }
};
