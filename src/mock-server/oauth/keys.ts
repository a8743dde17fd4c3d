import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hash,
  type KeyObject,
  scryptSync,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { JwtParts } from '../../core/json.ts';
import { isIdentityScope } from '../../api-specs/oauth/endpoints.ts';
import type { Environment, MockRequest } from '../service-set.ts';
import type {
  Auth,
  Client,
  Code,
  SigningKey,
  User,
  Session,
  IntegrityState,
  Metrics,
  StoreItem,
} from './state.ts';
import { OAuthPageError } from './errors.ts';
import { clientLimits } from '../../api-specs/oauth/console-records.ts';

export const base64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');
export const sha256 = (text: string): string => hash('sha256', text, 'base64url');
/** How stored refresh tokens and security events name a token. */
export const tokenHash = (token: string): string =>
  createHash('sha512').update(createHash('sha512').update(token).digest()).digest('base64');
export const hmac = (secret: string, text: string): string =>
  createHmac('sha256', secret).update(text).digest('base64url');
/** spec/sign-in#check-12.12: the response time does not reveal how much of a secret was correct. */
export const sameText = (left: string, right: string): boolean => {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
};

type Alg = SigningKey['alg'];
/** Keys of an algorithm are made at their first use: an RSA pair takes longer than everything else a start does. */
const signingKey = (auth: Auth, alg: Alg): SigningKey => {
  const found = auth.keys.get(alg);
  if (found !== undefined) return found;
  const pair =
    alg === 'RS256'
      ? generateKeyPairSync('rsa', { modulusLength: 2048 })
      : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = base64url(auth.env.random(9));
  const made: SigningKey = {
    kid,
    alg,
    pem: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    jwk: { ...pair.publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' },
  };
  auth.env.store.transact(() => auth.keys.put(alg, made));
  return made;
};
export type Signer = {
  jwt(alg: Alg, claims: Readonly<Record<string, unknown>>, typ?: string): string;
  publicKeys(): Readonly<Record<string, unknown>>[];
};
/** Signs with keys of the store; parsed keys are kept as long as the store has the same ones. */
export const makeSigner = (auth: Auth): Signer => {
  const parsed = new Map<string, KeyObject>();
  const keyOf = (key: SigningKey): KeyObject => {
    const found = parsed.get(key.kid) ?? createPrivateKey(key.pem);
    parsed.set(key.kid, found);
    return found;
  };
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    jwt: (alg, claims, typ = 'JWT') => {
      const key = signingKey(auth, alg);
      const text = `${encode({ alg, kid: key.kid, typ })}.${encode(claims)}`;
      const options = alg === 'ES256' ? { key: keyOf(key), dsaEncoding: 'ieee-p1363' as const } : keyOf(key);
      return `${text}.${sign('sha256', Buffer.from(text), options).toString('base64url')}`;
    },
    publicKeys: () => (['RS256', 'ES256'] as const).map((alg) => signingKey(auth, alg).jwk),
  };
};

export type Jwk = Readonly<Record<string, unknown>>;
/**
 * RFC 7515 with the two algorithms that the peers of this server use; `none` and shared secrets prove no
 * identity.
 */
const algorithms: Readonly<Record<string, { readonly kty: string; readonly dsaEncoding?: 'ieee-p1363' }>> = {
  RS256: { kty: 'RSA' },
  ES256: { kty: 'EC', dsaEncoding: 'ieee-p1363' },
};
export const isSignedBy = ({ header, text, signature }: JwtParts, jwk: Jwk): boolean => {
  const algorithm = algorithms[String(header.alg)];
  if (algorithm === undefined || jwk.kty !== algorithm.kty) return false;
  if (header.kid !== undefined && jwk.kid !== undefined && header.kid !== jwk.kid) return false;
  try {
    const key = createPublicKey({ key: jwk as never, format: 'jwk' });
    const { dsaEncoding } = algorithm;
    return verify('sha256', Buffer.from(text), dsaEncoding ? { key, dsaEncoding } : key, signature);
  } catch {
    return false;
  }
};
export const audiencesOf = ({ claims }: JwtParts): string[] =>
  [claims.aud].flat().filter((aud): aud is string => typeof aud === 'string');

/** The claims that the granted identity scopes open. */
export const userClaims = (user: User, scopes: readonly string[]): Record<string, unknown> => ({
  sub: user.id,
  ...(scopes.includes('email') ? { email: user.email, email_verified: true } : {}),
  ...(scopes.includes('profile') ? { name: user.name } : {}),
  ...(user.organization === null ? {} : { hd: user.organization }),
});
type SignedIn = Pick<Code, 'user' | 'scopes' | 'signed_in_at'> & {
  readonly asked: Pick<Code['asked'], 'nonce'>;
};
const halfHash = (text: string): string =>
  createHash('sha256').update(text).digest().subarray(0, 16).toString('base64url');
/** spec/sign-in#token-2: "returned only when an identity scope such as openid, profile or email was requested". */
export const idToken = (
  auth: Auth,
  signer: Signer,
  { client, code, issuer }: { readonly client: Client; readonly code: SignedIn; readonly issuer: string },
  accessToken: string,
): { id_token?: string } => {
  const user = auth.users.get(code.user);
  if (user === undefined || !code.scopes.some(isIdentityScope)) return {};
  const now = Math.floor(auth.env.now() / 1000);
  const claims = {
    iss: issuer,
    azp: client.id,
    aud: client.id,
    ...userClaims(user, code.scopes),
    at_hash: halfHash(accessToken),
    ...(code.asked.nonce === null ? {} : { nonce: code.asked.nonce }),
    auth_time: Math.floor(code.signed_in_at / 1000),
    iat: now,
    exp: now + auth.settings().access_token_seconds,
  };
  return { id_token: signer.jwt(client.id_token_alg, claims) };
};

/**
 * The issuer as this client knows it: RFC 8414 3.3 and OpenID Connect Discovery 4.3 require that it equals
 * the URL of the metadata request, and `localhost`, `127.0.0.1` and a container's name are different hosts.
 * The server has already checked the Host (own-host.ts).
 */
export const issuerFor = (env: Environment, { headers }: Pick<MockRequest, 'headers'>): string => {
  const origin = env.origin();
  return headers.host === undefined
    ? origin
    : `${origin.slice(0, origin.indexOf('//') + 2)}${headers.host.toLowerCase()}`;
};

const derive = (password: string, salt: string): string =>
  base64url(scryptSync(password.normalize('NFC'), salt, 32, { N: 4096 }));
export const hashedPassword = (auth: Auth, password: string): NonNullable<User['password']> => {
  const salt = base64url(auth.env.random(12));
  return { salt, hash: derive(password, salt) };
};
/** Needs the same time for an unknown user. */
export const passwordIsRight = (user: User | undefined, password: string): boolean => {
  const stored = user?.password ?? { salt: 'none', hash: '' };
  return sameText(derive(password, stored.salt), stored.hash) && user !== undefined;
};
/** A user by sub or e-mail address; the address in any case. */
export const findUser = (auth: Auth, name: string): User | undefined => {
  const byId = auth.users.get(name);
  if (byId !== undefined) return byId;
  const email = name.trim().toLowerCase();
  return (
    auth.users.find((user) => user.email.toLowerCase() === email && user.state !== 'deleted') ??
    auth.users.find((user) => user.email.toLowerCase() === email)
  );
};

const NAME = 'opsctl_session';
const SESSION_SECONDS = 14 * 86_400;

/** One browser: the value of its cookie, and its session if a user has signed in. */
export type Browser = {
  readonly cookie: string;
  readonly hash: string;
  readonly session: Session | undefined;
  readonly isNew: boolean;
};

const cookieOf = (request: MockRequest): string | undefined =>
  new RegExp(`(?:^|;\\s*)${NAME}=([A-Za-z0-9_-]{32,64})(?:;|$)`).exec(request.headers.cookie ?? '')?.[1];

export const isSessionOver = (auth: Auth, session: Session): boolean =>
  auth.env.now() - session.created_at >= SESSION_SECONDS * 1000;

export const browserOf = (auth: Auth, request: MockRequest): Browser => {
  const cookie = cookieOf(request);
  if (cookie === undefined) return newBrowser(auth);
  const hash = sha256(cookie);
  const session = auth.sessions.get(hash);
  return {
    cookie,
    hash,
    session: session && !isSessionOver(auth, session) ? session : undefined,
    isNew: false,
  };
};
const newBrowser = (auth: Auth): Browser => {
  const cookie = base64url(auth.env.random(32));
  return { cookie, hash: sha256(cookie), session: undefined, isNew: true };
};

export const setCookie = (auth: Auth, cookie: string): string =>
  `${NAME}=${cookie}; Path=/o/; HttpOnly; SameSite=Lax; Max-Age=${SESSION_SECONDS}${auth.env.origin().startsWith('https:') ? '; Secure' : ''}`;

/** The users of a session that can still act, the one who signed in last first. */
export const signedIn = (auth: Auth, browser: Browser): User[] =>
  (browser.session?.users ?? []).flatMap((id) => {
    const user = auth.users.get(id);
    return user?.state === 'active' ? [user] : [];
  });

/**
 * Signs a user in under a new cookie, so that a cookie planted before the sign-in is useless. Pending
 * requests of the same browser in other tabs move to the new session. Call inside a transaction.
 */
export const signIn = (auth: Auth, browser: Browser, user: User): Browser => {
  const next = newBrowser(auth);
  const now = auth.env.now();
  const users = [user.id, ...(browser.session?.users ?? []).filter((id) => id !== user.id)];
  const session: Session = { id: next.hash.slice(0, 12), users, created_at: now, seen_at: now };
  auth.sessions.delete(browser.hash);
  auth.sessions.put(next.hash, session);
  for (const pending of auth.pending.filter((p) => p.browser === browser.hash))
    auth.pending.put(pending.id, { ...pending, browser: next.hash });
  return { ...next, session };
};

/**
 * spec/sign-in#check-3.11: a form is valid for this request at this step. The caller has already checked that
 * the request belongs to this browser. The proof does not include the cookie, because a sign-in in another
 * tab changes it while this form is open.
 */
export const proofOf = (auth: Auth, request: string, step: string): string =>
  hmac(auth.secret(), `${step} ${request}`);

/** spec/sign-in#states: a change of the integrity check is "effective within up to 15 minutes"; the last of several changes wins. */
export const effectiveState = (auth: Auth, { integrity }: Client): IntegrityState =>
  auth.env.now() >= integrity.effective_at ? integrity.state : integrity.before;
export const emptyMetrics: Metrics = {
  verified: 0,
  unverified_outdated_client: 0,
  unverified_unknown_origin: 0,
  unverified_invalid: 0,
};
const INTEGRITY_TOKEN_SECONDS = 3600;
const TOKEN = /^it1\.(\d+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const signature = (auth: Auth, client: Client, ends: string, nonce: string): string =>
  hmac(auth.secret(), `integrity ${client.id} ${client.team_id} ${client.bundle_id} ${ends} ${nonce}`);
/** What the attestation service gives the genuine app: good for one client, team and bundle, for an hour. */
export const makeIntegrityToken = (
  auth: Auth,
  client: Client,
): { integrity_token: string; expires_in: number } => {
  const ends = String(Math.floor(auth.env.now() / 1000) + INTEGRITY_TOKEN_SECONDS);
  const nonce = base64url(auth.env.random(9));
  return {
    integrity_token: `it1.${ends}.${nonce}.${signature(auth, client, ends, nonce)}`,
    expires_in: INTEGRITY_TOKEN_SECONDS,
  };
};
const isGenuine = (auth: Auth, client: Client, token: string): boolean => {
  const [, ends = '', nonce = '', signed = ''] = TOKEN.exec(token) ?? [];
  return (
    ends !== '' &&
    Number(ends) * 1000 > auth.env.now() &&
    sameText(signed, signature(auth, client, ends, nonce))
  );
};
/** spec/sign-in#authentication-7: the four categories. An app without a token shows itself by its bundle identifier in the User-Agent. */
export const categoryOf = (
  auth: Auth,
  client: Client,
  token: string | undefined,
  userAgent: string,
): keyof Metrics => {
  if (token !== undefined) return isGenuine(auth, client, token) ? 'verified' : 'unverified_invalid';
  return client.bundle_id !== null && userAgent.includes(client.bundle_id)
    ? 'unverified_outdated_client'
    : 'unverified_unknown_origin';
};
export const countRequest = (auth: Auth, client: Client, category: keyof Metrics): void => {
  const before = auth.metrics.get(client.id) ?? emptyMetrics;
  auth.env.store.transact(() => auth.metrics.put(client.id, { ...before, [category]: before[category] + 1 }));
};

const hex = (fingerprint: string | null): string => (fingerprint ?? '').replaceAll(':', '').toLowerCase();
const has = (item: StoreItem, account: string): boolean =>
  item.accounts.some((name) => name.toLowerCase() === account.toLowerCase());
const appProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  const apps = auth.storeItems.filter(
    (item) => item.kind === 'app' && item.package_name === client.package_name,
  );
  if (apps.length === 0)
    return `no app with the package name ${client.package_name} is registered in the store console`;
  const app = apps.find((item) => hex(item.fingerprint) === hex(client.fingerprint));
  if (app === undefined) return 'the registered app has another SHA-1 fingerprint';
  return has(app, account) ? undefined : `${account} is not an administrator of the app`;
};
const extensionProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  const item = auth.storeItems.find(
    (entry) => entry.kind === 'extension' && entry.item_id === client.item_id,
  );
  if (item === undefined) return `no item with the ID ${client.item_id} is registered in the store`;
  if (!has(item, account)) return `${account} is not the publisher of the item`;
  const delayMs = auth.settings().ownership_delay_seconds * 1000;
  return auth.env.now() - item.granted_at < delayMs
    ? 'access to the item was granted a moment ago: try again in a few minutes'
    : undefined;
};
/** spec/sign-in#authentication-6: why the ownership of an application cannot be verified; undefined when it is. */
export const ownershipProblem = (auth: Auth, client: Client, account: string): string | undefined => {
  if (client.type === 'mobile-a') return appProblem(auth, client, account);
  if (client.type === 'browser-extension') return extensionProblem(auth, client, account);
  return `clients of the type ${client.type} have no ownership verification`;
};

const dayMs = 86_400_000;
export type ClientLife =
  | { readonly state: 'active' }
  | {
      readonly state: 'deleted';
      readonly at: number;
      readonly because: 'asked' | 'unused';
      readonly restorableUntil: number;
    };
const makeDeleted = (at: number, because: 'asked' | 'unused'): ClientLife => ({
  state: 'deleted',
  at,
  because,
  restorableUntil: at + clientLimits.restoreDays * dayMs,
});
/**
 * spec/sign-in#states: deletion, "manual or automatic for unused clients"; restorable for 30 days. The automatic one needs no
 * clockwork: a client is deleted from the moment its idle time is over.
 */
export const clientLife = (auth: Auth, client: Client): ClientLife => {
  if (client.deleted_at !== null) return makeDeleted(client.deleted_at, 'asked');
  const idleEnd = client.last_used_at + auth.settings().unused_client_days * dayMs;
  return auth.env.now() >= idleEnd ? makeDeleted(idleEnd, 'unused') : { state: 'active' };
};
/** spec/sign-in#states-8: after the time for a restore, the page does not offer one. */
export const deletedClientError = (auth: Auth, client: Client | undefined): OAuthPageError => {
  const life = client === undefined ? undefined : clientLife(auth, client);
  if (life?.state === 'deleted' && auth.env.now() <= life.restorableUntil)
    return new OAuthPageError('deleted_client', 'The OAuth client was deleted.');
  return new OAuthPageError(
    'deleted_client',
    `The OAuth client was deleted more than ${clientLimits.restoreDays} days ago and cannot be restored.`,
    ['developers: create a new client and use its ID'],
  );
};
export const isClientActive = (auth: Auth, client: Client): boolean =>
  clientLife(auth, client).state === 'active';
/** Notes the use of a client; once an hour is enough for a period of months, and spares a write at each request. */
export const noteUse = (auth: Auth, client: Client): void => {
  const now = auth.env.now();
  if (now - client.last_used_at < 3_600_000) return;
  auth.env.store.transact(() => auth.clients.put(client.id, { ...client, last_used_at: now }));
};
