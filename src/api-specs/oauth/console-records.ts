import {
  bool,
  type Fields,
  help,
  int,
  list,
  map,
  oneOf,
  orNull,
  record,
  req,
  str,
} from '../../core/field.ts';
import type { Operation } from '../../core/operation.ts';

export const clientTypes = [
  'mobile-a',
  'mobile-b',
  'universal-desktop',
  'desktop',
  'browser-extension',
] as const;
export type ClientType = (typeof clientTypes)[number];
type ClientTypeRow = {
  readonly type: ClientType;
  /** spec/sign-in#client. */
  readonly title: string;
  /** Fields that only this type has, and its required fields. */
  readonly fields: readonly string[];
  readonly required: readonly string[];
  /** spec/sign-in: "Clients of types other than the three mobile or extension types may also have a client secret." */
  readonly mayHaveSecret: boolean;
  readonly redirects: { readonly loopback: boolean; readonly customScheme: boolean; readonly https: boolean };
};
const redirects = (loopback: boolean, customScheme: boolean, https = false) => ({
  loopback,
  customScheme,
  https,
});
/** spec/sign-in#client and spec/sign-in#redirect. */
export const clientTypeRows: Readonly<Record<ClientType, ClientTypeRow>> = {
  'mobile-a': {
    type: 'mobile-a',
    title: 'Mobile platform A',
    fields: ['package_name', 'fingerprint', 'custom_uri_scheme'],
    required: ['package_name', 'fingerprint'],
    mayHaveSecret: false,
    redirects: redirects(false, true),
  },
  'mobile-b': {
    type: 'mobile-b',
    title: 'Mobile platform B',
    fields: ['bundle_id', 'store_id', 'team_id', 'integrity_check'],
    required: ['bundle_id'],
    mayHaveSecret: false,
    redirects: redirects(false, true),
  },
  'universal-desktop': {
    type: 'universal-desktop',
    title: 'Universal desktop platform',
    fields: ['store_id', 'secret'],
    required: ['store_id'],
    mayHaveSecret: true,
    // Loopback redirects are for desktop programs, "not the universal desktop platform".
    redirects: redirects(false, true),
  },
  desktop: {
    type: 'desktop',
    title: 'Desktop',
    fields: ['secret'],
    required: [],
    mayHaveSecret: true,
    redirects: redirects(true, false),
  },
  'browser-extension': {
    type: 'browser-extension',
    title: 'Browser extension',
    fields: ['item_id', 'account'],
    required: ['item_id'],
    mayHaveSecret: false,
    redirects: redirects(false, false, true),
  },
};
/** spec/sign-in#limits. */
export const clientLimits = {
  universalScheme: 39,
  universalStoreId: 12,
  restoreDays: 30,
  integrityMinutes: 15,
} as const;
/** What may be changed after creation as well. */
export const clientEditFields = {
  name: help(str(100, { min: 1 }), 'Client name, shown in the project'),
  package_name: help(
    str(255, { pattern: '^[A-Za-z][A-Za-z0-9_]*(\\.[A-Za-z][A-Za-z0-9_]*)+$' }),
    'mobile-a: application package name',
  ),
  fingerprint: help(
    str(59),
    'mobile-a: SHA-1 fingerprint of the signing certificate (AA:BB:… or 40 hexadecimal digits)',
  ),
  custom_uri_scheme: help(bool(), 'mobile-a: advanced setting "enable custom URI scheme" (default off)'),
  bundle_id: help(
    str(155, { pattern: '^[A-Za-z0-9.*-]+$' }),
    'mobile-b: bundle identifier; cannot change after the integrity check is used',
  ),
  store_id: help(str(30), 'mobile-b: numeric store ID; universal-desktop: store ID of exactly 12 characters'),
  team_id: help(str(20), 'mobile-b: team ID; required by the integrity check, "" removes it'),
  redirect_uris: help(
    list(str(2000)),
    'Redirect URIs in addition to those that the type implies; loopback without port',
  ),
  any_path: help(bool(), 'Accept every path of a loopback redirect'),
  trust: help(
    oneOf('none', 'trusted', 'domain-wide'),
    'Level of trust; trusted and domain-wide apps skip granular consent: users grant all scopes or none',
  ),
  service_account: help(str(320), 'Service account for client credentials; requires a secret, "" removes it'),
  id_token_alg: help(oneOf('RS256', 'ES256'), 'Signature algorithm of id_token and security events'),
} as const satisfies Fields;
export const clientFields = {
  ...clientEditFields,
  integrity_check: help(bool(), 'mobile-b: enable the integrity check at creation'),
  secret: help(bool(), 'Create a secret for the client (desktop, universal-desktop)'),
  item_id: help(str(64, { pattern: '^[a-z0-9]+$' }), 'browser-extension: item ID in the store'),
  account: help(
    str(320),
    'browser-extension: email address of the verifying account (the publisher of the item)',
  ),
} as const satisfies Fields;

/**
 * Grant types of the token endpoint. The document defines the first two; the others are extensions with their
 * RFC.
 */
export const grantTypes = {
  authorization_code: { client: 'required', source: 'spec/sign-in#exchange' },
  refresh_token: { client: 'required', source: 'spec/sign-in#refresh' },
  client_credentials: { client: 'required', source: 'RFC 6749 4.4' },
  'urn:ietf:params:oauth:grant-type:jwt-bearer': { client: 'optional', source: 'RFC 7523 2.1' },
  'urn:ietf:params:oauth:grant-type:token-exchange': { client: 'optional', source: 'RFC 8693 2' },
  'urn:ietf:params:oauth:grant-type:device_code': { client: 'required', source: 'RFC 8628 3.4' },
} as const satisfies Readonly<
  Record<string, { readonly client: 'required' | 'optional'; readonly source: string }>
>;
export type GrantType = keyof typeof grantTypes;
export const isGrantType = (text: string): text is GrantType => Object.hasOwn(grantTypes, text);
export const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
export const tokenExchange = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const deviceCode = 'urn:ietf:params:oauth:grant-type:device_code';
/** RFC 8693 3. */
export const tokenTypes = {
  accessToken: 'urn:ietf:params:oauth:token-type:access_token',
  idToken: 'urn:ietf:params:oauth:token-type:id_token',
  jwt: 'urn:ietf:params:oauth:token-type:jwt',
} as const;
/** RFC 7523 2.2. */
export const clientAssertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

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
  /** Present only in the response that created it. */
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

/** A path parameter that names a record. */
export const id = <const N extends string>(name: N, what: string) =>
  ({ [name]: req(help(str(), what)) }) as unknown as {
    readonly [K in N]: { type: 'string'; required: true };
  };
export const clientId = id('client', 'Client ID');
export const userName = id('user', 'Email address or sub of the user');
export const email = req(help(str(320, { format: 'email' }), 'Email address'));
/** A row that changes one record with a word: `POST /clients/{client}/restore`. */
export const consoleAction = <
  const P extends string,
  const R extends Operation['returns'],
  const I extends Operation['params'],
>(
  path: P,
  params: I,
  returns: R,
  summary: string,
  cites: string,
) => ({ method: 'POST', path, params, body: {}, summary, cites, ok: 200, returns }) as const;
export const columns = (...names: string[]) => ({ columns: names });

/** spec/sign-in#events. `{secevent_base}` is open in the document. */
const secEventBase = 'https://schemas.opsctl.example/secevent';
export const eventTypes = {
  sessionsRevoked: `${secEventBase}/risc/event-type/sessions-revoked`,
  tokenRevoked: `${secEventBase}/oauth/event-type/token-revoked`,
  accountDisabled: `${secEventBase}/risc/event-type/account-disabled`,
  // spec/sign-in#check-11.8: the document's list is incomplete. These events are sent to receivers that list
  // them.
  tokensRevoked: `${secEventBase}/oauth/event-type/tokens-revoked`,
  accountEnabled: `${secEventBase}/risc/event-type/account-enabled`,
  accountPurged: `${secEventBase}/risc/event-type/account-purged`,
  credentialChangeRequired: `${secEventBase}/risc/event-type/account-credential-change-required`,
  verification: `${secEventBase}/risc/event-type/verification`,
} as const;
export type EventType = (typeof eventTypes)[keyof typeof eventTypes];
/** spec/sign-in#events: what a subscription gets unless it names its types. */
export const documentedEventTypes: readonly EventType[] = [
  eventTypes.sessionsRevoked,
  eventTypes.tokenRevoked,
  eventTypes.accountDisabled,
];
export const allEventTypes: readonly EventType[] = Object.values(eventTypes);
/** RFC 8417 and 8935: the body of a delivery is one signed token. */
export const eventContentType = 'application/secevent+jwt';
/** How a token is named in a token-revoked event: base64 of SHA-512 of SHA-512 of the refresh token. */
export const tokenIdentifierAlg = 'hash_base64_sha512_sha512';

/** Values the document leaves open or that tests want small; all times in seconds. */
export const settingFields = {
  access_token_seconds: help(int({ min: 1, max: 86_400 }), 'Lifetime of an access token'),
  code_seconds: help(
    int({ min: 1, max: 600 }),
    'Lifetime of a code; RFC 6749 4.1.2 allows at most ten minutes',
  ),
  refresh_tokens_per_client: help(
    int({ min: 1, max: 10_000 }),
    'Maximum number of valid refresh tokens per user and client; the oldest tokens become invalid',
  ),
  refresh_tokens_per_user: help(
    int({ min: 1, max: 100_000 }),
    'Maximum number of valid refresh tokens per user across all clients',
  ),
  // spec/sign-in#check-6.17: the document does not describe expiry limits of refresh tokens. They are
  // disabled unless configured.
  refresh_token_days: orNull(
    help(
      int({ min: 1, max: 10_000 }),
      'Lifetime of refresh tokens, as for applications in testing; null is unlimited',
    ),
  ),
  // spec/sign-in#check-6.5: the real service changes the text of a refusal with time.
  refusal_text_hours: orNull(
    help(
      int({ min: 0, max: 8760 }),
      'Time after the expiry of a token after which a refresh returns "Bad Request" instead of "Token has been expired or revoked."; null is never',
    ),
  ),
  revoke_on_password_change: help(bool(), 'Whether a new password revokes the refresh tokens of the user'),
  reauth_after_seconds: orNull(
    help(
      int({ min: 1, max: 31_536_000 }),
      'Time after the sign-in after which refreshes fail with invalid_grant and error_subtype invalid_rapt; null is never',
    ),
  ),
  require_pkce: help(bool(), 'Reject authorization requests without a code challenge'),
  require_dpop: help(bool(), 'Issue tokens only to requests with a DPoP proof (RFC 9449)'),
  require_dpop_nonce: help(bool(), 'Reject DPoP proofs without a nonce of this server'),
  require_pushed_requests: help(bool(), 'Accept only pushed authorization requests (RFC 9126)'),
  remember_consent: help(
    bool(),
    'Skip the consent page if all scopes are already granted, like the real service',
  ),
  any_loopback_path: help(bool(), 'Accept every path of a loopback redirect, for all clients'),
  accept_localhost: help(bool(), 'Accept http://localhost:PORT in addition to the two IP forms'),
  mobile_loopback: help(
    oneOf('refuse', 'warn'),
    'Response to a mobile client that uses the deprecated loopback redirect',
  ),
  unused_client_days: help(int({ min: 1, max: 10_000 }), 'Delete clients that are unused for this time'),
  integrity_delay_seconds: help(
    int({ min: 0, max: 900 }),
    'Delay before a change of an integrity check takes effect',
  ),
  revoke_delay_seconds: help(
    int({ min: 0, max: 900 }),
    'Time for which access tokens stay valid after a revocation',
  ),
  rate_per_minute: orNull(
    help(
      int({ min: 1, max: 1_000_000 }),
      'Requests per minute at the token and revocation endpoints; null is unlimited',
    ),
  ),
  event_attempts: help(
    int({ min: 1, max: 20 }),
    'Number of attempts before a security event counts as failed',
  ),
  event_backoff_ms: help(int({ min: 0, max: 60_000 }), 'Delay before the second attempt; doubles each time'),
  ownership_delay_seconds: help(
    int({ min: 0, max: 3600 }),
    'Delay before a new publisher of an extension becomes visible',
  ),
  extra_scopes: help(
    list(str(300, { min: 1 })),
    'Additional scopes of this server, for testing tools of other services',
  ),
} as const satisfies Fields;
