import { AppError } from '../core/problem.ts';
import { notSignedIn, withEndpoints } from './access.ts';
import { sharedFailure } from './shared-failure.ts';
import type { Surroundings } from './auth-context.ts';
import {
  type Account,
  endedAccount,
  isFresh,
  merged,
  type VaultData,
  withChanged,
} from './credential-store/account.ts';
import { openVault, type Vault } from './credential-store/store.ts';
import type { Answer } from './protocol/token-response.ts';
import { discover } from './protocol/discovery.ts';
import type { Party } from './protocol/token-client.ts';
import { processRefresh, refreshRequest } from './protocol/refresh.ts';
import { sendPatiently } from './protocol/send.ts';

export type Renewal = {
  readonly minTtlMs: number;
  /** A new token even when the stored one seems good: after a 401, or to ask the server. */
  readonly force?: true;
};

const named = (data: VaultData, name: string): Account => {
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

/** Is what the vault holds now newer than what the caller had seen, and good enough? */
const isRenewed = (now: Account, seen: Account, { minTtlMs, force }: Renewal, nowMs: number): boolean =>
  isFresh(now, nowMs, minTtlMs) && (force !== true || now.accessToken !== seen.accessToken);

/** A fresh access token, asked for by one process at a time; the others find its result in the vault. */
export const renewed = async (around: Surroundings, seen: Account, renewal: Renewal): Promise<Account> => {
  const vault = openVault(around);
  const current = async (): Promise<Account> => named(await vault.read(), seen.name);
  const shared = sharedFailure(around, vault.failurePath(seen.name));
  const isDone = async (): Promise<boolean> => {
    shared.throwIfLeft();
    return isRenewed(await current(), seen, renewal, around.host.now());
  };
  const lock = await vault.lockAccount(seen.name, { waitMs: 120_000, signal: around.signal, isDone });
  try {
    const now = await current();
    if (lock === undefined || isRenewed(now, seen, renewal, around.host.now())) return now;
    shared.throwIfLeft();
    return await refreshUnderLock(around, vault, now).catch(async (error: unknown) => {
      await shared.leave(error);
      throw error;
    });
  } finally {
    await lock?.release();
  }
};

const refreshUnderLock = async (around: Surroundings, vault: Vault, account: Account): Promise<Account> => {
  if (account.refreshToken === undefined) throw ended(account);
  try {
    return await store(around, vault, account, await ask(around, account));
  } catch (error) {
    if (!(error instanceof AppError) || error.detail.code !== 'INVALID_GRANT') throw error;
    return afterRefusal(around, vault, account);
  }
};

/** A token that cannot be kept is good for this command all the same. */
const unkept =
  (around: Surroundings, account: Account, answer: Answer) =>
  (error: unknown): Account => {
    if (!(error instanceof AppError) || error.detail.code !== 'DIRECTORY_UNWRITABLE') throw error;
    const lost =
      answer.refreshToken === undefined
        ? ''
        : '; the service replaced the refresh token, so a new `opsctl login` will be needed';
    around.log.warn(`${error.message}; the new access token is used for this command only${lost}`);
    return merged(account, answer, around.host.now());
  };

const store = (around: Surroundings, vault: Vault, account: Account, answer: Answer): Promise<Account> => {
  for (const secret of [answer.accessToken, answer.refreshToken])
    if (secret !== undefined) around.log.hide(secret);
  return vault
    .change((latest) => withChanged(latest, merged(named(latest, account.name), answer, around.host.now())))
    .then((data) => named(data, account.name), unkept(around, account, answer));
};

/** invalid_grant: another program may have put a newer refresh token there. Only the refused one is dropped. */
const afterRefusal = async (around: Surroundings, vault: Vault, refused: Account): Promise<Account> => {
  const now = named(await vault.read(), refused.name);
  if (now.refreshToken !== undefined && now.refreshToken !== refused.refreshToken)
    return store(around, vault, now, await ask(around, now));
  const why = 'the service says that it expired or was revoked';
  const data = await vault.change((latest) => {
    const stored = named(latest, refused.name);
    return stored.refreshToken === refused.refreshToken
      ? withChanged(latest, endedAccount(stored, why))
      : latest;
  });
  throw ended(named(data, refused.name));
};

/** One refresh at the token endpoint. Failures of the network leave everything as it was. */
const ask = async (around: Surroundings, stored: Account): Promise<Answer> => {
  const account = await withEndpoints(around, stored);
  const { endpoints, clientId, clientSecret, refreshToken = '' } = account;
  const party: Party = {
    endpoints,
    clientId,
    clientSecret: clientSecret ?? around.settings.get('auth.client_secret')?.value,
  };
  const read = await sendPatiently(around, 'refresh', refreshRequest(party, refreshToken));
  const metadata = read.text.includes('"id_token"')
    ? await discover(around.host, endpoints, around.signal)
    : undefined;
  return processRefresh(
    { ...party, issuer: metadata?.issuer, jwksUri: metadata?.jwksUri },
    read,
    around.host,
    around.signal,
  );
};
