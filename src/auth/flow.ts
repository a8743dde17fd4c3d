import { secondsText } from '../core/format.ts';
import { type ExternalUrl, externalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import { type AuthContext, safeText, scopeTable } from './auth-context.ts';
import {
  authorizeUrl,
  type CheckedRefusal,
  type RequestParams,
  type Secrets,
  secretsFrom,
} from './callback.ts';
import {
  type Attempt,
  checkRefusalIssuer,
  complete,
  type LoginPlan,
  tokenHostWarning,
} from './complete-login.ts';
import type { Account } from './credential-store/account.ts';
import { listenForRedirect, type Redirect, type CallbackResult } from './loopback/listen.ts';
import { failurePage, successPage } from './loopback/pages.ts';
import {
  browserChoice,
  type BrowserEnvironment,
  browserEnvironment,
  hints,
  runsBrowserOutside,
} from './methods/browser-environment.ts';
import { pastedVerdict } from './methods/paste.ts';
import { dpopProver } from './sign-jwt.ts';
import { serviceFailure, sendWithRetry } from './protocol/send.ts';
import { authorizationEndpoint, type LoginServer } from './settings.ts';
import { tokenClientOf } from './server-profiles.ts';
import { discover, isTrue } from './protocol/discovery.ts';
import { bodyOf } from './protocol/read-response.ts';
import { clientRequest, type FormFields } from './protocol/token-client.ts';
import { refusalOf } from './protocol/token-response.ts';

const what = 'pushed authorization request';
/** The address for the browser, and how long it works. */
type PushedRequest = { readonly url: ExternalUrl; readonly expiresInS: number };

/** Parameters of an authorization address as the fields of a form; repeated ones stay repeated. */
const fieldsOf = (url: ExternalUrl): FormFields => {
  const { searchParams } = new URL(url);
  return Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
};
/** RFC 9126 4: the request URI replaces all parameters except client_id. */
const addressFor = (url: ExternalUrl, requestUri: string, clientId: string): ExternalUrl | undefined => {
  const { origin, pathname } = new URL(url);
  return externalUrl(
    `${origin}${pathname}?${new URLSearchParams({ client_id: clientId, request_uri: requestUri })}`,
  );
};
const badResponse = (why: string): AppError =>
  new AppError('refused', `${what}: the response is not valid: ${why}`, {
    code: 'BAD_PUSHED_RESPONSE',
    tryThis: ['opsctl auth conformance (shows how the server deviates from the standards)'],
  });
/**
 * Sends the authorization request to the server (RFC 9126), so that neither the browser nor anything between changes or
 * reads its parameters. The client authenticates as at the token endpoint.
 */
const push = async (
  context: AuthContext,
  server: LoginServer,
  endpoint: string,
  url: ExternalUrl,
): Promise<PushedRequest> => {
  const client = await tokenClientOf(context, server);
  const received = await sendWithRetry(
    context,
    what,
    clientRequest(client, endpoint, fieldsOf(url)),
    client.prover,
  );
  if (received.status < 200 || received.status > 299) throw refusalOf(what, received, context.host.now());
  const body = bodyOf(received) as { request_uri?: unknown; expires_in?: unknown } | null | undefined;
  if (typeof body?.request_uri !== 'string' || body.request_uri === '')
    throw badResponse('it contains no request_uri');
  const address = addressFor(url, body.request_uri, server.clientId);
  if (address === undefined) throw badResponse('its request_uri does not fit into an address');
  context.log.debug(`${what}: accepted`);
  return { url: address, expiresInS: typeof body.expires_in === 'number' ? body.expires_in : 60 };
};
/** A server that offers pushed requests without requiring them may refuse this client; the plain address works there. */
const mayBePlain = (error: unknown): error is AppError =>
  error instanceof AppError &&
  ['UNAUTHORIZED_CLIENT', 'NO_OAUTH_ERROR'].includes(error.detail.code ?? '') &&
  [401, 403, 404, 405].includes(error.detail.httpStatus ?? 0);
type Push = { readonly endpoint: string | undefined; readonly isRequired: boolean };
/**
 * Without an issuer, the addresses of the embedded server are known without its metadata. Its operator can still require
 * pushed requests; then its metadata contains the rule and the endpoint. All other sign-ins there use the plain address.
 */
const pushAtEmbedded = async ({ host, signal }: AuthContext, server: LoginServer): Promise<Push> => {
  const { raw = {} } = (await discover(host, server.endpoints, signal)) ?? {};
  const isRequired = isTrue(raw.require_pushed_authorization_requests);
  const endpoint = raw.pushed_authorization_request_endpoint;
  return { isRequired, endpoint: isRequired && typeof endpoint === 'string' ? endpoint : undefined };
};
/**
 * Pushes the request if the server requires it, or if the server supports it and the URL will be opened now.
 * Undefined: the URL is used unchanged.
 */
const pushIfRequired = async (
  context: AuthContext,
  server: LoginServer,
  url: ExternalUrl,
  isOpenedLater: boolean,
): Promise<PushedRequest | undefined> => {
  const { endpoint, isRequired } =
    server.isMock && server.metadata === undefined
      ? await pushAtEmbedded(context, server)
      : {
          endpoint: server.endpoints.pushed,
          isRequired: server.metadata?.requiresPushedRequests === true,
        };
  if (endpoint === undefined) {
    if (!isRequired) return undefined;
    throw new AppError(
      'config',
      'the server requires pushed authorization requests, but its metadata contains no endpoint for them',
      { code: 'NO_PUSHED_ENDPOINT', tryThis: ['report it to the operator of the server'] },
    );
  }
  // A pushed request expires after a minute or so: an address that a person opens tomorrow must not.
  if (isOpenedLater && !isRequired) return undefined;
  try {
    return await push(context, server, endpoint, url);
  } catch (error) {
    if (isRequired || !mayBePlain(error)) throw error;
    context.log.debug(`${error.message}; the request is sent with the browser`);
    return undefined;
  }
};

const timedOut = (timeoutMs: number, port: number): AppError =>
  new AppError('auth', `no response from the browser within ${secondsText(timeoutMs)}`, {
    code: 'LOGIN_TIMEOUT',
    tryThis: [
      'opsctl login --timeout 10m',
      `if the browser runs on another machine: opsctl login --no-browser, and paste the final URL (it starts with http://127.0.0.1:${port})`,
      'opsctl login --start, then opsctl login --finish URL',
      'opsctl doctor auth',
    ],
  });
const makeInterruptedError = (signal: AbortSignal): unknown =>
  signal.reason instanceof AppError
    ? signal.reason
    : new AppError('interrupted', 'sign-in interrupted; no changes were made');
/** Returns the first of: the redirect, a pasted response, the timeout, Ctrl-C. */
const firstAnswer = async (
  context: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  secrets: Secrets,
  extra: Promise<void>,
): Promise<CallbackResult> => {
  const { host, signal } = context;
  const done = new AbortController();
  const stop = AbortSignal.any([signal, done.signal]);
  const never = new Promise<never>(() => undefined);
  const time = host.sleep(plan.timeoutMs, stop).then(
    () => Promise.reject(timedOut(plan.timeoutMs, redirect.port)),
    () => (done.signal.aborted ? never : Promise.reject(makeInterruptedError(signal))),
  );
  const pasted: Promise<CallbackResult> = plan.readsPaste
    ? pastedVerdict(context, { state: secrets.state }, stop).then((verdict) => verdict ?? never)
    : never;
  try {
    return await Promise.race([redirect.settled, pasted, time, extra.then(() => never)]);
  } finally {
    done.abort();
  }
};

/** OpenID Connect Core 11: without `prompt=consent` a server ignores `offline_access`. A prompt of the user wins; an empty one sends none. */
const withConsent = ({ scopes, params = [] }: Pick<LoginPlan, 'scopes' | 'params'>): RequestParams => {
  const prompt = params.find(([name]) => name === 'prompt')?.[1];
  if (prompt === '') return params.filter(([name]) => name !== 'prompt');
  const isRequired = scopes.includes('offline_access') && scopes.includes('openid');
  return prompt === undefined && isRequired ? [...params, ['prompt', 'consent']] : params;
};
/** RFC 9700 2.1.1: without PKCE, only state and nonce bind the code to this sign-in. */
const warnOfMissingPkce = ({ log }: AuthContext, { metadata }: LoginPlan['server']): void => {
  const methods = metadata?.challengeMethods;
  if (methods !== undefined && !methods.includes('S256'))
    log.warn(
      `The server does not support PKCE with S256 (its metadata lists ${methods.map((each) => safeText(each, 20)).join(', ') || 'no method'}); a stolen authorization code is not protected.`,
    );
};
export const attemptFor = async (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes' | 'loginHint' | 'params'>,
  redirectUri: string,
  secrets: Secrets,
  isOpenedLater = false,
): Promise<Attempt> => {
  context.log.hide(secrets.verifier);
  const { dpopKey } = plan.server;
  if (dpopKey !== undefined) context.log.hide(dpopKey);
  const plain = authorizeUrl({
    endpoint: authorizationEndpoint(plan.server),
    clientId: plan.server.clientId,
    redirectUri,
    scopes: plan.scopes,
    secrets,
    loginHint: plan.loginHint,
    dpopThumbprint: dpopKey === undefined ? undefined : dpopProver(context.host, dpopKey).thumbprint,
    extra: withConsent(plan),
  });
  warnOfMissingPkce(context, plan.server);
  const pushed = await pushIfRequired(context, plan.server, plain, isOpenedLater);
  const attempt = { secrets, redirectUri, requested: plan.scopes };
  return pushed === undefined ? { ...attempt, url: plain } : { ...attempt, ...pushed };
};
/** The address is the one thing that must be seen whole, state included; it goes past the redaction of messages. */
export const showAddress = (
  context: AuthContext,
  { url, expiresInS }: Pick<Attempt, 'url' | 'expiresInS'>,
): Promise<void> => {
  const limit = expiresInS === undefined ? '' : ` within ${expiresInS} s`;
  return context.host.terminal.stderr.write(
    `Open this address in a browser${limit} to sign in:\n\n  ${url}\n\n`,
  );
};
/** Here the server names the cause: a user without assignment, a policy, or a click on Cancel. */
const reasonOf = (description: string | undefined): string =>
  description === undefined || description === '' ? '' : `: ${safeText(description, 200)}`;
/** Some servers deny a request without scopes before a person sees a page. */
const scopeLine =
  'opsctl login --scope SCOPE (this request named no scope, and some servers deny such requests)';
export const refusedByUser = (
  { error, description }: CheckedRefusal,
  requested: readonly string[],
): AppError =>
  error === 'access_denied'
    ? new AppError('auth', `access was denied in the browser${reasonOf(description)}`, {
        code: 'ACCESS_DENIED',
        tryThis: [
          ...(requested.length === 0 ? [scopeLine] : []),
          'opsctl login, and allow at least one permission',
        ],
      })
    : serviceFailure('the authorization server refused', error, description);
/** How to continue if the page that the browser ends at does not load. */
const pasteLine = (port: number): string =>
  `After you sign in, the browser goes to http://127.0.0.1:${port}/… . If that page does not load, copy its address and paste that address here.`;
const deviceLine = 'Or stop with Ctrl-C and use a code on any device: opsctl login --method device';
/** A browser that was started may be on another machine, or may not have appeared at all. */
const pasteHelpMs = 10_000;
type LaterHelp = { end(): void };
const noHelp: LaterHelp = { end: () => undefined };
const helpLater = ({ host, log }: AuthContext, line: string): LaterHelp => {
  const done = new AbortController();
  host.sleep(pasteHelpMs, done.signal).then(
    () => log.info(`No response from the browser yet. ${line}`),
    () => undefined,
  );
  return { end: () => done.abort() };
};
const notStarted = ({ command }: BrowserEnvironment): string =>
  command === undefined
    ? 'No browser could be started here; open the address above yourself.'
    : `The command in BROWSER (${safeText(command, 80)}) could not be started; open the address above yourself.`;
/** Opens the browser and returns whether it was started. */
const startBrowser = async (
  { host, log }: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  url: ExternalUrl,
  at: BrowserEnvironment,
): Promise<boolean> => {
  const choice = browserChoice(at, plan, plan.hasTerminal);
  log.debug(`browser: ${choice.open ? 'yes' : 'no'}, ${choice.why}`);
  if (!choice.open) return false;
  // An editor forwards the port of the redirect_uri that it finds in the address; the launch address would not be reached.
  const isForwarded = at.isWsl || at.isEditorRemote || at.isCodespace;
  const opened = await host.openBrowser(isForwarded ? url : redirect.launchFrom(url));
  if (!opened) log.warn(notStarted(at));
  return opened;
};
/** Opens the browser, and prints how to continue if the browser cannot reach the listener. */
const openWith = async (
  context: AuthContext,
  plan: LoginPlan,
  redirect: Redirect,
  url: ExternalUrl,
  at: BrowserEnvironment,
): Promise<LaterHelp> => {
  const { host, log } = context;
  const opened = await startBrowser(context, plan, redirect, url, at);
  const isRemote = runsBrowserOutside(at);
  if (opened) log.info('Waiting for the browser…');
  if (opened && !isRemote) return plan.readsPaste ? helpLater(context, pasteLine(redirect.port)) : noHelp;
  for (const line of hints(at, redirect.port, host.hostname)) log.info(line);
  if (plan.readsPaste) log.info(pasteLine(redirect.port));
  if (isRemote && plan.server.endpoints.device !== undefined) log.info(deviceLine);
  return noHelp;
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
    return failurePage('opsctl met an unexpected error.', 'See the terminal for details.');
  const next = error.detail.tryThis?.[0];
  const page = [
    sentence(error.message),
    next === undefined ? 'See the terminal for details.' : sentence(`What to do: ${next}`),
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
  verdict: CallbackResult,
): Promise<Account> => {
  if (verdict.kind === 'failed') throw verdict.error;
  if (verdict.kind === 'refused') {
    await checkRefusalIssuer(context, plan.server, verdict.refusal);
    throw refusedByUser(verdict.refusal, plan.scopes);
  }
  if (verdict.callback.source === 'typed')
    context.log.info('A code without a URL has no state. Its proof key binds it to this login.');
  return complete(context, plan, attempt, verdict.callback);
};
/** Runs while the browser is open. The sign-in does not wait for it. */
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
  const at = await browserEnvironment(context.host);
  // The browser of the host of a container is another user's, and the address was in no list of processes of this one.
  let isBrowserOutside = at.isContainer;
  const redirect = await listenForRedirect(context.host, {
    expected: { state: secrets.state },
    port: plan.port,
    path: plan.path,
    redirectHost: plan.redirectHost,
    onIgnored: (line) => context.log.warn(line),
    allowsOtherUsers: () => isBrowserOutside,
  });
  const own = [secrets.verifier, secrets.state, secrets.nonce];
  try {
    if (redirect.without !== undefined) context.log.debug(`not listening on ${redirect.without}`);
    for (const secret of [secrets.state, secrets.nonce]) context.log.hide(secret);
    const attempt = await attemptFor(context, plan, redirect.redirectUri, secrets);
    await showAddress(context, attempt);
    const isScripted = plan.completePages !== undefined;
    if (!isScripted && browserChoice(at, plan, plan.hasTerminal).open) isBrowserOutside = false;
    const help = isScripted ? noHelp : await openWith(context, plan, redirect, attempt.url, at);
    if (!isScripted) warnOfTokenHost(context, plan);
    const walk = plan.completePages?.(attempt.url, redirect.redirectUri) ?? Promise.resolve();
    const verdict = await firstAnswer(context, plan, redirect, secrets, walk).finally(() => help.end());
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
