import { isEmail } from '../../core/format.ts';
import { encodeStrictly } from '../../core/text.ts';
import { authPaths, splitScopes, scopeName } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply, MockRequest, Environment } from '../service-set.ts';
import {
  type Browser,
  browserOf,
  proofOf,
  setCookie,
  signedIn,
  signIn,
  base64url,
  findUser,
  issuerFor,
  passwordIsRight,
  sameText,
  deletedClientError,
  isClientActive,
  noteUse,
} from './keys.ts';
import { parseScopes, OAuthPageError, readParams, RedirectError, reencode } from './errors.ts';
import {
  accessTimes,
  errorPage,
  pageHeaders,
  chooserPage,
  consentPage,
  formPostPage,
  signInPage,
  type Step,
} from './pages.ts';
import { requestedParams } from './pushed-requests.ts';
import { pageRules, requestRules } from './rules/authorize.ts';
import { checkRules, clientOf, readParam, type RequestCall, accountRules } from './rules/rule.ts';
import type { AuthorizationRequest, Auth, Pending, Client, User } from './state.ts';
import { openAccounts } from './console/users.ts';
import { isGrantedBefore, issueCode } from './tokens.ts';

/**
 * spec/sign-in#authorize-5 state: "returned unchanged as a name=value pair in the fragment identifier";
 * spec/program#choices: also in the query, or only there. Pure.
 */
export const answerUri = (
  asked: Pick<AuthorizationRequest, 'redirect_uri' | 'state'>,
  values: Readonly<Record<string, string>>,
  stateIn: Environment['options']['stateIn'],
): string => {
  const state = asked.state === null ? undefined : `state=${asked.state}`;
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encodeStrictly(value)}`);
  if (state !== undefined && stateIn !== 'fragment') pairs.unshift(state);
  // RFC 6749 3.1.2: a query of the redirect URI is kept.
  const joint = !asked.redirect_uri.includes('?') ? '?' : /[?&]$/.test(asked.redirect_uri) ? '' : '&';
  const fragment = state !== undefined && stateIn !== 'query' ? `#${state}` : '';
  return `${asked.redirect_uri}${joint}${pairs.join('&')}${fragment}`;
};
const stateText = (encoded: string): string => {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
};
const formFields = (
  { state }: Pick<AuthorizationRequest, 'state'>,
  values: Readonly<Record<string, string>>,
): (readonly [string, string])[] => [
  ...(state === null ? [] : [['state', stateText(state)] as const]),
  ...Object.entries(values),
];
/** RFC 9700 4.12: never 307; 303 makes a GET of the redirected form. */
const redirectReply = (
  env: Environment,
  asked: AuthorizationRequest,
  values: Readonly<Record<string, string>>,
  cookies: readonly string[],
  { status, issuer }: { readonly status: 302 | 303; readonly issuer: string },
): MockReply => {
  if (asked.response_mode === 'form_post')
    return formPostPage(asked.redirect_uri, formFields(asked, { ...values, iss: issuer }), cookies);
  return {
    status,
    headers: {
      ...pageHeaders(),
      // RFC 9207: identifies the responding server.
      location: answerUri(asked, { ...values, iss: issuer }, env.options.stateIn),
      ...(cookies.length > 0 ? { 'set-cookie': cookies } : {}),
    },
  };
};

/** One authorization request on its way through the pages. */
type Visit = {
  readonly auth: Auth;
  readonly browser: Browser;
  readonly pending: Pending;
  readonly client: Client;
  readonly status: 302 | 303;
  /** This server under the name by which the browser came. */
  readonly issuer: string;
};
const cookiesFor = (visit: Pick<Visit, 'auth' | 'browser'>): readonly string[] =>
  visit.browser.isNew ? [setCookie(visit.auth, visit.browser.cookie)] : [];
const stepOf = (visit: Visit, step: string): Step => ({
  request: visit.pending.id,
  proof: proofOf(visit.auth, visit.pending.id, step),
  client: visit.client,
  redirectUri: visit.pending.asked.redirect_uri,
  cookies: cookiesFor(visit),
});
const showSignIn = (visit: Visit, email: string, problem?: string): MockReply =>
  signInPage(stepOf(visit, 'signin'), { email, problem, accounts: openAccounts(visit.auth) });
/** spec/sign-in#authorize-6: an e-mail address or a sub pre-fills sign-in. An unknown one is shown when it looks like an address (spec/sign-in#check-2.33). */
const hintedEmail = (auth: Auth, hint: string | null): string => {
  if (hint === null) return '';
  return findUser(auth, hint)?.email ?? (isEmail(hint) ? hint : '');
};
/** Which signed-in user continues: the one already chosen, the one hinted at, or the only one. */
const userOf = (visit: Visit): User | 'choose' | undefined => {
  const { auth, pending } = visit;
  const users = signedIn(auth, visit.browser);
  if (pending.user !== null) return users.find(({ id }) => id === pending.user);
  const { login_hint: hint, prompt } = pending.asked;
  if (prompt.includes('login')) return undefined;
  const hinted = hint === null ? undefined : findUser(auth, hint);
  if (hinted !== undefined && !prompt.includes('select_account'))
    return users.find(({ id }) => id === hinted.id);
  if (users.length > 1 || (users.length > 0 && prompt.includes('select_account'))) return 'choose';
  return users[0];
};
/** Shows the next page, or redirects the browser if no page is left. */
const nextStep = (visit: Visit): MockReply => {
  const { auth, pending, client } = visit;
  const user = userOf(visit);
  const isSilent = pending.asked.prompt.includes('none');
  if (user === undefined || user === 'choose') {
    if (isSilent)
      throw new RedirectError(
        user === undefined ? 'login_required' : 'account_selection_required',
        'prompt=none needs a signed-in user',
      );
    return user === undefined
      ? showSignIn(visit, hintedEmail(auth, pending.asked.login_hint))
      : chooserPage(stepOf(visit, 'account'), signedIn(auth, visit.browser));
  }
  checkRules(accountRules, { auth, client, user, scopes: pending.asked.scopes });
  const isKnown = isGrantedBefore(auth, user.id, client.id, pending.asked.scopes);
  if (isKnown && !pending.asked.prompt.includes('consent') && (isSilent || auth.settings().remember_consent))
    return grant(visit, user, pending.asked.scopes, null);
  if (isSilent) throw new RedirectError('consent_required', 'prompt=none needs an earlier consent');
  remember(visit, user);
  return consentPage(stepOf(visit, `consent ${user.id}`), user, pending.asked.scopes);
};
const remember = ({ auth, pending }: Visit, user: User): void => {
  if (pending.user !== user.id)
    auth.env.store.transact(() => auth.pending.put(pending.id, { ...pending, user: user.id }));
};
/** spec/sign-in#states: "at least one scope granted", else a denial. The redirect carries the code. */
const grant = (
  visit: Visit,
  user: User,
  scopes: readonly string[],
  accessForSeconds: number | null,
): MockReply => {
  const { auth, pending, client } = visit;
  if (scopes.length === 0) throw new RedirectError('access_denied', 'no scope was granted');
  checkRules(accountRules, { auth, client, user, scopes: pending.asked.scopes });
  noteUse(auth, client);
  const issued = auth.env.store.transact(() => {
    auth.pending.delete(pending.id);
    return issueCode(
      auth,
      pending.asked,
      user,
      scopes,
      accessForSeconds,
      visit.browser.session?.created_at ?? auth.env.now(),
    );
  });
  return redirectReply(
    auth.env,
    pending.asked,
    { code: issued.code, scope: issued.scopes.join(' ') },
    cookiesFor(visit),
    visit,
  );
};
/** The user refused, or a rule that the application must hear of by redirect is broken. */
const refuse = (
  visit: Pick<Visit, 'auth' | 'browser' | 'status' | 'issuer'>,
  asked: AuthorizationRequest,
  refusal: RedirectError,
): MockReply =>
  redirectReply(
    visit.auth.env,
    asked,
    { error: refusal.code, error_description: refusal.message },
    cookiesFor(visit),
    visit,
  );
/** spec/program#commands: consent without pages, for scripts; an account rule still shows its error page. */
const answerScripted = (visit: Visit): MockReply | undefined => {
  const { auth, pending } = visit;
  const consent = auth.consent();
  if (consent.mode === 'ask') return undefined;
  if (consent.mode === 'deny') throw new RedirectError('access_denied', 'The user refused access');
  const hinted = pending.asked.login_hint === null ? undefined : findUser(auth, pending.asked.login_hint);
  const user =
    consent.user === null
      ? (hinted ?? auth.users.find((u) => u.kind === 'person' && u.state === 'active'))
      : findUser(auth, consent.user);
  if (user === undefined) return undefined;
  checkRules(accountRules, { auth, client: visit.client, user, scopes: pending.asked.scopes });
  const isPart = consent.scopes.length > 0 && visit.client.trust === 'none';
  // spec/sign-in#scope-3: the last part names a scope.
  const names = consent.scopes.map(scopeName);
  const scopes = isPart
    ? pending.asked.scopes.filter((scope) => names.includes(scopeName(scope)))
    : pending.asked.scopes;
  return grant(visit, user, scopes, consent.access_for_seconds);
};

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
    scopes: parseScopes(params.get('scope') ?? ''),
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
