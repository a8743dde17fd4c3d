import { TokenRefusal } from '../errors.ts';
import { type Rule, given } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/** doc1 Endpoints 2: fields of the code exchange. */
export const codeIsGiven: Rule<ClientCall> = ({ params }) => {
  for (const name of ['code', 'redirect_uri'] as const) {
    if (given(params, name) === undefined)
      throw new TokenRefusal('invalid_request', `Missing required field: ${name}`);
  }
};
