import { TokenRefusal } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Endpoints 2 to 4: POST. */
export const tokenMethodIsPost: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'POST')
    throw new TokenRefusal('invalid_request', `${request.method} is not supported; use POST`, 405, {
      allow: 'POST',
    });
};
