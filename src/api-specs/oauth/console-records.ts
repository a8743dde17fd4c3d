import { bool, int, list, map, oneOf, orNull, record, str } from '../../core/field.ts';
import { clientTypes } from './client-types.ts';

const time = () => str();

export const project = record('Project', {
  id: str(),
  number: int(),
  name: str(),
  organization: orNull(str()),
  is_internal: bool(),
  media_api: bool(),
  created_at: time(),
});
export const integrity = record('Integrity', {
  state: oneOf('disabled', 'monitoring', 'enforced'),
  effective_state: oneOf('disabled', 'monitoring', 'enforced'),
  effective_at: time(),
  was_used: bool(),
  metrics: record('IntegrityMetrics', {
    verified: int(),
    unverified_outdated_client: int(),
    unverified_unknown_origin: int(),
    unverified_invalid: int(),
  }),
});
export const client = record('OAuthClient', {
  id: str(),
  project: str(),
  type: oneOf(...clientTypes),
  name: str(),
  state: oneOf('active', 'deleted'),
  has_secret: bool(),
  /** Only in the answer that made it. */
  secret: orNull(str()),
  package_name: orNull(str()),
  fingerprint: orNull(str()),
  custom_uri_scheme: bool(),
  bundle_id: orNull(str()),
  store_id: orNull(str()),
  team_id: orNull(str()),
  item_id: orNull(str()),
  redirect_uris: list(str()),
  any_path: bool(),
  trust: oneOf('none', 'trusted', 'domain-wide'),
  id_token_alg: oneOf('RS256', 'ES256'),
  service_account: orNull(str()),
  is_verified: bool(),
  verified_by: orNull(str()),
  integrity,
  created_at: time(),
  last_used_at: time(),
  deleted_at: orNull(time()),
  deleted_because: orNull(oneOf('asked', 'unused')),
  restorable_until: orNull(time()),
});
export const user = record('User', {
  id: str(),
  email: str(),
  name: str(),
  organization: orNull(str()),
  state: oneOf('active', 'disabled', 'deleted'),
  kind: oneOf('person', 'service-account'),
  channels: int(),
  is_content_owner: bool(),
  created_at: time(),
});
export const session = record('Session', {
  id: str(),
  users: list(str()),
  created_at: time(),
  seen_at: time(),
});
export const grant = record('Grant', {
  id: str(),
  user: str(),
  client: str(),
  scopes: list(str()),
  granted_at: time(),
});
export const token = record('RefreshToken', {
  id: int(),
  user: str(),
  client: str(),
  scopes: list(str()),
  state: oneOf('live', 'stopped', 'expired'),
  issued_at: time(),
  ends_at: orNull(time()),
});
export const policy = record('Policy', {
  id: str(),
  organization: str(),
  blocked_scopes: list(str()),
  clients: list(str()),
  created_at: time(),
});
export const storeItem = record('StoreItem', {
  id: str(),
  kind: oneOf('app', 'extension'),
  package_name: orNull(str()),
  fingerprint: orNull(str()),
  item_id: orNull(str()),
  /** Administrators of an app, the publisher of an extension. */
  accounts: list(str()),
  granted_at: time(),
});
export const subscription = record('Subscription', {
  id: str(),
  client: str(),
  url: str(),
  types: list(str()),
  created_at: time(),
});
export const delivery = record('Delivery', {
  id: str(),
  subscription: str(),
  client: str(),
  url: str(),
  type: str(),
  state: oneOf('pending', 'delivered', 'refused', 'failed'),
  attempts: int(),
  last_status: orNull(int()),
  last_error: orNull(str()),
  created_at: time(),
  done_at: orNull(time()),
});
export const consent = record('Consent', {
  mode: oneOf('ask', 'auto', 'deny'),
  user: orNull(str()),
  scopes: list(str()),
  access_for_seconds: orNull(int()),
});
export const warning = record('Warning', { at: time(), client: str(), text: str() });
export const counts = map(int());
