import type { Instant } from '../clock.ts';
import { missing } from '../scopes.ts';
import type { TokenResponse } from '../protocol/token-response.ts';
import {
  type Account,
  accountNamed,
  endedAccount,
  isSamePerson,
  merged,
  personOf,
  type StoredCredentials,
  withAccount,
  withChanged,
  withoutAccount,
} from './account.ts';

/**
 * Every operation on an account reads it, asks a server, and writes. Between the two another process may have written.
 * Each function here says what a writer may still do, given what it had read and what is stored now; nothing else in the
 * program changes an account. All are pure: the store runs them with no other process between.
 */
export type Swap<Outcome extends string> = {
  readonly data: StoredCredentials;
  readonly outcome: Outcome;
};

const isSameSignIn = (left: Account, right: Account): boolean => left.signIn === right.signIn;

/**
 * - `stored`: the new tokens are in the store.
 * - `superseded`: another process refreshed or signed in; its tokens stay.
 * - `ask-again`: the access token was dropped meanwhile (a security event), so the new one may be older than the event.
 * - `ended`, `signed-out`: the sign-in is over; the new tokens must not bring it back.
 */
export type RefreshOutcome = 'stored' | 'superseded' | 'ask-again' | 'ended' | 'signed-out';

export const swapRefreshed = (
  data: StoredCredentials,
  used: Account,
  response: TokenResponse,
  asked: Instant,
): Swap<RefreshOutcome> => {
  const latest = accountNamed(data, used.name);
  if (latest === undefined) return { data, outcome: 'signed-out' };
  if (!isSameSignIn(latest, used)) return { data, outcome: 'superseded' };
  if (latest.ended !== undefined) return { data, outcome: 'ended' };
  if (latest.refreshToken !== used.refreshToken) return { data, outcome: 'superseded' };
  if (latest.accessToken === used.accessToken)
    return { data: withChanged(data, merged(latest, response, asked)), outcome: 'stored' };
  // The refresh token that was used may be spent: its successor is kept whatever happens to the access token.
  const kept =
    response.refreshToken === undefined || response.refreshToken === latest.refreshToken
      ? data
      : withChanged(data, { ...latest, refreshToken: response.refreshToken });
  return { data: kept, outcome: latest.accessToken === undefined ? 'ask-again' : 'superseded' };
};

/** Drops the tokens that the service refused or that were revoked, and no newer ones. */
export const swapEnded = (
  data: StoredCredentials,
  read: Account,
  why: string,
): Swap<'ended' | 'superseded' | 'signed-out'> => {
  const latest = accountNamed(data, read.name);
  if (latest === undefined) return { data, outcome: 'signed-out' };
  if (!isSameSignIn(latest, read) || latest.refreshToken !== read.refreshToken)
    return { data, outcome: 'superseded' };
  return { data: withChanged(data, endedAccount(latest, why)), outcome: 'ended' };
};

/** `refreshed`: the same sign-in has a newer refresh token, which has to be revoked as well. `replaced`: somebody signed in anew. */
export const swapRemoved = (
  data: StoredCredentials,
  read: Account,
): Swap<'removed' | 'refreshed' | 'replaced' | 'gone'> => {
  const latest = accountNamed(data, read.name);
  if (latest === undefined) return { data, outcome: 'gone' };
  if (!isSameSignIn(latest, read)) return { data, outcome: 'replaced' };
  if (latest.refreshToken !== read.refreshToken) return { data, outcome: 'refreshed' };
  return { data: withoutAccount(data, read.name), outcome: 'removed' };
};

/** An account of which nothing is left to lose. */
export const isOver = ({ ended, refreshToken, accessToken }: Account): boolean =>
  ended !== undefined || (refreshToken === undefined && accessToken === undefined);

/**
 * - `changed`: a sign-in that adds to an account (`base`) keeps the scopes it had read; another sign-in put more there
 *   in the meantime, and storing this one would remove them silently.
 * - `other-person`: an account keeps its person (OpenID Connect Core 12.2 for refreshes; here for every sign-in).
 * - `other-server`: the name belongs to an account at another server, whose tokens would be lost.
 * - `without-refresh-token`: adding scopes must not cost the account its refresh token.
 */
export type SignInOutcome = 'stored' | 'changed' | 'other-person' | 'other-server' | 'without-refresh-token';
export const swapSignedIn = (
  data: StoredCredentials,
  account: Account,
  base: Pick<Account, 'signIn'> | undefined,
): Swap<SignInOutcome> => {
  const latest = accountNamed(data, account.name);
  if (latest !== undefined && latest.server !== account.server && !isOver(latest))
    return { data, outcome: 'other-server' };
  if (
    latest !== undefined &&
    latest.server === account.server &&
    !isSamePerson(personOf(latest), personOf(account))
  )
    return { data, outcome: 'other-person' };
  const hasLostRefresh = latest?.refreshToken !== undefined && account.refreshToken === undefined;
  if (base !== undefined && hasLostRefresh) return { data, outcome: 'without-refresh-token' };
  const isChanged =
    base !== undefined &&
    latest !== undefined &&
    latest.signIn !== base.signIn &&
    missing(latest.granted, account.granted).length > 0;
  return isChanged ? { data, outcome: 'changed' } : { data: withAccount(data, account), outcome: 'stored' };
};

/** Gives every account that an edit made or changed a generation of its own. */
export const numbered = (before: StoredCredentials, after: StoredCredentials): StoredCredentials => {
  const known = new Set(before.accounts);
  let generation = before.generation ?? 0;
  const accounts = after.accounts.map((account) => {
    if (known.has(account)) return account;
    generation += 1;
    return { ...account, generation };
  });
  return { ...after, accounts, generation };
};
