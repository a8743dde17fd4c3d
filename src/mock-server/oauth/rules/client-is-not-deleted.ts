import { isClientActive } from '../client-life.ts';
import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, clientOf } from './rule.ts';

/** doc1 Errors deleted_client. */
export const clientIsNotDeleted: Rule<RequestCall> = (call) => {
  if (!isClientActive(call.auth, clientOf(call)))
    throw new OAuthPageError('deleted_client', 'The OAuth client was deleted.');
};
