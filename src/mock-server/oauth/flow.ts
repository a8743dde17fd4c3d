import { scopeName } from '../../api-specs/oauth/endpoints.ts';
import type { Environment, MockReply } from '../service-set.ts';
import { type Browser, proofOf, setCookie, signedIn } from './browser-session.ts';
import { RedirectError } from './errors.ts';
import { noteUse } from './integrity.ts';
import { findUser } from './keys.ts';
import { chooserPage, consentPage, formPostPage, pageHeaders, signInPage, type Step } from './pages.ts';
import { accountRules, checkRules } from './rules/rule.ts';
import { openAccounts } from './seed.ts';
import type { AuthorizationRequest, Auth, Client, Pending, User } from './state.ts';
import { isGrantedBefore, issueCode } from './tokens.ts';

const encode = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
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
  const pairs = Object.entries(values).map(([name, value]) => `${name}=${encode(value)}`);
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
export type Visit = {
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
export const showSignIn = (visit: Visit, email: string, problem?: string): MockReply =>
  signInPage(stepOf(visit, 'signin'), { email, problem, accounts: openAccounts(visit.auth) });
/** spec/sign-in#authorize-6: an e-mail address or a sub pre-fills sign-in. An unknown one is shown when it looks like an address (spec/sign-in#check-2.33). */
export const hintedEmail = (auth: Auth, hint: string | null): string => {
  if (hint === null) return '';
  return findUser(auth, hint)?.email ?? (/^[^\s@]+@[^\s@]+$/.test(hint) ? hint : '');
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
export const nextStep = (visit: Visit): MockReply => {
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
export const grant = (
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
export const refuse = (
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
export const answerScripted = (visit: Visit): MockReply | undefined => {
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
