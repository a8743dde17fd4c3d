import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { RefreshCall } from './token-call.ts';

/** facts 6.18: a policy asks for a new sign-in after some time; the token itself is not over. Off unless a setting gives the time. */
export const signInIsRecent: Rule<RefreshCall> = ({ auth, family }) => {
  const seconds = auth.settings().reauth_after_seconds;
  if (seconds === null || auth.env.now() < family.issued_at + seconds * 1000) return;
  throw new TokenRefusal(
    'invalid_grant',
    'reauth related error (invalid_rapt)',
    undefined,
    {},
    'invalid_rapt',
  );
};
