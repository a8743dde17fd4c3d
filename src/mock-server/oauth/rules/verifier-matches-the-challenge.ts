import { sameText, sha256 } from '../digest.ts';
import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { ExchangeCall } from './token-call.ts';

/** doc1 "Code verifier and code challenge"; RFC 9700 2.1.1: a verifier without a challenge is a downgrade and refused. */
export const verifierMatchesTheChallenge: Rule<ExchangeCall> = ({ code, params }) => {
  const verifier = given(params, 'code_verifier');
  const { challenge, method } = code.asked;
  if (challenge === null) {
    if (verifier !== undefined)
      throw new TokenRefusal('invalid_grant', 'code_verifier is not needed: no code_challenge was sent.');
    return;
  }
  if (verifier === undefined) throw new TokenRefusal('invalid_grant', 'Missing code verifier.');
  if (!sameText(method === 'S256' ? sha256(verifier) : verifier, challenge))
    throw new TokenRefusal('invalid_grant', 'Invalid code verifier.');
};
