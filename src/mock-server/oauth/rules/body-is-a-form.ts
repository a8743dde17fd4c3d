import { TokenRefusal } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Endpoints 2: Content-Type application/x-www-form-urlencoded; facts 5.5: JSON or no type is refused. */
export const bodyIsAForm: Rule<RequestCall> = ({ request }) => {
  const type = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
  if (type !== 'application/x-www-form-urlencoded') {
    throw new TokenRefusal('invalid_request', 'Content-Type must be application/x-www-form-urlencoded');
  }
};
