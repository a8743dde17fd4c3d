import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { ExchangeCall } from './token-call.ts';

/** RFC 6749 4.1.3: redirect_uri is identical to the one of the authorization request. */
export const redirectIsTheSame: Rule<ExchangeCall> = ({ code, params }) => {
  if (params.get('redirect_uri') !== code.asked.redirect_uri) {
    throw new TokenRefusal(
      'invalid_grant',
      'redirect_uri is not the one of the authorization request (redirect_uri_mismatch).',
    );
  }
};
