import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Endpoints 1: GET; facts 2.37 leaves POST open: it is refused, because the document names no other method. */
export const methodIsGet: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new OAuthPageError('method_not_allowed', `${request.method} is not supported here`);
};
