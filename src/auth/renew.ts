import { AppError } from '../core/problem.ts';
import { notSignedIn, withEndpoints } from './access.ts';
import { sharedFailure } from './shared-failure.ts';
import type { AuthContext } from './auth-context.ts';
import {
  type Account,
  endedAccount,
  isFresh,
  merged,
  type StoredCredentials,
  withChanged,
} from './credential-store/account.ts';
import { openCredentialStore, type CredentialStore } from './credential-store/store.ts';
import type { TokenResponse } from './protocol/token-response.ts';
import { discover } from './protocol/discovery.ts';
import type { TokenClient } from './protocol/token-client.ts';
import { processRefresh, refreshRequest } from './protocol/refresh.ts';
import { sendPatiently } from './protocol/send.ts';

export type Renewal = {
  readonly minTtlMs: number;
  /** A new token even when the stored one seems good: after a 401, or to ask the server. */
  readonly force?: true;
};

const named = (data: StoredCredentials, name: string): Account => {
  const found = data.accounts.find((account) => account.name === name);
  if (found === undefined) throw notSignedIn(`account ${name} was signed out by another command`, name);
  return found;
};

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
const isRenewed = (now: Account, seen: Account, { minTtlMs, force }: Renewal, nowMs: number): boolean =>
  isFresh(now, nowMs, minTtlMs) && (force !== true || now.accessToken !== seen.accessToken);

/** A fresh access token, asked for by one process at a time; the others find its result in the credential store. */
export const renewed = async (context: AuthContext, seen: Account, renewal: Renewal): Promise<Account> => {
  const credentials = openCredentialStore(context);
  const current = async (): Promise<Account> => named(await credentials.read(), seen.name);
  const shared = sharedFailure(context, credentials.failurePath(seen.name));
  const isDone = async (): Promise<boolean> => {
    shared.throwIfLeft();
    return isRenewed(await current(), seen, renewal, context.host.now());
  };
  const lock = await credentials.lockAccount(seen.name, { waitMs: 120_000, signal: context.signal, isDone });
  try {
    const now = await current();
    if (lock === undefined || isRenewed(now, seen, renewal, context.host.now())) return now;
    shared.throwIfLeft();
    return await refreshUnderLock(context, credentials, now).catch(async (error: unknown) => {
      await shared.leave(error);
      throw error;
    });
  } finally {
    await lock?.release();
  }
};

const refreshUnderLock = async (
  context: AuthContext,
  credentials: CredentialStore,
  account: Account,
): Promise<Account> => {
  if (account.refreshToken === undefined) throw ended(account);
  try {
    return await store(context, credentials, account, await ask(context, account));
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'INVALID_GRANT') throw error;
    return afterRefusal(context, credentials, account);
  }
};

/** A token that cannot be kept is good for this command all the same. */
const unkept =
  (context: AuthContext, account: Account, answer: TokenResponse) =>
  (error: unknown): Account => {
    if (!(error instanceof AppError) || error.detail.code !== 'DIRECTORY_UNWRITABLE') throw error;
    const lost =
      answer.refreshToken === undefined
        ? ''
        : '; the service replaced the refresh token, so a new `opsctl login` will be needed';
    context.log.warn(`${error.message}; the new access token is used for this command only${lost}`);
    return merged(account, answer, context.host.now());
  };

const store = (
  context: AuthContext,
  credentials: CredentialStore,
  account: Account,
  answer: TokenResponse,
): Promise<Account> => {
  for (const secret of [answer.accessToken, answer.refreshToken])
    if (secret !== undefined) context.log.hide(secret);
  return credentials
    .change((latest) => withChanged(latest, merged(named(latest, account.name), answer, context.host.now())))
    .then((data) => named(data, account.name), unkept(context, account, answer));
};

/** invalid_grant: another program may have put a newer refresh token there. Only the refused one is dropped. */
const afterRefusal = async (
  context: AuthContext,
  credentials: CredentialStore,
  refused: Account,
): Promise<Account> => {
  const now = named(await credentials.read(), refused.name);
  if (now.refreshToken !== undefined && now.refreshToken !== refused.refreshToken)
    return store(context, credentials, now, await ask(context, now));
  const why = 'the service says that it expired or was revoked';
  const data = await credentials.change((latest) => {
    const stored = named(latest, refused.name);
    return stored.refreshToken === refused.refreshToken
      ? withChanged(latest, endedAccount(stored, why))
      : latest;
  });
  throw ended(named(data, refused.name));
};

/** One refresh at the token endpoint. Failures of the network leave everything as it was. */
const ask = async (context: AuthContext, stored: Account): Promise<TokenResponse> => {
  const account = await withEndpoints(context, stored);
  const { endpoints, clientId, clientSecret, refreshToken = '' } = account;
  const tokenClient: TokenClient = {
    endpoints,
    clientId,
    clientSecret: clientSecret ?? context.settings.get('auth.client_secret')?.value,
  };
  const read = await sendPatiently(context, 'refresh', refreshRequest(tokenClient, refreshToken));
  const metadata = read.text.includes('"id_token"')
    ? await discover(context.host, endpoints, context.signal)
    : undefined;
  return processRefresh(
    { ...tokenClient, issuer: metadata?.issuer, jwksUri: metadata?.jwksUri },
    read,
    context.host,
    context.signal,
  );
};
