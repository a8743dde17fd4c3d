import { OAuthPageError } from './errors.ts';
import { clientLimits } from '../../api-specs/oauth/console-records.ts';
import { base64url, hmac, sameText } from './keys.ts';
import type { Auth, Client, IntegrityState, Metrics, StoreItem } from './state.ts';

/** spec/sign-in#states: a change of the integrity check is "effective within up to 15 minutes"; the last of several changes wins. */
export const effectiveState = (auth: Auth, { integrity }: Client): IntegrityState =>
  auth.env.now() >= integrity.effective_at ? integrity.state : integrity.before;
export const emptyMetrics: Metrics = {
  verified: 0,
  unverified_outdated_client: 0,
  unverified_unknown_origin: 0,
  unverified_invalid: 0,
};
const LIFE_SECONDS = 3600;
const TOKEN = /^it1\.(\d+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)$/;
const signature = (auth: Auth, client: Client, ends: string, nonce: string): string =>
  hmac(auth.secret(), `integrity ${client.id} ${client.team_id} ${client.bundle_id} ${ends} ${nonce}`);
/** What the attestation service gives the genuine app: good for one client, team and bundle, for an hour. */
export const makeIntegrityToken = (
  auth: Auth,
  client: Client,
): { integrity_token: string; expires_in: number } => {
  const ends = String(Math.floor(auth.env.now() / 1000) + LIFE_SECONDS);
  const nonce = base64url(auth.env.random(9));
  return {
    integrity_token: `it1.${ends}.${nonce}.${signature(auth, client, ends, nonce)}`,
    expires_in: LIFE_SECONDS,
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
