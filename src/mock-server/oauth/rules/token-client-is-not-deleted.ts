import { isClientActive } from '../client-life.ts';
import { TokenRefusal } from '../errors.ts';
import type { Rule } from './rule.ts';
import type { ClientCall } from './token-call.ts';

/** doc1 States: using a deleted client yields deleted_client. */
export const tokenClientIsNotDeleted: Rule<ClientCall> = ({ auth, client }) => {
  if (!isClientActive(auth, client))
    throw new TokenRefusal('deleted_client', 'The OAuth client was deleted.');
};
