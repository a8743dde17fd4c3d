import { hash } from 'node:crypto';
import type { RequestProver } from '../api/context.ts';
import { parseDuration, secondsText } from '../core/format.ts';
import { AppError } from '../core/problem.ts';
import type { MachineMethodName } from '../core/shape.ts';
import { type AuthContext, instantNow, elapsedMs, addScopeLine, lastPart } from './auth-context.ts';
import {
  type Account,
  isAlive,
  isFresh,
  lifeLeftMs,
  type KeptToken,
  type StoredCredentials,
} from './credential-store/account.ts';
import { withMachineHints, jobFingerprint } from './machine/identity-token.ts';
import {
  configuredMethod,
  machineOptions,
  machineToken,
  type MachineOptions,
  type MachineToken,
} from './machine/machine-token.ts';
import { dpopProver, jwtView } from './sign-jwt.ts';
import { isSendable } from './protocol/read-response.ts';
import { renewAccount } from './renew.ts';
import { storedAccount } from './server-profiles.ts';
import { dpopSetting, mockKey } from './settings.ts';
import { isKeyContent } from '../core/field.ts';
import { openCredentialStore } from './credential-store/store.ts';

/**
 * The token of a machine is kept in the credential store until it expires, so that the commands of a job do not request one
 * each. It is found again only by a command with the same settings, the same key or secret, and the same CI job.
 */
const settingNames = [
  ...[
    'auth.url',
    'auth.token_url',
    'auth.issuer',
    'auth.client_id',
    'auth.client_secret',
    'auth.client_auth',
  ],
  ...['auth.client_key', 'auth.client_key_id', 'auth.dpop', 'auth.subject_token_type', 'auth.resource'],
  ...['auth.token_params', 'auth.subject_audience'],
];
const maxKept = 20;
/** A key file can change below the same path. */
const contentOf = async ({ host }: AuthContext, value: string | undefined): Promise<string | undefined> =>
  value === undefined || isKeyContent(value) ? value : host.files.read(value).catch(() => undefined);
/** Undefined if the requesting job is unknown, so that no token is kept. */
const keptTokenKey = async (context: AuthContext, options: MachineOptions): Promise<string | undefined> => {
  const job = options.method === 'token-exchange' ? await jobFingerprint(context) : '';
  if (job === undefined) return undefined;
  const parts = [
    options.method,
    options.audience,
    options.scopes,
    await contentOf(context, options.key?.value),
    await contentOf(context, context.settings.get('auth.client_key')?.value),
    settingNames.map((name) => context.settings.get(name)?.value),
    job,
  ];
  return hash('sha256', JSON.stringify(parts));
};
/** A read-only home or damaged credentials cost a request, never the command. */
const quietly = async <T>({ log }: AuthContext, work: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    log.debug(`the token is not kept: ${error.message}`);
    return undefined;
  }
};
const leftMs = (context: AuthContext, { obtained, lifeMs }: KeptToken): number => {
  const passed = elapsedMs(obtained, instantNow(context.host));
  return passed === undefined ? 0 : lifeMs - passed;
};
type FoundToken = KeptToken & { readonly leftMs: number };
/** A kept token that is valid for at least `minTtlMs`, and was not refused by its server. */
const findKeptToken = async (
  context: AuthContext,
  key: string,
  { minTtlMs = 0, refused }: { readonly minTtlMs?: number; readonly refused?: string },
): Promise<FoundToken | undefined> => {
  const data = await quietly(context, () => openCredentialStore(context).read());
  const found = data?.kept?.find((each) => each.key === key);
  if (found === undefined || found.token === refused) return undefined;
  const left = leftMs(context, found);
  return left > Math.max(minTtlMs, Math.min(60_000, found.lifeMs / 2))
    ? { ...found, leftMs: left }
    : undefined;
};
/** Tokens of the embedded server, which stops with the command, and tokens without expiry are not kept. */
const keepToken = async (context: AuthContext, key: string, made: MachineToken): Promise<void> => {
  const { name, server, response, asked } = made;
  if (server.isMock || response.expiresInS === undefined || response.expiresInS <= 0) return;
  const kept: KeptToken = {
    key,
    name,
    server: server.key,
    token: response.accessToken,
    obtained: asked,
    lifeMs: response.expiresInS * 1000,
    ...(server.dpopKey === undefined ? {} : { dpopKey: server.dpopKey }),
  };
  const isOther = (each: KeptToken): boolean => each.key !== key && leftMs(context, each) > 0;
  await quietly(context, () =>
    openCredentialStore(context).swap((data): { data: StoredCredentials } => ({
      data: { ...data, kept: [...(data.kept ?? []).filter(isOther), kept].slice(-maxKept) },
    })),
  );
};

export type TokenRequirements = {
  /** The minimum remaining lifetime of the token. */
  readonly minTtlMs?: number;
  /** One of these scopes is enough; names with or without their base. */
  readonly scopes?: readonly string[];
  readonly account?: string;
  /** The token that the service has just refused with 401. */
  readonly refused?: string;
};
export type AccessToken = {
  readonly token: string;
  /** `environment OPSCTL_ACCESS_TOKEN` or `account name`. */
  readonly origin: string;
  readonly account?: Account;
  /** The origin of a token without an account. */
  readonly server?: string;
  /** Present if the token is bound to a key: then no request carries it without a proof, and never as Bearer. */
  readonly prover?: RequestProver;
  readonly expiresMs?: number;
};
/**
 * spec/sign-in#authentication-5: features with a missing scope are disabled, and the output names the command
 * that enables them.
 */
const checkScopes = (account: Account, wanted: readonly string[] | undefined): void => {
  if (wanted === undefined || wanted.length === 0) return;
  // A token that was given without its scopes may have any: the service decides.
  if (account.granted.length === 0 && account.requested.length === 0) return;
  const granted = new Set(account.granted.map(lastPart));
  if (wanted.some((scope) => granted.has(lastPart(scope)))) return;
  const [first = ''] = wanted;
  throw new AppError('auth', `account ${account.name} lacks the scope ${wanted.join(' or ')}`, {
    code: 'MISSING_SCOPE',
    tryThis: [addScopeLine([fullFormLike(account, first)], account.name)],
    data: { missing: wanted, granted: account.granted },
  });
};
/** `media.upload` in the form that the account's own scopes have. */
const fullFormLike = (account: Account, scope: string): string => {
  if (scope.includes('/')) return scope;
  const sample = account.granted.concat(account.requested).find((each) => each.includes('/'));
  return sample === undefined ? scope : sample.slice(0, -lastPart(sample).length) + scope;
};
const tooShort = (lifeMs: number, minTtlMs: number): AppError =>
  new AppError(
    'refused',
    `the service issues tokens that expire after ${secondsText(lifeMs)}, less than the requested ${secondsText(minTtlMs)}`,
    {
      code: 'TTL_TOO_LONG',
      tryThis: ['ask for a shorter --min-ttl'],
    },
  );
/** If a token is still valid, do not wait half a minute for an unresponsive server. */
const hurriedMs = 5000;
const withShortWaits = (context: AuthContext): AuthContext => {
  const { profile, directories } = context.settings;
  const given = context.settings.get('timeout');
  if (given !== undefined && parseDuration(given.value, given.origin) <= hurriedMs) return context;
  const limit = { value: `${hurriedMs}ms`, origin: 'an early refresh' };
  return {
    ...context,
    settings: { profile, directories, get: (key) => (key === 'timeout' ? limit : context.settings.get(key)) },
  };
};
/**
 * An access token for the data API: from the environment unchanged, otherwise from an account, refreshed
 * before it expires.
 */
export const accessToken = async (
  context: AuthContext,
  requirements: TokenRequirements = {},
): Promise<AccessToken> => {
  dpopSetting(context);
  const given = context.settings.get('access_token');
  if (given !== undefined && requirements.account === undefined) {
    context.log.hide(given.value);
    if (!isSendable(given.value))
      throw new AppError(
        'config',
        `the access token of ${given.origin} contains spaces, line ends or other characters that are not allowed in tokens`,
        {
          code: 'BAD_TOKEN',
          tryThis: [
            'set it without quotes and line ends, for example OPSCTL_ACCESS_TOKEN="$(opsctl auth token)"',
          ],
        },
      );
    return { token: given.value, origin: given.origin };
  }
  const machine = requirements.account === undefined ? configuredMethod(context) : undefined;
  if (machine !== undefined) return tokenOfMachine(context, machine, requirements);
  return withMachineHints(context, () => tokenOfAccount(context, requirements));
};
const proverOf = (
  { host }: Pick<AuthContext, 'host'>,
  dpopKey: string | undefined,
  token: string,
): Pick<AccessToken, 'prover'> =>
  dpopKey === undefined ? {} : { prover: dpopProver(host, dpopKey).forToken(token) };
/** A bound token without its key is of no use, and must not pass for a Bearer token. */
const keyOf = ({ name, tokenType, dpopKey }: Account): string | undefined => {
  if (tokenType !== 'DPoP' || dpopKey !== undefined) return dpopKey;
  throw new AppError('auth', `the key that the token of account ${name} is bound to is missing`, {
    code: 'BAD_DPOP_KEY',
    tryThis: [`opsctl login --account ${name} --dpop`],
  });
};
/** The `Authorization` header of a token; a bound token also needs a proof for each request. */
export const authorizationOf = ({ token, prover }: AccessToken): string =>
  `${prover === undefined ? 'Bearer' : 'DPoP'} ${token}`;
/**
 * Programs that support only Bearer tokens get no bound token: its server would reject it, and a proof cannot
 * be passed on.
 */
export const refuseBound = (found: AccessToken, what: string): AccessToken => {
  if (found.prover === undefined) return found;
  throw new AppError(
    'config',
    `the token of ${found.origin} is bound to a key (DPoP), which ${what} cannot use; the token was not passed on`,
    {
      code: 'BOUND_TOKEN',
      tryThis: [
        'opsctl login --no-dpop --account NAME, then --account NAME here (a Bearer token for this program)',
        'opsctl auth header --url URL (prints the header and the proof of one request)',
      ],
    },
  );
};
/** The settings name a machine: its token is requested, and kept for the commands that follow. */
const tokenOfMachine = async (
  context: AuthContext,
  method: MachineMethodName,
  requirements: TokenRequirements,
): Promise<AccessToken> => {
  const options = machineOptions(context, method);
  const key = await keptTokenKey(context, options);
  const kept = key === undefined ? undefined : await findKeptToken(context, key, requirements);
  if (kept !== undefined)
    return {
      token: kept.token,
      origin: `${method} ${kept.name}`,
      server: kept.server,
      ...proverOf(context, kept.dpopKey, kept.token),
      expiresMs: context.host.now() + kept.leftMs,
    };
  const made = await machineToken(context, options);
  if (key !== undefined) await keepToken(context, key, made);
  const { name, server, response } = made;
  const leftMs = response.expiresInS === undefined ? undefined : response.expiresInS * 1000;
  const minTtlMs = requirements.minTtlMs ?? 0;
  if (leftMs !== undefined && leftMs < minTtlMs) throw tooShort(leftMs, minTtlMs);
  return {
    token: response.accessToken,
    origin: `${method} ${name}`,
    server: server.key,
    ...proverOf(context, server.dpopKey, response.accessToken),
    ...(leftMs === undefined ? {} : { expiresMs: context.host.now() + leftMs }),
  };
};
const tokenOfAccount = async (
  context: AuthContext,
  requirements: TokenRequirements,
): Promise<AccessToken> => {
  const minTtlMs = requirements.minTtlMs ?? 0;
  const seen = await storedAccount(context, requirements.account);
  checkScopes(seen, requirements.scopes);
  const isRefused = requirements.refused !== undefined && requirements.refused === seen.accessToken;
  /** An early refresh that meets an outage does no damage while the token is still valid. */
  const useSeen = (error: unknown): Account => {
    const isOutage =
      error instanceof AppError && (error.category === 'network' || error.category === 'rate-limit');
    if (isRefused || !isOutage || !isAlive(seen, instantNow(context.host), minTtlMs)) throw error;
    context.log.warn(`${error.message}; the access token that is still good for a moment is used`);
    return seen;
  };
  const isGood = !isRefused && isFresh(seen, instantNow(context.host), minTtlMs);
  const isEarly = !isRefused && isAlive(seen, instantNow(context.host), minTtlMs);
  const renewal = { minTtlMs, ...(isRefused ? { force: true as const } : {}) };
  const account = isGood
    ? seen
    : await renewAccount(isEarly ? withShortWaits(context) : context, seen, renewal).catch(useSeen);
  const leftMs = lifeLeftMs(account, instantNow(context.host));
  if (leftMs !== undefined && leftMs < minTtlMs)
    throw tooShort((account.accessExpiresMs ?? 0) - account.obtainedMs, minTtlMs);
  const token = account.accessToken ?? '';
  return {
    token,
    origin: `account ${account.name}`,
    account,
    ...proverOf(context, keyOf(account), token),
    ...(leftMs === undefined ? {} : { expiresMs: context.host.now() + leftMs }),
  };
};

/**
 * A token of one server must not be sent to another, and the embedded API must not be mistaken for a real
 * one.
 */
export const checkPlace = (
  target: { readonly baseUrl: string; readonly isMock: boolean },
  { account, server, origin }: AccessToken,
  service: 'api' | 'labels' = 'api',
): void => {
  const from = account?.server ?? server;
  if (from === undefined || (from === mockKey) === target.isMock) return;
  const who = account === undefined ? origin : `account ${account.name}`;
  if (target.isMock)
    throw new AppError('config', `${who} is signed in at ${from}, but ${service}.url is not set`, {
      code: service === 'api' ? 'NO_API_URL' : 'NO_LABELS_URL',
      tryThis: [`opsctl config set ${service}.url URL`, `or set OPSCTL_${service.toUpperCase()}_URL`],
    });
  throw new AppError(
    'auth',
    `${who} is signed in at the embedded server only, and ${new URL(target.baseUrl).host} is another service`,
    {
      code: 'NOT_SIGNED_IN',
      tryThis: ['opsctl login --auth-url URL --token-url URL --client-id ID'],
    },
  );
};
/**
 * A new token after a service rejected one with 401: it was revoked early, or the clocks differ. Undefined if the settings
 * contain the token itself, or if the token belongs to another service. A rejected request had no effect, so it can be sent
 * again.
 */
export const replaceToken = async (
  context: AuthContext,
  target: { readonly isMock: boolean },
  refused: string,
  account?: string,
): Promise<AccessToken | undefined> => {
  const found = await accessToken(context, { refused, account });
  const from = found.account?.server ?? found.server;
  const isForHere = from !== undefined && (from === mockKey) === target.isMock;
  if (!isForHere || found.token === refused) return undefined;
  context.log.hide(found.token);
  return found;
};
/**
 * The authorization of a request to the data API; undefined if the user is not signed in, and the service
 * then reports that.
 */
export const requestAuthorization = async (
  context: AuthContext,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly prover?: RequestProver }> => {
  const target = await context.target('api');
  if (target.headers.authorization !== undefined) return { headers: {} };
  try {
    const token = await accessToken(context);
    checkPlace(target, token);
    const headers = { authorization: authorizationOf(token) };
    return token.prover === undefined ? { headers } : { headers, prover: token.prover };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'NOT_SIGNED_IN') return { headers: {} };
    throw error;
  }
};

const endOf = (idToken: string): number => {
  const { exp } = jwtView(idToken, 0).claims;
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
};
const none = (account: Account, why: string): AppError =>
  new AppError('auth', `account ${account.name} has no identity token: ${why}`, {
    code: 'NO_ID_TOKEN',
    tryThis: [`opsctl login --account ${account.name} --add-scope openid`],
  });
type WantedIdToken = { readonly account: string | undefined; readonly minTtlMs: number };
type IdToken = { readonly token: string; readonly expiresMs: number; readonly account: Account };
/** Returns the identity token of an account. A new one is requested if it would expire before `minTtlMs`. */
export const idTokenOf = (context: AuthContext, wanted: WantedIdToken): Promise<IdToken> =>
  withMachineHints(context, () => freshIdToken(context, wanted));
const freshIdToken = async (
  context: AuthContext,
  { account: wanted, minTtlMs }: WantedIdToken,
): Promise<IdToken> => {
  let account = await storedAccount(context, wanted);
  const isGood = (idToken: string | undefined): idToken is string =>
    idToken !== undefined && endOf(idToken) - context.host.now() > minTtlMs;
  if (account.idToken === undefined) throw none(account, 'the scope openid was not granted');
  if (!isGood(account.idToken)) account = await renewAccount(context, account, { minTtlMs: 0, force: true });
  if (!isGood(account.idToken))
    throw none(account, 'it has expired, and the server gives no new one at a refresh');
  return { token: account.idToken, expiresMs: endOf(account.idToken), account };
};
