import { isCodeOver } from '../codes.ts';
import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { ExchangeCall } from './token-call.ts';

/** RFC 6749 4.1.2: a code lives ten minutes at most. */
export const codeIsInTime: Rule<ExchangeCall> = ({ auth, code }) => {
  if (isCodeOver(auth, code)) throw new TokenRefusal('invalid_grant', 'The code has expired.');
};
