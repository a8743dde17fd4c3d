import { next } from '../../core/next.ts';
import { countText } from '../../core/format.ts';
import type { Context } from '../../api/context.ts';
import { instantNow } from '../../auth/auth-context.ts';
import type { Account } from '../../auth/credential-store/account.ts';
import type { TokenClient } from '../../auth/protocol/token-client.ts';
import { type Command, defineCommand } from '../../cli/command.ts';
import { bool, oneOf, req, str } from '../../core/field.ts';
import type { Flag, Flags, ValuesOf } from '../../core/flag.ts';
import { usageError } from '../../core/problem.ts';
import { recordResult, type Result, rowsResult } from '../../core/result.ts';
import type { HttpRequest } from '../../platform/host.ts';

export const scriptedFlag = {
  effects: ['runs'],
  field: bool(),
  hidden: true,
  summary: 'Complete the sign-in at the embedded server without a browser',
} as const satisfies Flag;
export const accountFlag = {
  effects: [],
  field: str(80, { min: 1 }),
  value: 'name',
  summary: 'Account to use instead of the current one',
  complete: 'sign-in',
} as const satisfies Flag;

const flags = {
  account: accountFlag,
  all: { field: bool(), summary: 'Sign out all accounts of this profile' },
  local: { field: bool(), summary: 'Remove the local tokens without contacting the server' },
} as const satisfies Flags;
type LogoutValues = ValuesOf<typeof flags>;
/** What would be forgotten here, or sent to the server. */
const dryRun = async (context: Context, chosen: readonly Account[], isLocal: boolean): Promise<Result> => {
  if (isLocal) return recordResult({ dry_run: true, forgets: chosen.map(({ name }) => name), request: null });
  return shownRequests(context, chosen, (await import('../../auth/protocol/token-client.ts')).revokeRequest);
};
const signOutAll = async (
  context: Context,
  accounts: readonly Account[],
  isLocal: boolean,
): Promise<Result> => {
  const { signOut } = await import('../../auth/issued-tokens.ts');
  const rows = [];
  for (const account of accounts) rows.push(await signOut(context, account, isLocal));
  return rowsResult(rows, {
    columns: ['account', 'revoked', 'removed'],
    name: 'account',
    message: `${countText(rows.length, 'account')} signed out`,
  });
};
const signOutOne = async (context: Context, account: Account, isLocal: boolean): Promise<Result> => {
  const { signOut } = await import('../../auth/issued-tokens.ts');
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
    summary: 'Sign out: revoke the tokens and remove them from this machine',
    about:
      'A token that the server no longer knows counts as revoked. If the server cannot be reached, the credential is kept unless --local is set.',
    flags,
    examples: [
      { line: `opsctl ${path.join(' ')}`, says: 'Sign out the current account' },
      { line: `opsctl ${path.join(' ')} --local`, says: 'Sign out if the server no longer exists' },
    ],
    run: signOutAsAsked,
  });

const run = async (context: Context, allProfiles: boolean): Promise<Result> => {
  const { openStoreAt } = await import('../../auth/credential-store/store.ts');
  const { listLocations, placeOf, placesOfAllProfiles } = await import(
    '../../auth/credential-store/store.ts'
  );
  const { describeAccount } = await import('../../auth/credential-store/account.ts');
  const places = allProfiles
    ? placesOfAllProfiles(context, context.settings.profiles)
    : listLocations(context);
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
    ifEmpty: next(['login']),
  });
};
export const list = defineCommand({
  path: ['auth', 'list'],
  summary: 'List the accounts of this profile',
  about: 'If no profile is set, opsctl uses one profile per server and lists the accounts of all of them.',
  flags: { 'all-profiles': { effects: [], field: bool(), summary: 'List the accounts of all profiles' } },
  examples: [{ line: 'opsctl auth list', says: 'List accounts with their server and expiry' }],
  run: (context, values) => run(context, values['all-profiles'] === true),
});

export const switchAccount = defineCommand({
  path: ['auth', 'switch'],
  noDryRun: 'opsctl auth list shows the accounts',
  summary: 'Make another account the current one',
  args: [{ name: 'account', field: req(str()), summary: 'Name of the account', complete: 'sign-in' }],
  examples: [
    { line: 'opsctl auth switch ada@example.com', says: 'Switch the account that later commands use' },
  ],
  run: async (context, values) => {
    const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
    const { storedAccount, useServerProfile } = await import('../../auth/server-profiles.ts');
    const { describeAccount } = await import('../../auth/credential-store/account.ts');
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

export const status = defineCommand({
  path: ['auth', 'status'],
  summary: 'Show the current account and verify its token',
  about:
    'Exits with code 4 if you are not signed in or the sign-in is no longer valid, and with code 11 if the server cannot be reached. With --offline, only the stored expiry is checked.',
  flags: {
    account: accountFlag,
    offline: { effects: [], field: bool(), summary: 'Do not contact the server' },
  },
  examples: [
    {
      line: 'opsctl auth status',
      says: 'Check in a script: exit code 0 means that the server accepted the token',
    },
    { line: 'opsctl auth status --offline', says: 'Check the stored expiry only' },
  ],
  run: async (context, values) => {
    const given = context.settings.get('access_token');
    if (given !== undefined && values.account === undefined) {
      context.log.hide(given.value);
      const data = { signed_in: true, origin: given.origin, account: null, verified: false };
      return recordResult(data, {
        message: `using an access token from ${given.origin}; not verified with the server`,
      });
    }
    const { openCredentialStore } = await import('../../auth/credential-store/store.ts');
    const { placeOf } = await import('../../auth/credential-store/store.ts');
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { renewAccount: renewed } = await import('../../auth/renew.ts');
    const { describeAccount, lifeText, scopeLines } = await import('../../auth/credential-store/account.ts');
    const stored = await storedAccount(context, values.account);
    const credentials = openCredentialStore(context, stored.server);
    // The query is a refresh, which changes the stored credentials.
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

export const revoke = defineCommand({
  path: ['auth', 'revoke'],
  summary: "Revoke an account's tokens but keep the account",
  about: 'Revoking an access token also revokes its refresh token, if it has one.',
  flags: {
    account: accountFlag,
    token: {
      field: oneOf('refresh', 'access'),
      value: 'refresh|access',
      summary: 'Token to revoke (default: the refresh token)',
    },
  },
  examples: [{ line: 'opsctl auth revoke', says: 'Revoke the tokens before you hand over the machine' }],
  run: async (context, values) => {
    const { storedAccount } = await import('../../auth/server-profiles.ts');
    const { revokeSignIn } = await import('../../auth/issued-tokens.ts');
    const { describeAccount } = await import('../../auth/credential-store/account.ts');
    const account = await storedAccount(context, values.account);
    const secret =
      values.token === 'access' ? account.accessToken : (account.refreshToken ?? account.accessToken);
    if (secret === undefined)
      throw usageError(
        `account ${account.name} has no token to revoke`,
        [],
        [`opsctl login --account ${account.name}`],
      );
    if (context.isDryRun) {
      return shownRequests(
        context,
        [account],
        (await import('../../auth/protocol/token-client.ts')).revokeRequest,
      );
    }
    const { revoked, account: left } = await revokeSignIn(context, account, secret);
    const message =
      revoked === 'revoked'
        ? `revoked the tokens of ${account.name}`
        : `the tokens of ${account.name} were already invalid`;
    return recordResult(describeAccount(left, instantNow(context.host)), { message, name: 'account' });
  },
});

/** Stands where the secrets of the real request would: a dry run is read over shoulders and pasted into tickets. */
const masked = '***';
/** The requests that `--dry-run` shows in place of sending them, one for each account. */
export const shownRequests = async (
  context: Context,
  accounts: readonly Account[],
  requestFor: (tokenClient: TokenClient, token: string) => HttpRequest,
): Promise<Result> => {
  const { dryRun } = await import('../../api/request.ts');
  const shown = [];
  for (const account of accounts) {
    const { withEndpoints } = await import('../../auth/server-profiles.ts');
    const { endpoints, clientId, clientSecret } = await withEndpoints(context, account);
    const request = requestFor(
      { endpoints, clientId, ...(clientSecret === undefined ? {} : { clientSecret: masked }) },
      masked,
    );
    shown.push(dryRun(request as Parameters<typeof dryRun>[0]));
  }
  const [only] = shown;
  return recordResult(shown.length === 1 ? only : shown, { text: shown.map(({ curl }) => curl).join('\n') });
};

/** The location of the authorization server; shared by all commands that connect to it. */
export const serverFlags = {
  issuer: {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary:
      'Issuer URL of the authorization server; its metadata lists the endpoints and client authentication',
  },
  'auth-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Base URL of the authorization server ({auth_url}), or its authorization endpoint',
  },
  'token-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Base URL of the token host ({token_url}), or the token endpoint',
  },
  'revoke-url': {
    effects: ['sends'],
    field: str(),
    value: 'url',
    summary: 'Revocation endpoint (default: derived from the token endpoint)',
  },
  'client-id': { effects: ['sends'], field: str(), value: 'id', summary: 'OAuth client ID' },
  'client-secret-stdin': {
    effects: ['reads', 'sends'],
    field: bool(),
    summary: 'Read the client secret from standard input (or set OPSCTL_CLIENT_SECRET)',
  },
} as const satisfies Flags;
