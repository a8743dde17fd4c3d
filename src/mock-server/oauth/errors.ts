import { JSON_TYPE } from '../body.ts';
import { scopeRow, splitScopes } from '../../api-specs/oauth/endpoints.ts';
import type { MockReply } from '../service-set.ts';
import type { Auth, Client } from './state.ts';

/** spec/sign-in#errors: what an authorization error means, in words for the user, and what to do about it. */
type AuthorizationErrorRow = {
  readonly code: string;
  /** spec/sign-in#errors. */
  readonly condition: string;
  readonly title: string;
  /** For the person in front of the browser. */
  readonly says: string;
  /** For the developer or administrator, one line each. */
  readonly remedies: readonly string[];
  readonly status: number;
};

export const authorizationErrors = {
  admin_policy_enforced: {
    code: 'admin_policy_enforced',
    condition: 'a workspace administrator policy prevents the account from authorizing one or more scopes',
    title: 'Your administrator does not allow this',
    says: 'A policy of your organization forbids at least one permission that this application requests. No permission was granted.',
    remedies: [
      'ask the administrator of your organization to allow the permission for this application',
      'sign in again with fewer scopes',
    ],
    status: 400,
  },
  disallowed_useragent: {
    code: 'disallowed_useragent',
    condition: 'the request was opened in an embedded user agent (web view)',
    title: 'Open this in your browser',
    says: 'Another application opened this page. To protect your password from that application, sign-in works only in a full browser.',
    remedies: [
      'copy the URL into the system browser',
      'developers: open the system browser instead of a web view',
    ],
    status: 403,
  },
  org_internal: {
    code: 'org_internal',
    condition: 'the client belongs to a project restricted to accounts of one organization',
    title: 'Only for members of an organization',
    says: 'Only accounts of one organization may use this application, and your account does not belong to it.',
    remedies: [
      'sign in with an account of the organization',
      'developers: make the project external in the console',
    ],
    status: 403,
  },
  deleted_client: {
    code: 'deleted_client',
    condition: 'the client was deleted (restorable within 30 days)',
    title: 'This application was removed',
    says: 'The OAuth client of this application was deleted.',
    remedies: [
      'developers: restore the client in the console within 30 days of its deletion',
      'create a new client and use its ID',
    ],
    status: 401,
  },
  invalid_grant: {
    code: 'invalid_grant',
    condition:
      'with PKCE: code_challenge invalid or missing; on refresh: token expired or invalidated, or user account deleted or disabled; or wrong token or parameters',
    title: 'The code challenge is invalid',
    says: 'The application sent a sign-in request whose code challenge is missing or malformed.',
    remedies: [
      'start the sign-in again from the application',
      'developers: send code_challenge and code_challenge_method together; S256 takes 43 base64url characters',
    ],
    status: 400,
  },
  redirect_uri_mismatch: {
    code: 'redirect_uri_mismatch',
    condition:
      'redirect_uri does not match an authorized URI of the client, is invalid for the client type, or refers to the retired out-of-band flow',
    title: 'The redirect URI is not allowed',
    says: 'The application requested a redirect to a URI that is not registered for it.',
    remedies: [
      'developers: use http://127.0.0.1:PORT or http://[::1]:PORT with a desktop client, or register the redirect URI exactly as in the request',
      'the out-of-band copy and paste flow is retired: use a loopback redirect',
    ],
    status: 400,
  },
  invalid_request: {
    code: 'invalid_request',
    condition:
      'malformed request; missing required parameter; unsupported authorization method; a custom URI scheme that the platform does not support or has disabled (mobile platform A default)',
    title: 'The request is invalid',
    says: 'The application sent an invalid sign-in request.',
    remedies: [
      'start the sign-in again from the application',
      'developers: check the parameter in the message above',
    ],
    status: 400,
  },
  access_denied: {
    code: 'access_denied',
    condition: 'returned in the redirect when the user refuses',
    title: 'Access was denied',
    says: 'You denied access or granted no permissions.',
    remedies: ['sign in again and grant at least one permission'],
    status: 403,
  },
} as const satisfies Readonly<Record<string, AuthorizationErrorRow>>;
type AuthorizationError = keyof typeof authorizationErrors;

/** Shown at the authorization endpoint beyond the document's eight: what the real service shows for them (spec/sign-in#check-2.3, spec/sign-in#check-2.20). */
export const remainingPageErrors = {
  invalid_client: {
    title: 'Unknown application',
    says: 'No OAuth client has this client ID.',
    remedies: ['developers: check client_id'],
    status: 401,
  },
  invalid_scope: {
    title: 'Unknown permission',
    says: 'The application requests a permission that this service does not know.',
    remedies: ['developers: scopes are case-sensitive and separated by spaces'],
    status: 400,
  },
  method_not_allowed: {
    title: 'Method not allowed',
    says: 'This URL supports only GET.',
    remedies: ['open it with GET'],
    status: 405,
  },
} as const;

/** spec/sign-in#errors-10: error codes of the token and revoke endpoints, with their status. */
export const tokenErrors = {
  invalid_request: { status: 400, remedy: 'send every required field once, form-encoded' },
  invalid_client: { status: 401, remedy: 'check the client ID and secret' },
  invalid_grant: {
    status: 400,
    remedy: 'sign in again: the code or token has been used, has expired or was revoked',
  },
  unauthorized_client: {
    status: 400,
    remedy: 'send a valid integrity token, or unenforce the integrity check of the client',
  },
  unsupported_grant_type: { status: 400, remedy: 'use one of grant_types_supported in the metadata' },
  invalid_scope: { status: 400, remedy: 'request only scopes that were granted' },
  deleted_client: { status: 401, remedy: 'restore the client within 30 days, or use another client' },
  redirect_uri_mismatch: { status: 400, remedy: 'send the redirect URI of the authorization request' },
  invalid_token: { status: 400, remedy: 'no action needed: the token is no longer valid' },
  rate_limit_exceeded: { status: 429, remedy: 'wait a minute' },
  // RFC 8693 2.2.2 and RFC 8628 3.5.
  invalid_target: { status: 400, remedy: 'request the audience of this server' },
  authorization_pending: { status: 400, remedy: 'poll again after the interval' },
  slow_down: { status: 400, remedy: 'increase the polling interval by five seconds' },
  expired_token: { status: 400, remedy: 'start again: the device code has expired' },
  access_denied: { status: 400, remedy: 'the user denied access' },
  // RFC 9449 5 and 8.
  invalid_dpop_proof: { status: 400, remedy: 'send a new DPoP proof, signed with the key of the token' },
  use_dpop_nonce: { status: 400, remedy: 'repeat the request with the nonce of the DPoP-Nonce header' },
} as const;
type TokenErrorCode = keyof typeof tokenErrors;

type PageError = AuthorizationError | 'invalid_client' | 'invalid_scope' | 'method_not_allowed';
/** A rule of the authorization endpoint refuses: the user sees a page instead of the flow. */
export class OAuthPageError extends Error {
  readonly code: PageError;
  /** Replaces the remedies of the code if they do not help in this case. */
  readonly remedies: readonly string[] | undefined;
  constructor(code: PageError, detail: string, remedies?: readonly string[]) {
    super(detail);
    this.name = 'OAuthPageError';
    this.code = code;
    this.remedies = remedies;
  }
}
/**
 * A rule after the validation of the redirect URI failed, and the application receives the error by redirect.
 */
export class RedirectError extends Error {
  readonly code: string;
  constructor(code: string, detail: string) {
    super(detail);
    this.name = 'RedirectError';
    this.code = code;
  }
}
/** A rule of the token or revoke endpoint refuses. spec/sign-in#errors-10: `{"error","error_description"}`. */
export class OAuthError extends Error {
  readonly code: TokenErrorCode;
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly subtype: string | undefined;
  constructor(
    code: TokenErrorCode,
    description: string,
    status?: number,
    headers: Readonly<Record<string, string>> = {},
    subtype?: string,
  ) {
    // RFC 6749, 5.2: a description contains only characters of ASCII.
    super(description.replaceAll('…', '...'));
    this.subtype = subtype;
    this.name = 'OAuthError';
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

/**
 * RFC 6749 5.1: responses with tokens are never cached. spec/sign-in#check-12.11: no
 * Access-Control-Allow-Origin on any response.
 */
const headers = {
  'content-type': JSON_TYPE,
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'x-content-type-options': 'nosniff',
};
export const jsonReply = (
  status: number,
  body: unknown,
  more: Readonly<Record<string, string>> = {},
): MockReply => ({
  status,
  headers: { ...headers, ...more },
  body: JSON.stringify(body),
});
/** spec/sign-in#errors-10: `{"error","error_description"}`; never a token, secret or verifier in it. */
export const oauthErrorReply = (refusal: OAuthError): MockReply =>
  jsonReply(
    refusal.status ?? tokenErrors[refusal.code].status,
    {
      error: refusal.code,
      error_description: refusal.message,
      ...(refusal.subtype === undefined ? {} : { error_subtype: refusal.subtype }),
    },
    refusal.headers,
  );

/** Name and value pairs of a query or a form body. */
export type Params = {
  get(name: string): string | undefined;
  /** Every value of a name, in order. */
  all(name: string): readonly string[];
  /** The raw percent-encoded text of the first value. */
  raw(name: string): string | undefined;
  readonly repeated: readonly string[];
  readonly count: number;
  /** False when a percent sequence is broken or bytes are not UTF-8. */
  readonly isWellFormed: boolean;
};
const decode = (text: string): string | undefined => {
  if (!text.includes('%')) return text.includes('+') ? text.replaceAll('+', ' ') : text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
};
type Pair = { readonly name: string | undefined; readonly value: string | undefined; readonly raw: string };
const pairOf = (text: string): Pair => {
  const cut = text.indexOf('=');
  const raw = cut < 0 ? '' : text.slice(cut + 1);
  return { name: decode(cut < 0 ? text : text.slice(0, cut)), value: decode(raw), raw };
};
/**
 * A state may contain any bytes and is returned unchanged. Any other malformed value invalidates the request.
 */
const isReadable = ({ name, value }: Pair): boolean =>
  name !== undefined && (value !== undefined || name === 'state');
export const readParams = (text: string): Params => {
  const values = new Map<string, { raw: string; all: string[] }>();
  const repeated: string[] = [];
  const pairs = text
    .split('&')
    .filter((pair) => pair !== '')
    .map(pairOf);
  for (const { name = '', value = '', raw } of pairs) {
    const known = values.get(name);
    if (known === undefined) values.set(name, { raw, all: [value] });
    else {
      known.all.push(value);
      repeated.push(name);
    }
  }
  return {
    get: (name) => values.get(name)?.all[0],
    all: (name) => values.get(name)?.all ?? [],
    raw: (name) => values.get(name)?.raw,
    repeated,
    count: pairs.length,
    isWellFormed: pairs.every(isReadable),
  };
};
const kept = /[A-Za-z0-9\-._~]/;
const hex = (byte: number): string => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
/** The same bytes in one percent-encoded form that is safe in a query, a fragment and a header. */
export const reencode = (raw: string): string => {
  const bytes: number[] = [];
  const source = Buffer.from(raw.replaceAll('+', ' '));
  for (let i = 0; i < source.length; i++) {
    const pair = source[i] === 0x25 ? source.toString('latin1', i + 1, i + 3) : '';
    if (/^[0-9A-Fa-f]{2}$/.test(pair)) {
      bytes.push(Number.parseInt(pair, 16));
      i += 2;
    } else bytes.push(source[i] ?? 0);
  }
  return bytes
    .map((byte) =>
      byte < 128 && kept.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : hex(byte),
    )
    .join('');
};

/**
 * OpenID Connect Core 11: a client uses it to request a refresh token. Installed applications get one anyway
 * (spec/sign-in#token-3), so it is accepted without an effect.
 */
const withoutEffect = 'offline_access';
/** The supported scopes of a request. */
export const parseScopes = (text: string): string[] =>
  splitScopes(text).filter((scope) => scope !== withoutEffect);
/** The scopes of the document, and those that a setting adds for tools of other services. */
export const unknownScopes = (auth: Auth, scopes: readonly string[]): string[] =>
  scopes.filter((scope) => scopeRow(scope) === undefined && !auth.settings().extra_scopes.includes(scope));

/** spec/sign-in#redirect. */
type RedirectForm =
  | { readonly kind: 'loopback'; readonly host: string; readonly path: string }
  | { readonly kind: 'custom'; readonly scheme: string; readonly rest: string }
  | { readonly kind: 'https'; readonly host: string }
  | { readonly kind: 'other' };
// No fragment, no user name, and no characters that browsers interpret differently (spaces, backslashes,
// quotes).
const TAIL = String.raw`(?:[/?][!$%&'()*+,\-./0-9:;=?@A-Z_a-z~\[\]]*)?`;
const LOOPBACK = new RegExp(
  String.raw`^http://(127\.0\.0\.1|\[::1\]|localhost)(?::([1-9]\d{0,4}))?(${TAIL})$`,
);
const HTTPS = new RegExp(String.raw`^https://([a-z0-9.-]+)${TAIL}$`);
const CUSTOM = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s;
/** Classifies a redirect URI by its text; `http:` and `https:` are never custom schemes. Pure. */
export const redirectForm = (uri: string): RedirectForm => {
  const loopback = LOOPBACK.exec(uri);
  if (loopback !== null) {
    const port = Number(loopback[2] ?? 80);
    if (port > 65_535) return { kind: 'other' };
    return {
      kind: 'loopback',
      host: loopback[1] ?? '',
      path: loopback[3] === '' || loopback[3] === undefined ? '/' : loopback[3],
    };
  }
  const https = HTTPS.exec(uri);
  if (https !== null) return { kind: 'https', host: https[1] ?? '' };
  const custom = CUSTOM.exec(uri);
  if (custom === null || /^https?$/i.test(custom[1] ?? '')) return { kind: 'other' };
  return { kind: 'custom', scheme: custom[1] ?? '', rest: custom[2] ?? '' };
};
/** spec/sign-in: "the scheme must contain a period; an optional path starts with a single slash". */
export const customSchemeProblem = (form: { scheme: string; rest: string }): string | undefined => {
  if (!form.scheme.includes('.'))
    return `Custom scheme "${form.scheme}" must contain a period, like com.example.app`;
  if (form.rest.startsWith('//')) return 'The path of a custom scheme redirect starts with a single slash';
  return new RegExp(`^${TAIL}$`).test(form.rest) && !form.rest.startsWith('?')
    ? undefined
    : 'A custom scheme redirect is SCHEME:/PATH';
};
const extensionHost = (item: string): string => `${item}.extensions.opsctl.example`;
/** spec/sign-in: "the reverse-DNS name is of a domain controlled by the developer or of the client ID". */
const impliedSchemes = (client: Client): string[] =>
  [client.package_name, client.bundle_id, client.id.split('.').reverse().join('.')].filter(
    (scheme) => scheme !== null,
  );
const loopbackMatches = (client: Client, form: { host: string; path: string }, anyPath: boolean): boolean => {
  const registered = client.redirect_uris.map(redirectForm).filter((r) => r.kind === 'loopback');
  // Without registered ones the two IP forms of the document are implied, with an empty path.
  const allowed =
    registered.length > 0
      ? registered
      : ['127.0.0.1', '[::1]', 'localhost'].map((host) => ({ host, path: '/' }));
  return allowed.some((r) => r.host === form.host && (anyPath || r.path === form.path));
};
/** Whether a redirect URI is one of those authorized for the client. RFC 8252 7.3: the port of a loopback redirect is free. Pure. */
export const isAuthorizedRedirect = (client: Client, uri: string, anyPath: boolean): boolean => {
  const form = redirectForm(uri);
  if (form.kind === 'loopback') return loopbackMatches(client, form, anyPath);
  if (client.redirect_uris.includes(uri)) return true;
  if (form.kind === 'custom') return impliedSchemes(client).includes(form.scheme);
  return form.kind === 'https' && client.item_id !== null && form.host === extensionHost(client.item_id);
};
