import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { TokenCall } from './token-call.ts';

/** doc1 Endpoints 2 and 3: grant_type. RFC 6749 5.2 for the codes. */
export const grantTypeIsKnown: Rule<TokenCall> = ({ params }) => {
  const type = given(params, 'grant_type');
  if (type === undefined) throw new TokenRefusal('invalid_request', 'Missing required field: grant_type');
  if (type !== 'authorization_code' && type !== 'refresh_token') {
    throw new TokenRefusal(
      'unsupported_grant_type',
      'grant_type must be authorization_code or refresh_token',
    );
  }
};
