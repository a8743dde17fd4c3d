import { next } from '../core/next.ts';
import { AppError } from '../core/problem.ts';
import { shellWord } from '../core/shell.ts';
import { join } from 'node:path';
import type { AuthContext } from './auth-context.ts';
import type { Account, StoredCredentials } from './credential-store/account.ts';
import { acquire, makePrivateDirectory, writeGuarded } from './credential-store/guarded-file.ts';
import {
  listLocations,
  type CredentialStore,
  indexPath,
  openCredentialStore,
  openStoreAt,
  ownPlace,
  type CredentialLocation,
  placeIndex,
  type PlaceIndex,
  credentialLocation,
  profileOfServer,
} from './credential-store/store.ts';
import { dpopProver } from './sign-jwt.ts';
import { clientAssertion, type ClientKey, type TokenClient } from './protocol/token-client.ts';
import { clientKeyOf, configuredServer, embeddedEndpoints, mockKey } from './settings.ts';

export const makeSignedOutError = (why: string, account?: string): AppError =>
  new AppError('auth', why, {
    code: 'NOT_SIGNED_IN',
    tryThis: [`opsctl login${account === undefined ? '' : ` --account ${account}`}`],
  });

/** Several accounts of one server of which none is current: a choice could change the data of the wrong one. */
export const makeAmbiguousError = (names: readonly string[], server: string | undefined): AppError =>
  new AppError(
    'usage',
    `${names.length} accounts are signed in${server === undefined ? '' : ` at ${server}`}, and none is current: ${names.join(', ')}`,
    {
      code: 'AMBIGUOUS_ACCOUNT',
      tryThis: names.slice(0, 5).map((name) => next(['auth', 'switch', shellWord(name)])),
    },
  );
/** Which account a command uses: the named one, else the current one, but never one of another server than the settings name. */
const chosenAccount = (
  data: StoredCredentials,
  wanted: string | undefined,
  server: string | undefined,
): Account => {
  if (wanted !== undefined) {
    const found = data.accounts.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const names = data.accounts.map(({ name }) => name).join(', ');
    throw makeSignedOutError(
      `account not found: ${wanted}${names === '' ? '' : `; accounts: ${names}`}`,
      wanted,
    );
  }
  const fitting = data.accounts.filter((account) => server === undefined || account.server === server);
  const current = fitting.find(({ name }) => name === data.current);
  if (current === undefined && fitting.length > 1)
    throw makeAmbiguousError(
      fitting.map(({ name }) => name),
      server,
    );
  const found = current ?? fitting[0];
  if (found !== undefined) return found;
  throw makeSignedOutError(server === undefined ? 'not signed in' : `not signed in at ${server}`);
};

/** The embedded server listens on another port at each start, so its URLs are resolved on demand. */
export const withEndpoints = async <T extends Pick<Account, 'server' | 'endpoints'>>(
  context: AuthContext,
  account: T,
): Promise<T> =>
  account.server === mockKey
    ? { ...account, endpoints: embeddedEndpoints((await context.target('auth')).baseUrl) }
    : account;

const isNamed = ({ settings }: AuthContext): boolean => settings.profile.origin !== 'default';
/** One writer of the index at a time. */
const underLock = async (context: AuthContext, work: () => Promise<void>): Promise<void> => {
  const path = indexPath(context);
  await makePrivateDirectory(context.host, join(path, '..'));
  const lock = await acquire(context.host, `${path}.lock`, { waitMs: 120_000, signal: context.signal });
  try {
    await work();
  } finally {
    await lock?.release();
  }
};
const writeIndex = ({ host }: AuthContext, path: string, index: PlaceIndex): Promise<void> =>
  writeGuarded(
    host,
    path,
    `${JSON.stringify({ ...index, profiles: [...new Set(index.profiles)].sort() })}\n`,
  );
/**
 * Moves one account under its lock: no process refreshes it in the meantime, and a crash between the two
 * writes leaves it in both places.
 */
const moveAccount = async (
  context: AuthContext,
  from: CredentialStore,
  account: Account,
  isCurrent: boolean,
): Promise<string> => {
  const profile = profileOfServer(account.server, context.settings.profile.name);
  const to = openStoreAt(context, credentialLocation(context, profile));
  const lock = await from.lockAccount(account.name, { waitMs: 120_000, signal: context.signal });
  try {
    const { accounts } = await from.read();
    const latest = accounts.find(({ name }) => name === account.name);
    if (latest === undefined) return profile;
    await to.swap((data) => ({
      data: {
        ...data,
        ...(isCurrent || data.current === undefined ? { current: latest.name } : {}),
        accounts: [...data.accounts.filter(({ name }) => name !== latest.name), latest],
      },
    }));
    await from.swap((data) => ({
      data: { ...data, accounts: data.accounts.filter(({ name }) => name !== latest.name) },
    }));
  } finally {
    await lock?.release();
  }
  return profile;
};
/** Sign-ins that an earlier version kept under `mock` move to the profiles of their servers, once. */
const splitByServer = async (context: AuthContext): Promise<PlaceIndex> => {
  const own = ownPlace(context);
  const from = openStoreAt(context, own);
  const { accounts, current } = await from.read();
  const profiles = [own.profile];
  let last = own.profile;
  for (const account of accounts.filter(({ server }) => server !== mockKey)) {
    const profile = await moveAccount(context, from, account, account.name === current);
    profiles.push(profile);
    if (account.name === current) last = profile;
  }
  return { current: last, profiles };
};
/** Before an account is stored: the index is there, and what an earlier version stored is in its place. */
export const prepareServerProfiles = async (context: AuthContext): Promise<void> => {
  if (isNamed(context) || placeIndex(context) !== undefined) return;
  await underLock(context, async () => {
    if (placeIndex(context) === undefined)
      await writeIndex(context, indexPath(context), await splitByServer(context));
  });
};
/** Commands without an explicit server use this one from now on. */
export const useServerProfile = async (context: AuthContext, server: string): Promise<void> => {
  if (isNamed(context)) return;
  const name = profileOfServer(server, context.settings.profile.name);
  const isUsed = (index: PlaceIndex | undefined): boolean =>
    index?.current === name && index.profiles.includes(name);
  if (isUsed(placeIndex(context))) return;
  await underLock(context, async () => {
    const index = placeIndex(context);
    await writeIndex(context, indexPath(context), {
      current: name,
      profiles: [...(index?.profiles ?? []), name],
    });
  });
};
export type StoredPlace = { readonly place: CredentialLocation; readonly data: StoredCredentials };
/** What every place of this run holds, the one of the last sign-in first. */
export const storedEverywhere = (context: AuthContext): Promise<StoredPlace[]> =>
  Promise.all(
    listLocations(context).map(async (place) => ({ place, data: await openStoreAt(context, place).read() })),
  );
/** The selected account: by its name in any location, otherwise the current one of the active server. */
export const storedAccount = async (context: AuthContext, wanted?: string): Promise<Account> => {
  const data = await openCredentialStore(context).read();
  const isElsewhere = wanted !== undefined && !data.accounts.some(({ name }) => name === wanted);
  if (!isElsewhere || placeIndex(context) === undefined)
    return chosenAccount(data, wanted, configuredServer(context));
  const accounts = (await storedEverywhere(context)).flatMap((stored) => stored.data.accounts);
  return chosenAccount({ ...data, accounts }, wanted, undefined);
};

type Owner = Pick<TokenClient, 'endpoints' | 'clientId' | 'clientSecret' | 'clientAuth'> & {
  readonly clientKey?: ClientKey;
  readonly metadata?: { readonly issuer: string; readonly jwksUri?: string };
  /** Of a stored account. */
  readonly issuer?: string;
  readonly dpopKey?: string;
};
/**
 * The client of one request: a secret in the settings is read from there, and a key signs each request
 * separately.
 */
export const tokenClientOf = async (context: AuthContext, owner: Owner): Promise<TokenClient> => {
  const { endpoints, clientId, clientAuth, metadata, dpopKey } = owner;
  const clientSecret = owner.clientSecret ?? context.settings.get('auth.client_secret')?.value;
  const key =
    clientAuth === 'private_key_jwt' ? (owner.clientKey ?? (await clientKeyOf(context))) : undefined;
  const assertion =
    key === undefined
      ? undefined
      : clientAssertion(
          context,
          { clientId, audience: owner.issuer ?? metadata?.issuer ?? endpoints.token },
          key,
        );
  return {
    endpoints,
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(clientAuth === undefined ? {} : { clientAuth }),
    ...(assertion === undefined ? {} : { assertion }),
    ...(metadata === undefined ? {} : { issuer: metadata.issuer }),
    ...(metadata?.jwksUri === undefined ? {} : { jwksUri: metadata.jwksUri }),
    ...(dpopKey === undefined ? {} : { prover: dpopProver(context.host, dpopKey) }),
  };
};
