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
    const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
    const { chosenAccount, configuredServer } = await import('../../auth/access.ts');
    const { renewed } = await import('../../auth/renew.ts');
    const { describeAccount, lifeText } = await import('./describe.ts');
    const stored = chosenAccount(
      await openCredentialStore(context).read(),
      values.account,
      configuredServer(context),
    );
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
