import { req, str } from '../../kernel/field.ts';
import { recordResult } from '../../kernel/result.ts';
import type { Command } from '../command.ts';

export const switchAccount: Command = {
  path: ['auth', 'switch'],
  noDryRun: 'opsctl auth list shows the accounts',
  summary: 'Make another account the current one',
  args: [{ name: 'account', field: req(str()), summary: 'Name of the account', complete: 'account' }],
  examples: [{ line: 'opsctl auth switch ada@example.com', says: 'Later commands use this account' }],
  run: async (context, values) => {
    const { openVault } = await import('../../login/vault/vault.ts');
    const { chosenAccount } = await import('../../login/access.ts');
    const { describeAccount } = await import('./describe.ts');
    const vault = openVault(context);
    const account = chosenAccount(await vault.read(), values.account, undefined);
    await vault.change((data) => ({ ...data, current: account.name }));
    return recordResult(describeAccount(account, context.host.now()), { message: `${account.name} is now the current account`, name: 'account' });
  },
};
