import { recordResult, type Result } from '../../core/result.ts';
import { instantNow } from '../clock.ts';
import type { Account } from '../credential-store/account.ts';
import { describeAccount, lifeText, missingScopes, scopeLines } from '../describe.ts';
import type { Context } from '../../cli/command.ts';

/** spec/sign-in#authentication-5: a partial consent is a success that says what is off. */
export const resultFor = (context: Context, account: Account, requiresAll: boolean): Result => {
  const now = instantNow(context.host);
  const gone = missingScopes(account);
  const asked = account.requested.length;
  const who = account.email ?? `account ${account.name}`;
  const all = asked === 1 ? '1 scope' : `all ${asked} scopes`;
  const message = `signed in as ${who}: ${gone.length === 0 ? all : `${asked - gone.length} of ${asked} scopes`}, ${lifeText(account, now)}`;
  if (gone.length > 0) {
    context.log.warn(
      `Not granted: ${gone.join(', ')}. Commands that need these will say so; ask again with: opsctl login ${gone.map((scope) => `--add-scope ${scope}`).join(' ')}`,
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
