import { createHmac, timingSafeEqual } from 'node:crypto';
import { clientTypeRows } from '../../api-specs/oauth/console-records.ts';
import { scopeName } from '../../api-specs/oauth/endpoints.ts';
import type { Collection } from '../store.ts';
import { isSessionOver, base64url, sameText, sha256, tokenHash, isClientActive } from './keys.ts';
import { OAuthError } from './errors.ts';
import type { AuthorizationRequest, Auth, Client, Code, Family, Grant, User } from './state.ts';

/**
 * Access tokens are not stored. A token contains, signed, the number of its refresh token, its expiry, its
 * scopes as a bit mask over those of the refresh token, and a few random bytes. A million expired tokens
 * therefore need no memory, and revoking the refresh token revokes all of them (spec/sign-in#states: both end
 * together).
 */
const BODY = 24;
const MAC = 24;
const accessPrefix = 'ma1.';
/** An access token that is bound to a key: the thumbprint of the key follows the body (RFC 9449). */
const boundPrefix = 'ma2.';
const THUMBPRINT = 32;
const refreshPrefix = '1//';
const mac = (auth: Auth, body: Uint8Array): Buffer =>
  createHmac('sha256', auth.secret()).update(body).digest().subarray(0, MAC);
export const makeAccess = (
  auth: Auth,
  family: Family,
  endsAt: number,
  scopes: readonly string[],
  boundTo?: string,
): string => {
  const size = boundTo === undefined ? BODY : BODY + THUMBPRINT;
  const bytes = Buffer.alloc(size + MAC);
  bytes.writeUIntBE(family.id, 0, 6);
  bytes.writeUIntBE(endsAt, 6, 6);
  let mask = 0;
  for (let i = 0; i < family.scopes.length; i++) if (scopes.includes(family.scopes[i] ?? '')) mask |= 1 << i;
  bytes.writeUInt32BE(mask >>> 0, 12);
  bytes.set(auth.env.random(8), 16);
  if (boundTo !== undefined) Buffer.from(boundTo, 'base64url').copy(bytes, BODY);
  mac(auth, bytes.subarray(0, size)).copy(bytes, size);
  return (boundTo === undefined ? accessPrefix : boundPrefix) + bytes.toString('base64url');
};
export type Access = {
  readonly family: Family;
  readonly scopes: readonly string[];
  readonly endsAt: number;
  /** The thumbprint of the key that the token is bound to. */
  readonly boundTo?: string;
};
/** The refresh token's record behind an access token that is genuine and not past its end. */
export const readAccess = (auth: Auth, token: string): Access | undefined => {
  const isBound = token.startsWith(boundPrefix);
  if (!isBound && !token.startsWith(accessPrefix)) return undefined;
  const size = isBound ? BODY + THUMBPRINT : BODY;
  const text = token.slice(accessPrefix.length);
  if (text.length !== Math.ceil(((size + MAC) * 4) / 3)) return undefined;
  const bytes = Buffer.from(text, 'base64url');
  const isGenuine =
    bytes.length === size + MAC &&
    bytes.toString('base64url') === text &&
    timingSafeEqual(mac(auth, bytes.subarray(0, size)), bytes.subarray(size));
  if (!isGenuine) return undefined;
  const family = auth.families.get(bytes.readUIntBE(0, 6));
  const endsAt = bytes.readUIntBE(6, 6);
  if (family === undefined || endsAt <= auth.env.now()) return undefined;
  const mask = bytes.readUInt32BE(12);
  const scopes = family.scopes.filter((_, i) => (mask & (1 << i)) !== 0);
  const boundTo = isBound ? { boundTo: bytes.subarray(BODY, size).toString('base64url') } : {};
  return { family, endsAt, scopes, ...boundTo };
};
/** An access token that opens the data API now: not revoked, its client and its user still there. */
export const liveAccess = (auth: Auth, token: string): Access | undefined => {
  const found = readAccess(auth, token);
  if (found === undefined) return undefined;
  const { family } = found;
  const now = auth.env.now();
  if (family.revoked_at !== null && now >= family.revoked_at + auth.settings().revoke_delay_seconds * 1000)
    return undefined;
  const client = auth.clients.get(family.client);
  const isServiceToken = family.client === '';
  if (
    auth.users.get(family.user)?.state !== 'active' ||
    !(isServiceToken || (client && isClientActive(auth, client)))
  )
    return undefined;
  return found;
};
/** The time at which a refresh token stops working; infinite if no rule ends it. */
const endOf = (auth: Auth, { ends_at, stopped_at, revoked_at, issued_at }: Family): number => {
  // spec/sign-in#check-6.17: the end that a setting gives every refresh token; unlike time-based access it is not announced.
  const days = auth.settings().refresh_token_days;
  const tooOld = days === null ? null : issued_at + days * 86_400_000;
  return Math.min(...[ends_at, stopped_at, revoked_at, tooOld].map((at) => at ?? Number.POSITIVE_INFINITY));
};
export const isLive = (auth: Auth, family: Family): boolean =>
  family.stopped_at === null && family.revoked_at === null && endOf(auth, family) > auth.env.now();
/** How long a token that was ended is remembered for the words of its refusal. */
const rememberedMs = (auth: Auth): number => (auth.settings().refusal_text_hours ?? 0) * 3_600_000;
/**
 * spec/sign-in#errors-6. spec/sign-in#check-6.5: with a setting, the error message changes some hours after
 * the end, and for unknown tokens.
 */
export const refusedRefresh = (auth: Auth, family: Family | undefined): OAuthError => {
  const isSaid =
    auth.settings().refusal_text_hours === null ||
    (family !== undefined && auth.env.now() < endOf(auth, family) + rememberedMs(auth));
  return new OAuthError('invalid_grant', isSaid ? 'Token has been expired or revoked.' : 'Bad Request');
};
/** The record of a refresh token, dead or alive; undefined for everything else. */
export const readRefresh = (auth: Auth, token: string): Family | undefined => {
  const parts = /^1\/\/([0-9a-z]{1,10})-[A-Za-z0-9_-]{43}$/.exec(token);
  const family = parts === null ? undefined : auth.families.get(Number.parseInt(parts[1] ?? '', 36));
  return family !== undefined && sameText(family.hash, tokenHash(token)) ? family : undefined;
};
/** What a user gave to a client, by a code or on a device. */
export type Consented = Pick<Code, 'user' | 'scopes' | 'access_for_seconds'> & {
  readonly asked: Pick<Code['asked'], 'client'>;
};
const hasSecret = (auth: Auth, client: string): boolean => {
  const found = auth.clients.get(client);
  return found !== undefined && found.secret_hash !== null && clientTypeRows[found.type].mayHaveSecret;
};
/** A new refresh token for a code; the oldest ones over the limits stop. Call inside a transaction. */
export const issueFamily = (
  auth: Auth,
  code: Consented,
  boundTo?: string,
): { family: Family; refreshToken: string } => {
  const { env } = auth;
  const id = env.store.next('auth.families');
  const refreshToken = `${refreshPrefix}${id.toString(36)}-${base64url(env.random(32))}`;
  const now = env.now();
  const family: Family = {
    id,
    client: code.asked.client,
    user: code.user,
    scopes: code.scopes,
    hash: tokenHash(refreshToken),
    issued_at: now,
    ends_at: code.access_for_seconds === null ? null : now + code.access_for_seconds * 1000,
    stopped_at: null,
    revoked_at: null,
    // RFC 9449 5: a client with a secret is bound by it; a public one needs the key.
    ...(boundTo === undefined || hasSecret(auth, code.asked.client) ? {} : { dpop_jkt: boundTo }),
  };
  auth.families.put(id, family);
  keepWithinLimits(auth, family);
  return { family, refreshToken };
};
const holder = (family: Family): string | null =>
  family.stopped_at === null && family.revoked_at === null ? family.user : null;
const pair = (family: Family): string | null =>
  holder(family) === null ? null : `${family.user} ${family.client}`;
/** spec/sign-in#limits: per client and user, and per user across all clients; the oldest by time of issue stop. spec/sign-in#check-6.16: revoked ones do not count. */
const keepWithinLimits = (auth: Auth, newest: Family): void => {
  const settings = auth.settings();
  const limits = [
    {
      index: auth.families.index('pair', pair),
      key: `${newest.user} ${newest.client}`,
      limit: settings.refresh_tokens_per_client,
    },
    {
      index: auth.families.index('holder', holder),
      key: newest.user,
      limit: settings.refresh_tokens_per_user,
    },
  ];
  for (const { index, key, limit } of limits) {
    const over = index.count(key) - limit;
    if (over <= 0) continue;
    const oldest: Family[] = [];
    for (const family of index.get(key)) {
      if (oldest.length === over) break;
      oldest.push(family);
    }
    for (const family of oldest) auth.families.put(family.id, { ...family, stopped_at: auth.env.now() });
  }
};
export const familiesOf = (auth: Auth, user: string): Family[] => [
  ...auth.families.index('holder', holder).get(user),
];
/** Ends a refresh token and its access tokens. Call inside a transaction. */
export const revokeFamily = (auth: Auth, family: Family): void => {
  if (auth.settings().revoke_delay_seconds === 0 && rememberedMs(auth) === 0) auth.families.delete(family.id);
  else if (family.revoked_at === null)
    auth.families.put(family.id, { ...family, revoked_at: auth.env.now() });
};
/** spec/sign-in#authentication-1: clients that have a secret send it. */
export const secretIsRight = (client: Client, secret: string): boolean =>
  client.secret_hash !== null && sameText(client.secret_hash, sha256(secret));
/** The access token part of the response. spec/sign-in#token. */
export const accessAnswer = (
  auth: Auth,
  family: Family,
  scopes: readonly string[],
  now: number,
  boundTo?: string,
) => {
  const left = family.ends_at === null ? undefined : Math.floor((family.ends_at - now) / 1000);
  if (left !== undefined && left <= 0)
    throw new OAuthError('invalid_grant', 'Token has been expired or revoked.');
  const life = Math.min(auth.settings().access_token_seconds, left ?? Number.POSITIVE_INFINITY);
  return {
    access_token: makeAccess(auth, family, now + life * 1000, scopes, boundTo),
    expires_in: life,
    scope: scopes.join(' '),
    token_type: boundTo === undefined ? 'Bearer' : 'DPoP',
    ...(left === undefined ? {} : { refresh_token_expires_in: left }),
  };
};
/** A token for a machine: no refresh token, and a separate expiry. Call inside a transaction. */
export const issueForMachine = (
  auth: Auth,
  owner: { readonly user: string; readonly client: string },
  scopes: readonly string[],
  boundTo?: string,
) => {
  const now = auth.env.now();
  const life = auth.settings().access_token_seconds;
  const family: Family = {
    id: auth.env.store.next('auth.families'),
    ...owner,
    scopes,
    hash: '',
    issued_at: now,
    ends_at: now + life * 1000,
    stopped_at: null,
    revoked_at: null,
  };
  auth.families.put(family.id, family);
  return {
    access_token: makeAccess(auth, family, now + life * 1000, scopes, boundTo),
    expires_in: life,
    token_type: boundTo === undefined ? 'Bearer' : 'DPoP',
  };
};

const grantId = (user: string, client: string): string => `${user}.${client}`;
const grantOf = (auth: Auth, user: string, client: string): Grant | undefined =>
  auth.grants.get(grantId(user, client));
/** Everything the user ever let this client do; later consents add to it. Call inside a transaction. */
export const addGrant = (auth: Auth, user: string, client: string, scopes: readonly string[]): void => {
  const id = grantId(user, client);
  const before = auth.grants.get(id);
  const all = [...new Set([...(before?.scopes ?? []), ...scopes])];
  if (before !== undefined && all.length === before.scopes.length) return;
  auth.grants.put(id, { id, user, client, scopes: all, granted_at: auth.env.now() });
};
export const isGrantedBefore = (
  auth: Auth,
  user: string,
  client: string,
  scopes: readonly string[],
): boolean => {
  const names = new Set((grantOf(auth, user, client)?.scopes ?? []).map(scopeName));
  return scopes.every((scope) => names.has(scopeName(scope)));
};

/** spec/sign-in#check-3.16: opaque, 256 bits, with a slash that clients must decode. */
const codePrefix = '4/0';
/** A code for what the user granted. Call inside a transaction. */
export const issueCode = (
  auth: Auth,
  asked: AuthorizationRequest,
  user: User,
  granted: readonly string[],
  accessForSeconds: number | null,
  signedInAt: number,
): { code: string; scopes: readonly string[] } => {
  const code = codePrefix + base64url(auth.env.random(32));
  const hash = sha256(code);
  // spec/sign-in#check-4.6: incremental consent returns the union.
  const earlier = asked.include_granted ? (grantOf(auth, user.id, asked.client)?.scopes ?? []) : [];
  const scopes = [...new Set([...granted, ...earlier])].slice(0, 30);
  const record: Code = {
    hash,
    asked,
    user: user.id,
    scopes,
    signed_in_at: signedInAt,
    access_for_seconds: accessForSeconds,
    created_at: auth.env.now(),
    used: null,
  };
  auth.codes.put(hash, record);
  addGrant(auth, user.id, asked.client, granted);
  noteChallenge(auth, asked);
  return { code, scopes };
};
/** spec/sign-in#pkce-1: "unique per authorization request"; spec/sign-in#check-5.20: a repeated one is allowed and noted. */
const noteChallenge = (auth: Auth, asked: AuthorizationRequest): void => {
  if (asked.challenge === null) return;
  const key = sha256(asked.challenge);
  if (auth.challenges.has(key)) {
    const id = auth.env.store.next('auth.warnings');
    auth.warnings.put(id, {
      at: auth.env.now(),
      client: asked.client,
      text: 'the same code challenge came in two authorization requests',
    });
  }
  auth.challenges.put(key, auth.env.now());
};
export const isCodeOver = (auth: Auth, code: Code): boolean =>
  auth.env.now() >= code.created_at + auth.settings().code_seconds * 1000;

const PENDING_MS = 15 * 60_000;
type Bin<T> = { readonly records: Collection<T>; readonly most: number; isOver(record: T): boolean };
const sweeperOf = <T>(auth: Auth, { records, most, isOver }: Bin<T>): (() => void) => {
  let next = 1000;
  const sweep = (): void => {
    const all = [...records.entries()];
    let left = all.length;
    // A full store drops a quarter of its entries, so that later requests need no cleanup.
    const room = left > most ? most * 0.75 : most;
    for (const [key, record] of all) {
      if (!isOver(record) && left <= room) continue;
      records.delete(key);
      left -= 1;
    }
  };
  return () => {
    if (records.size <= Math.min(next, most)) return;
    auth.env.store.transact(sweep);
    next = Math.max(1000, records.size * 2);
  };
};
/** An evicted token is kept as long as one of its access tokens may be valid. */
const isFamilyOver =
  (auth: Auth) =>
  (family: Family): boolean => {
    const now = auth.env.now();
    const { access_token_seconds: access, revoke_delay_seconds: delay } = auth.settings();
    const kept = rememberedMs(auth);
    const isPast = (at: number | null, ms: number): boolean => at !== null && at + Math.max(ms, kept) <= now;
    return (
      isPast(family.ends_at, 0) ||
      isPast(family.stopped_at, access * 1000) ||
      isPast(family.revoked_at, delay * 1000)
    );
  };
/**
 * Keeps memory flat without a timer: a collection that has doubled since its last sweep is swept, so the cost for each
 * record is constant. Returns the function to call after a request.
 */
export const makeSweeper = (auth: Auth): (() => void) => {
  const isOld = (since: number): boolean => auth.env.now() - since > PENDING_MS;
  const all = [
    sweeperOf(auth, { records: auth.codes, isOver: (code) => isCodeOver(auth, code), most: 100_000 }),
    sweeperOf(auth, { records: auth.pending, isOver: (pending) => isOld(pending.created_at), most: 10_000 }),
    sweeperOf(auth, {
      records: auth.sessions,
      isOver: (session) => isSessionOver(auth, session),
      most: 10_000,
    }),
    sweeperOf(auth, { records: auth.devices, isOver: (device) => isOld(device.created_at), most: 10_000 }),
    sweeperOf(auth, { records: auth.challenges, isOver: isOld, most: 10_000 }),
    sweeperOf(auth, { records: auth.pushed, isOver: (pushed) => isOld(pushed.created_at), most: 10_000 }),
    sweeperOf(auth, { records: auth.proofs, isOver: isOld, most: 100_000 }),
    sweeperOf(auth, { records: auth.warnings, isOver: () => false, most: 1000 }),
    sweeperOf(auth, { records: auth.deliveries, isOver: () => false, most: 1000 }),
    sweeperOf(auth, { records: auth.families, isOver: isFamilyOver(auth), most: Number.POSITIVE_INFINITY }),
  ];
  return () => {
    for (const sweep of all) sweep();
  };
};
