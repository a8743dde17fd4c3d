import { bool } from '../../core/field.ts';
import { recordResult, rowsResult } from '../../core/result.ts';
import { defineCommand, type Command } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

/** `opsctl logout` and `opsctl auth logout` are one command under two names. */
export const logoutCommand = (path: readonly string[]): Command =>
  defineCommand({
    path,
    summary: 'Sign out: revoke the tokens at the server and forget them here',
    about:
      'A token that the server no longer knows counts as revoked. When the server cannot be reached the credential is kept, unless --local is given.',
    flags: {
      account: accountFlag,
      all: { field: bool(), summary: 'All accounts of this profile' },
      local: { field: bool(), summary: 'Forget the tokens here without telling the server' },
    },
    examples: [
      { line: `opsctl ${path.join(' ')}`, says: 'Sign out the current account' },
      { line: `opsctl ${path.join(' ')} --local`, says: 'When the server is gone for good' },
    ],
    run: async (context, values) => {
      const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
      const { chosenAccount, configuredServer } = await import('../../auth/access.ts');
      const { signOut } = await import('../../auth/sign-out.ts');
      const data = await openCredentialStore(context).read();
      const isLocal = values.local === true;
      if (context.isDryRun) {
        const chosen =
          values.all === true
            ? data.accounts
            : [chosenAccount(data, values.account, configuredServer(context))];
        if (isLocal)
          return recordResult({ dry_run: true, forgets: chosen.map(({ name }) => name), request: null });
        const { shownRequests } = await import('./request-view.ts');
        return shownRequests(context, chosen, (await import('../../auth/protocol/revoke.ts')).revokeRequest);
      }
      if (values.all === true) {
        const rows = [];
        for (const account of data.accounts) rows.push(await signOut(context, account, isLocal));
        return rowsResult(rows, {
          columns: ['account', 'revoked', 'removed'],
          name: 'account',
          message: `${rows.length} account${rows.length === 1 ? '' : 's'} signed out`,
        });
      }
      const done = await signOut(
        context,
        chosenAccount(data, values.account, configuredServer(context)),
        isLocal,
      );
      return recordResult(done, {
        message: `${done.account} signed out${done.revoked ? ', tokens revoked' : ''}`,
        name: 'account',
      });
    },
  });
