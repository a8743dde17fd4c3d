import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import { type Account, freeName, type StoredCredentials } from './credential-store/account.ts';
import { swapSignedIn } from './credential-store/compare-and-swap.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { addScopeLine, missing } from './scopes.ts';
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

const otherPerson = (base: BaseAccount, given: NewAccount): AppError =>
  new AppError(
    'auth',
    `account ${base.name} belongs to ${whoIs(base)}, but ${whoIs(given)} signed in; nothing was changed`,
    {
      code: 'OTHER_IDENTITY',
      tryThis: [
        `sign in as ${whoIs(base)} in the browser`,
        `opsctl login --account NAME (another account for ${whoIs(given)})`,
      ],
    },
  );

const changedMeanwhile = (given: NewAccount, name: string, lost: readonly string[]): AppError =>
  new AppError(
    'auth',
    `account ${name} got other scopes from another sign-in meanwhile; nothing was changed`,
    {
      code: 'ACCOUNT_CHANGED',
      tryThis: [addScopeLine(missing(given.granted, lost), name)],
    },
  );

const isOver = ({ ended, refreshToken, accessToken }: Account): boolean =>
  ended !== undefined || (refreshToken === undefined && accessToken === undefined);

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

const nameFor = (data: StoredCredentials, given: NewAccount, naming: Naming): string => {
  if (naming.name !== undefined) return naming.name;
  return given.subject === undefined && naming.replaces !== true
    ? nameForStranger(data, given.name, given.server)
    : freeName(data, given.name, given.server);
};

const warnOfName = (context: AuthContext, account: Account, before: Account | undefined): void => {
  if (before !== undefined && before.subject !== account.subject && !isOver(before))
    context.log.warn(
      `Account ${account.name} was ${whoIs(before)} and is ${whoIs(account)} now; the tokens of ${whoIs(before)} stay valid at the server.`,
    );
};

/** The one way from a finished sign-in, by whatever method, to a stored account. */
export const keepAccount = async (
  context: AuthContext,
  given: NewAccount,
  naming: Naming = {},
): Promise<Account> => {
  const { base } = naming;
  if (base?.subject !== undefined && given.subject !== undefined && base.subject !== given.subject)
    throw otherPerson(base, given);
  const signIn = Buffer.from(context.host.random(12)).toString('base64url');
  await prepareServerProfiles(context);
  const { outcome, account, before } = await openCredentialStore(context, given.server).swap((data) => {
    const name = nameFor(data, given, naming);
    const made: Account = { ...given, name, signIn, generation: 0 };
    const previous = data.accounts.find((each) => each.name === name);
    return { ...swapSignedIn(data, made, base), account: made, before: previous };
  });
  if (outcome === 'changed') throw changedMeanwhile(given, account.name, before?.granted ?? []);
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
