import { elapsedMs, type Instant } from '../clock.ts';
import type { Endpoints } from '../endpoints.ts';
import type { ClientAuthentication } from '../../core/sign-in-words.ts';
import type { Person, TokenResponse } from '../protocol/token-response.ts';

/** One signed-in person at one authorization server. Times are milliseconds since 1970. */
export type Account = {
  readonly name: string;
  /** Raised by every change of the account in the store, and never used twice: whoever read an older one has lost. */
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
  /** How a machine signed in: tokens are had again in the same way. */
  readonly method?: MachineSignIn;
  readonly subject?: string;
  /** The issuer in the first id_token: with `subject` it names the person. */
  readonly subjectIssuer?: string;
  /** Absent in files of version 0.1.0, which had Bearer tokens only. */
  readonly tokenType?: 'Bearer';
  readonly email?: string;
  readonly requested: readonly string[];
  readonly granted: readonly string[];
  readonly obtainedMs: number;
  /** When the token was asked for, on the clock that nobody sets. */
  readonly obtainedBoot?: Instant['boot'];
  readonly accessToken?: string;
  readonly accessExpiresMs?: number;
  readonly refreshToken?: string;
  readonly refreshExpiresMs?: number;
  readonly idToken?: string;
  /** Why the tokens were dropped: the service refused them, or an event revoked them. */
  readonly ended?: string;
};
/** What is needed to sign a machine in again; never a secret. */
export type MachineSignIn = {
  readonly name: string;
  readonly keyFile?: string;
  readonly audience?: string;
  readonly scopes: readonly string[];
};
export type StoredCredentials = {
  readonly current?: string;
  readonly accounts: readonly Account[];
  /** The last generation that an account got. */
  readonly generation?: number;
};

export const noCredentials: StoredCredentials = { accounts: [] };

/** How long the access token lives for sure; undefined when the service did not say, 0 when nobody can tell. */
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
  email: answer.identity?.email,
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

/** `asked` is when the request left: the token may have been made right then. spec/sign-in#refresh: the answer has no refresh token, and that does not mean that it is gone. */
export const merged = (account: Account, answer: TokenResponse, asked: Instant): Account => ({
  ...account,
  granted: [...grantedFrom(answer, account.granted)],
  obtainedMs: asked.wallMs,
  obtainedBoot: asked.boot,
  accessToken: answer.accessToken,
  accessExpiresMs: after(answer.expiresInS, asked.wallMs),
  refreshToken: answer.refreshToken ?? account.refreshToken,
  refreshExpiresMs: after(answer.refreshExpiresInS, asked.wallMs) ?? account.refreshExpiresMs,
  idToken: answer.idToken ?? account.idToken,
  tokenType: answer.tokenType ?? account.tokenType,
  ended: undefined,
});

const issIn = (idToken: string | undefined): string | undefined => {
  try {
    const payload = Buffer.from(idToken?.split('.')[1] ?? '', 'base64url').toString('utf8');
    const { iss } = JSON.parse(payload) as { iss?: unknown };
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
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

/** Drops the tokens and keeps who it was, so that `login` can name the account again. */
export const endedAccount = (account: Account, why: string): Account => {
  const { accessToken, accessExpiresMs, refreshToken, refreshExpiresMs, idToken, ...rest } = account;
  return { ...rest, ended: why };
};

export const accountNamed = (data: StoredCredentials, name: string): Account | undefined =>
  data.accounts.find((account) => account.name === name);
export const withAccount = (data: StoredCredentials, account: Account): StoredCredentials => ({
  ...data,
  current: account.name,
  accounts: [...data.accounts.filter(({ name }) => name !== account.name), account],
});
/** In place, without making it the current one. */
export const withChanged = (data: StoredCredentials, account: Account): StoredCredentials => ({
  ...data,
  accounts: data.accounts.map((each) => (each.name === account.name ? account : each)),
});
export const withoutAccount = (data: StoredCredentials, name: string): StoredCredentials => {
  const accounts = data.accounts.filter((each) => each.name !== name);
  return { ...data, current: data.current === name ? accounts[0]?.name : data.current, accounts };
};

export const secretsOf = (account: Account): string[] =>
  [account.accessToken, account.refreshToken, account.idToken, account.clientSecret].filter(
    (secret) => secret !== undefined,
  );

/** Names are part of command lines that the user copies. */
export const accountNameFrom = (answer: TokenResponse): string =>
  (answer.identity?.email ?? answer.identity?.sub ?? 'default').replace(/[^\w.@+-]/g, '-').slice(0, 80) ||
  'default';

/** The same person at two servers is two accounts: the second one's name says where it is, and nothing is overwritten. */
export const freeName = (data: StoredCredentials, name: string, server: string): string => {
  const isTaken = data.accounts.some((each) => each.name === name && each.server !== server);
  return isTaken ? `${name}@${server.replace(/^https?:\/\//, '').replace(/[^\w.-]/g, '-')}` : name;
};
