import { join } from 'node:path';
import { claimsOf } from '../../core/json.ts';
import type { ClientAuthentication } from '../../core/shape.ts';
import type { Host } from '../../platform/host.ts';
import { elapsedMs, type Instant, missing, isIdentity } from '../auth-context.ts';
import type { Endpoints } from '../protocol/token-client.ts';
import type { Person, TokenResponse, TokenType } from '../protocol/token-response.ts';
import { durationText } from '../../core/format.ts';

/** One signed-in person at one authorization server. Times are milliseconds since 1970. */
export type Account = {
  readonly name: string;
  /**
   * Incremented by every change of the stored account and never reused. A writer that read an older value
   * loses.
   */
  readonly generation: number;
  /** Names the sign-in that these tokens come from: refreshes keep it, a new sign-in brings its own. */
  readonly signIn: string;
  /** Origin of the authorization server, or `mock` for the embedded one, whose port changes. */
  readonly server: string;
  readonly endpoints: Endpoints;
  readonly clientId: string;
  readonly clientSecret?: string;
  readonly clientAuth?: ClientAuthentication;
  /** The name of the server in its metadata. */
  readonly issuer?: string;
  /** How a machine signed in. New tokens are requested in the same way. */
  readonly method?: MachineSignIn;
  readonly subject?: string;
  /** The issuer in the first id_token: with `subject` it names the person. */
  readonly subjectIssuer?: string;
  /** No key of the server confirmed the id_token: `subject` can only contradict; it does not identify the person. */
  readonly isUnconfirmed?: true;
  /** Absent in files of version 0.1.0, which had Bearer tokens only. */
  readonly tokenType?: TokenType;
  /** The private key (PEM) that the tokens are bound to (RFC 9449); they are of no use without it. */
  readonly dpopKey?: string;
  readonly email?: string;
  readonly requested: readonly string[];
  readonly granted: readonly string[];
  readonly obtainedMs: number;
  /** When the token was requested, on the monotonic clock. */
  readonly obtainedBoot?: Instant['boot'];
  readonly accessToken?: string;
  readonly accessExpiresMs?: number;
  readonly refreshToken?: string;
  readonly refreshExpiresMs?: number;
  readonly idToken?: string;
  /** The server rejected the last refresh, for example because it wants MFA; the tokens are still there. */
  readonly refreshFailure?: { readonly code: string; readonly atMs: number };
  /** Why the tokens were dropped: the service refused them, or an event revoked them. */
  readonly ended?: string;
};
/** The data to sign a machine in again, without secrets. */
export type MachineSignIn = {
  readonly name: string;
  readonly keyFile?: string;
  readonly audience?: string;
  readonly scopes: readonly string[];
  /** Additional fields of the token request. */
  readonly params?: readonly (readonly [name: string, value: string])[];
};
/** An access token of a machine, for later commands with the same settings. */
export type KeptToken = {
  /** A hash of the settings, the key or secret, and the CI job. */
  readonly key: string;
  readonly name: string;
  readonly server: string;
  readonly token: string;
  readonly obtained: Instant;
  readonly lifeMs: number;
  readonly dpopKey?: string;
};
export type StoredCredentials = {
  readonly current?: string;
  readonly accounts: readonly Account[];
  /** Access tokens of non-interactive sign-ins that need no account. */
  readonly kept?: readonly KeptToken[];
  /** The last generation that an account got. */
  readonly generation?: number;
};
export const emptyCredentials: StoredCredentials = { accounts: [] };
/**
 * The guaranteed lifetime of the access token; undefined if the service did not report it, 0 if it is
 * unknown.
 */
export const lifeLeftMs = (account: Account, now: Instant): number | undefined => {
  if (account.accessExpiresMs === undefined) return undefined;
  const passed = elapsedMs({ wallMs: account.obtainedMs, boot: account.obtainedBoot }, now);
  return passed === undefined ? 0 : account.accessExpiresMs - account.obtainedMs - passed;
};
/** Requests take time; short-lived tokens get half their life. */
const skewMs = 60_000;
export const isFresh = (account: Account, now: Instant, minTtlMs = 0): boolean => {
  if (account.accessToken === undefined) return false;
  const left = lifeLeftMs(account, now);
  if (left === undefined) return true;
  const lifeMs = (account.accessExpiresMs ?? 0) - account.obtainedMs;
  return left > Math.max(minTtlMs, Math.min(skewMs, lifeMs / 2));
};
/** Not past its end, by a margin for the way to the service. */
export const isAlive = (account: Account, now: Instant, minTtlMs = 0): boolean =>
  account.accessToken !== undefined && (lifeLeftMs(account, now) ?? 0) > Math.max(minTtlMs, 5000);
const after = (seconds: number | undefined, nowMs: number): number | undefined =>
  seconds === undefined ? undefined : nowMs + seconds * 1000;
const grantedFrom = (answer: TokenResponse, otherwise: readonly string[]): readonly string[] =>
  answer.scopes ?? otherwise;
export type Owner = Pick<
  Account,
  | 'name'
  | 'signIn'
  | 'server'
  | 'endpoints'
  | 'clientId'
  | 'clientSecret'
  | 'clientAuth'
  | 'issuer'
  | 'method'
  | 'dpopKey'
>;
export const accountFrom = (
  owner: Owner,
  answer: TokenResponse,
  requested: readonly string[],
  asked: Instant,
): Account => ({
  ...owner,
  generation: 0,
  subject: answer.identity?.sub,
  subjectIssuer: answer.identity?.iss,
  tokenType: answer.tokenType,
  ...(answer.identity?.isUnconfirmed === true
    ? { isUnconfirmed: true as const }
    : { email: answer.identity?.email }),
  requested: [...requested],
  granted: [...grantedFrom(answer, requested)],
  obtainedMs: asked.wallMs,
  obtainedBoot: asked.boot,
  accessToken: answer.accessToken,
  accessExpiresMs: after(answer.expiresInS, asked.wallMs),
  refreshToken: answer.refreshToken,
  refreshExpiresMs: after(answer.refreshExpiresInS, asked.wallMs),
  idToken: answer.idToken,
});
/** The person of a response, if a key of the server confirmed it. */
const namedBy = ({ identity }: TokenResponse): TokenResponse['identity'] =>
  identity?.isUnconfirmed === true ? undefined : identity;
/** A refresh with a confirmed id_token confirms its person, which the caller compared with the one of the account. */
const confirmedBy = (account: Account, answer: TokenResponse): Account => {
  const person = namedBy(answer);
  if (account.isUnconfirmed !== true || person === undefined) return account;
  const { isUnconfirmed: _, ...rest } = account;
  return { ...rest, email: person.email };
};
/**
 * `asked` is the time at which the request was sent, because the token may have been issued immediately.
 * spec/sign-in#refresh: the response has no refresh token, which does not mean that it was revoked.
 */
export const mergeTokens = (account: Account, answer: TokenResponse, asked: Instant): Account => ({
  ...confirmedBy(account, answer),
  granted: [...grantedFrom(answer, account.granted)],
  obtainedMs: asked.wallMs,
  obtainedBoot: asked.boot,
  accessToken: answer.accessToken,
  accessExpiresMs: after(answer.expiresInS, asked.wallMs),
  refreshToken: answer.refreshToken ?? account.refreshToken,
  refreshExpiresMs: after(answer.refreshExpiresInS, asked.wallMs) ?? account.refreshExpiresMs,
  idToken: answer.idToken ?? account.idToken,
  tokenType: answer.tokenType ?? account.tokenType,
  endpoints: answer.endpoints ?? account.endpoints,
  refreshFailure: undefined,
  ended: undefined,
});
const issIn = (idToken: string | undefined): string | undefined => {
  const { iss } = claimsOf(idToken);
  return typeof iss === 'string' ? iss : undefined;
};
/** Whose account it is. Files of version 0.1.0 contain the issuer in the stored id_token only. */
export const personOf = (
  account: Pick<Account, 'server' | 'subject' | 'subjectIssuer' | 'idToken'>,
): Person => ({
  sub: account.subject,
  // The embedded server has another port, and so another issuer, at each start.
  iss:
    account.subject === undefined || account.server === embeddedServer
      ? undefined
      : (account.subjectIssuer ?? issIn(account.idToken)),
});
/** Of an account whose server is the embedded one. */
const embeddedServer = 'mock';
/** False if both are known and differ. */
export const isSamePerson = (left: Person, right: Person): boolean =>
  (['sub', 'iss'] as const).every(
    (name) => left[name] === undefined || right[name] === undefined || left[name] === right[name],
  );
/** True if both name the same subject, of the same issuer as far as the issuers are known. */
export const isKnownPerson = (left: Person, right: Person): boolean =>
  left.sub !== undefined && left.sub === right.sub && isSamePerson(left, right);
/**
 * A new sign-in whose keys could not be read does not take the confirmation from the account of the same person. An
 * account without a known issuer is not enough: another issuer of the server can have the same subject.
 */
export const keepConfirmation = (made: Account, before: Account | undefined): Account => {
  if (made.isUnconfirmed !== true || before === undefined || before.isUnconfirmed === true) return made;
  const [own, earlier] = [personOf(made), personOf(before)];
  const isSame = before.server === made.server && isKnownPerson(own, earlier) && own.iss === earlier.iss;
  if (!isSame) return made;
  const { isUnconfirmed: _, ...rest } = made;
  return { ...rest, email: before.email };
};
/** Drops the tokens and keeps who it was, so that `login` can name the account again. */
export const endedAccount = (account: Account, why: string): Account => {
  const { accessToken, accessExpiresMs, refreshToken, refreshExpiresMs, idToken, dpopKey, ...rest } = account;
  return { ...rest, ended: why };
};
export const findAccount = (data: StoredCredentials, name: string): Account | undefined =>
  data.accounts.find((account) => account.name === name);
export const withAccount = (data: StoredCredentials, account: Account): StoredCredentials => ({
  ...data,
  current: account.name,
  accounts: [...data.accounts.filter(({ name }) => name !== account.name), account],
});
/** In place, without making it the current one. */
const withChanged = (data: StoredCredentials, account: Account): StoredCredentials => ({
  ...data,
  accounts: data.accounts.map((each) => (each.name === account.name ? account : each)),
});
/** After the current account, the only other one becomes current: a choice between several is up to the user. */
export const withoutAccount = (data: StoredCredentials, name: string): StoredCredentials => {
  const accounts = data.accounts.filter((each) => each.name !== name);
  const [only] = accounts.length === 1 ? accounts : [];
  return { ...data, current: data.current === name ? only?.name : data.current, accounts };
};
export const secretsOf = (account: Account): string[] =>
  [account.accessToken, account.refreshToken, account.idToken, account.clientSecret, account.dpopKey].filter(
    (secret) => secret !== undefined,
  );
/** Names are part of command lines that the user copies. */
export const toAccountName = (text: string): string => text.replace(/[^\w.@+-]/g, '-').slice(0, 80);
export const accountNameFrom = (answer: TokenResponse): string =>
  toAccountName(namedBy(answer)?.email ?? namedBy(answer)?.sub ?? 'default') || 'default';
/**
 * The same person at two servers is two accounts. The name of the second one includes the server, and no
 * account is overwritten.
 */
export const freeName = (data: StoredCredentials, name: string, server: string): string => {
  const isTaken = data.accounts.some((each) => each.name === name && each.server !== server);
  return isTaken ? `${name}@${server.replace(/^https?:\/\//, '').replace(/[^\w.-]/g, '-')}` : name;
};

/** Read by TAB (src/complete.ts), which must neither decrypt anything nor ask a keychain. */
const FILE = 'accounts';
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
/** Names of the accounts with their servers, the current one first, without secrets. Pure. */
export const accountLines = ({ accounts, current }: StoredCredentials): string => {
  const first = accounts.filter(({ name }) => name === current);
  const others = accounts.filter(({ name }) => name !== current);
  return [...first, ...others].map(({ name, server }) => `${oneLine(name)}\t${oneLine(server)}\n`).join('');
};
/** Written after the credentials and derived from them. An unwritable list is not a failure. */
export const writeAccountList = async (
  host: Host,
  directory: string,
  data: StoredCredentials,
): Promise<void> => {
  try {
    await host.files.replace(join(directory, FILE), accountLines(data), 0o600);
  } catch {
    // TAB offers what it knew before.
  }
};

/**
 * Every operation on an account reads it, sends a request to a server, and writes. Another process may write
 * in the meantime. Each function here decides which write is still allowed, given the state that was read and
 * the state that is stored now. No other code changes an account. All functions are pure: the store runs them
 * in an exclusive section.
 */
export type Swap<Outcome extends string> = {
  readonly data: StoredCredentials;
  readonly outcome: Outcome;
};
const isSameSignIn = (left: Account, right: Account): boolean => left.signIn === right.signIn;
/**
 * - `stored`: the new tokens are in the store.
 * - `superseded`: another process refreshed or signed in; its tokens stay.
 * - `ask-again`: the access token was dropped in the meantime (a security event), so the new one may be older
 *   than the event.
 * - `ended`, `signed-out`: the sign-in has ended; the new tokens must not restore it.
 */
export type RefreshOutcome = 'stored' | 'superseded' | 'ask-again' | 'ended' | 'signed-out';
export const swapRefreshed = (
  data: StoredCredentials,
  used: Account,
  response: TokenResponse,
  asked: Instant,
): Swap<RefreshOutcome> => {
  const latest = findAccount(data, used.name);
  if (latest === undefined) return { data, outcome: 'signed-out' };
  if (!isSameSignIn(latest, used)) return { data, outcome: 'superseded' };
  if (latest.ended !== undefined) return { data, outcome: 'ended' };
  if (latest.refreshToken !== used.refreshToken) return { data, outcome: 'superseded' };
  if (latest.accessToken === used.accessToken)
    return { data: withChanged(data, mergeTokens(latest, response, asked)), outcome: 'stored' };
  // The used refresh token may be invalid now, so its successor is kept, even if the access token is not.
  const kept =
    response.refreshToken === undefined || response.refreshToken === latest.refreshToken
      ? data
      : withChanged(data, { ...latest, refreshToken: response.refreshToken });
  return { data: kept, outcome: latest.accessToken === undefined ? 'ask-again' : 'superseded' };
};
/** Notes that the server rejected a refresh; a newer sign-in or refresh knows better. */
export const swapRefreshFailed = (
  data: StoredCredentials,
  used: Account,
  failure: NonNullable<Account['refreshFailure']>,
): Swap<'noted' | 'superseded'> => {
  const latest = findAccount(data, used.name);
  if (latest === undefined || !isSameSignIn(latest, used) || latest.refreshToken !== used.refreshToken)
    return { data, outcome: 'superseded' };
  return { data: withChanged(data, { ...latest, refreshFailure: failure }), outcome: 'noted' };
};
/** Drops the tokens that the service refused or that were revoked, and no newer ones. */
export const swapEnded = (
  data: StoredCredentials,
  read: Account,
  why: string,
): Swap<'ended' | 'superseded' | 'signed-out'> => {
  const latest = findAccount(data, read.name);
  if (latest === undefined) return { data, outcome: 'signed-out' };
  if (!isSameSignIn(latest, read) || latest.refreshToken !== read.refreshToken)
    return { data, outcome: 'superseded' };
  return { data: withChanged(data, endedAccount(latest, why)), outcome: 'ended' };
};
/**
 * `refreshed`: the same sign-in has a newer refresh token, which must also be revoked. `replaced`: a new
 * sign-in was stored.
 */
export const swapRemoved = (
  data: StoredCredentials,
  read: Account,
): Swap<'removed' | 'refreshed' | 'replaced' | 'gone'> => {
  const latest = findAccount(data, read.name);
  if (latest === undefined) return { data, outcome: 'gone' };
  if (!isSameSignIn(latest, read)) return { data, outcome: 'replaced' };
  if (latest.refreshToken !== read.refreshToken) return { data, outcome: 'refreshed' };
  return { data: withoutAccount(data, read.name), outcome: 'removed' };
};
/** An account without any usable credential. */
export const isOver = ({ ended, refreshToken, accessToken }: Account): boolean =>
  ended !== undefined || (refreshToken === undefined && accessToken === undefined);
/**
 * - `changed`: a sign-in that adds to an account (`base`) keeps the scopes it had read; another sign-in put more there
 *   in the meantime, and storing this one would remove them silently.
 * - `other-person`: an account keeps its person (OpenID Connect Core 12.2 for refreshes; here for every sign-in).
 * - `other-server`: the name belongs to an account at another server, whose tokens would be lost.
 * - `without-refresh-token`: adding scopes must not cost the account its refresh token.
 */
export type SignInOutcome = 'stored' | 'changed' | 'other-person' | 'other-server' | 'without-refresh-token';
export const swapSignedIn = (
  data: StoredCredentials,
  account: Account,
  base: Pick<Account, 'signIn'> | undefined,
): Swap<SignInOutcome> => {
  const latest = findAccount(data, account.name);
  if (latest !== undefined && latest.server !== account.server && !isOver(latest))
    return { data, outcome: 'other-server' };
  if (
    latest !== undefined &&
    latest.server === account.server &&
    !isSamePerson(personOf(latest), personOf(account))
  )
    return { data, outcome: 'other-person' };
  const hasLostRefresh = latest?.refreshToken !== undefined && account.refreshToken === undefined;
  if (base !== undefined && hasLostRefresh) return { data, outcome: 'without-refresh-token' };
  const isChanged =
    base !== undefined &&
    latest !== undefined &&
    latest.signIn !== base.signIn &&
    missing(latest.granted, account.granted).length > 0;
  return isChanged ? { data, outcome: 'changed' } : { data: withAccount(data, account), outcome: 'stored' };
};
/** Increments the generation of every account that an edit created or changed. */
export const numberGenerations = (before: StoredCredentials, after: StoredCredentials): StoredCredentials => {
  const known = new Set(before.accounts);
  let generation = before.generation ?? 0;
  const accounts = after.accounts.map((account) => {
    if (known.has(account)) return account;
    generation += 1;
    return { ...account, generation };
  });
  return { ...after, accounts, generation };
};

const time = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

/** An account without its secrets, as every command shows it. */
export const describeAccount = (account: Account, now: Instant) => {
  const leftMs = lifeLeftMs(account, now);
  return {
    account: account.name,
    email: account.email ?? null,
    subject: account.isUnconfirmed === true ? null : (account.subject ?? null),
    server: account.server,
    client_id: account.clientId,
    method: account.method?.name ?? null,
    token_type: account.tokenType ?? 'Bearer',
    signed_in:
      account.ended === undefined &&
      ((account.refreshToken !== undefined && account.refreshFailure === undefined) ||
        account.method !== undefined ||
        isFresh(account, now)),
    scopes: account.granted,
    missing_scopes: missingScopes(account),
    expires_at: time(leftMs === undefined ? undefined : now.wallMs + leftMs),
    expires_in: leftMs === undefined ? null : Math.max(0, Math.floor(leftMs / 1000)),
    has_refresh_token: account.refreshToken !== undefined,
    refresh_expires_at: time(account.refreshExpiresMs),
    ended: account.ended ?? null,
    refresh_failure: account.refreshFailure?.code ?? null,
  };
};

/**
 * Servers may omit identity scopes from the response, or use other names for them. The id_token shows them.
 */
export const missingScopes = (account: Account): string[] =>
  missing(account.requested, account.granted).filter(
    (scope) => !isIdentity(scope) || account.idToken === undefined,
  );

export const lifeText = (account: Account, now: Instant): string => {
  const leftMs = lifeLeftMs(account, now);
  return leftMs === undefined
    ? 'token without a known end'
    : `token valid for ${durationText(Math.max(0, leftMs))}`;
};

export const scopeLines = (account: Account): string[] => {
  const gone = new Set(missingScopes(account));
  const all = [...new Set([...account.requested, ...account.granted])];
  return all.map((scope) => `  ${gone.has(scope) ? '✗ not granted' : '✓ granted    '}  ${scope}`);
};
