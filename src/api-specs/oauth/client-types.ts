import { bool, type Fields, help, list, oneOf, str } from '../../core/field.ts';

export const clientTypes = [
  'mobile-a',
  'mobile-b',
  'universal-desktop',
  'desktop',
  'browser-extension',
] as const;
export type ClientType = (typeof clientTypes)[number];
export type ClientTypeRow = {
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
    'trusted and domain-wide apps skip granular consent: users grant all scopes or none',
  ),
  service_account: help(str(320), 'Service account for client credentials; requires a secret, "" removes it'),
  id_token_alg: help(oneOf('RS256', 'ES256'), 'Signature algorithm of id_token and security events'),
} as const satisfies Fields;
export const clientFields = {
  ...clientEditFields,
  integrity_check: help(bool(), 'mobile-b: enable the integrity check at creation'),
  secret: help(bool(), 'desktop, universal-desktop: create a secret for the client'),
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
