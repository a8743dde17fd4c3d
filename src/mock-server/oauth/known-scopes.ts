import { scopeRow, splitScopes } from '../../api-specs/oauth/scopes.ts';
import type { Auth } from './state.ts';

/** OpenID Connect Core 11: a client asks for a refresh token by it. Installed applications get one anyway (spec/sign-in#token-3), so it is taken and has no effect. */
const withoutEffect = 'offline_access';

/** The scopes of a request that mean something here. */
export const askedScopes = (text: string): string[] =>
  splitScopes(text).filter((scope) => scope !== withoutEffect);

/** Those of the document, and those that a setting adds for tools of other services. */
export const unknownScopes = (auth: Auth, scopes: readonly string[]): string[] =>
  scopes.filter((scope) => scopeRow(scope) === undefined && !auth.settings().extra_scopes.includes(scope));
