/** Paths of the authorization service; spec/sign-in#authorize. The token and revoke paths carry no version (spec/sign-in#versions). */
export const authPaths = {
  authorize: '/o/oauth2/v2/auth',
  token: '/token',
  revoke: '/revoke',
  keys: '/oauth2/certs',
  userinfo: '/oauth2/userinfo',
  metadata: '/.well-known/oauth-authorization-server',
  openidMetadata: '/.well-known/openid-configuration',
  media: '/media/v3',
  device: '/device/code',
  devicePage: '/device',
  /** Stands for a CI system that gives its jobs identity tokens. */
  ci: '/ci',
  console: '/__opsctl/oauth',
} as const;

/** spec/sign-in#pkce. */
export const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/;
export const s256ChallengePattern = /^[A-Za-z0-9_-]{43}$/;
export const challengeMethods = ['S256', 'plain'] as const;

/** spec/sign-in#authorize to spec/sign-in#revoke: the parameters and fields of each endpoint. */
export const oauthParams = {
  authorize: [
    'client_id',
    'redirect_uri',
    'response_type',
    'scope',
    'code_challenge',
    'code_challenge_method',
    'state',
    'login_hint',
  ],
  exchange: ['client_id', 'client_secret', 'code', 'code_verifier', 'grant_type', 'redirect_uri'],
  refresh: ['client_id', 'client_secret', 'grant_type', 'refresh_token'],
  revoke: ['token'],
} as const;
/** Beyond the document: OpenID Connect's nonce, a narrower scope at refresh (RFC 6749 6), the integrity check, and the fields of RFC 7523, 8693 and 8628. */
type Further =
  | 'nonce'
  | 'scope'
  | 'integrity_token'
  | 'assertion'
  | 'client_assertion'
  | 'client_assertion_type'
  | 'subject_token'
  | 'subject_token_type'
  | 'requested_token_type'
  | 'audience'
  | 'device_code'
  | 'user_code';
/** What the mock may look for in a request: a name that is in no list is a mistake of ours, and the compiler says so. */
export type OauthParam = (typeof oauthParams)[keyof typeof oauthParams][number] | Further;
