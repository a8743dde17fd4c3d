import { askedScopes } from './known-scopes.ts';
import { pageRules, requestRules } from './rules/authorize.ts';
import { type RequestCall, checkRules, clientOf, given } from './rules/rule.ts';
import { authPaths } from '../../api-specs/oauth/endpoints.ts';
import { splitScopes } from '../../api-specs/oauth/scopes.ts';
import type { MockReply, MockRequest } from '../service.ts';
import { type Browser, browserOf } from './browser-session.ts';
import { base64url } from './digest.ts';
import { OAuthPageError, RedirectError } from './errors.ts';
import { type Visit, nextStep, refuse, scripted } from './flow.ts';
import { submitted } from './forms.ts';
import { issuerFor } from './issuer.ts';
import { errorPage } from './error-page.ts';
import { readParams, reencoded } from './params.ts';
import type { Asked, Auth } from './state.ts';

const askedFrom = ({ params }: RequestCall): Asked => {
  const challenge = given(params, 'code_challenge') ?? null;
  return {
    client: params.get('client_id') ?? '',
    redirect_uri: params.get('redirect_uri') ?? '',
    scopes: askedScopes(params.get('scope') ?? ''),
    challenge,
    // spec/sign-in: the method is plain when it is omitted.
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
  checkRules(requestRules, call);
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
    if (error instanceof RedirectError) return refuse(visit, pending.asked, error);
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
    checkRules(pageRules, call);
    return submitted(call, browser, request.path.slice(authPaths.authorize.length + 1));
  } catch (error) {
    if (error instanceof OAuthPageError) return errorPage(error);
    throw error;
  }
};
