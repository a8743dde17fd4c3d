import { type Fields, help, oneOf, req, str } from '../../kernel/field.ts';
import { type Table, op } from '../../kernel/operation.ts';

/** Paths of the authorization service; doc1 Endpoints. The token and revoke paths carry no version (doc1 Versioning). */
export const authPaths = {
  authorize: '/o/oauth2/v2/auth',
  token: '/token',
  revoke: '/revoke',
  keys: '/oauth2/certs',
  userinfo: '/oauth2/userinfo',
  metadata: '/.well-known/oauth-authorization-server',
  openidMetadata: '/.well-known/openid-configuration',
  media: '/media/v3',
  console: '/__opsctl/oauth',
} as const;

/** doc1 "Code verifier and code challenge". */
export const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/;
export const s256ChallengePattern = /^[A-Za-z0-9_-]{43}$/;
export const challengeMethods = ['S256', 'plain'] as const;

const any = str();
/** doc1 Endpoints 1: parameters of the authorization request. */
export const authorizeParams = {
  client_id: req(help(any, 'The client ID')),
  redirect_uri: req(help(any, 'Must match exactly one authorized redirect URI of the client')),
  response_type: req(oneOf('code')),
  scope: req(help(any, 'Space-delimited scopes')),
  code_challenge: help(any, 'Encoded code verifier; recommended'),
  code_challenge_method: oneOf(...challengeMethods),
  state: help(any, 'Any string; returned unchanged'),
  login_hint: help(any, 'E-mail address or sub of the user'),
} as const satisfies Fields;

/** doc1 Endpoints 1 to 4 as rows; forms, not JSON. */
export const oauthTable = {
  authorization: {
    request: op({
      method: 'GET',
      path: '/o/oauth2/v2/auth',
      summary: 'Sign the user in and ask for consent',
      cites: 'doc1 Endpoints 1',
      query: authorizeParams,
      ok: 200,
    }),
  },
  tokens: {
    exchange: op({
      method: 'POST',
      path: '/token',
      summary: 'Exchange a code for tokens, or refresh an access token',
      cites: 'doc1 Endpoints 2 and 3',
      encoding: 'form',
      body: {
        client_id: req(any),
        client_secret: any,
        grant_type: req(oneOf('authorization_code', 'refresh_token')),
        code: any,
        code_verifier: any,
        redirect_uri: any,
        refresh_token: any,
        scope: any,
      },
      ok: 200,
    }),
    revoke: op({
      method: 'POST',
      path: '/revoke',
      summary: 'Revoke an access or refresh token',
      cites: 'doc1 Endpoints 4',
      encoding: 'form',
      query: { token: req(any) },
      ok: 200,
    }),
  },
} as const satisfies Table;
