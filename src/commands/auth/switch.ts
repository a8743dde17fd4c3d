import { req, str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { instantNow } from '../../auth/clock.ts';

export const switchAccount = defineCommand({
  path: ['auth', 'switch'],
  noDryRun: 'opsctl auth list shows the accounts',
  summary: 'Make another account the current one',
  args: [{ name: 'account', field: req(str()), summary: 'Name of the account', complete: 'sign-in' }],
  examples: [{ line: 'opsctl auth switch ada@example.com', says: 'Later commands use this account' }],
  run: async (context, values) => {
    const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
    const { storedAccount, useServerProfile } = await import('../../auth/server-profiles.ts');
    const { describeAccount } = await import('../../auth/describe.ts');
    const account = await storedAccount(context, values.account);
    await openCredentialStore(context, account.server).swap((data) => ({
      data: { ...data, current: account.name },
    }));
    await useServerProfile(context, account.server);
    return recordResult(describeAccount(account, instantNow(context.host)), {
      message: `${account.name} is now the current account`,
      name: 'account',
    });
  },
});
