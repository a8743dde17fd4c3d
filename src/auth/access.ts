import { AppError } from '../core/problem.ts';
import { embeddedEndpoints, mockKey } from './settings.ts';
import type { AuthContext } from './auth-context.ts';
import type { Account, StoredCredentials } from './credential-store/account.ts';

export const makeSignedOutError = (why: string, account?: string): AppError =>
  new AppError('auth', why, {
    code: 'NOT_SIGNED_IN',
    tryThis: [`opsctl login${account === undefined ? '' : ` --account ${account}`}`],
  });

/** Which account a command uses: the named one, else the current one, but never one of another server than the settings name. */
export const chosenAccount = (
  data: StoredCredentials,
  wanted: string | undefined,
  server: string | undefined,
): Account => {
  if (wanted !== undefined) {
    const found = data.accounts.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const names = data.accounts.map(({ name }) => name).join(', ');
    throw makeSignedOutError(
      `there is no account ${wanted}${names === '' ? '' : ` (there are: ${names})`}`,
      wanted,
    );
  }
  const fitting = data.accounts.filter((account) => server === undefined || account.server === server);
  const found = fitting.find(({ name }) => name === data.current) ?? fitting[0];
  if (found !== undefined) return found;
  throw makeSignedOutError(server === undefined ? 'not signed in' : `not signed in at ${server}`);
};

/** The embedded server listens on another port at each start, so its URLs are resolved on demand. */
export const withEndpoints = async <T extends Pick<Account, 'server' | 'endpoints'>>(
  context: AuthContext,
  account: T,
): Promise<T> =>
  account.server === mockKey
    ? { ...account, endpoints: embeddedEndpoints((await context.target('auth')).baseUrl) }
    : account;
