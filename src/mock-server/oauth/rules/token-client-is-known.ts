import { basicChallenge } from './credentials.ts';
import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { TokenCall } from './token-call.ts';

/** RFC 6749 5.2 invalid_client; facts 5.24 for the text. */
export const tokenClientIsKnown: Rule<TokenCall> = ({ auth, credentials }) => {
  if (!auth.clients.has(credentials.id ?? ''))
    throw new TokenRefusal('invalid_client', 'The OAuth client was not found.', undefined, basicChallenge);
};
