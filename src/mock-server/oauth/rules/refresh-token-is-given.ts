import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/** doc1 Endpoints 3: refresh_token. */
export const refreshTokenIsGiven: Rule<ClientCall> = ({ params }) => {
  if (given(params, 'refresh_token') === undefined)
    throw new TokenRefusal('invalid_request', 'Missing required field: refresh_token');
};
