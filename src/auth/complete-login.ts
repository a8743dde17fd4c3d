import type { ExternalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import { redactedUrl } from '../core/redact-secrets.ts';
import { NetworkError } from '../platform/host.ts';
import {
  type AuthContext,
  type Instant,
  instantNow,
  addScopeLine,
  isIdentity,
  missing,
  safeText,
  union,
} from './auth-context.ts';
import {
  type CheckedCallback,
  type CheckedRefusal,
  type RequestParams,
  type Secrets,
  valuesOf,
} from './callback.ts';
import {
  type Account,
  accountFrom,
  accountNameFrom,
  freeName,
  isKnownPerson,
  isOver,
  isSamePerson,
  keepConfirmation,
  personOf,
  type SignInOutcome,
  type StoredCredentials,
  swapSignedIn,
} from './credential-store/account.ts';
import { openCredentialStore } from './credential-store/store.ts';
import type { ListenOptions } from './loopback/listen.ts';
import { discover, type IssuerMetadata } from './protocol/discovery.ts';
import { sendCode } from './protocol/send.ts';
import { type TokenClient, exchangeRequest } from './protocol/token-client.ts';
import type { TokenResponse, UnreadKeys } from './protocol/token-response.ts';
import { issuerOf, receiveTokens, reportDeviations, revokeDiscarded } from './issued-tokens.ts';
import { prepareServerProfiles, tokenClientOf, useServerProfile } from './server-profiles.ts';
import type { LoginServer } from './settings.ts';

/** The stored account that a sign-in with added scopes read before it started. */
export type BaseAccount = Pick<Account, 'name' | 'signIn' | 'subject' | 'email' | 'tokenType'>;
export type NewAccount = Omit<Account, 'generation' | 'signIn'>;
/**
 * A sign-in with an explicit name replaces the account with that name. Otherwise it never replaces another
 * user's account.
 */
export type AccountNameOptions = {
  readonly name?: string;
  readonly base?: BaseAccount;
  /** True for an imported token: its account has one name, and the last import wins. */
  readonly replaces?: boolean;
  /** Why the keys of the server confirmed no person, if they could not be read. */
  readonly unreadKeys?: UnreadKeys | undefined;
};
const whoIs = ({ email, subject, name }: Pick<Account, 'name' | 'subject' | 'email'>): string =>
  email ?? subject ?? name;
/** Two users of one server can have the same email address. The subject distinguishes them. */
const whoExactly = (account: Pick<Account, 'name' | 'subject' | 'email'>): string =>
  account.email === undefined || account.subject === undefined
    ? whoIs(account)
    : `${account.email} (${account.subject})`;
const otherPerson = (base: Pick<Account, 'name' | 'subject' | 'email'>, given: NewAccount): AppError => {
  const who = whoIs(base) === whoIs(given) ? whoExactly : whoIs;
  return new AppError(
    'auth',
    `account ${base.name} belongs to ${who(base)}, but ${who(given)} signed in; no changes were made`,
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
    `account ${name} got other scopes from another sign-in in the meantime; no changes were made`,
    {
      code: 'ACCOUNT_CHANGED',
      tryThis: [addScopeLine(missing(given.granted, lost), name)],
    },
  );
/** The same unconfirmed person signs in again. A person that a key confirmed is never replaced by one that none confirmed. */
const isAgain = (taken: Account, given: NewAccount): boolean =>
  taken.isUnconfirmed === true && given.isUnconfirmed === true;
/**
 * Without a confirmed identity, two users cannot be distinguished. An account that is still signed in is not given to
 * the next user: the new account gets a number, and an expired account of that series is reused.
 */
const nameForStranger = (data: StoredCredentials, given: NewAccount): string => {
  for (let number = 1; ; number++) {
    const candidate = freeName(data, number === 1 ? given.name : `${given.name}-${number}`, given.server);
    const taken = data.accounts.find((each) => each.name === candidate);
    if (taken === undefined) return candidate;
    const mayReplace = isOver(taken) || isAgain(taken, given);
    if (mayReplace && isSamePerson(personOf(taken), personOf(given))) return candidate;
  }
};
/** A second person with the same address (for example, a recreated user) gets a name with a number. */
const nameForPerson = (data: StoredCredentials, given: NewAccount): string => {
  for (let number = 1; ; number++) {
    const candidate = freeName(data, number === 1 ? given.name : `${given.name}-${number}`, given.server);
    const taken = data.accounts.find((each) => each.name === candidate);
    if (taken === undefined || isSamePerson(personOf(taken), personOf(given))) return candidate;
  }
};
const isStranger = ({ subject, isUnconfirmed }: NewAccount): boolean =>
  subject === undefined || isUnconfirmed === true;
const nameFor = (data: StoredCredentials, given: NewAccount, naming: AccountNameOptions): string => {
  if (naming.name !== undefined) return naming.name;
  return isStranger(given) && naming.replaces !== true
    ? nameForStranger(data, given)
    : nameForPerson(data, given);
};
/** The subject of an unconfirmed person does not identify the person. */
const whoNamed = (account: Account): string =>
  account.isUnconfirmed === true ? account.name : whoIs(account);
const warnOfName = (context: AuthContext, account: Account, before: Account | undefined): void => {
  if (before === undefined || isOver(before) || isKnownPerson(personOf(before), personOf(account))) return;
  const [earlier, now] = [whoNamed(before), whoNamed(account)];
  if (earlier !== now)
    context.log.warn(
      `Account ${account.name} was ${earlier} and is ${now} now; the tokens of ${earlier} stay valid at the server.`,
    );
};
const warnOfDowngrade = (context: AuthContext, account: Account, before: Account | undefined): void => {
  if (before?.tokenType === 'DPoP' && account.tokenType !== 'DPoP')
    context.log.warn(
      `Account ${account.name} had tokens that were bound to a key (DPoP) and has Bearer tokens now; \`opsctl login --dpop\` binds them again.`,
    );
};
/** Waiting helps after a rotation of keys, but not if the keys cannot be read at all. */
const unconfirmedText = (name: string, unread: UnreadKeys | undefined): string =>
  unread === undefined
    ? `The keys that the server publishes do not confirm who signed in: account ${name} has no email address. If the keys were replaced a moment ago, run \`opsctl auth refresh\` or sign in again in a minute.`
    : `The keys at ${redactedUrl(unread.url)} could not be read (${unread.why}), so nothing confirms who signed in: account ${name} has no email address. Run \`opsctl auth refresh\` when the address works.`;
/** The user cannot see from the name of the account whose it is. */
const warnOfStranger = (
  context: AuthContext,
  given: NewAccount,
  account: Account,
  { name, replaces, unreadKeys }: AccountNameOptions,
): void => {
  if (account.isUnconfirmed === true) context.log.warn(unconfirmedText(account.name, unreadKeys));
  if (!isStranger(given) || name !== undefined || replaces === true || account.name === given.name) return;
  const why = given.isUnconfirmed === true ? '' : 'The server does not report who signed in, and ';
  const text = `account ${given.name} is still signed in: this sign-in is account ${account.name}. \`opsctl login --account NAME\` sets a name.`;
  context.log.warn(why === '' ? `A${text.slice(1)}` : why + text);
};
/** Another server has the name. Also checked before the sign-in starts. */
export const makeServerMismatchError = (
  name: string,
  before: Pick<Account, 'server'>,
  server: string,
): AppError =>
  new AppError(
    'auth',
    `account ${name} belongs to ${before.server}, not to ${server}; no changes were made`,
    {
      code: 'OTHER_SERVER',
      tryThis: [
        'opsctl login --account NAME (another name for this account)',
        `opsctl logout --account ${name} (gives the name free)`,
      ],
    },
  );
const withoutRefresh = (given: NewAccount, name: string, before: Account | undefined): AppError =>
  new AppError(
    'auth',
    `the server issued no refresh token, but account ${name} has one; no changes were made`,
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
  if (outcome === 'other-server' && before !== undefined)
    throw makeServerMismatchError(name, before, given.server);
  throw otherPerson(before ?? { name }, given);
};
/** Stores the account of a finished sign-in, for every method. */
export const keepAccount = async (
  context: AuthContext,
  given: NewAccount,
  naming: AccountNameOptions = {},
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
    const previous = data.accounts.find((each) => each.name === name);
    const made = keepConfirmation({ ...given, name, signIn, generation: 0 }, previous);
    return { ...swapSignedIn(data, made, base), account: made, before: previous };
  });
  if (outcome !== 'stored') await reject(context, { outcome, given, name: account.name, before });
  await useServerProfile(context, given.server);
  warnOfName(context, account, before);
  warnOfDowngrade(context, account, before);
  warnOfStranger(context, given, account, naming);
  return account;
};

const mixUp = (why: string): AppError =>
  new AppError('auth', why, {
    code: 'ISSUER_MISMATCH',
    tryThis: ['check --issuer, --auth-url and --token-url'],
  });
/** RFC 9207 2.4: the issuer in every authorization response is the server that was asked, and a server that announces `iss` sends it. */
const checkIssuer = (
  params: URLSearchParams,
  { issuer, announcesIss }: Pick<IssuerMetadata, 'issuer' | 'announcesIss'>,
  /** The content of the response in addition to its issuer, for the message. */
  said = '',
): void => {
  const given = params.get('iss');
  if (given !== null && given !== issuer)
    throw mixUp(
      `the response comes from the issuer ${safeText(given, 80)}, not from ${safeText(issuer, 80)} (mix-up)${said}`,
    );
  if (given === null && announcesIss)
    throw mixUp(`the response does not contain iss, although the server announces it${said}`);
};
/** The metadata of the server that was asked, if they are known or a response names its issuer. */
const metadataFor = async (
  context: AuthContext,
  server: LoginServer,
  isNeeded: boolean,
): Promise<Pick<IssuerMetadata, 'issuer' | 'announcesIss' | 'jwksUri'> | undefined> =>
  server.metadata ?? (isNeeded ? await discover(context.host, server.endpoints, context.signal) : undefined);
/** An error of another server must not count as an error of this server. */
export const checkRefusalIssuer = async (
  context: AuthContext,
  server: LoginServer,
  { error, description = '', params }: CheckedRefusal,
): Promise<void> => {
  const metadata = await metadataFor(context, server, params.has('iss'));
  const said = `; it contains the error ${safeText(error, 60)}${description === '' ? '' : ` (${safeText(description, 200)})`}`;
  if (metadata !== undefined) checkIssuer(params, metadata, said);
};
const tokenClientFor = async (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes'>,
  callback: CheckedCallback,
): Promise<TokenClient> => {
  const { server } = plan;
  const base = await tokenClientOf(context, server);
  const given = callback.params.get('iss') ?? undefined;
  const isNeeded = plan.scopes.some(isIdentity) || given !== undefined;
  const metadata = await metadataFor(context, server, isNeeded);
  if (metadata === undefined) return { ...base, ...(given === undefined ? {} : { issuer: given }) };
  // A code that was typed alone came without its address.
  if (callback.source === 'redirect') checkIssuer(callback.params, metadata);
  return { ...base, issuer: metadata.issuer, jwksUri: metadata.jwksUri };
};
const accountOf = (
  plan: Pick<LoginPlan, 'server' | 'account'>,
  attempt: Pick<Attempt, 'requested'>,
  answer: TokenResponse,
  asked: Instant,
): Account => {
  const { endpoints, clientId, clientSecret, clientAuth, key, metadata, dpopKey } = plan.server;
  const name = plan.account ?? accountNameFrom(answer);
  const owner = { name, signIn: '', server: key, endpoints, clientId, clientSecret, clientAuth, dpopKey };
  return accountFrom({ ...owner, issuer: metadata?.issuer }, answer, attempt.requested, asked);
};
/** Some servers reject a code without any reason if the client has to use DPoP. */
const mentionDpop =
  ({ metadata, dpopKey }: LoginServer) =>
  (error: unknown): never => {
    const isOffered = metadata?.dpopAlgorithms !== undefined && dpopKey === undefined;
    if (!isOffered || !(error instanceof AppError) || error.detail.code !== 'INVALID_GRANT') throw error;
    const tryThis = [...(error.detail.tryThis ?? []), 'opsctl login --dpop, if the client has to use DPoP'];
    throw new AppError(error.category, error.message, { ...error.detail, tryThis });
  };
/**
 * Exchanges the code and stores the account. The request is sent once, because a code is valid for one use.
 */
export const complete = async (
  context: AuthContext,
  plan: Pick<LoginPlan, 'server' | 'scopes' | 'account' | 'base' | 'params'>,
  attempt: Pick<Attempt, 'redirectUri' | 'requested'> & {
    readonly secrets: Pick<Secrets, 'verifier' | 'nonce'>;
  },
  callback: CheckedCallback,
): Promise<Account> => {
  const { host, log } = context;
  log.hide(callback.code);
  const tokenClient = await tokenClientFor(context, plan, callback);
  const asked = instantNow(host);
  const read = await sendCode(
    context,
    'code exchange',
    exchangeRequest(
      tokenClient,
      callback,
      attempt.redirectUri,
      attempt.secrets.verifier,
      valuesOf(plan.params, 'resource'),
    ),
    tokenClient.prover,
  );
  if (callback.isForm) reportDeviations(context, 'authorization', ['form-post']);
  const nonce = attempt.requested.some(isIdentity) ? attempt.secrets.nonce : undefined;
  const answer = await receiveTokens(context, 'code exchange', tokenClient, issuerOf(plan.server), read, {
    kind: 'exchange',
    nonce,
    requested: attempt.requested,
  }).catch(mentionDpop(plan.server));
  return keepAccount(context, accountOf(plan, attempt, answer, asked), {
    name: plan.account,
    base: plan.base,
    unreadKeys: answer.unreadKeys,
  });
};

/** A minute is what requests and rounding may take; identity tokens are refused at five. */
const clockLimitMs = 60_000;
const limitMs = 10_000;
const clockWarning = (date: string | undefined, nowMs: number, origin: string): string | undefined => {
  const server = Date.parse(date ?? '');
  const off = nowMs - server;
  if (Number.isNaN(server) || Math.abs(off) <= clockLimitMs) return undefined;
  const minutes = Math.round(Math.abs(off) / 60_000);
  return `The clock of this machine is ${minutes} min ${off > 0 ? 'ahead of' : 'behind'} the clock of ${origin}; set it before you continue, or the server may reject the sign-in.`;
};
/**
 * While the user is in the browser, checks whether the code can be exchanged: problems with the certificate,
 * the clock and the token host are found before the user types the password. Returns a warning, or undefined
 * if all is well.
 */
export const tokenHostWarning = async (
  { host, signal }: Pick<AuthContext, 'host' | 'signal'>,
  tokenEndpoint: string,
): Promise<string | undefined> => {
  const { origin, protocol } = new URL(tokenEndpoint);
  // Plain HTTP is only for this machine, which has neither a certificate nor another clock.
  if (protocol === 'http:') return undefined;
  try {
    const reply = await host.network.request({
      method: 'GET',
      url: `${origin}/.well-known/openid-configuration`,
      headers: { accept: 'application/json' },
      timeoutMs: limitMs,
      maxReplyBytes: 256 * 1024,
      signal,
    });
    await reply.text().catch(() => '');
    return clockWarning(reply.headers.date, host.now(), origin);
  } catch (error) {
    if (!(error instanceof NetworkError) || error.code === 'ABORTED' || error.code === 'TOO_LARGE')
      return undefined;
    const help =
      error.code === 'TLS'
        ? 'set ca_file or NODE_EXTRA_CA_CERTS'
        : 'check the network, the proxy and --token-url';
    return `The token host is not usable from this machine (${error.message}), so the code of the sign-in in the browser could not be exchanged. Before you continue: ${help}.`;
  }
};

export type LoginPlan = {
  readonly server: LoginServer;
  readonly scopes: readonly string[];
  /** Name to store the account under; from the identity when absent. */
  readonly account?: string;
  /** The account that scopes are added to. */
  readonly base?: BaseAccount;
  readonly loginHint?: string;
  /** Additional parameters of the authorization request that other servers need. */
  readonly params?: RequestParams;
  readonly port: number;
  readonly path: string;
  readonly redirectHost?: ListenOptions['redirectHost'];
  readonly timeoutMs: number;
  readonly browser?: boolean;
  readonly noBrowser?: boolean;
  /** True when stdin is free for a pasted address. */
  readonly readsPaste: boolean;
  readonly hasTerminal: boolean;
  /** Completes the embedded server's own pages if there is no user at a browser. */
  readonly completePages?: (url: string, redirectUri: string) => Promise<void>;
};
/** One authorization request: the values to keep until its response. */
export type Attempt = {
  readonly secrets: Secrets;
  readonly redirectUri: string;
  readonly requested: readonly string[];
  readonly url: ExternalUrl;
  /** How long the address works; absent if it has no end. */
  readonly expiresInS?: number;
};
