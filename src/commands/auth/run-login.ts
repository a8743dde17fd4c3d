import { parseDuration } from '../../core/duration.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import { demo } from '../../api-specs/oauth/demo.ts';
import { signIn } from '../../auth/flow.ts';
import type { LoginPlan } from '../../auth/login-plan.ts';
import { claimLogin } from '../../auth/pending-login.ts';
import { scopesFrom, union } from '../../auth/scopes.ts';
import { type ServerOptions, type LoginServer, loginServer } from '../../auth/settings.ts';
import { finishDetachedLogin, startDetachedLogin } from '../../auth/detached-login.ts';
import type { Account } from '../../auth/credential-store/account.ts';
import { instantNow } from '../../auth/clock.ts';
import { keepAccount } from '../../auth/keep-account.ts';
import { openCredentialStore } from '../../auth/credential-store/store.ts';
import { browserChoice, browserEnvironment } from '../../auth/methods/browser-environment.ts';
import { signInWithDevice } from '../../auth/methods/device.ts';
import { walkConsent } from '../../demo-sign-in/scripted-consent.ts';
import { fullScope, scopeName, scopeRow } from '../../api-specs/oauth/scopes.ts';
import type { Context } from '../../cli/command.ts';
import type { LoginValues, ServerValues } from '../login-flags.ts';
import { machineLogin } from '../../auth/machine/machine-login.ts';
import { machineHints } from '../../auth/machine/hints.ts';
import { configuredMethod, machineOptions } from '../../auth/machine/machine-token.ts';
import type { MachineMethodName } from '../../core/sign-in-words.ts';
import { isMachineMethod } from '../../auth/machine/methods.ts';
import { describeAccount, lifeText, missingScopes, scopeLines } from './describe.ts';
import { readSecret } from './read-secret.ts';

export const givenServer = async (context: Context, values: ServerValues): Promise<ServerOptions> => ({
  issuer: values.issuer,
  authUrl: values['auth-url'],
  tokenUrl: values['token-url'],
  revokeUrl: values['revoke-url'],
  clientId: values['client-id'],
  ...(values['client-secret-stdin'] === true
    ? { clientSecret: await readSecret(context.host, 'client-secret-stdin', /[^\x20-\x7e]/) }
    : {}),
});

/** What reading commands need, and at the embedded server who signed in. */
const defaultScopes = (server: LoginServer): string[] => [
  ...(server.isMock ? ['openid', 'email'] : []),
  fullScope('media.readonly'),
];

type Wanted = Pick<LoginPlan, 'account' | 'base' | 'loginHint'> & { readonly scopes: string[] };
/** `--add-scope` keeps the union: an account loses nothing by asking for more. */
const wanted = async (context: Context, server: LoginServer, values: LoginValues): Promise<Wanted> => {
  // The embedded server's scopes may be named without their base.
  const named = (flag: 'scope' | 'add-scope'): string[] =>
    (values[flag] ?? [])
      .flatMap(scopesFrom)
      .map((scope) => (server.isMock && scopeRow(scope) ? fullScope(scopeName(scope)) : scope));
  const [asked, more] = [named('scope'), named('add-scope')];
  if (more.length === 0)
    return {
      scopes: asked.length > 0 ? asked : defaultScopes(server),
      account: values.account,
      loginHint: values['login-hint'],
    };
  const { accounts, current } = await openCredentialStore(context, server.key).read();
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
        );
  return {
    scopes: union(kept, asked, more),
    account: values.account ?? before?.name,
    ...(before === undefined ? {} : { base: baseFrom(before) }),
    loginHint: values['login-hint'] ?? before?.email ?? before?.subject,
  };
};

const baseFrom = ({ name, signIn, subject, email }: Account) => ({ name, signIn, subject, email });

/** Strangers cannot guess a random path; the demo client of the embedded server takes any, others get what is registered. */
const pathFrom = (context: Context, server: LoginServer, given: string | undefined): string => {
  const path = given ?? (server.isMock && server.clientId === demo.clients.desktop ? 'random' : '');
  if (path !== 'random') return path;
  return `/${Buffer.from(context.host.random(12)).toString('base64url')}`;
};

const paramsFrom = (pairs: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );

const waitFrom = (given = '5m'): number => {
  const ms = parseDuration(given, '--timeout');
  if (ms > 0) return ms;
  throw invalidArguments([problem('--timeout', 'min', 'must be more than 0: nobody answers at once')]);
};

const planFrom = async (context: Context, server: LoginServer, values: LoginValues): Promise<LoginPlan> => {
  const asked = { browser: values.browser === true, noBrowser: values.browser === false };
  const opens = browserChoice(await browserEnvironment(context.host), asked, context.isInteractive).open;
  // Nobody is there to click: the embedded server's pages are walked by this program, as a browser would.
  const isScripted = values.scripted === true || (server.isMock && !opens && !asked.noBrowser);
  const isFree = values['client-secret-stdin'] !== true;
  return {
    server,
    ...(await wanted(context, server, values)),
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

/** spec/sign-in#authentication-5: a partial consent is a success that says what is off. */
const resultFor = (context: Context, account: Account, requiresAll: boolean): Result => {
  const now = instantNow(context.host);
  const gone = missingScopes(account);
  const asked = account.requested.length;
  const who = account.email ?? `account ${account.name}`;
  const all = asked === 1 ? '1 scope' : `all ${asked} scopes`;
  const message = `signed in as ${who}: ${gone.length === 0 ? all : `${asked - gone.length} of ${asked} scopes`}, ${lifeText(account, now)}`;
  if (gone.length > 0) {
    context.log.warn(
      `Not granted: ${gone.join(', ')}. Commands that need these will say so; ask again with: opsctl login ${gone.map((scope) => `--add-scope ${scope}`).join(' ')}`,
    );
  }
  if (account.refreshToken === undefined && account.method === undefined)
    context.log.warn(
      'The server gave no refresh token: when this access token ends, `opsctl login` is needed again.',
    );
  const text = scopeLines(account).join('\n');
  return recordResult(
    describeAccount(account, now),
    { message, text, name: 'account' },
    requiresAll && gone.length > 0 ? 'auth' : undefined,
  );
};

const storeGivenToken = async (context: Context, values: LoginValues): Promise<Result> => {
  const token = await readSecret(context.host, 'token-stdin');
  context.log.hide(token);
  // A given token is sent as it is; no client is needed to use it.
  const server = await loginServer(
    context,
    await givenServer(context, {
      ...values,
      'client-id': values['client-id'] ?? 'none',
      'client-secret-stdin': false,
    }),
  );
  const scopes = (values.scope ?? []).flatMap(scopesFrom);
  const { wallMs: obtainedMs, boot: obtainedBoot } = instantNow(context.host);
  const { key, endpoints, clientId } = server;
  const given = { name: 'token', server: key, endpoints, clientId, requested: scopes, granted: scopes };
  const account = await keepAccount(
    context,
    { ...given, obtainedMs, obtainedBoot, accessToken: token },
    { name: values.account, replaces: true },
  );
  return recordResult(describeAccount(account, instantNow(context.host)), {
    message: `token stored as account ${account.name}`,
    name: 'account',
  });
};

const finish = async (context: Context, values: LoginValues, given: string): Promise<Result> => {
  const pasted = given === '-' ? await readSecret(context.host, 'finish') : given;
  const { clientSecret } = await givenServer(context, values);
  return resultFor(
    context,
    await finishDetachedLogin(context, pasted, clientSecret),
    values['require-scopes'] === true,
  );
};

/** A store that cannot be read would lose the tokens: said before anybody signs in. */
const serverOf = async (context: Context, values: LoginValues): Promise<LoginServer> => {
  const server = await loginServer(context, await givenServer(context, values));
  await openCredentialStore(context, server.key).read();
  return server;
};

const interactive = async (context: Context, values: LoginValues): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const lock = await claimLogin(context, values.replace === true);
  try {
    return resultFor(
      context,
      await signIn(context, await planFrom(context, server, values)),
      values['require-scopes'] === true,
    );
  } finally {
    await lock.release();
  }
};

const withDevice = async (context: Context, values: LoginValues): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const { scopes, account } = await wanted(context, server, values);
  const timeoutMs = waitFrom(values.timeout ?? '15m');
  const lock = await claimLogin(context, values.replace === true);
  try {
    const signedIn = await signInWithDevice(context, { server, scopes, account, timeoutMs });
    return resultFor(context, signedIn, values['require-scopes'] === true);
  } finally {
    await lock.release();
  }
};

/** The address is opened after this command has ended: the server must still be there then. */
const begin = async (context: Context, values: LoginValues): Promise<Result> => {
  const server = await serverOf(context, values);
  if (server.isMock && (await context.target('auth')).isPassing === true)
    throw new AppError(
      'config',
      '--start: the embedded server ends with this command, so nobody could open the address',
      {
        code: 'MOCK_ENDS',
        tryThis: [
          'opsctl mock serve in another terminal, then this again',
          'opsctl login --no-browser (waits, and takes the address as a line)',
        ],
      },
    );
  const started = await startDetachedLogin(context, await planFrom(context, server, values));
  return recordResult(started, {
    message: `login started; it can be finished until ${started.expires_at}`,
    text: '',
  });
};

/** A method without a person and without a question; the settings may name it as well. */
const machineMethodOf = (context: Context, values: LoginValues): MachineMethodName | undefined => {
  if (values.method === undefined) return values.start === true ? undefined : configuredMethod(context);
  return isMachineMethod(values.method) ? values.method : undefined;
};
const asMachine = async (
  context: Context,
  values: LoginValues,
  method: MachineMethodName,
): Promise<Result> => {
  const options = machineOptions(context, method, {
    keyFile: values['key-file'],
    audience: values.audience,
    scopes: values.scope?.flatMap(scopesFrom),
  });
  const given = await givenServer(context, values);
  return resultFor(context, await machineLogin(context, options, given, values.account), false);
};

/** Somebody would have to open the address and answer: with --no-input that is refused at once. */
const expectsNobody = (context: Context, values: LoginValues, server: LoginServer): void => {
  if (context.asksNothing !== true || values.scripted === true || (server.isMock && values.browser !== false))
    return;
  throw new AppError(
    'auth',
    'signing in with the browser needs a person, and --no-input forbids to ask one',
    {
      code: 'NO_INPUT',
      tryThis: machineHints(context),
    },
  );
};

export const runLogin = async (context: Context, values: LoginValues): Promise<Result> => {
  await openCredentialStore(context).read();
  if (values['token-stdin'] === true) return storeGivenToken(context, values);
  const machine = values.finish === undefined ? machineMethodOf(context, values) : undefined;
  if (machine !== undefined) return asMachine(context, values, machine);
  if (values.finish !== undefined) return finish(context, values, values.finish);
  if (values.method === 'device') return withDevice(context, values);
  return values.start === true ? begin(context, values) : interactive(context, values);
};
