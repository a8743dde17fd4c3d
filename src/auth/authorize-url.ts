import { type ExternalUrl, externalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import { isIdentity, scopeText } from './scopes.ts';
import type { Secrets } from './pkce.ts';

export type AuthorizationRequest = {
  readonly endpoint: string;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly secrets: Pick<Secrets, 'challenge' | 'state' | 'nonce'>;
  readonly loginHint?: string;
  /** Parameters of other servers: `prompt`, `audience`, `resource`. */
  readonly extra?: Readonly<Record<string, string>>;
};

/** spec/sign-in#authorize. Both PKCE parameters are always sent: the method would default to `plain`. */
export const authorizeUrl = (request: AuthorizationRequest): ExternalUrl => {
  const url = new URL(request.endpoint);
  const set = (name: string, value: string | undefined) => {
    if (value !== undefined) url.searchParams.set(name, value);
  };
  set('client_id', request.clientId);
  set('redirect_uri', request.redirectUri);
  set('response_type', 'code');
  set('scope', scopeText(request.scopes));
  set('code_challenge', request.secrets.challenge);
  set('code_challenge_method', 'S256');
  set('state', request.secrets.state);
  set(
    'nonce',
    request.scopes.includes('openid') || request.scopes.some(isIdentity) ? request.secrets.nonce : undefined,
  );
  set('login_hint', request.loginHint);
  for (const [name, value] of Object.entries(request.extra ?? {})) set(name, value);
  // A blank may stand as + or %20 (spec/sign-in); %20 survives every mail program and terminal.
  const address = externalUrl(url.href.replaceAll('+', '%20'));
  if (address !== undefined) return address;
  throw new AppError(
    'config',
    `invalid authorization endpoint ${JSON.stringify(request.endpoint)}: must be an http or https URL without user information`,
    { code: 'AUTH_URL', tryThis: ['--auth-url https://HOST/PATH'] },
  );
};
