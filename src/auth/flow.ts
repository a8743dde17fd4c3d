import type { ExternalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import { authorizeUrl, type CheckedRefusal, type Secrets, secretsFrom, type Verdict } from './callback.ts';
import { type Attempt, complete, type LoginPlan, tokenHostWarning } from './complete-login.ts';
import type { Account } from './credential-store/account.ts';
import { listenForRedirect, type Redirect, type Settled } from './loopback/listen.ts';
import { failurePage, successPage } from './loopback/pages.ts';
import {
  browserChoice,
  type BrowserEnvironment,
  browserEnvironment,
  hints,
} from './methods/browser-environment.ts';
import { pastedVerdict } from './methods/paste.ts';
import { serviceFailure } from './protocol/send.ts';
import { safeText, scopeTable } from './scopes.ts';

const timedOut = (timeoutMs: number, port: number): AppError =>
  new AppError('auth', `no answer from the browser within ${Math.round(timeoutMs / 1000)} s`, {
    code: 'LOGIN_TIMEOUT',
    tryThis: [
      'opsctl login --timeout 10m',
      `the browser runs elsewhere? opsctl login --no-browser, and paste the address it ends at (it begins with http://127.0.0.1:${port})`,
      'opsctl login --start, then opsctl login --finish URL',
      'opsctl doctor auth',
    ],
  });
const makeInterruptedError = (signal: AbortSignal): unknown =>
  signal.reason instanceof AppError
    ? signal.reason
    : new AppError('interrupted', 'sign-in interrupted; nothing was changed');
/** The first of: the redirect, a pasted answer, the end of the time, Ctrl-C. */
export const firstAnswer = async (
  context: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  secrets: Secrets,
  extra: Promise<void>,
): Promise<Settled> => {
  const { host, signal } = context;
  const done = new AbortController();
  const stop = AbortSignal.any([signal, done.signal]);
  const never = new Promise<never>(() => undefined);
  const time = host.sleep(plan.timeoutMs, stop).then(
    () => Promise.reject(timedOut(plan.timeoutMs, redirect.port)),
    () => (done.signal.aborted ? never : Promise.reject(makeInterruptedError(signal))),
  );
  const pasted: Promise<Settled> = plan.readsPaste
    ? pastedVerdict(context, { state: secrets.state }, stop).then((verdict) => verdict ?? never)
    : never;
  try {
    return await Promise.race([redirect.settled, pasted, time, extra.then(() => never)]);
  } finally {
    done.abort();
  }
};

/** OpenID Connect Core 11: without `prompt=consent` a server ignores `offline_access`. A prompt of the user wins; an empty one sends none. */
const withConsent = ({ scopes, params = {} }: Pick<LoginPlan, 'scopes' | 'params'>): LoginPlan['params'] => {
  const { prompt, ...others } = params;
  if (prompt === '') return others;
  const isRequired = scopes.includes('offline_access') && scopes.includes('openid');
  return prompt === undefined && isRequired ? { ...others, prompt: 'consent' } : params;
};
export const attemptFor = (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes' | 'loginHint' | 'params'>,
  redirectUri: string,
  secrets: Secrets,
): Attempt => {
  context.log.hide(secrets.verifier);
  const url = authorizeUrl({
    endpoint: plan.server.endpoints.authorize,
    clientId: plan.server.clientId,
    redirectUri,
    scopes: plan.scopes,
    secrets,
    loginHint: plan.loginHint,
    extra: withConsent(plan),
  });
  return { secrets, redirectUri, requested: plan.scopes, url };
};
/** The address is the one thing that must be seen whole, state included; it goes past the redaction of messages. */
export const showAddress = (context: AuthContext, url: ExternalUrl): Promise<void> =>
  context.host.terminal.stderr.write(`Open this address in a browser to sign in:\n\n  ${url}\n\n`);
/** The server names the cause here: a user who is not assigned, a policy, or a click on Cancel. */
const reasonOf = (description: string | undefined): string =>
  description === undefined || description === '' ? '' : `: ${safeText(description, 200)}`;
export const refusedByUser = ({ error, description }: CheckedRefusal): AppError =>
  error === 'access_denied'
    ? new AppError('auth', `access was denied in the browser${reasonOf(description)}`, {
        code: 'ACCESS_DENIED',
        tryThis: ['opsctl login, and allow at least one permission'],
      })
    : serviceFailure('the authorization server refused', error, description);
const openWith = async (
  context: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  url: ExternalUrl,
  at: BrowserEnvironment,
): Promise<void> => {
  const choice = browserChoice(at, plan, plan.hasTerminal);
  context.log.debug(`browser: ${choice.open ? 'yes' : 'no'}, ${choice.why}`);
  const opened = choice.open && (await context.host.openBrowser(redirect.launchFrom(url)));
  if (choice.open && !opened)
    context.log.warn('No browser could be started here; open the address above yourself.');
  if (opened) context.log.info('Waiting for the browser…');
  else for (const line of hints(at, redirect.port, context.host.hostname)) context.log.info(line);
  if (!opened && plan.readsPaste)
    context.log.info(
      'The browser ends at an address that begins with http://127.0.0.1. If it cannot be reached from there, paste that address here.',
    );
};
const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;
/** The last page after a failure. A service may repeat what it was sent: no secret of this login gets into the page. */
const failureFor = (
  { signal }: AuthContext,
  error: unknown,
  secrets: readonly string[],
): ReturnType<typeof failurePage> => {
  if (signal.aborted)
    return failurePage('The sign-in was stopped in the terminal.', 'What to do: opsctl login.');
  if (!(error instanceof AppError))
    return failurePage('opsctl met an unexpected error.', 'The terminal says more.');
  const next = error.detail.tryThis?.[0];
  const page = [
    sentence(error.message),
    next === undefined ? 'The terminal says more.' : sentence(`What to do: ${next}`),
  ];
  const [reason = '', whatNext = ''] = page.map((text) =>
    secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text),
  );
  return failurePage(reason, whatNext);
};
const outcomeOf = async (
  context: AuthContext,
  plan: LoginPlan,
  attempt: Attempt,
  verdict: Extract<Verdict, { kind: 'code' | 'refused' }>,
): Promise<Account> => {
  if (verdict.kind === 'refused') throw refusedByUser(verdict.refusal);
  if (verdict.callback.source === 'typed')
    context.log.info('A code alone carries no state; it is bound to this login by its proof key.');
  return complete(context, plan, attempt, verdict.callback);
};
/** Beside the browser; nothing waits for it. */
const warnOfTokenHost = (context: AuthContext, plan: LoginPlan): void => {
  void tokenHostWarning(context, plan.server.endpoints.token).then(
    (warning) => {
      if (warning !== undefined) context.log.warn(warning);
    },
    () => undefined,
  );
};
/** Sign-in from listener to stored account. The order matters: the redirect URI needs the real port before the address exists. */
export const signIn = async (context: AuthContext, plan: LoginPlan): Promise<Account> => {
  const secrets = secretsFrom((bytes) => context.host.random(bytes));
  const redirect = await listenForRedirect(context.host, {
    expected: { state: secrets.state },
    port: plan.port,
    path: plan.path,
    redirectHost: plan.redirectHost,
    onIgnored: (line) => context.log.warn(line),
  });
  const own = [secrets.verifier, secrets.state, secrets.nonce];
  try {
    if (redirect.without !== undefined) context.log.debug(`not listening on ${redirect.without}`);
    for (const secret of [secrets.state, secrets.nonce]) context.log.hide(secret);
    const attempt = attemptFor(context, plan, redirect.redirectUri, secrets);
    await showAddress(context, attempt.url);
    const isScripted = plan.scripted !== undefined;
    if (!isScripted)
      await openWith(context, plan, redirect, attempt.url, await browserEnvironment(context.host));
    if (!isScripted) warnOfTokenHost(context, plan);
    const walk = plan.scripted?.(attempt.url, redirect.redirectUri) ?? Promise.resolve();
    const verdict = await firstAnswer(context, plan, redirect, secrets, walk);
    if (verdict.kind === 'code') own.push(verdict.callback.code);
    const account = await outcomeOf(context, plan, attempt, verdict);
    redirect.answer(successPage(account.email, scopeTable(account.requested, account.granted)));
    return account;
  } catch (error) {
    redirect.answer(failureFor(context, error, own));
    throw error;
  } finally {
    await redirect.close();
  }
};
