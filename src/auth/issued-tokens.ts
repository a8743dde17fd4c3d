/** The tokens of an account at their issuer: checking a token response, revoking tokens, and signing out. */
import { hash } from 'node:crypto';
import { join } from 'node:path';
import { AppError } from '../core/problem.ts';
import { isRecord } from '../core/shape.ts';
import type { AuthContext } from './auth-context.ts';
import { type Account, findAccount, swapEnded, swapRemoved } from './credential-store/account.ts';
import {
  acquire,
  type Lock,
  type LockOptions,
  makePrivateDirectory,
  readGuarded,
  writeGuarded,
} from './credential-store/guarded-file.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { lookAt } from '../platform/file-lock.ts';
import type { Host, HttpRequest } from '../platform/host.ts';
import { discover, type KeyMemory, keyPauseMs, safeUrl } from './protocol/discovery.ts';
import {
  isRevokeGuessed,
  type HttpResponse,
  type TokenClient,
  type Tolerance,
  toleranceLine,
  revokeRequest,
  standardRevokeRequest,
} from './protocol/token-client.ts';
import { rejectedBody } from './protocol/read-response.ts';
import { withEndpoints, tokenClientOf } from './server-profiles.ts';
import {
  type Checks,
  type Revoked,
  type TokenResponse,
  processRevoke,
  processTokenResponse,
} from './protocol/token-response.ts';
import { sendWithRetry } from './protocol/send.ts';
import type { LoginServer } from './settings.ts';

type Form = (client: TokenClient, token: string) => HttpRequest;
type Revocation = { readonly client: TokenClient; readonly forms: readonly Form[] };

/**
 * The server's published revocation data: its endpoint and the standard form, in which no token is part of a
 * URL.
 */
const publishedRevocation = async (
  context: AuthContext,
  client: TokenClient,
  issuer: string | undefined,
): Promise<Revocation | 'none' | 'unknown'> => {
  const metadata = await discover(context.host, client.endpoints, context.signal, issuer);
  if (metadata === undefined) return 'unknown';
  const revoke = safeUrl(metadata.raw.revocation_endpoint);
  if (revoke === undefined) return 'none';
  const endpoints = { ...client.endpoints, revoke };
  return { client: { ...client, endpoints }, forms: [standardRevokeRequest, revokeRequest] };
};

const noRevocation = (server: string): AppError =>
  new AppError('not-found', `${server} publishes no revocation endpoint, so no token was revoked`, {
    code: 'NO_REVOCATION_ENDPOINT',
    tryThis: ['opsctl login --revoke-url URL, when the server has one that it does not publish'],
  });

const sendForms = async (
  context: AuthContext,
  { client, forms }: Revocation,
  token: string,
): Promise<Exclude<Revoked, 'wants-standard'>> => {
  for (const form of forms) {
    const received = await sendWithRetry(context, 'revoke', form(client, token));
    const outcome = processRevoke(received, context.host.now());
    if (outcome !== 'wants-standard') return outcome;
  }
  throw new AppError('refused', 'revoke: the service refuses both the documented and the standard form', {
    code: 'REVOKE_REFUSED',
    tryThis: ['check --revoke-url, --client-id and the client secret'],
  });
};

const isWrongPlace = (error: unknown): boolean =>
  error instanceof AppError && (error.detail.httpStatus === 404 || error.detail.httpStatus === 405);

/**
 * Revokes one token: as published by the server if its metadata is known, otherwise in the documented form at
 * a possibly guessed URL. A server that is configured by its issuer follows the standard, so a token is never
 * sent in a URL first.
 */
export const revokeToken = async (
  context: AuthContext,
  account: Pick<Account, 'endpoints' | 'clientId' | 'clientSecret' | 'clientAuth' | 'issuer' | 'server'>,
  token: string,
): Promise<Exclude<Revoked, 'wants-standard'>> => {
  const client = await tokenClientOf(context, await withEndpoints(context, account));
  const { issuer, server } = account;
  const isGuessed = isRevokeGuessed(client.endpoints);
  const published = issuer === undefined ? 'unknown' : await publishedRevocation(context, client, issuer);
  if (typeof published === 'object') return sendForms(context, published, token);
  if (published === 'none' && isGuessed) throw noRevocation(server);
  const forms =
    issuer === undefined ? [revokeRequest, standardRevokeRequest] : [standardRevokeRequest, revokeRequest];
  try {
    return await sendForms(context, { client, forms }, token);
  } catch (error) {
    if (!isWrongPlace(error) || !isGuessed) throw error;
    const found = await publishedRevocation(context, client, issuer);
    if (found === 'none') throw noRevocation(server);
    if (found === 'unknown') throw error;
    return sendForms(context, found, token);
  }
};

/** The credential stays if the service does not confirm. The error names the next command. */
const orLocally = (error: unknown): never => {
  if (!(error instanceof AppError) || error.category === 'interrupted') throw error;
  const { tryThis = [], ...detail } = error.detail;
  const local = 'opsctl logout --local (forgets the tokens here; they stay valid at the service)';
  const others = tryThis.filter((each) => !local.startsWith(each.toString()));
  throw new AppError(error.category, error.message, { ...detail, tryThis: [...others, local] });
};

export type SignedOut = {
  readonly account: string;
  readonly revoked: boolean;
  /** False if the account was signed in again in the meantime: that sign-in stays. */
  readonly removed: boolean;
};

/** A rotated token is followed to its successor; a server that rotates at every step would never end. */
const maxRotations = 5;

/** RFC 7009 2.2.1: a server that revokes no refresh tokens revokes the access token at least. */
const revokeStored = async (context: AuthContext, account: Account): Promise<true> => {
  const { refreshToken, accessToken } = account;
  try {
    await revokeToken(context, account, refreshToken ?? accessToken ?? '');
  } catch (error) {
    const isOther = error instanceof AppError && error.detail.code === 'UNSUPPORTED_TOKEN_TYPE';
    if (!isOther || refreshToken === undefined || accessToken === undefined) throw error;
    await revokeToken(context, account, accessToken);
    context.log.warn(
      `${account.server} revokes access tokens only: the refresh token of ${account.name} stays valid there.`,
    );
  }
  return true;
};
/**
 * A server without revocation does not prevent a local sign-out. The output lists the tokens that stay valid
 * there.
 */
const orUnrevoked = (context: AuthContext, account: Account, error: unknown): false => {
  if (!(error instanceof AppError) || error.detail.code !== 'NO_REVOCATION_ENDPOINT') return orLocally(error);
  const kinds = [
    account.refreshToken === undefined ? [] : ['the refresh token'],
    account.accessToken === undefined ? [] : ['the access token'],
  ].flat();
  context.log.warn(
    `${account.server} has no revocation endpoint: ${kinds.join(' and ')} of ${account.name} can be used at the server until they expire. Remove the access of the application in the settings of your account there to end it now.`,
  );
  return false;
};
/**
 * Revoking the refresh token also revokes its access tokens. After a network failure the credential stays, so
 * that no valid token is forgotten.
 */
export const signOut = async (context: AuthContext, read: Account, isLocal: boolean): Promise<SignedOut> => {
  const credentials = openCredentialStore(context, read.server);
  let account = read;
  let revoked = false;
  for (let rotation = 0; rotation < maxRotations; rotation++) {
    const token = account.refreshToken ?? account.accessToken;
    if (!isLocal && token !== undefined) {
      const current = account;
      revoked = await revokeStored(context, current).catch((error: unknown) =>
        orUnrevoked(context, current, error),
      );
    }
    const { data, outcome } = await credentials.swap((latest) => swapRemoved(latest, account));
    if (outcome === 'replaced') {
      context.log.warn(`Account ${read.name} was signed in again in the meantime; that sign-in stays.`);
      return { account: read.name, revoked, removed: false };
    }
    const newer = findAccount(data, read.name);
    if (outcome !== 'refreshed' || newer === undefined) return { account: read.name, revoked, removed: true };
    account = newer;
  }
  throw new AppError('network', `account ${read.name} is refreshed by other commands all the time`, {
    code: 'ACCOUNT_BUSY',
    retryable: true,
    tryThis: ['end the commands that use it, then opsctl logout again'],
  });
};

/** Revokes one token and deletes the stored data of its sign-in. The account stays in the list. */
export const revokeSignIn = async (
  context: AuthContext,
  account: Account,
  token: string,
): Promise<{ readonly revoked: Awaited<ReturnType<typeof revokeToken>>; readonly account: Account }> => {
  const revoked = await revokeToken(context, account, token);
  const why = 'revoked with opsctl auth revoke';
  const { data } = await openCredentialStore(context, account.server).swap((latest) =>
    swapEnded(latest, account, why),
  );
  return { revoked, account: findAccount(data, account.name) ?? account };
};

/** The side of the server that issued the tokens. */
export type Issuer = Parameters<typeof revokeToken>[1];

export const issuerOf = (server: LoginServer): Issuer => ({
  server: server.key,
  endpoints: server.endpoints,
  clientId: server.clientId,
  ...(server.clientSecret === undefined ? {} : { clientSecret: server.clientSecret }),
  ...(server.clientAuth === undefined ? {} : { clientAuth: server.clientAuth }),
  ...(server.metadata === undefined ? {} : { issuer: server.metadata.issuer }),
});

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/**
 * Revokes tokens that opsctl does not keep, because they would otherwise stay valid at the server. A failure
 * is only reported.
 */
export const revokeDiscarded = async (
  context: AuthContext,
  issuer: Issuer,
  tokens: readonly (string | undefined)[],
): Promise<void> => {
  for (const token of new Set(tokens)) {
    if (token === undefined) continue;
    context.log.hide(token);
    try {
      await revokeToken(context, issuer, token);
    } catch (error) {
      context.log.warn(
        `A token that opsctl discarded could not be revoked and stays valid at the server (${error instanceof AppError ? error.message : 'the revocation failed'}).`,
      );
      return;
    }
  }
};

const reported = new WeakMap<AuthContext['log'], Set<string>>();
/** With `-v`: each deviation of the server once per command. */
export const reportDeviations = (
  { log }: Pick<AuthContext, 'log'>,
  what: string,
  deviations: readonly Tolerance[],
): void => {
  const before = reported.get(log) ?? new Set();
  reported.set(log, before);
  for (const name of deviations)
    if (!before.has(name)) {
      before.add(name);
      log.debug(toleranceLine(what, name));
    }
};

type Keys = Parameters<KeyMemory['note']>[1];
type Remembered = { readonly url: string; readonly atMs: number; readonly keys: Keys };
const mostRemembered = 20;
const rememberedIn = (text: string | undefined, nowMs: number): readonly Remembered[] => {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return (Array.isArray(value) ? value : []).filter(
      (each): each is Remembered =>
        isRecord(each) &&
        typeof each.url === 'string' &&
        typeof each.atMs === 'number' &&
        Array.isArray(each.keys) &&
        // A clock that was set back must not make the pause longer.
        each.atMs <= nowMs &&
        nowMs - each.atMs < keyPauseMs,
    );
  } catch {
    return [];
  }
};
/** A request for keys ends within this time, so a lock that is held longer does not protect one. */
const longestKeyRequestMs = 12_000;
/** Another machine may have crashed with the lock, and nobody can check its process. A wrong clock must not lengthen the wait. */
const acquireKeyLock = async (
  host: Host,
  path: string,
  options: Omit<LockOptions, 'waitMs'>,
): Promise<Lock | undefined> => {
  const seen = await lookAt(host, path);
  const sinceMs = seen.kind === 'held' ? seen.by?.sinceMs : undefined;
  if (sinceMs !== undefined && Math.abs(host.now() - sinceMs) > longestKeyRequestMs)
    await host.files.remove(path);
  return acquire(host, path, { ...options, waitMs: longestKeyRequestMs });
};
const nameOf = (url: string): string => hash('sha256', url);
export const keyMemory = ({
  host,
  settings,
  signal,
}: Pick<AuthContext, 'host' | 'settings' | 'signal'>): KeyMemory => {
  const path = join(settings.directories.state, 'unknown-keys.json');
  const read = async (): Promise<readonly Remembered[]> =>
    rememberedIn(await readGuarded(host, path).catch(() => undefined), host.now());
  const recall: KeyMemory['recall'] = async (url) =>
    (await read()).find((each) => each.url === nameOf(url))?.keys;
  return {
    recall,
    alone: async (url, work) => {
      // The lock saves requests only: without it, processes that start in the same moment each send one.
      const lockPath = `${path}.${nameOf(url)}.lock`;
      const lock = await makePrivateDirectory(host, settings.directories.state)
        .then(() =>
          acquireKeyLock(host, lockPath, {
            signal,
            isDone: async () => (await recall(url)) !== undefined,
          }),
        )
        .catch(() => undefined);
      try {
        return await work();
      } finally {
        await lock?.release().catch(() => undefined);
      }
    },
    note: async (url, keys) => {
      const others = (await read()).filter((each) => each.url !== nameOf(url));
      const next = [...others, { url: nameOf(url), atMs: host.now(), keys }].slice(-mostRemembered);
      // It saves requests only: a disk that accepts no file must not cost a sign-in.
      await makePrivateDirectory(host, settings.directories.state)
        .then(() => writeGuarded(host, path, JSON.stringify(next)))
        .catch(() => undefined);
    },
  };
};

/** Checks a token response. Tokens in a rejected response are revoked: the code or the refresh token that bought them is spent. */
export const receiveTokens = async (
  context: AuthContext,
  what: string,
  tokenClient: TokenClient,
  issuer: Issuer,
  received: HttpResponse,
  checks: Checks,
): Promise<TokenResponse> => {
  try {
    const response = await processTokenResponse(
      what,
      tokenClient,
      received,
      { ...checks, keyMemory: keyMemory(context) },
      context.host,
      context.signal,
    );
    reportDeviations(context, what, response.deviations ?? []);
    return response;
  } catch (error) {
    const { refresh_token: refresh, access_token: access } = rejectedBody(received);
    await revokeDiscarded(context, issuer, [textOf(refresh), textOf(access)]);
    throw error;
  }
};
