import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Errors invalid_request: malformed request. */
export const requestIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new OAuthPageError('invalid_request', 'A parameter is not valid percent-encoded UTF-8');
  if (params.count > 100) throw new OAuthPageError('invalid_request', 'More than 100 parameters');
};
