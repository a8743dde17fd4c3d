import { dirname, join } from 'node:path';
import { bool } from '../../core/field.ts';
import { type Result, rowsResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { instantNow } from '../../auth/clock.ts';

/** The same run, looking at the credentials of another profile. */
const asProfile = (context: Context, name: string) => {
  const { settings } = context;
  const { directories } = settings;
  const state = name === settings.profile.name ? directories.state : join(dirname(directories.state), name);
  return {
    ...context,
    settings: {
      profile: { name, origin: 'flag --all-profiles' },
      directories: { ...directories, state },
      get: (key: string) => settings.get(key),
    },
  };
};

const run = async (context: Context, allProfiles: boolean): Promise<Result> => {
  const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
  const { describeAccount } = await import('./describe.ts');
  const rows = [];
  for (const profile of allProfiles ? context.settings.profiles : [context.settings.profile.name]) {
    const data = await openCredentialStore(asProfile(context, profile)).read();
    const accounts = data.accounts.map((account) => ({
      current: account.name === data.current,
      ...describeAccount(account, instantNow(context.host)),
    }));
    rows.push(...accounts.map((account) => ({ ...account, profile })));
  }
  return rowsResult(rows, {
    columns: [...(allProfiles ? ['profile'] : []), 'current', 'account', 'server', 'signed_in', 'expires_in'],
    name: 'account',
  });
};

export const list = defineCommand({
  path: ['auth', 'list'],
  summary: 'List the accounts of this profile',
  flags: { 'all-profiles': { field: bool(), summary: 'The accounts of every profile' } },
  examples: [{ line: 'opsctl auth list', says: 'Accounts, their server and until when they are signed in' }],
  run: (context, values) => run(context, values['all-profiles'] === true),
});
