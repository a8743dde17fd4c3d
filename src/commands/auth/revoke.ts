import { oneOf } from '../../core/field.ts';
import { usageError } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';
import { instantNow } from '../../auth/clock.ts';

export const revoke = defineCommand({
  path: ['auth', 'revoke'],
  summary: 'Revoke the tokens of an account at the server and keep the account in the list',
  about: 'Revoking an access token that has a refresh token ends both.',
  flags: {
    account: accountFlag,
    token: {
      field: oneOf('refresh', 'access'),
      value: 'refresh|access',
      summary: 'Which one is sent (default: the refresh token)',
    },
  },
  examples: [{ line: 'opsctl auth revoke', says: 'The next command asks to sign in again' }],
  run: async (context, values) => {
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { revokeSignIn } = await import('../../auth/sign-out.ts');
    const { describeAccount } = await import('../../auth/describe.ts');
    const account = await storedAccount(context, values.account);
    const secret =
      values.token === 'access' ? account.accessToken : (account.refreshToken ?? account.accessToken);
    if (secret === undefined)
      throw usageError(
        `account ${account.name} holds no token to revoke`,
        [],
        [`opsctl login --account ${account.name}`],
      );
    if (context.isDryRun) {
      const { shownRequests } = await import('./request-view.ts');
      return shownRequests(context, [account], (await import('../../auth/protocol/revoke.ts')).revokeRequest);
    }
    const { revoked, account: left } = await revokeSignIn(context, account, secret);
    const message =
      revoked === 'revoked'
        ? `the tokens of ${account.name} are revoked`
        : `the tokens of ${account.name} were no longer valid`;
    return recordResult(describeAccount(left, instantNow(context.host)), { message, name: 'account' });
  },
});
