import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { TokenCall } from './token-call.ts';

/** doc1 Authentication 1: every request to the token endpoint carries client_id. */
export const tokenClientIsGiven: Rule<TokenCall> = ({ credentials }) => {
  if (credentials.id === undefined)
    throw new TokenRefusal('invalid_request', 'Missing required field: client_id');
};
