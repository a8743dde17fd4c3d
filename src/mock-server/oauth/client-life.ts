import { clientLimits } from '../../api-specs/oauth/client-types.ts';
import type { Auth, Client } from './state.ts';

const dayMs = 86_400_000;
export type ClientLife =
  | { readonly state: 'active' }
  | {
      readonly state: 'deleted';
      readonly at: number;
      readonly because: 'asked' | 'unused';
      readonly restorableUntil: number;
    };

const deleted = (at: number, because: 'asked' | 'unused'): ClientLife => ({
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
  if (client.deleted_at !== null) return deleted(client.deleted_at, 'asked');
  const idleEnd = client.last_used_at + auth.settings().unused_client_days * dayMs;
  return auth.env.now() >= idleEnd ? deleted(idleEnd, 'unused') : { state: 'active' };
};
export const isClientActive = (auth: Auth, client: Client): boolean =>
  clientLife(auth, client).state === 'active';

/** Notes the use of a client; once an hour is enough for a period of months, and spares a write at each request. */
export const noteUse = (auth: Auth, client: Client): void => {
  const now = auth.env.now();
  if (now - client.last_used_at < 3_600_000) return;
  auth.env.store.transact(() => auth.clients.put(client.id, { ...client, last_used_at: now }));
};
