import type {
  ClientType,
  consent as consentRecord,
  settingFields,
} from '../../api-specs/oauth/console-records.ts';
import type { Complete, Value } from '../../core/field.ts';
import type { Environment } from '../service-set.ts';
import type { Collection, Store } from '../store.ts';

type Settings = Complete<typeof settingFields>;
/**
 * spec/sign-in#check and spec/program#choices: settings for the points that the document does not specify.
 * The default follows the document.
 */
const defaultSettings: Settings = {
  access_token_seconds: 3599,
  code_seconds: 600,
  refresh_tokens_per_client: 100,
  refresh_tokens_per_user: 500,
  refresh_token_days: null,
  refusal_text_hours: null,
  revoke_on_password_change: false,
  reauth_after_seconds: null,
  require_pkce: false,
  require_dpop: false,
  require_dpop_nonce: false,
  require_pushed_requests: false,
  remember_consent: false,
  any_loopback_path: false,
  accept_localhost: false,
  mobile_loopback: 'refuse',
  unused_client_days: 180,
  integrity_delay_seconds: 900,
  revoke_delay_seconds: 0,
  rate_per_minute: null,
  event_attempts: 4,
  event_backoff_ms: 500,
  ownership_delay_seconds: 300,
  extra_scopes: [],
};

export type Project = {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly organization: string | null;
  readonly is_internal: boolean;
  readonly media_api: boolean;
  readonly created_at: number;
};
export type IntegrityState = 'disabled' | 'monitoring' | 'enforced';
export type Client = {
  readonly id: string;
  readonly project: string;
  readonly type: ClientType;
  readonly name: string;
  /** SHA-256; the secret itself is shown once. */
  readonly secret_hash: string | null;
  readonly package_name: string | null;
  readonly fingerprint: string | null;
  readonly custom_uri_scheme: boolean;
  readonly bundle_id: string | null;
  readonly store_id: string | null;
  readonly team_id: string | null;
  readonly item_id: string | null;
  readonly redirect_uris: readonly string[];
  readonly any_path: boolean;
  readonly trust: 'none' | 'trusted' | 'domain-wide';
  readonly id_token_alg: 'RS256' | 'ES256';
  readonly verified_by: string | null;
  /** Whom client credentials act for; clients without one have no such grant. Absent in states of earlier versions. */
  readonly service_account?: string | null;
  readonly integrity: {
    readonly state: IntegrityState;
    readonly before: IntegrityState;
    readonly effective_at: number;
    readonly was_used: boolean;
  };
  readonly created_at: number;
  readonly last_used_at: number;
  readonly deleted_at: number | null;
};
export type User = {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly password: { readonly salt: string; readonly hash: string } | null;
  readonly organization: string | null;
  readonly state: 'active' | 'disabled' | 'deleted';
  readonly kind: 'person' | 'service-account';
  readonly channels: number;
  readonly is_content_owner: boolean;
  readonly created_at: number;
};
/** One browser; the key is the hash of its cookie. */
export type Session = {
  readonly id: string;
  readonly users: readonly string[];
  readonly created_at: number;
  readonly seen_at: number;
};
/** The parameters of an authorization request, stored on the server until the user decides. */
export type AuthorizationRequest = {
  readonly client: string;
  readonly redirect_uri: string;
  readonly scopes: readonly string[];
  readonly challenge: string | null;
  readonly method: 'S256' | 'plain' | null;
  /** Percent-encoded, byte for byte as received; null if there was no state. */
  readonly state: string | null;
  readonly login_hint: string | null;
  readonly nonce: string | null;
  readonly prompt: readonly string[];
  readonly include_granted: boolean;
  /** OAuth 2.0 Form Post Response Mode: the response is a form that the browser sends. Absent: a redirect. */
  readonly response_mode?: 'form_post';
  /** RFC 9449 10: the key that the code is bound to. Absent in states of earlier versions. */
  readonly dpop_jkt?: string | null;
};
export type Pending = {
  readonly id: string;
  readonly asked: AuthorizationRequest;
  /** Hash of the cookie of the browser that asked. */
  readonly browser: string;
  readonly user: string | null;
  readonly failures: number;
  readonly created_at: number;
};
export type Code = {
  readonly hash: string;
  readonly asked: AuthorizationRequest;
  readonly user: string;
  readonly scopes: readonly string[];
  readonly signed_in_at: number;
  readonly access_for_seconds: number | null;
  readonly created_at: number;
  /** The refresh token it was exchanged for. */
  readonly used: number | null;
};
/** A refresh token with the access tokens made from it. */
export type Family = {
  readonly id: number;
  readonly client: string;
  readonly user: string;
  readonly scopes: readonly string[];
  /** base64(SHA-512(SHA-512(token))): stored for checking, and its name in security events. */
  readonly hash: string;
  readonly issued_at: number;
  /** Time-based access. */
  readonly ends_at: number | null;
  /** Pushed out by a limit: refresh fails, access tokens live to their end. */
  readonly stopped_at: number | null;
  /** Revoked, but access tokens stay valid for `revoke_delay_seconds`. */
  readonly revoked_at: number | null;
  /** The key that the refresh token of a public client is bound to (RFC 9449 5). Absent in states of earlier versions. */
  readonly dpop_jkt?: string | null;
};
/** A pushed authorization request; the key is the hash of its reference. */
type Pushed = { readonly form: string; readonly created_at: number };
export type Grant = {
  readonly id: string;
  readonly user: string;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly granted_at: number;
};
export type Policy = {
  readonly id: string;
  readonly organization: string;
  readonly blocked_scopes: readonly string[];
  readonly clients: readonly string[];
  readonly created_at: number;
};
export type StoreItem = {
  readonly id: string;
  readonly kind: 'app' | 'extension';
  readonly package_name: string | null;
  readonly fingerprint: string | null;
  readonly item_id: string | null;
  readonly accounts: readonly string[];
  readonly granted_at: number;
};
export type Metrics = {
  readonly verified: number;
  readonly unverified_outdated_client: number;
  readonly unverified_unknown_origin: number;
  readonly unverified_invalid: number;
};
export type Subscription = {
  readonly id: string;
  readonly client: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly created_at: number;
};
export type Delivery = {
  readonly id: string;
  readonly subscription: string;
  readonly client: string;
  readonly url: string;
  readonly type: string;
  readonly body: string;
  readonly state: 'pending' | 'delivered' | 'refused' | 'failed';
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly created_at: number;
  readonly done_at: number | null;
};
export type SigningKey = {
  readonly kid: string;
  readonly alg: 'RS256' | 'ES256';
  readonly pem: string;
  readonly jwk: Readonly<Record<string, unknown>>;
};
export type Video = {
  readonly id: string;
  readonly user: string;
  readonly title: string;
  readonly description: string;
  readonly created_at: number;
};
/** A public key of a service account. */
export type ServiceKey = {
  readonly id: string;
  readonly user: string;
  readonly jwk: Readonly<Record<string, unknown>>;
  readonly created_at: number;
};
/** Identity tokens of `issuer` for `audience` whose subject fits become tokens of the service account. */
export type Trust = {
  readonly id: string;
  /** `embedded` is the CI of this server, whose address is known at its start only. */
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  readonly user: string;
  readonly scopes: readonly string[];
  readonly jwks: string | null;
  readonly created_at: number;
};
/** RFC 8628: a device waits while its user decides in a browser. The key is the hash of the device code. */
export type Device = {
  readonly id: string;
  readonly user_code: string;
  readonly client: string;
  readonly scopes: readonly string[];
  readonly created_at: number;
  readonly asked_at: number;
  readonly interval_seconds: number;
  readonly state: 'pending' | 'denied' | 'granted';
  readonly user: string | null;
};
type Consent = Value<typeof consentRecord>;
export type Warning = { readonly at: number; readonly client: string; readonly text: string };
export type Collections = {
  readonly projects: Collection<Project>;
  readonly clients: Collection<Client>;
  readonly users: Collection<User>;
  readonly sessions: Collection<Session>;
  readonly pending: Collection<Pending>;
  readonly codes: Collection<Code>;
  readonly families: Collection<Family>;
  readonly grants: Collection<Grant>;
  readonly policies: Collection<Policy>;
  readonly storeItems: Collection<StoreItem>;
  readonly metrics: Collection<Metrics>;
  readonly subscriptions: Collection<Subscription>;
  readonly deliveries: Collection<Delivery>;
  readonly keys: Collection<SigningKey>;
  readonly videos: Collection<Video>;
  readonly challenges: Collection<number>;
  readonly warnings: Collection<Warning>;
  readonly serviceKeys: Collection<ServiceKey>;
  readonly trusts: Collection<Trust>;
  readonly devices: Collection<Device>;
  readonly pushed: Collection<Pushed>;
  /** When a DPoP proof was used, by the hash of its ID. */
  readonly proofs: Collection<number>;
  /** `settings`, `consent` and `secret`: one record each. */
  readonly single: Collection<unknown>;
};
const names = [
  ...[
    'projects',
    'clients',
    'users',
    'sessions',
    'pending',
    'codes',
    'families',
    'grants',
    'policies',
    'storeItems',
  ],
  ...['metrics', 'subscriptions', 'deliveries', 'keys', 'videos', 'challenges', 'warnings', 'single'],
  ...['serviceKeys', 'trusts', 'devices', 'pushed', 'proofs'],
];
export const collectionsOf = (store: Store): Collections =>
  Object.fromEntries(names.map((name) => [name, store.collection(`auth.${name}`)])) as unknown as Collections;
/** The state of the service and what it shares with the other services. */
export type Auth = Collections & {
  readonly env: Environment;
  settings(): Settings;
  consent(): Consent;
  secret(): string;
};
const ask: Consent = { mode: 'ask', user: null, scopes: [], access_for_seconds: null };
export const authState = (env: Environment): Auth => {
  const all = collectionsOf(env.store);
  /** Signs access tokens and anti-forgery values; made at the first use. */
  const secret = (): string => {
    const found = all.single.get('secret');
    if (typeof found === 'string') return found;
    const made = Buffer.from(env.random(32)).toString('base64url');
    env.store.transact(() => all.single.put('secret', made));
    return made;
  };
  return {
    ...all,
    env,
    settings: () => ({
      ...defaultSettings,
      ...(all.single.get('settings') as Partial<Settings> | undefined),
    }),
    consent: () => (all.single.get('consent') as Consent | undefined) ?? ask,
    secret,
  };
};
