import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { ExchangeCall } from './token-call.ts';

/** RFC 6749 4.1.3: the code was issued to this client. */
export const codeIsOfTheClient: Rule<ExchangeCall> = ({ client, code }) => {
  if (code.asked.client !== client.id)
    throw new TokenRefusal('invalid_grant', 'The code was issued to another client.');
};
