import { demo, fullScope, scopeName, scopeRow } from '../../api-specs/oauth/endpoints.ts';
import type { Context } from '../../api/context.ts';
import { parseDuration } from '../../core/format.ts';
import { invalidArguments, problem } from '../../core/problem.ts';
import type { MachineMethodName } from '../../core/shape.ts';
import { type LoginPlan, makeServerMismatchError } from '../complete-login.ts';
import { type Account, isOver } from '../credential-store/account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { walkConsent } from '../demo/scripted-consent.ts';
import { browserChoice, browserEnvironment } from '../methods/browser-environment.ts';
import { makeDpopKey } from '../protocol/dpop.ts';
import { readSecret } from '../read-secret.ts';
import { scopesFrom, union } from '../scopes.ts';
import type { RequestParams } from '../callback.ts';
import { type LoginServer, loginServer, type ServerOptions } from '../settings.ts';

/** An embedded server that another process runs is configured like a provider; its demo clients exist nowhere else. */
const isEmbedded = (server: LoginServer): boolean =>
  server.isMock || Object.values<string>(demo.clients).includes(server.clientId);
/** Without configured scopes, the embedded server gets the scopes of the reading commands. Every other server uses its own default. */
const defaultScopes = (context: Context, server: LoginServer): string[] => {
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
/** `--add-scope` keeps the union: a request for more scopes never removes one. */
export const resolveScopes = async (
  context: Context,
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
    (values.account === undefined ? known[0] : undefined);
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
const pathFrom = (context: Context, server: LoginServer, given: string | undefined): string => {
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
  context: Context,
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
      ? { scripted: (url: string, redirectUri: string) => walkConsent(context, url, redirectUri) }
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

export const givenServer = async (context: Context, values: LoginServerOptions): Promise<ServerOptions> => ({
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
export const serverOf = async (context: Context, values: LoginOptions): Promise<LoginServer> => {
  const server = await loginServer(context, await givenServer(context, values));
  await openCredentialStore(context, server.key).read();
  return server;
};
