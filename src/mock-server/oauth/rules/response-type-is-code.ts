import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** doc1 Endpoints 1: response_type has the value `code`; facts 2.18: everything else is the document's invalid_request, on a page. */
export const responseTypeIsCode: Rule<RequestCall> = ({ params }) => {
  const value = given(params, 'response_type');
  if (value === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: response_type');
  if (value !== 'code')
    throw new OAuthPageError(
      'invalid_request',
      `Unsupported response_type "${value.slice(0, 60)}"; it must be code`,
    );
};
