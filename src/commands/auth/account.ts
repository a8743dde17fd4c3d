import { bool } from '../../core/field.ts';
import { recordResult, type Result, rowsResult } from '../../core/result.ts';
import type { Account } from '../../auth/credential-store/account.ts';
import { defineCommand, type Command, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { accountFlag } from './account-flag.ts';

const flags = {
  account: accountFlag,
  all: { field: bool(), summary: 'All accounts of this profile' },
  local: { field: bool(), summary: 'Forget the tokens here without telling the server' },
} as const satisfies Flags;
type LogoutValues = ValuesOf<typeof flags>;

/** What would be forgotten here, or sent to the server. */
const dryRun = async (context: Context, chosen: readonly Account[], isLocal: boolean): Promise<Result> => {
  if (isLocal) return recordResult({ dry_run: true, forgets: chosen.map(({ name }) => name), request: null });
  const { shownRequests } = await import('./request-view.ts');
  return shownRequests(context, chosen, (await import('../../auth/protocol/revoke.ts')).revokeRequest);
};

const signOutAll = async (
  context: Context,
  accounts: readonly Account[],
  isLocal: boolean,
): Promise<Result> => {
  const { signOut } = await import('../../auth/sign-out.ts');
  const rows = [];
  for (const account of accounts) rows.push(await signOut(context, account, isLocal));
  return rowsResult(rows, {
    columns: ['account', 'revoked', 'removed'],
    name: 'account',
    message: `${rows.length} account${rows.length === 1 ? '' : 's'} signed out`,
  });
};

const signOutOne = async (context: Context, account: Account, isLocal: boolean): Promise<Result> => {
  const { signOut } = await import('../../auth/sign-out.ts');
  const done = await signOut(context, account, isLocal);
  return recordResult(done, {
    message: `${done.account} signed out${done.revoked ? ', tokens revoked' : ''}`,
    name: 'account',
  });
};

const signOutAsAsked = async (context: Context, values: LogoutValues): Promise<Result> => {
  const { storedAccount, storedEverywhere } = await import('../../auth/server-profiles.ts');
  const isLocal = values.local === true;
  const chosen =
    values.all === true
      ? (await storedEverywhere(context)).flatMap(({ data }) => data.accounts)
      : [await storedAccount(context, values.account)];
  if (context.isDryRun) return dryRun(context, chosen, isLocal);
  const [only] = chosen;
  return values.all === true || only === undefined
    ? signOutAll(context, chosen, isLocal)
    : signOutOne(context, only, isLocal);
};

/** `opsctl logout` and `opsctl auth logout` are one command under two names. */
export const logoutCommand = (path: readonly string[]): Command =>
  defineCommand({
    path,
    summary: 'Sign out: revoke the tokens at the server and forget them here',
    about:
      'A token that the server no longer knows counts as revoked. When the server cannot be reached the credential is kept, unless --local is given.',
    flags,
    examples: [
      { line: `opsctl ${path.join(' ')}`, says: 'Sign out the current account' },
      { line: `opsctl ${path.join(' ')} --local`, says: 'When the server is gone for good' },
    ],
    run: signOutAsAsked,
  });
