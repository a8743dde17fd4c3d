/** spec/sign-in#errors: what an authorization error means, in words for the user, and what to do about it. */
export type AuthorizationErrorRow = {
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
export type AuthorizationError = keyof typeof authorizationErrors;

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
export type TokenErrorCode = keyof typeof tokenErrors;
