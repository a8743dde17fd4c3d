import { authPaths, splitScopes } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest } from '../service-set.ts';
import { type Browser, browserOf, proofOf, setCookie, signedIn, signIn } from './browser-session.ts';
import { askedScopes, OAuthPageError, readParams, RedirectError, reencode } from './errors.ts';
import { grant, hintedEmail, nextStep, refuse, answerScripted, showSignIn, type Visit } from './flow.ts';
import { deletedClientError, isClientActive } from './integrity.ts';
import { base64url, findUser, issuerFor, passwordIsRight, sameText } from './keys.ts';
import { accessTimes, errorPage, pageHeaders } from './pages.ts';
import { requestedParams } from './pushed-requests.ts';
import { pageRules, requestRules } from './rules/authorize.ts';
import { checkRules, clientOf, readParam, type RequestCall } from './rules/rule.ts';
import type { AuthorizationRequest, Auth, Pending } from './state.ts';

const PENDING_MS = 15 * 60_000;
const MOST_FAILURES = 10;
/**
 * The request of a form. Its parameters are the stored ones; those in the form are ignored
 * (spec/sign-in#check-3.12).
 */
const pendingOf = ({ auth, params }: RequestCall, browser: Browser): Pending => {
  const pending = auth.pending.get(params.get('request') ?? '');
  if (
    pending === undefined ||
    auth.env.now() - pending.created_at > PENDING_MS ||
    pending.browser !== browser.hash
  ) {
    throw new OAuthPageError(
      'invalid_request',
      'This page was used already, is too old, or belongs to another browser. Start again from the application.',
    );
  }
  return pending;
};
const visitOf = (call: RequestCall, browser: Browser): Visit => {
  const pending = pendingOf(call, browser);
  const client = call.auth.clients.get(pending.asked.client);
  if (client === undefined || !isClientActive(call.auth, client)) throw deletedClientError(call.auth, client);
  return {
    auth: call.auth,
    browser,
    pending,
    client,
    status: 303,
    issuer: issuerFor(call.auth.env, call.request),
  };
};
/** RFC 6749 10.12: this server created the form for this browser and this step. */
const proofIsRight = (call: RequestCall, visit: Visit, step: string): void => {
  const proof = proofOf(call.auth, visit.pending.id, step);
  if (!sameText(proof, call.params.get('proof') ?? '')) {
    throw new OAuthPageError(
      'invalid_request',
      'The form does not carry the proof that it came from this server. Start again from the application.',
    );
  }
};
/** After a form that changed something the browser is sent to a page it can reload. */
const toPage = (visit: Visit, cookie?: string): MockReply => ({
  status: 303,
  headers: {
    ...pageHeaders(),
    location: `${authPaths.authorize}/continue?request=${visit.pending.id}`,
    ...(cookie === undefined ? {} : { 'set-cookie': [setCookie(visit.auth, cookie)] }),
  },
});
const signin = (call: RequestCall, visit: Visit): MockReply => {
  const { auth, params } = call;
  proofIsRight(call, visit, 'signin');
  if (params.get('decision') === 'cancel') return deny(visit);
  const email = params.get('email') ?? '';
  const user = findUser(auth, email);
  const problem = !passwordIsRight(user, params.get('password') ?? '')
    ? 'The e-mail address or the password is wrong.'
    : user?.state === 'active'
      ? undefined
      : 'This account is disabled or deleted.';
  if (problem !== undefined || user === undefined) return answerProblem(visit, email, problem ?? '');
  const next = auth.env.store.transact(() => {
    auth.pending.put(visit.pending.id, { ...visit.pending, user: user.id });
    return signIn(auth, visit.browser, user);
  });
  return toPage(visit, next.cookie);
};
const answerProblem = (visit: Visit, email: string, problem: string): MockReply => {
  const { auth, pending } = visit;
  const failures = pending.failures + 1;
  auth.env.store.transact(() =>
    failures >= MOST_FAILURES
      ? auth.pending.delete(pending.id)
      : auth.pending.put(pending.id, { ...pending, failures }),
  );
  if (failures >= MOST_FAILURES)
    throw new OAuthPageError(
      'invalid_request',
      'Too many wrong passwords. Start again from the application.',
    );
  return showSignIn(visit, email, problem);
};
const account = (call: RequestCall, visit: Visit): MockReply => {
  proofIsRight(call, visit, 'account');
  const chosen = call.params.get('account') ?? '';
  if (chosen === 'other') return showSignIn(visit, '');
  if (!signedIn(call.auth, visit.browser).some(({ id }) => id === chosen))
    return showSignIn(visit, hintedEmail(call.auth, chosen));
  call.auth.env.store.transact(() =>
    call.auth.pending.put(visit.pending.id, { ...visit.pending, user: chosen }),
  );
  return toPage(visit);
};
const deny = (visit: Visit): MockReply => {
  visit.auth.env.store.transact(() => visit.auth.pending.delete(visit.pending.id));
  return refuse(visit, visit.pending.asked, new RedirectError('access_denied', 'The user refused access'));
};
const consent = (call: RequestCall, visit: Visit): MockReply => {
  const { auth, params } = call;
  const user = signedIn(auth, visit.browser).find(({ id }) => id === visit.pending.user);
  if (user === undefined) return showSignIn(visit, hintedEmail(auth, visit.pending.user));
  proofIsRight(call, visit, `consent ${user.id}`);
  if (params.get('decision') !== 'allow') return deny(visit);
  const asked = visit.pending.asked.scopes;
  const isGranular = asked.length > 1 && visit.client.trust === 'none';
  const checked = new Set(params.all('scope'));
  const scopes = isGranular ? asked.filter((scope) => checked.has(scope)) : asked;
  if (scopes.length === 0) return deny(visit);
  const seconds = Number(params.get('access_for') ?? 0);
  const isTimed = seconds > 0 && accessTimes.some((time) => time.seconds === seconds);
  return grant(visit, user, scopes, isTimed ? seconds : null);
};
const posts: Readonly<Record<string, (call: RequestCall, visit: Visit) => MockReply>> = {
  signin,
  account,
  consent,
};
/** `POST …/signin`, `…/account`, `…/consent` and `GET …/continue`. */
const handleSubmit = (call: RequestCall, browser: Browser, step: string): MockReply => {
  const post = Object.hasOwn(posts, step) ? posts[step] : undefined;
  const isPage = step === 'continue' && call.request.method === 'GET';
  if (!isPage && (post === undefined || call.request.method !== 'POST'))
    throw new OAuthPageError('invalid_request', 'There is no such page');
  const visit = visitOf(call, browser);
  try {
    return post !== undefined && !isPage ? post(call, visit) : nextStep({ ...visit, status: 303 });
  } catch (error) {
    if (error instanceof RedirectError) return refuse(visit, visit.pending.asked, error);
    throw error;
  }
};

const askedFrom = ({ params }: RequestCall): AuthorizationRequest => {
  const challenge = readParam(params, 'code_challenge') ?? null;
  return {
    client: params.get('client_id') ?? '',
    redirect_uri: params.get('redirect_uri') ?? '',
    scopes: askedScopes(params.get('scope') ?? ''),
    challenge,
    // spec/sign-in: the method is plain when it is omitted.
    method:
      challenge === null ? null : readParam(params, 'code_challenge_method') === 'S256' ? 'S256' : 'plain',
    state: params.raw('state') === undefined ? null : reencode(params.raw('state') ?? ''),
    login_hint: readParam(params, 'login_hint') ?? null,
    nonce: readParam(params, 'nonce') ?? null,
    prompt: splitScopes(params.get('prompt') ?? ''),
    include_granted: params.get('include_granted_scopes') === 'true',
    dpop_jkt: readParam(params, 'dpop_jkt') ?? null,
    ...(readParam(params, 'response_mode') === 'form_post' ? { response_mode: 'form_post' as const } : {}),
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
    const done = answerScripted(visit);
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
    if (request.path === authPaths.authorize)
      return begin({ ...call, params: requestedParams(auth, params) }, browser);
    checkRules(pageRules, call);
    return handleSubmit(call, browser, request.path.slice(authPaths.authorize.length + 1));
  } catch (error) {
    if (error instanceof OAuthPageError) return errorPage(error);
    throw error;
  }
};
