import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** facts 2.3: 401 invalid_client on a page. */
export const clientIsKnown: Rule<RequestCall> = ({ auth, params }) => {
  if (!auth.clients.has(params.get('client_id') ?? ''))
    throw new OAuthPageError('invalid_client', 'The OAuth client was not found.');
};
