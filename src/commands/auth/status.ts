import { bool } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';
import { instantNow } from '../../auth/clock.ts';

export const status = defineCommand({
  path: ['auth', 'status'],
  summary: 'Say who is signed in, and ask the server whether that still holds',
  about:
    'Ends with 4 when nobody is signed in or the sign-in is no longer valid, and with 11 when the server cannot be asked; --offline looks at the stored times only.',
  flags: { account: accountFlag, offline: { effects: [], field: bool(), summary: 'Do not ask the server' } },
  examples: [
    { line: 'opsctl auth status', says: 'Exit code 0 means: signed in and accepted' },
    { line: 'opsctl auth status --offline', says: 'Without a request' },
  ],
  run: async (context, values) => {
    const given = context.settings.get('access_token');
    if (given !== undefined && values.account === undefined) {
      context.log.hide(given.value);
      const data = { signed_in: true, origin: given.origin, account: null, verified: false };
      return recordResult(data, {
        message: `an access token is given (${given.origin}); the server was not asked`,
      });
    }
    const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
    const { placeOf } = await import('../../auth/credential-store/place.ts');
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { renewed } = await import('../../auth/renew.ts');
    const { describeAccount, lifeText, scopeLines } = await import('../../auth/describe.ts');
    const stored = await storedAccount(context, values.account);
    const credentials = openCredentialStore(context, stored.server);
    // Asking is a refresh, which changes what is stored.
    const canAsk =
      values.offline !== true &&
      !context.isDryRun &&
      (stored.refreshToken !== undefined || stored.method !== undefined || stored.ended !== undefined);
    const account = canAsk ? await renewed(context, stored, { minTtlMs: 0, force: true }) : stored;
    const now = instantNow(context.host);
    const described = describeAccount(account, now);
    const key = (await credentials.keyLocation()) ?? 'file';
    const data = {
      ...described,
      verified: canAsk,
      storage: key === 'keychain' ? 'encrypted file, key in the keychain' : 'encrypted file, key in a file',
      origin: `profile ${placeOf(context, stored.server).profile}`,
    };
    const text = [
      `${described.signed_in ? 'Signed in' : 'Not signed in'} as ${account.email ?? account.name} at ${account.server}`,
      ...scopeLines(account),
      `  ${lifeText(account, now)}`,
      `  ${data.storage}: ${credentials.path}`,
    ].join('\n');
    return recordResult(data, { text, name: 'account' }, described.signed_in ? undefined : 'auth');
  },
});
