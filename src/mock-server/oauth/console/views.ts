import type * as rec from '../../../api-specs/oauth/console-records.ts';
import type { Value } from '../../../core/field.ts';
import { HttpError } from '../../body.ts';
import type { Collection } from '../../store.ts';
import { clientLife, effectiveState, emptyMetrics } from '../integrity.ts';
import { findUser } from '../keys.ts';
import type {
  Auth,
  Client,
  Delivery,
  Family,
  Grant,
  Policy,
  Project,
  Session,
  StoreItem,
  Subscription,
  User,
  Warning,
} from '../state.ts';

const time = (ms: number): string => new Date(ms).toISOString();
const timeOrNull = (ms: number | null): string | null => (ms === null ? null : time(ms));
export const projectView = (project: Project): Value<typeof rec.project> => ({
  ...project,
  created_at: time(project.created_at),
});
export const integrityView = (auth: Auth, client: Client): Value<typeof rec.integrity> => ({
  state: client.integrity.state,
  effective_state: effectiveState(auth, client),
  effective_at: time(client.integrity.effective_at),
  was_used: client.integrity.was_used,
  metrics: { ...(auth.metrics.get(client.id) ?? emptyMetrics) },
});
export const clientView = (
  auth: Auth,
  client: Client,
  secret: string | null = null,
): Value<typeof rec.client> => {
  const { secret_hash: hash, verified_by: by, ...plain } = client;
  const life = clientLife(auth, client);
  const isDeleted = life.state === 'deleted';
  return {
    ...plain,
    redirect_uris: [...client.redirect_uris],
    service_account: client.service_account || null,
    state: life.state,
    has_secret: hash !== null,
    secret,
    is_verified: by !== null,
    verified_by: by,
    integrity: integrityView(auth, client),
    created_at: time(client.created_at),
    last_used_at: time(client.last_used_at),
    deleted_at: isDeleted ? time(life.at) : null,
    deleted_because: isDeleted ? life.because : null,
    restorable_until: isDeleted ? time(life.restorableUntil) : null,
  };
};
export const userView = ({ password: _, ...user }: User): Value<typeof rec.user> => ({
  ...user,
  created_at: time(user.created_at),
});
export const sessionView = (session: Session): Value<typeof rec.session> => ({
  id: session.id,
  users: [...session.users],
  created_at: time(session.created_at),
  seen_at: time(session.seen_at),
});
export const grantView = (grant: Grant): Value<typeof rec.grant> => ({
  ...grant,
  scopes: [...grant.scopes],
  granted_at: time(grant.granted_at),
});
export const tokenView = (auth: Auth, family: Family): Value<typeof rec.token> => ({
  id: family.id,
  user: family.user,
  client: family.client,
  scopes: [...family.scopes],
  state:
    family.stopped_at !== null || family.revoked_at !== null
      ? 'stopped'
      : family.ends_at !== null && family.ends_at <= auth.env.now()
        ? 'expired'
        : 'live',
  issued_at: time(family.issued_at),
  ends_at: timeOrNull(family.ends_at),
});
export const policyView = (policy: Policy): Value<typeof rec.policy> => ({
  ...policy,
  blocked_scopes: [...policy.blocked_scopes],
  clients: [...policy.clients],
  created_at: time(policy.created_at),
});
export const storeItemView = (item: StoreItem): Value<typeof rec.storeItem> => ({
  ...item,
  accounts: [...item.accounts],
  granted_at: time(item.granted_at),
});
export const subscriptionView = (subscription: Subscription): Value<typeof rec.subscription> => ({
  ...subscription,
  types: [...subscription.types],
  created_at: time(subscription.created_at),
});
export const deliveryView = ({ body: _, ...delivery }: Delivery): Value<typeof rec.delivery> => ({
  ...delivery,
  created_at: time(delivery.created_at),
  done_at: timeOrNull(delivery.done_at),
});
export const warningView = (warning: Warning): Value<typeof rec.warning> => ({
  ...warning,
  at: time(warning.at),
});

export const findRecord = <T>(records: Collection<T>, key: string | number, what: string): T => {
  const record = records.get(key);
  if (record === undefined) throw new HttpError(404, `There is no ${what} ${key}.`);
  return record;
};
export const clientById = (auth: Auth, id: string): Client => findRecord(auth.clients, id, 'client');
export const userByName = (auth: Auth, name: string): User => {
  const user = findUser(auth, name);
  if (user === undefined) throw new HttpError(404, `There is no user ${name}.`);
  return user;
};
