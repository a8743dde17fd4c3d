import { demo, fullScope, scopeName, scopeRow } from '../../api-specs/oauth/endpoints.ts';
import type { EngineContext, Prompts } from '../../api/context.ts';
import { parseDuration } from '../../core/format.ts';
import { invalidArguments, problem, AppError } from '../../core/problem.ts';
import type { MachineMethodName } from '../../core/shape.ts';
import { type LoginPlan, makeServerMismatchError } from '../complete-login.ts';
import { type Account, isOver } from '../credential-store/account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { browserChoice, browserEnvironment } from '../methods/browser-environment.ts';
import { makeDpopKey } from '../sign-jwt.ts';
import { makeAmbiguousError } from '../server-profiles.ts';
import { readSecret } from '../read-secret.ts';
import { scopesFrom, union, safeText, type AuthContext } from '../auth-context.ts';
import { type RequestParams, relayMark } from '../callback.ts';
import { type LoginServer, loginServer, type ServerOptions } from '../settings.ts';
import type { HttpReply, HttpRequest } from '../../platform/host.ts';
import { serviceFailure } from '../protocol/send.ts';

/** A form as a browser without script would send it. */
type Form = {
  readonly action: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly buttons: readonly (readonly [string, string])[];
  /** The input of a user, in addition to the prefilled values. */
  readonly asks: readonly (readonly [string, string])[];
};
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };
const plain = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name: string) => entities[name] ?? '');
const attributes = (tag: string): Record<string, string> =>
  Object.fromEntries(
    [...tag.matchAll(/([a-zA-Z-]+)(?:\s*=\s*"([^"]*)")?/g)]
      .slice(1)
      .map(([, name = '', value = '']) => [name.toLowerCase(), plain(value)]),
  );
const tags = (html: string, name: string): Record<string, string>[] =>
  [...html.matchAll(new RegExp(`<${name}\\b[^>]*>`, 'gi'))].map(([tag]) => attributes(tag));
const typed = new Set(['text', 'email', 'password']);
const selects = (html: string): (readonly [string, string])[] =>
  [...html.matchAll(/<select\b([^>]*)>(.*?)<\/select>/gis)].map(([, head = '', body = '']) => [
    attributes(`<select ${head}>`).name ?? '',
    tags(body, 'option')[0]?.value ?? '',
  ]);
/** The first form of a page. */
export const formIn = (html: string): Form | undefined => {
  const found = /<form\b([^>]*)>(.*?)<\/form>/is.exec(html);
  if (found === null) return undefined;
  const [, head = '', body = ''] = found;
  const inputs = tags(body, 'input').filter(({ name }) => name !== undefined);
  const kept = inputs.filter(({ type }) => type === 'hidden' || type === 'checkbox');
  return {
    action: attributes(`<form ${head}>`).action ?? '',
    fields: [...kept.map((input) => [input.name ?? '', input.value ?? 'on'] as const), ...selects(body)],
    buttons: tags(body, 'button').map((button) => [button.name ?? '', button.value ?? ''] as const),
    asks: inputs
      .filter(({ type }) => typed.has(type ?? 'text'))
      .map(({ name, value }) => [name ?? '', value ?? ''] as const),
  };
};

type Jar = Map<string, string>;
const maxPages = 12;
const remember = (jar: Jar, reply: HttpReply): void => {
  const header = reply.headers['set-cookie'];
  if (header === undefined) return;
  for (const [, name = '', value = ''] of header.matchAll(/(?:^|,\s*)([\w.-]+)=([^;,]*)/g)) {
    if (!/^(path|max-age|expires|domain|samesite)$/i.test(name)) jar.set(name, value);
  }
};
const cookieOf = (jar: Jar): Record<string, string> =>
  jar.size === 0 ? {} : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') };
const stuckError = (why: string): AppError =>
  new AppError('auth', `the scripted consent ended: ${why}`, {
    code: 'CONSENT_STUCK',
    tryThis: ['opsctl login --browser', 'opsctl login --no-browser'],
  });
const wishes: readonly string[] = ['signin', 'allow'];
/**
 * Fills in the demo user (the one that --login-hint has filled in, otherwise the first), leaves every box
 * checked, and presses the button to continue.
 */
const fillForm = (form: Form): URLSearchParams => {
  const body = new URLSearchParams();
  for (const [name, value] of form.fields) body.append(name, value);
  const typed = form.asks.map(([, value]) => value);
  const user = demo.users.find(({ email }) => typed.includes(email)) ?? demo.users[0];
  for (const [name] of form.asks) body.set(name, name === 'password' ? user.password : user.email);
  const button = form.buttons.find(([, value]) => wishes.includes(value)) ?? form.buttons[0];
  if (button !== undefined && button[0] !== '') body.set(...button);
  return body;
};
const requestFor = (form: Form, at: string): HttpRequest => ({
  method: 'POST',
  url: new URL(form.action, at).href,
  headers: { 'content-type': 'application/x-www-form-urlencoded', origin: new URL(at).origin },
  body: fillForm(form).toString(),
});
/** An error page has its code in the title and its description below. */
const refusalIn = (page: string): AppError | undefined => {
  const code = /<title>Error \d+: ([a-z_]+)<\/title>/.exec(page)?.[1];
  if (code === undefined) return undefined;
  return serviceFailure(
    'the authorization server refused',
    code,
    plain(/<p class="small">([^<]*)</.exec(page)?.[1] ?? ''),
  );
};
const problemIn = (page: string): string => {
  const text =
    /id="problem"[^>]*>([^<]*)</.exec(page)?.[1] ?? /<h1[^>]*>([^<]*)</.exec(page)?.[1] ?? 'an unknown page';
  return safeText(text, 120);
};
/** What a browser does at the redirect URI: a fragment stays in it and comes back through the relay page. */
const deliver = async (context: AuthContext, location: string): Promise<void> => {
  const url = new URL(location);
  const [fragment, query] = [url.hash.slice(1), new URLSearchParams(url.search)];
  url.hash = '';
  if (!query.has('state') && fragment !== '') {
    for (const [name, value] of new URLSearchParams(fragment)) query.append(name, value);
    query.set(relayMark, '1');
    url.search = query.toString();
  }
  const reply = await context.host.network.request({ method: 'GET', url: url.href, signal: context.signal });
  await reply.text();
};
/** Signs in and consents at the embedded server as a person with a browser would: its own pages, its own forms. */
export const walkConsent = async (context: AuthContext, url: string, redirectUri: string): Promise<void> => {
  context.log.info(
    'No browser is available: opsctl completes the pages of the embedded server as its demo user.',
  );
  const jar: Jar = new Map();
  let next: HttpRequest = { method: 'GET', url };
  let last = '';
  for (let page = 0; page < maxPages; page++) {
    const headers = {
      ...next.headers,
      ...cookieOf(jar),
      accept: 'text/html',
      'user-agent': 'opsctl scripted consent',
    };
    const reply = await context.host.network.request({ ...next, headers, signal: context.signal });
    const html = await reply.text();
    remember(jar, reply);
    const location = reply.headers.location;
    if (location !== undefined) {
      const to = new URL(location, next.url).href;
      if (new URL(to).origin === new URL(redirectUri).origin) return deliver(context, to);
      next = { method: 'GET', url: to };
      continue;
    }
    const form = formIn(html);
    if (form === undefined || html === last || reply.status >= 400)
      throw refusalIn(html) ?? stuckError(problemIn(html));
    last = html;
    next = requestFor(form, next.url);
  }
  throw stuckError('too many pages');
};

/** An embedded server that another process runs is configured like a provider; its demo clients exist nowhere else. */
const isEmbedded = (server: LoginServer): boolean =>
  server.isMock || Object.values<string>(demo.clients).includes(server.clientId);
/** Without configured scopes, the embedded server gets the scopes of the reading commands. Every other server uses its own default. */
const defaultScopes = (context: EngineContext, server: LoginServer): string[] => {
  const configured = scopesFrom(context.settings.get('auth.scopes')?.value ?? '');
  if (configured.length > 0) return configured;
  return isEmbedded(server) ? ['openid', 'email', fullScope('media.readonly')] : [];
};
type Wanted = Pick<LoginPlan, 'account' | 'base' | 'loginHint'> & { readonly scopes: string[] };
/** The embedded server's scopes may be named without their base. */
const scopesOf = (server: LoginServer, given: readonly string[] = []): string[] =>
  given
    .flatMap(scopesFrom)
    .map((scope) => (server.isMock && scopeRow(scope) ? fullScope(scopeName(scope)) : scope));
const onlyAccount = (known: readonly Account[], server: string): Account | undefined => {
  if (known.length > 1)
    throw makeAmbiguousError(
      known.map(({ name }) => name),
      server,
    );
  return known[0];
};
/** `--add-scope` keeps the union: a request for more scopes never removes one. */
export const resolveScopes = async (
  context: EngineContext,
  server: LoginServer,
  values: LoginOptions,
): Promise<Wanted> => {
  const [asked, more] = [scopesOf(server, values.scope), scopesOf(server, values['add-scope'])];
  const { accounts, current } = await openCredentialStore(context, server.key).read();
  // The name of another server's account: reported before the sign-in starts.
  const named = accounts.find(({ name }) => name === values.account);
  if (named !== undefined && named.server !== server.key && !isOver(named))
    throw makeServerMismatchError(named.name, named, server.key);
  if (more.length === 0)
    return {
      scopes: asked.length > 0 ? asked : defaultScopes(context, server),
      account: values.account,
      loginHint: values['login-hint'],
    };
  const known = accounts.filter((each) => each.server === server.key);
  const before =
    known.find(({ name }) => name === (values.account ?? current)) ??
    (values.account === undefined ? onlyAccount(known, server.key) : undefined);
  const kept =
    before === undefined
      ? []
      : union(
          before.granted,
          before.idToken === undefined ? [] : before.requested.filter((scope) => scope === 'openid'),
          // Servers often omit it from the granted scopes; without it the new sign-in has no refresh token.
          before.refreshToken === undefined
            ? []
            : before.requested.filter((scope) => scope === 'offline_access'),
        );
  return {
    scopes: union(kept, asked, more),
    account: values.account ?? before?.name,
    ...(before === undefined ? {} : { base: baseFrom(before) }),
    loginHint: values['login-hint'] ?? before?.email ?? before?.subject,
  };
};
const baseFrom = ({ name, signIn, subject, email, tokenType }: Account) => ({
  name,
  signIn,
  subject,
  email,
  tokenType,
});
/** Adding a scope must not turn bound tokens into Bearer tokens. */
const keepBinding = (server: LoginServer, { base }: Wanted, { dpop }: LoginOptions): LoginServer =>
  base?.tokenType === 'DPoP' && dpop !== false && server.dpopKey === undefined
    ? { ...server, dpopKey: makeDpopKey() }
    : server;

/**
 * Other programs cannot guess a random path. The demo client of the embedded server accepts any path; other
 * clients use the registered one.
 */
const pathFrom = (context: EngineContext, server: LoginServer, given: string | undefined): string => {
  const path = given ?? (server.isMock && server.clientId === demo.clients.desktop ? 'random' : '');
  if (path !== 'random') return path;
  return `/${Buffer.from(context.host.random(12)).toString('base64url')}`;
};
export const paramsFrom = (pairs: readonly string[] = []): RequestParams =>
  pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const);
export const waitFrom = (given = '5m'): number => {
  const ms = parseDuration(given, '--timeout');
  if (ms > 0) return ms;
  throw invalidArguments([problem('--timeout', 'min', 'must be more than 0')]);
};
export const planFrom = async (
  context: EngineContext & Prompts,
  server: LoginServer,
  values: LoginOptions,
): Promise<LoginPlan> => {
  const asked = { browser: values.browser === true, noBrowser: values.browser === false };
  const opens = browserChoice(await browserEnvironment(context.host), asked, context.isInteractive).open;
  // Without a user, this program completes the pages of the embedded server like a browser.
  const isScripted = values.scripted === true || (server.isMock && !opens && !asked.noBrowser);
  const isFree = values['client-secret-stdin'] !== true;
  const wanted = await resolveScopes(context, server, values);
  return {
    server: keepBinding(server, wanted, values),
    ...wanted,
    params: paramsFrom(values.param),
    port: values.port ?? 0,
    path: pathFrom(context, server, values['redirect-path']),
    ...(values['redirect-host'] === undefined || values['redirect-host'] === '127.0.0.1'
      ? {}
      : { redirectHost: values['redirect-host'] }),
    timeoutMs: waitFrom(values.timeout),
    ...asked,
    readsPaste: isFree && !isScripted,
    hasTerminal: context.isInteractive,
    ...(isScripted
      ? { completePages: (url: string, redirectUri: string) => walkConsent(context, url, redirectUri) }
      : {}),
  };
};

/** Which authorization server is meant; the names are those of the flags, which messages repeat. */
export type LoginServerOptions = {
  readonly issuer?: string | undefined;
  readonly 'auth-url'?: string | undefined;
  readonly 'token-url'?: string | undefined;
  readonly 'revoke-url'?: string | undefined;
  readonly 'client-id'?: string | undefined;
  readonly 'client-secret-stdin'?: boolean | undefined;
  readonly dpop?: boolean | undefined;
};
/** The options of `opsctl login`. */
export type LoginOptions = LoginServerOptions & {
  readonly method?: 'browser' | 'device' | MachineMethodName | undefined;
  readonly 'key-file'?: string | undefined;
  readonly audience?: string | undefined;
  readonly param?: readonly string[] | undefined;
  readonly scope?: readonly string[] | undefined;
  readonly 'add-scope'?: readonly string[] | undefined;
  readonly 'require-scopes'?: boolean | undefined;
  readonly 'login-hint'?: string | undefined;
  readonly account?: string | undefined;
  readonly browser?: boolean | undefined;
  readonly port?: number | undefined;
  readonly 'redirect-path'?: string | undefined;
  readonly 'redirect-host'?: '127.0.0.1' | '[::1]' | 'localhost' | undefined;
  readonly timeout?: string | undefined;
  readonly start?: boolean | undefined;
  readonly finish?: string | undefined;
  readonly replace?: boolean | undefined;
  readonly 'token-stdin'?: boolean | undefined;
  readonly scripted?: boolean | undefined;
};

export const givenServer = async (
  context: EngineContext,
  values: LoginServerOptions,
): Promise<ServerOptions> => ({
  issuer: values.issuer,
  authUrl: values['auth-url'],
  tokenUrl: values['token-url'],
  revokeUrl: values['revoke-url'],
  clientId: values['client-id'],
  dpop: values.dpop,
  ...(values['client-secret-stdin'] === true
    ? { clientSecret: await readSecret(context.host, 'client-secret-stdin', /[^\x20-\x7e]/) }
    : {}),
});
/** An unreadable store would lose the tokens, so it is reported before the sign-in. */
export const serverOf = async (context: EngineContext, values: LoginOptions): Promise<LoginServer> => {
  const server = await loginServer(context, await givenServer(context, values));
  await openCredentialStore(context, server.key).read();
  return server;
};
