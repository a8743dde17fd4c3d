import { createHmac, timingSafeEqual } from 'node:crypto';
import { base64url, sameText, sha256, tokenHash } from './digest.ts';
import { OAuthError } from './errors.ts';
import { isClientActive } from './client-life.ts';
import type { Auth, Client, Code, Family } from './state.ts';

/**
 * An access token is not stored: number of its refresh token, end, scopes as a bit mask over those of the refresh
 * token, and a few random bytes, signed. So a million expired ones take no memory, and revoking the refresh token
 * revokes all of them (spec/sign-in#states: both die together).
 */
const BODY = 24;
const MAC = 24;
const accessPrefix = 'ma1.';
const refreshPrefix = '1//';

const mac = (auth: Auth, body: Uint8Array): Buffer =>
  createHmac('sha256', auth.secret()).update(body).digest().subarray(0, MAC);

export const makeAccess = (auth: Auth, family: Family, endsAt: number, scopes: readonly string[]): string => {
  const bytes = Buffer.alloc(BODY + MAC);
  bytes.writeUIntBE(family.id, 0, 6);
  bytes.writeUIntBE(endsAt, 6, 6);
  let mask = 0;
  for (let i = 0; i < family.scopes.length; i++) if (scopes.includes(family.scopes[i] ?? '')) mask |= 1 << i;
  bytes.writeUInt32BE(mask >>> 0, 12);
  bytes.set(auth.env.random(8), 16);
  mac(auth, bytes.subarray(0, BODY)).copy(bytes, BODY);
  return accessPrefix + bytes.toString('base64url');
};

export type Access = { readonly family: Family; readonly scopes: readonly string[]; readonly endsAt: number };

/** The refresh token's record behind an access token that is genuine and not past its end. */
export const readAccess = (auth: Auth, token: string): Access | undefined => {
  if (!token.startsWith(accessPrefix) || token.length !== accessPrefix.length + ((BODY + MAC) * 4) / 3)
    return undefined;
  const bytes = Buffer.from(token.slice(accessPrefix.length), 'base64url');
  if (
    bytes.length !== BODY + MAC ||
    !timingSafeEqual(mac(auth, bytes.subarray(0, BODY)), bytes.subarray(BODY))
  )
    return undefined;
  const family = auth.families.get(bytes.readUIntBE(0, 6));
  const endsAt = bytes.readUIntBE(6, 6);
  if (family === undefined || endsAt <= auth.env.now()) return undefined;
  const mask = bytes.readUInt32BE(12);
  return { family, endsAt, scopes: family.scopes.filter((_, i) => (mask & (1 << i)) !== 0) };
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

/** When a refresh token stopped or will stop working; infinite while nothing ends it. */
const endOf = (auth: Auth, { ends_at, stopped_at, revoked_at, issued_at }: Family): number => {
  // spec/sign-in#check-6.17: the end that a setting gives every refresh token; unlike time-based access it is not announced.
  const days = auth.settings().refresh_token_days;
  const tooOld = days === null ? null : issued_at + days * 86_400_000;
  return Math.min(...[ends_at, stopped_at, revoked_at, tooOld].map((at) => at ?? Number.POSITIVE_INFINITY));
};
export const isLive = (auth: Auth, family: Family): boolean =>
  family.stopped_at === null && family.revoked_at === null && endOf(auth, family) > auth.env.now();

/** How long a token that was ended is remembered for the words of its refusal. */
export const rememberedMs = (auth: Auth): number => (auth.settings().refusal_text_hours ?? 0) * 3_600_000;
/** spec/sign-in#errors-6. spec/sign-in#check-6.5: with a setting the words change some hours after the end, and for tokens that nobody knows. */
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
/** A new refresh token for a code; the oldest ones over the limits stop. Call inside a transaction. */
export const issueFamily = (auth: Auth, code: Consented): { family: Family; refreshToken: string } => {
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

/** The answer's access token part. spec/sign-in#token. */
export const accessAnswer = (auth: Auth, family: Family, scopes: readonly string[], now: number) => {
  const left = family.ends_at === null ? undefined : Math.floor((family.ends_at - now) / 1000);
  if (left !== undefined && left <= 0)
    throw new OAuthError('invalid_grant', 'Token has been expired or revoked.');
  const life = Math.min(auth.settings().access_token_seconds, left ?? Number.POSITIVE_INFINITY);
  return {
    access_token: makeAccess(auth, family, now + life * 1000, scopes),
    expires_in: life,
    scope: scopes.join(' '),
    token_type: 'Bearer',
    ...(left === undefined ? {} : { refresh_token_expires_in: left }),
  };
};

/** A token for a machine: no refresh token, and an end of its own. Call inside a transaction. */
export const issueForMachine = (
  auth: Auth,
  owner: { readonly user: string; readonly client: string },
  scopes: readonly string[],
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
    access_token: makeAccess(auth, family, now + life * 1000, scopes),
    expires_in: life,
    token_type: 'Bearer',
  };
};
