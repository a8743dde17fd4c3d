import type { Auth, Client, IntegrityState, Metrics } from './state.ts';
import { base64url, hmac, sameText } from './digest.ts';

/** spec/sign-in#states: a change of the integrity check is "effective within up to 15 minutes"; the last of several changes wins. */
export const effectiveState = (auth: Auth, { integrity }: Client): IntegrityState =>
  auth.env.now() >= integrity.effective_at ? integrity.state : integrity.before;

export const noMetrics: Metrics = {
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
  const before = auth.metrics.get(client.id) ?? noMetrics;
  auth.env.store.transact(() => auth.metrics.put(client.id, { ...before, [category]: before[category] + 1 }));
};
