import { scopeName } from '../../api-specs/oauth/scopes.ts';
import type { Auth, Grant } from './state.ts';

const grantId = (user: string, client: string): string => `${user}.${client}`;
export const grantOf = (auth: Auth, user: string, client: string): Grant | undefined =>
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
