import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';
import { instantNow } from '../../auth/clock.ts';

export const refresh = defineCommand({
  path: ['auth', 'refresh'],
  summary: 'Get a new access token now',
  flags: { account: accountFlag },
  examples: [{ line: 'opsctl auth refresh', says: 'Even when the stored token is still good' }],
  run: async (context, values) => {
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { renewed } = await import('../../auth/renew.ts');
    const { describeAccount, lifeText } = await import('../../auth/describe.ts');
    const stored = await storedAccount(context, values.account);
    if (context.isDryRun) {
      const { shownRequests } = await import('./request-view.ts');
      return shownRequests(
        context,
        [stored],
        (await import('../../auth/protocol/refresh.ts')).refreshRequest,
      );
    }
    const account = await renewed(context, stored, { minTtlMs: 0, force: true });
    return recordResult(describeAccount(account, instantNow(context.host)), {
      message: `${account.name}: ${lifeText(account, instantNow(context.host))}`,
      name: 'account',
    });
  },
});
