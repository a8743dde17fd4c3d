import { hash } from 'node:crypto';
import { AppError, type Category } from '../core/problem.ts';
import { type AuthContext, type Instant, instantNow } from './auth-context.ts';
import {
  type Account,
  isFresh,
  type MachineSignIn,
  mergeTokens,
  personOf,
  type RefreshOutcome,
  type StoredCredentials,
  type Swap,
  swapEnded,
  swapRefreshed,
  swapRefreshFailed,
} from './credential-store/account.ts';
import { type CredentialStore, openCredentialStore } from './credential-store/store.ts';
import { isMachineMethod, machineOptions, machineToken } from './machine/machine-token.ts';
import { discover, readIssuer } from './protocol/discovery.ts';
import { type Endpoints, refreshRequest } from './protocol/token-client.ts';
import { sendWithRetry } from './protocol/send.ts';
import type { TokenResponse } from './protocol/token-response.ts';
import { makeSignedOutError, withEndpoints, tokenClientOf } from './server-profiles.ts';
import { mockKey } from './settings.ts';
import { receiveTokens, revokeToken } from './issued-tokens.ts';

/** The description of an outage, as shown to the user, without secrets. */
type Left = {
  readonly id: string;
  readonly environment: string;
  readonly category: Category;
  readonly message: string;
  readonly detail: Pick<AppError['detail'], 'code' | 'httpStatus' | 'retryable' | 'tryThis'>;
};
export type SharedFailure = {
  /** Informs the waiting processes. */
  leave(error: unknown): Promise<void>;
  /** Throws the outcome that another process recorded since this process started to wait. */
  throwIfLeft(): void;
};
const isOutage = (error: unknown): error is AppError =>
  error instanceof AppError && (error.category === 'network' || error.category === 'rate-limit');
const leftIn = (text: string | undefined): Left | undefined => {
  try {
    const value = JSON.parse(text ?? '') as Left;
    return typeof value.id === 'string' && typeof value.message === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
};
/** Processes share an outcome only if their requests would be equal. */
const environmentOf = ({ host, settings }: AuthContext): string => {
  const env = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [
    host.env[name],
    host.env[name.toLowerCase()],
  ]);
  const all = [
    ...env,
    host.env.NODE_EXTRA_CA_CERTS,
    settings.get('ca_file')?.value,
    settings.get('timeout')?.value,
  ];
  return hash('sha256', JSON.stringify(all)).slice(0, 16);
};
/**
 * Many concurrent commands find the same expired token: one sends the request, the others wait for its lock.
 * If the service fails, they share its result. Otherwise fifty commands would wait for fifty timeouts, one
 * after another. Commands that start later send a new request.
 */
export const sharedFailure = (context: AuthContext, path: string): SharedFailure => {
  const { host } = context;
  const last = (): Left | undefined => leftIn(host.files.readNow(path));
  const before = last()?.id;
  const environment = environmentOf(context);
  return {
    leave: async (error) => {
      if (!isOutage(error)) return;
      const { code, httpStatus, retryable, tryThis } = error.detail;
      const id = Buffer.from(host.random(12)).toString('hex');
      const left: Left = {
        id,
        environment,
        category: error.category,
        message: error.message,
        detail: { code, httpStatus, retryable, tryThis },
      };
      // Only an optimization for other processes: a full disk must not hide the response of the service.
      await host.files.replace(path, JSON.stringify(left), 0o600).catch(() => undefined);
    },
    throwIfLeft: () => {
      const now = last();
      if (now !== undefined && now.id !== before && now.environment === environment)
        throw new AppError(now.category, now.message, now.detail);
    },
  };
};

export type Renewal = {
  readonly minTtlMs: number;
  /** A new token even when the stored one seems good: after a 401, or to ask the server. */
  readonly force?: true;
};
const findAccount = (data: StoredCredentials, name: string): Account => {
  const found = data.accounts.find((account) => account.name === name);
  if (found === undefined) throw signedOutMeanwhile(name);
  return found;
};
const signedOutMeanwhile = (name: string): AppError =>
  makeSignedOutError(`account ${name} was signed out by another command`, name);
const makeEndedError = (account: Account): AppError =>
  new AppError(
    'auth',
    `the sign-in of ${account.name} is no longer valid: ${account.ended ?? 'there is no refresh token'}`,
    {
      code: account.ended === undefined ? 'NO_REFRESH_TOKEN' : 'SIGN_IN_ENDED',
      tryThis: [`opsctl login --account ${account.name}`],
    },
  );
/** Is what the credential store holds now newer than what the caller had seen, and good enough? */
const isRenewed = (now: Account, seen: Account, { minTtlMs, force }: Renewal, instant: Instant): boolean =>
  isFresh(now, instant, minTtlMs) && (force !== true || now.accessToken !== seen.accessToken);
/** A fresh access token, asked for by one process at a time; the others find its result in the credential store. */
export const renewAccount = async (
  context: AuthContext,
  seen: Account,
  renewal: Renewal,
): Promise<Account> => {
  const credentials = openCredentialStore(context, seen.server);
  const current = async (): Promise<Account> => findAccount(await credentials.read(), seen.name);
  const shared = sharedFailure(context, credentials.failurePath(seen.name));
  const isDone = async (): Promise<boolean> => {
    shared.throwIfLeft();
    return isRenewed(await current(), seen, renewal, instantNow(context.host));
  };
  const lock = await credentials.lockAccount(seen.name, { waitMs: 120_000, signal: context.signal, isDone });
  try {
    const now = await current();
    if (lock === undefined || isRenewed(now, seen, renewal, instantNow(context.host))) return now;
    shared.throwIfLeft();
    return await refreshUnderLock(context, credentials, now, renewal.minTtlMs).catch(
      async (error: unknown) => {
        await shared.leave(error);
        throw error;
      },
    );
  } finally {
    await lock?.release();
  }
};
/** The account after a refresh; another process may have changed it while the request was under way. */
const refreshUnderLock = async (
  context: AuthContext,
  credentials: CredentialStore,
  first: Account,
  minTtlMs: number,
): Promise<Account> => {
  let account = first;
  for (let attempt = 0; attempt < maxRefreshes; attempt++) {
    if (account.refreshToken === undefined && account.method === undefined) throw makeEndedError(account);
    const { latest, isDone } = await refreshOnce(context, credentials, account);
    if (isDone || isFresh(latest, instantNow(context.host), minTtlMs)) return latest;
    account = latest;
  }
  throw keepsChanging(first.name);
};
/**
 * Each failed round lost to another writer, which made progress. More than a few rounds mean that a writer
 * never stops.
 */
const maxRefreshes = 5;
const keepsChanging = (name: string): AppError =>
  new AppError('network', `account ${name} is changed by other commands all the time`, {
    code: 'ACCOUNT_BUSY',
    retryable: true,
    tryThis: ['try again'],
  });
type Refreshed = { readonly latest: Account; readonly isDone: boolean };
const refreshOnce = async (
  context: AuthContext,
  credentials: CredentialStore,
  account: Account,
): Promise<Refreshed> => {
  const asked = instantNow(context.host);
  try {
    return await store(context, credentials, account, await ask(context, account), asked);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.detail.code !== 'INVALID_GRANT') return noteRejection(context, credentials, account, error);
    return { latest: await afterRefusal(credentials, account), isDone: false };
  }
};
/**
 * The server rejected the request, so `auth status` must not report a working sign-in. An outage has no such
 * meaning.
 */
const noteRejection = async (
  { host, log }: AuthContext,
  credentials: CredentialStore,
  account: Account,
  error: AppError,
): Promise<never> => {
  const { code = 'REJECTED' } = error.detail;
  const isRejection = error.category === 'auth' || error.category === 'refused';
  if (isRejection && account.refreshToken !== undefined)
    await credentials
      .swap((data) => swapRefreshFailed(data, account, { code, atMs: host.now() }))
      .catch((failed: unknown) => log.debug(`the rejection is not noted: ${String(failed)}`));
  throw error;
};
const unkeepable = new Set(['DIRECTORY_UNWRITABLE', 'LOCK_BUSY']);
/** A token that cannot be stored is still valid for this command. */
const useUnstoredToken =
  (context: AuthContext, account: Account, answer: TokenResponse, asked: Instant) =>
  (error: unknown): Refreshed => {
    if (!(error instanceof AppError) || !unkeepable.has(error.detail.code ?? '')) throw error;
    const lost =
      answer.refreshToken === undefined
        ? ''
        : '; the service replaced the refresh token, so a new `opsctl login` will be needed';
    context.log.warn(`${error.message}; the new access token is used for this command only${lost}`);
    return { latest: mergeTokens(account, answer, asked), isDone: true };
  };
const store = async (
  context: AuthContext,
  credentials: CredentialStore,
  account: Account,
  answer: TokenResponse,
  asked: Instant,
): Promise<Refreshed> => {
  for (const secret of [answer.accessToken, answer.refreshToken])
    if (secret !== undefined) context.log.hide(secret);
  const storeOutcome = (swap: Swap<RefreshOutcome>): Promise<Refreshed> | Refreshed => {
    if (swap.outcome === 'signed-out') return leftover(context, account, answer);
    const latest = findAccount(swap.data, account.name);
    if (swap.outcome === 'ended') throw makeEndedError(latest);
    return { latest, isDone: swap.outcome === 'stored' };
  };
  return credentials
    .swap((data) => swapRefreshed(data, account, answer, asked))
    .then(storeOutcome, useUnstoredToken(context, account, answer, asked));
};
/** Signed out while the request was under way: what the service gave for it must not stay valid, and is not used. */
const leftover = async (context: AuthContext, account: Account, answer: TokenResponse): Promise<never> => {
  const token = answer.refreshToken ?? answer.accessToken;
  await revokeToken(context, account, token).catch(() => undefined);
  throw signedOutMeanwhile(account.name);
};
/** invalid_grant: another program may have put a newer refresh token there. Only the refused one is dropped. */
const afterRefusal = async (credentials: CredentialStore, refused: Account): Promise<Account> => {
  const why = 'the service reports that it expired or was revoked';
  const { data, outcome } = await credentials.swap((latest) => swapEnded(latest, refused, why));
  const latest = findAccount(data, refused.name);
  if (outcome === 'ended') throw makeEndedError(latest);
  return latest;
};
/** Sends one refresh to the token endpoint. Network failures change no stored data. */
const ask = async (context: AuthContext, stored: Account): Promise<TokenResponse> => {
  if (stored.method !== undefined) return askForMachine(context, stored, stored.method);
  const account = await withEndpoints(context, stored);
  try {
    return await refreshAt(context, account);
  } catch (error) {
    const endpoints = await movedEndpoints(context, account, error);
    if (endpoints === undefined) throw error;
    return { ...(await refreshAt(context, { ...account, endpoints })), endpoints };
  }
};
const refreshAt = async (context: AuthContext, account: Account): Promise<TokenResponse> => {
  const tokenClient = await tokenClientOf(context, account);
  const read = await sendWithRetry(
    context,
    'refresh',
    refreshRequest(tokenClient, account.refreshToken ?? ''),
    tokenClient.prover,
  );
  const metadata = read.text.includes('"id_token"')
    ? await discover(context.host, account.endpoints, context.signal, account.issuer)
    : undefined;
  const client = { ...tokenClient, issuer: metadata?.issuer, jwksUri: metadata?.jwksUri };
  return receiveTokens(context, 'refresh', client, account, read, {
    kind: 'refresh',
    person: personOf(account),
    requested: account.requested,
  });
};
const isGone = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.detail.code === 'REDIRECTED' || [404, 405, 410].includes(error.detail.httpStatus ?? 0));
/** The endpoints that the issuer publishes now, if its token endpoint is no longer the one of the account. */
const movedEndpoints = async (
  context: AuthContext,
  { issuer, endpoints }: Account,
  error: unknown,
): Promise<Endpoints | undefined> => {
  if (issuer === undefined || !isGone(error)) return undefined;
  const metadata = await readIssuer(context, issuer).catch(() => undefined);
  if (metadata === undefined || metadata.endpoints.token === endpoints.token) return undefined;
  context.log.info(`The token endpoint of ${issuer} has moved to ${metadata.endpoints.token}.`);
  return metadata.endpoints;
};
/** A machine has no refresh token: it signs in again with the same method. */
const askForMachine = async (
  context: AuthContext,
  stored: Account,
  { name, keyFile, audience, scopes, params }: MachineSignIn,
): Promise<TokenResponse> => {
  if (!isMachineMethod(name)) throw makeEndedError(stored);
  const { endpoints, clientId, clientSecret } = await withEndpoints(context, stored);
  const given =
    stored.server === mockKey
      ? {}
      : { authUrl: endpoints.authorize ?? endpoints.token, tokenUrl: endpoints.token };
  const options = machineOptions(context, name, { keyFile, audience, scopes, params });
  // The tokens of an account stay bound to its key, or stay Bearer tokens, regardless of the current setting.
  const binding = { dpop: false, ...(stored.dpopKey === undefined ? {} : { dpopKey: stored.dpopKey }) };
  const token = await machineToken(context, options, { ...given, clientId, clientSecret, ...binding });
  return token.response;
};
