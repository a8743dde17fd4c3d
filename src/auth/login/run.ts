import type { EngineContext, Prompts } from '../../api/context.ts';
import { AppError } from '../../core/problem.ts';
import { recordResult, type Result } from '../../core/result.ts';
import type { MachineMethodName } from '../../core/shape.ts';
import { instantNow, scopesFrom } from '../auth-context.ts';
import { keepAccount } from '../complete-login.ts';
import {
  type Account,
  describeAccount,
  lifeText,
  missingScopes,
  scopeLines,
} from '../credential-store/account.ts';
import { openCredentialStore } from '../credential-store/store.ts';
import { claimLogin, finishDetachedLogin, startDetachedLogin } from '../detached-login.ts';
import { signIn } from '../flow.ts';
import { machineHints } from '../machine/identity-token.ts';
import { configuredMethod, isMachineMethod, machineLogin, machineOptions } from '../machine/machine-token.ts';
import { browserEnvironment } from '../methods/browser-environment.ts';
import { signInWithDevice } from '../methods/device.ts';
import { readSecret } from '../read-secret.ts';
import { type LoginServer, loginServer } from '../settings.ts';
import {
  type LoginOptions,
  givenServer,
  paramsFrom,
  planFrom,
  serverOf,
  waitFrom,
  resolveScopes,
} from './plan.ts';

/** spec/sign-in#authentication-5: a partial consent is a success that lists the missing features. */
export const resultFor = (context: EngineContext, account: Account, requiresAll: boolean): Result => {
  const now = instantNow(context.host);
  const gone = missingScopes(account);
  const asked = account.requested.length;
  const who = account.email ?? `account ${account.name}`;
  const all = asked === 0 ? 'scopes of the server' : asked === 1 ? '1 scope' : `all ${asked} scopes`;
  const message = `signed in as ${who}: ${gone.length === 0 ? all : `${asked - gone.length} of ${asked} scopes`}, ${lifeText(account, now)}`;
  if (gone.length > 0) {
    context.log.warn(
      `Not granted: ${gone.join(', ')}. Commands that need these scopes will fail. To request them again: opsctl login ${gone.map((scope) => `--add-scope ${scope}`).join(' ')}`,
    );
  }
  if (account.refreshToken === undefined && account.method === undefined)
    context.log.warn(
      'The server issued no refresh token: run `opsctl login` again when the access token expires. Many servers issue one for the scope offline_access.',
    );
  const text = scopeLines(account).join('\n');
  return recordResult(
    describeAccount(account, now),
    { message, text, name: 'account' },
    requiresAll && gone.length > 0 ? 'auth' : undefined,
  );
};

/** This method needs a user who opens the URL and responds. With --no-input it fails immediately. */
const expectsNobody = (context: EngineContext & Prompts, values: LoginOptions, server: LoginServer): void => {
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
/**
 * A browser cannot connect to this machine if the terminal belongs to an editor in that browser. opsctl
 * therefore shows a code if the server offers that. A flag about the browser or its response selects the
 * browser.
 */
const prefersDevice = async (
  context: EngineContext,
  values: LoginOptions,
  server: LoginServer,
): Promise<boolean> => {
  const browserFlags = [
    'browser',
    'port',
    'param',
    'add-scope',
    'redirect-path',
    'redirect-host',
    'scripted',
  ];
  const given: Readonly<Record<string, unknown>> = values;
  if (values.method !== undefined || server.isMock || server.endpoints.device === undefined) return false;
  if (browserFlags.some((name) => given[name] !== undefined)) return false;
  return (await browserEnvironment(context.host)).isCodespace;
};
const unusableDevice = new Set(['NO_DEVICE_FLOW', 'UNAUTHORIZED_CLIENT', 'UNSUPPORTED_GRANT_TYPE']);
/** Undefined where the client may not use the device flow: then the browser is next. */
const tryDevice = async (
  context: EngineContext & Prompts,
  values: LoginOptions,
): Promise<Result | undefined> => {
  context.log.info(
    'This editor runs in a browser, which cannot reach this machine: sign in with a code. To use the browser and paste the address that it goes to: opsctl login --no-browser',
  );
  return withDevice(context, values).catch((error: unknown) => {
    if (!(error instanceof AppError) || !unusableDevice.has(error.detail.code ?? '')) throw error;
    context.log.warn(`${error.message}; the sign-in continues with the browser`);
    return undefined;
  });
};
export const interactive = async (
  context: EngineContext & Prompts,
  values: LoginOptions,
): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const signedIn = (await prefersDevice(context, values, server))
    ? await tryDevice(context, values)
    : undefined;
  if (signedIn !== undefined) return signedIn;
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
export const withDevice = async (context: EngineContext & Prompts, values: LoginOptions): Promise<Result> => {
  const server = await serverOf(context, values);
  expectsNobody(context, values, server);
  const { scopes, account } = await resolveScopes(context, server, values);
  const timeoutMs = waitFrom(values.timeout ?? '15m');
  const lock = await claimLogin(context, values.replace === true);
  try {
    const signedIn = await signInWithDevice(context, { server, scopes, account, timeoutMs });
    return resultFor(context, signedIn, values['require-scopes'] === true);
  } finally {
    await lock.release();
  }
};

export const finish = async (
  context: EngineContext,
  values: LoginOptions,
  given: string,
): Promise<Result> => {
  const pasted = given === '-' ? await readSecret(context.host, 'finish') : given;
  const { clientSecret } = await givenServer(context, values);
  return resultFor(
    context,
    await finishDetachedLogin(context, pasted, clientSecret),
    values['require-scopes'] === true,
  );
};
/** The address is opened after this command has ended: the server must still be there then. */
export const begin = async (context: EngineContext & Prompts, values: LoginOptions): Promise<Result> => {
  const server = await serverOf(context, values);
  if (server.isMock && (await context.target('auth')).isPassing === true)
    throw new AppError(
      'config',
      '--start: the embedded server stops with this command, so the URL would not work',
      {
        code: 'MOCK_ENDS',
        tryThis: [
          'opsctl mock serve in another terminal, then this again',
          'opsctl login --no-browser (waits, and accepts the URL as a line)',
        ],
      },
    );
  const started = await startDetachedLogin(context, await planFrom(context, server, values));
  return recordResult(started, {
    message: `login started; it can be finished until ${started.expires_at}`,
    text: '',
  });
};

export const storeGivenToken = async (context: EngineContext, values: LoginOptions): Promise<Result> => {
  const token = await readSecret(context.host, 'token-stdin');
  context.log.hide(token);
  // An imported token is sent unchanged. No client is needed to use it.
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

/** A method without a user and without prompts. The settings may also select it. */
const machineMethodOf = (context: EngineContext, values: LoginOptions): MachineMethodName | undefined => {
  if (values.method === undefined) return values.start === true ? undefined : configuredMethod(context);
  return isMachineMethod(values.method) ? values.method : undefined;
};
const asMachine = async (
  context: EngineContext,
  values: LoginOptions,
  method: MachineMethodName,
): Promise<Result> => {
  const options = machineOptions(context, method, {
    keyFile: values['key-file'],
    audience: values.audience,
    scopes: values.scope?.flatMap(scopesFrom),
    ...(values.param === undefined ? {} : { params: paramsFrom(values.param) }),
  });
  const given = await givenServer(context, values);
  return resultFor(context, await machineLogin(context, options, given, values.account), false);
};
export const runLogin = async (context: EngineContext & Prompts, values: LoginOptions): Promise<Result> => {
  await openCredentialStore(context).read();
  if (values['token-stdin'] === true) return storeGivenToken(context, values);
  const machine = values.finish === undefined ? machineMethodOf(context, values) : undefined;
  if (machine !== undefined) return asMachine(context, values, machine);
  if (values.finish !== undefined) return finish(context, values, values.finish);
  if (values.method === 'device') return withDevice(context, values);
  return values.start === true ? begin(context, values) : interactive(context, values);
};
