import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import {
  type Account,
  freeName,
  isSamePerson,
  personOf,
  type StoredCredentials,
} from './credential-store/account.ts';
import { isOver, type SignInOutcome, swapSignedIn } from './credential-store/compare-and-swap.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { revokeDiscarded } from './receive-tokens.ts';
import { addScopeLine, missing, union } from './scopes.ts';
import { prepareServerProfiles, useServerProfile } from './server-profiles.ts';

/** What a sign-in with added scopes read before it began. */
export type BaseAccount = Pick<Account, 'name' | 'signIn' | 'subject' | 'email'>;
export type NewAccount = Omit<Account, 'generation' | 'signIn'>;

/** A sign-in that was named by hand replaces what has the name; else nobody's account is taken. */
export type Naming = {
  readonly name?: string;
  readonly base?: BaseAccount;
  /** True for a token that was handed over: its account has one name, and the last one counts. */
  readonly replaces?: boolean;
};

const whoIs = ({ email, subject, name }: Pick<Account, 'name' | 'subject' | 'email'>): string =>
  email ?? subject ?? name;
/** Two users of one server can have the same address; the subject tells them apart. */
const whoExactly = (account: Pick<Account, 'name' | 'subject' | 'email'>): string =>
  account.email === undefined || account.subject === undefined
    ? whoIs(account)
    : `${account.email} (${account.subject})`;

const otherPerson = (base: Pick<Account, 'name' | 'subject' | 'email'>, given: NewAccount): AppError => {
  const who = whoIs(base) === whoIs(given) ? whoExactly : whoIs;
  return new AppError(
    'auth',
    `account ${base.name} belongs to ${who(base)}, but ${who(given)} signed in; nothing was changed`,
    {
      code: 'OTHER_IDENTITY',
      tryThis: [
        `sign in as ${whoIs(base)} in the browser`,
        `opsctl login --account NAME (another account for ${whoIs(given)})`,
        `opsctl logout --account ${base.name} (gives the name free)`,
      ],
    },
  );
};

const changedMeanwhile = (given: NewAccount, name: string, lost: readonly string[]): AppError =>
  new AppError(
    'auth',
    `account ${name} got other scopes from another sign-in meanwhile; nothing was changed`,
    {
      code: 'ACCOUNT_CHANGED',
      tryThis: [addScopeLine(missing(given.granted, lost), name)],
    },
  );

/**
 * Without an identity two people look the same. An account that is still signed in is not given to the next one: the new
 * one gets a number, and an account of that row that is over is taken again.
 */
const nameForStranger = (data: StoredCredentials, name: string, server: string): string => {
  for (let number = 1; ; number++) {
    const candidate = freeName(data, number === 1 ? name : `${name}-${number}`, server);
    const taken = data.accounts.find((each) => each.name === candidate);
    if (taken === undefined || isOver(taken)) return candidate;
  }
};

/** A second person with the same address (a user who was created again, for example) gets a name with a number. */
const nameForPerson = (data: StoredCredentials, given: NewAccount): string => {
  for (let number = 1; ; number++) {
    const candidate = freeName(data, number === 1 ? given.name : `${given.name}-${number}`, given.server);
    const taken = data.accounts.find((each) => each.name === candidate);
    if (taken === undefined || isSamePerson(personOf(taken), personOf(given))) return candidate;
  }
};

const nameFor = (data: StoredCredentials, given: NewAccount, naming: Naming): string => {
  if (naming.name !== undefined) return naming.name;
  return given.subject === undefined && naming.replaces !== true
    ? nameForStranger(data, given.name, given.server)
    : nameForPerson(data, given);
};

const warnOfName = (context: AuthContext, account: Account, before: Account | undefined): void => {
  if (before !== undefined && !isOver(before) && whoIs(before) !== whoIs(account))
    context.log.warn(
      `Account ${account.name} was ${whoIs(before)} and is ${whoIs(account)} now; the tokens of ${whoIs(before)} stay valid at the server.`,
    );
};

/** Another server has the name. Also checked before somebody signs in. */
export const otherServer = (name: string, before: Pick<Account, 'server'>, server: string): AppError =>
  new AppError('auth', `account ${name} belongs to ${before.server}, not to ${server}; nothing was changed`, {
    code: 'OTHER_SERVER',
    tryThis: [
      'opsctl login --account NAME (another name for this account)',
      `opsctl logout --account ${name} (gives the name free)`,
    ],
  });

const withoutRefresh = (given: NewAccount, name: string, before: Account | undefined): AppError =>
  new AppError(
    'auth',
    `the server issued no refresh token, but account ${name} has one; nothing was changed`,
    {
      code: 'REFRESH_TOKEN_LOST',
      tryThis: [
        `${addScopeLine(union(missing(given.requested, before?.granted ?? []), ['offline_access']), name)} --param prompt=consent`,
        `opsctl logout --account ${name}, then opsctl login with all scopes`,
      ],
    },
  );

type Rejected = {
  readonly outcome: Exclude<SignInOutcome, 'stored'>;
  readonly given: NewAccount;
  readonly name: string;
  readonly before: Account | undefined;
};
/** Tokens of another person or server are revoked. Revoking those of the same sign-in could end the one that stays. */
const reject = async (context: AuthContext, { outcome, given, name, before }: Rejected): Promise<never> => {
  if (outcome === 'changed') throw changedMeanwhile(given, name, before?.granted ?? []);
  if (outcome === 'without-refresh-token') throw withoutRefresh(given, name, before);
  await revokeDiscarded(context, given, [given.refreshToken, given.accessToken]);
  if (outcome === 'other-server' && before !== undefined) throw otherServer(name, before, given.server);
  throw otherPerson(before ?? { name }, given);
};

/** The one way from a finished sign-in, by whatever method, to a stored account. */
export const keepAccount = async (
  context: AuthContext,
  given: NewAccount,
  naming: Naming = {},
): Promise<Account> => {
  const { base } = naming;
  if (base?.subject !== undefined && given.subject !== undefined && base.subject !== given.subject) {
    await revokeDiscarded(context, given, [given.refreshToken, given.accessToken]);
    throw otherPerson(base, given);
  }
  const signIn = Buffer.from(context.host.random(12)).toString('base64url');
  await prepareServerProfiles(context);
  const { outcome, account, before } = await openCredentialStore(context, given.server).swap((data) => {
    const name = nameFor(data, given, naming);
    const made: Account = { ...given, name, signIn, generation: 0 };
    const previous = data.accounts.find((each) => each.name === name);
    return { ...swapSignedIn(data, made, base), account: made, before: previous };
  });
  if (outcome !== 'stored') await reject(context, { outcome, given, name: account.name, before });
  await useServerProfile(context, given.server);
  warnOfName(context, account, before);
  if (
    naming.name === undefined &&
    naming.replaces !== true &&
    given.subject === undefined &&
    account.name !== given.name
  )
    context.log.warn(
      `The server does not say who signed in, and account ${given.name} is still signed in: this sign-in is account ${account.name}. \`opsctl login --account NAME\` chooses a name.`,
    );
  return account;
};
