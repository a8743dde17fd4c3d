import { bool } from '../../core/field.ts';
import { type Result, rowsResult } from '../../core/result.ts';
import { defineCommand, type Context } from '../../cli/command.ts';
import { instantNow } from '../../auth/clock.ts';

const run = async (context: Context, allProfiles: boolean): Promise<Result> => {
  const { openStoreAt } = await import('../../auth/credential-store/store.ts');
  const { allPlaces, placeOf, placesOfAllProfiles } = await import('../../auth/credential-store/place.ts');
  const { describeAccount } = await import('../../auth/describe.ts');
  const places = allProfiles ? placesOfAllProfiles(context, context.settings.profiles) : allPlaces(context);
  const inUse = placeOf(context).profile;
  const rows = [];
  for (const place of places) {
    const data = await openStoreAt(context, place).read();
    const accounts = data.accounts.map((account) => ({
      current: account.name === data.current && (allProfiles || place.profile === inUse),
      ...describeAccount(account, instantNow(context.host)),
    }));
    rows.push(...accounts.map((account) => ({ ...account, profile: place.profile })));
  }
  return rowsResult(rows, {
    columns: [...(allProfiles ? ['profile'] : []), 'current', 'account', 'server', 'signed_in', 'expires_at'],
    name: 'account',
  });
};

export const list = defineCommand({
  path: ['auth', 'list'],
  summary: 'List the accounts of this profile',
  about:
    'Where no profile was ever named, each server has one that is named after it, and the accounts of all of them are listed.',
  flags: { 'all-profiles': { effects: [], field: bool(), summary: 'The accounts of every profile' } },
  examples: [{ line: 'opsctl auth list', says: 'Accounts, their server and until when they are signed in' }],
  run: (context, values) => run(context, values['all-profiles'] === true),
});
