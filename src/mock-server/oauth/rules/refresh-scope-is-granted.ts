import { splitScopes } from '../../../api-specs/oauth/scopes.ts';
import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { RefreshCall } from './token-call.ts';

/** RFC 6749 6: a refresh may ask for fewer scopes, never for more. */
export const refreshScopeIsGranted: Rule<RefreshCall> = ({ params, family }) => {
  const more = splitScopes(given(params, 'scope') ?? '').filter((scope) => !family.scopes.includes(scope));
  if (more.length > 0)
    throw new TokenRefusal('invalid_scope', 'The scope was not granted to this refresh token.');
};
