import { TokenRefusal } from '../errors.ts';
import { categoryOf, countRequest, effectiveState } from '../integrity.ts';
import { type Rule, given } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/**
 * doc1 Authentication 7 and States: monitoring counts, enforcement rejects requests without a valid integrity token.
 * The token is the field `integrity_token` or the header `X-Integrity-Token`; facts 10.14: rejected as unauthorized_client.
 */
export const integrityIsVerified: Rule<ClientCall> = ({ auth, client, params, request }) => {
  const state = client.type === 'mobile-b' ? effectiveState(auth, client) : 'disabled';
  if (state === 'disabled') return;
  const token = given(params, 'integrity_token') ?? request.headers['x-integrity-token'];
  const category = categoryOf(auth, client, token, request.headers['user-agent'] ?? '');
  countRequest(auth, client, category);
  if (state === 'enforced' && category !== 'verified') {
    throw new TokenRefusal(
      'unauthorized_client',
      `The integrity check of the client is enforced and the integrity token is ${token === undefined ? 'missing' : 'invalid'}.`,
    );
  }
};
