import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { RefreshCall } from './token-call.ts';

/** RFC 6749 6: bound to the client it was issued to. */
export const refreshTokenIsOfTheClient: Rule<RefreshCall> = ({ client, family }) => {
  if (family.client !== client.id)
    throw new TokenRefusal('invalid_grant', 'The refresh token was issued to another client.');
};
