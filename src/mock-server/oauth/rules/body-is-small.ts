import { TokenRefusal } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

export const mostBytes = 64 * 1024;
/** facts 5.27: a huge body or thousands of fields end here, before they are parsed. */
export const bodyIsSmall: Rule<RequestCall> = ({ request, params }) => {
  if (request.body.length > mostBytes)
    throw new TokenRefusal('invalid_request', `The body must have at most ${mostBytes} bytes`, 413);
  if (params.count > 100) throw new TokenRefusal('invalid_request', 'The form must have at most 100 fields');
};
