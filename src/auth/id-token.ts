import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import type { Account } from './credential-store/account.ts';
import { jwtView } from './jwt-view.ts';
import { renewed } from './renew.ts';
import { storedAccount } from './server-profiles.ts';

const endOf = (idToken: string): number => {
  const { exp } = jwtView(idToken, 0).claims;
  return typeof exp === 'number' ? exp * 1000 : Number.POSITIVE_INFINITY;
};

const none = (account: Account, why: string): AppError =>
  new AppError('auth', `account ${account.name} has no identity token: ${why}`, {
    code: 'NO_ID_TOKEN',
    tryThis: [`opsctl login --account ${account.name} --add-scope openid`],
  });

/** The identity token of an account; a new one is asked for when it would end before `minTtlMs`. */
export const idTokenOf = async (
  context: AuthContext,
  { account: wanted, minTtlMs }: { readonly account: string | undefined; readonly minTtlMs: number },
): Promise<{ readonly token: string; readonly expiresMs: number; readonly account: Account }> => {
  let account = await storedAccount(context, wanted);
  const isGood = (idToken: string | undefined): idToken is string =>
    idToken !== undefined && endOf(idToken) - context.host.now() > minTtlMs;
  if (account.idToken === undefined) throw none(account, 'the scope openid was not granted');
  if (!isGood(account.idToken)) account = await renewed(context, account, { minTtlMs: 0, force: true });
  if (!isGood(account.idToken))
    throw none(account, 'it has expired, and the server gives no new one at a refresh');
  return { token: account.idToken, expiresMs: endOf(account.idToken), account };
};
