import { AppError } from '../core/problem.ts';
import { notSignedIn, withEndpoints } from './access.ts';
import { sharedFailure } from './shared-failure.ts';
import type { AuthContext } from './auth-context.ts';
import {
  type Account,
  isFresh,
  type MachineSignIn,
  merged,
  personOf,
  type StoredCredentials,
} from './credential-store/account.ts';
import {
  type RefreshOutcome,
  type Swap,
  swapEnded,
  swapRefreshed,
} from './credential-store/compare-and-swap.ts';
import { type Instant, instantNow } from './clock.ts';
import { revokeToken } from './sign-out.ts';
import { receiveTokens } from './receive-tokens.ts';
import { machineOptions, machineToken } from './machine/machine-token.ts';
import { isMachineMethod } from './machine/methods.ts';
import { mockKey } from './settings.ts';
import { tokenClientOf } from './token-client-of.ts';
import { openCredentialStore, type CredentialStore } from './credential-store/store.ts';
import type { TokenResponse } from './protocol/token-response.ts';
import { discover } from './protocol/discovery.ts';
import { refreshRequest } from './protocol/refresh.ts';
import { sendPatiently } from './protocol/send.ts';

export type Renewal = {
  readonly minTtlMs: number;
  /** A new token even when the stored one seems good: after a 401, or to ask the server. */
  readonly force?: true;
};

const named = (data: StoredCredentials, name: string): Account => {
  const found = data.accounts.find((account) => account.name === name);
  if (found === undefined) throw signedOutMeanwhile(name);
  return found;
};
const signedOutMeanwhile = (name: string): AppError =>
  notSignedIn(`account ${name} was signed out by another command`, name);

const ended = (account: Account): AppError =>
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
export const renewed = async (context: AuthContext, seen: Account, renewal: Renewal): Promise<Account> => {
  const credentials = openCredentialStore(context, seen.server);
  const current = async (): Promise<Account> => named(await credentials.read(), seen.name);
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
    if (account.refreshToken === undefined && account.method === undefined) throw ended(account);
    const { latest, isDone } = await refreshOnce(context, credentials, account);
    if (isDone || isFresh(latest, instantNow(context.host), minTtlMs)) return latest;
    account = latest;
  }
  throw keepsChanging(first.name);
};
/** Each round lost to another writer, which has made progress; more than a few mean that something writes without end. */
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
    if (!(error instanceof AppError) || error.detail.code !== 'INVALID_GRANT') throw error;
    return { latest: await afterRefusal(credentials, account), isDone: false };
  }
};

const unkeepable = new Set(['DIRECTORY_UNWRITABLE', 'LOCK_BUSY']);
/** A token that cannot be kept is good for this command all the same. */
const unkept =
  (context: AuthContext, account: Account, answer: TokenResponse, asked: Instant) =>
  (error: unknown): Refreshed => {
    if (!(error instanceof AppError) || !unkeepable.has(error.detail.code ?? '')) throw error;
    const lost =
      answer.refreshToken === undefined
        ? ''
        : '; the service replaced the refresh token, so a new `opsctl login` will be needed';
    context.log.warn(`${error.message}; the new access token is used for this command only${lost}`);
    return { latest: merged(account, answer, asked), isDone: true };
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
  const stored = (swap: Swap<RefreshOutcome>): Promise<Refreshed> | Refreshed => {
    if (swap.outcome === 'signed-out') return leftover(context, account, answer);
    const latest = named(swap.data, account.name);
    if (swap.outcome === 'ended') throw ended(latest);
    return { latest, isDone: swap.outcome === 'stored' };
  };
  return credentials
    .swap((data) => swapRefreshed(data, account, answer, asked))
    .then(stored, unkept(context, account, answer, asked));
};

/** Signed out while the request was under way: what the service gave for it must not stay valid, and is not used. */
const leftover = async (context: AuthContext, account: Account, answer: TokenResponse): Promise<never> => {
  const token = answer.refreshToken ?? answer.accessToken;
  await revokeToken(context, account, token).catch(() => undefined);
  throw signedOutMeanwhile(account.name);
};

/** invalid_grant: another program may have put a newer refresh token there. Only the refused one is dropped. */
const afterRefusal = async (credentials: CredentialStore, refused: Account): Promise<Account> => {
  const why = 'the service says that it expired or was revoked';
  const { data, outcome } = await credentials.swap((latest) => swapEnded(latest, refused, why));
  const latest = named(data, refused.name);
  if (outcome === 'ended') throw ended(latest);
  return latest;
};

/** One refresh at the token endpoint. Failures of the network leave everything as it was. */
const ask = async (context: AuthContext, stored: Account): Promise<TokenResponse> => {
  if (stored.method !== undefined) return askForMachine(context, stored, stored.method);
  const account = await withEndpoints(context, stored);
  const tokenClient = await tokenClientOf(context, account);
  const read = await sendPatiently(
    context,
    'refresh',
    refreshRequest(tokenClient, account.refreshToken ?? ''),
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

/** A machine has no refresh token: it signs in again as it did. */
const askForMachine = async (
  context: AuthContext,
  stored: Account,
  { name, keyFile, audience, scopes }: MachineSignIn,
): Promise<TokenResponse> => {
  if (!isMachineMethod(name)) throw ended(stored);
  const { endpoints, clientId, clientSecret } = await withEndpoints(context, stored);
  const given = stored.server === mockKey ? {} : { authUrl: endpoints.authorize, tokenUrl: endpoints.token };
  const options = machineOptions(context, name, { keyFile, audience, scopes });
  const token = await machineToken(context, options, { ...given, clientId, clientSecret });
  return token.response;
};
