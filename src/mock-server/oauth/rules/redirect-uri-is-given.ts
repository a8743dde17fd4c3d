import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** doc1 Endpoints 1: redirect_uri is required. */
export const redirectUriIsGiven: Rule<RequestCall> = ({ params }) => {
  if (given(params, 'redirect_uri') === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: redirect_uri');
};
