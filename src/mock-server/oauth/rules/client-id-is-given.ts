import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** doc1 Endpoints 1: client_id is required. */
export const clientIdIsGiven: Rule<RequestCall> = ({ params }) => {
  if (given(params, 'client_id') === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: client_id');
};
