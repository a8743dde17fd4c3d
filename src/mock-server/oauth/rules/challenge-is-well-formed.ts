import { s256ChallengePattern, verifierPattern } from '../../../api-specs/oauth/endpoints.ts';
import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** doc1 "Code verifier and code challenge": S256 is 43 base64url characters without padding; plain is the verifier itself, and the default. */
export const challengeIsWellFormed: Rule<RequestCall> = ({ params }) => {
  const challenge = given(params, 'code_challenge');
  if (challenge === undefined) return;
  if (given(params, 'code_challenge_method') === 'S256') {
    if (!s256ChallengePattern.test(challenge))
      throw new OAuthPageError(
        'invalid_grant',
        'An S256 code_challenge has 43 base64url characters without padding',
      );
  } else if (!verifierPattern.test(challenge)) {
    throw new OAuthPageError(
      'invalid_grant',
      'A plain code_challenge has 43 to 128 characters of A-Z a-z 0-9 - . _ ~',
    );
  }
};
