import { verifierPattern } from '../../../api-specs/oauth/endpoints.ts';
import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/** doc1 Limits: code_verifier has 43 to 128 characters of A-Z a-z 0-9 - . _ ~. */
export const verifierIsWellFormed: Rule<ClientCall> = ({ params }) => {
  const verifier = given(params, 'code_verifier');
  if (verifier !== undefined && !verifierPattern.test(verifier)) {
    throw new TokenRefusal(
      'invalid_grant',
      'Invalid code verifier: it has 43 to 128 characters of A-Z a-z 0-9 - . _ ~.',
    );
  }
};
