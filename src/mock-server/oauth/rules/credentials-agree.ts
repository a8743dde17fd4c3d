import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { TokenCall } from './token-call.ts';

/** RFC 6749 2.3: one way of authentication in a request. */
export const credentialsAgree: Rule<TokenCall> = ({ params, credentials }) => {
  if (!credentials.isBasic) return;
  const id = given(params, 'client_id');
  if (given(params, 'client_secret') !== undefined)
    throw new TokenRefusal(
      'invalid_request',
      'The client secret came by HTTP Basic and in the body; use one of them',
    );
  if (id !== undefined && id !== credentials.id)
    throw new TokenRefusal('invalid_request', 'client_id in the body differs from the one in HTTP Basic');
};
