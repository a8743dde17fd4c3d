import { rowsResult } from '../../kernel/result.ts';
import type { Command } from '../command.ts';

export const list: Command = {
  path: ['auth', 'list'],
  summary: 'List the accounts of this profile',
  examples: [{ line: 'opsctl auth list', says: 'Accounts, their server and until when they are signed in' }],
  run: async (context) => {
    const { openVault } = await import('../../login/vault/vault.ts');
    const { describeAccount } = await import('./describe.ts');
    const data = await openVault(context).read();
    const rows = data.accounts.map((account) => ({ current: account.name === data.current, ...describeAccount(account, context.host.now()) }));
    return rowsResult(rows, { columns: ['current', 'account', 'server', 'signed_in', 'expires_in'], name: 'account' });
  },
};
