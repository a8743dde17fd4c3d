import { TokenRefusal } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** RFC 6749 3.2: "parameters … MUST NOT be included more than once"; broken percent-encoding is a malformed request. */
export const formIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new TokenRefusal('invalid_request', 'A field is not valid percent-encoded UTF-8');
  if (params.repeated.length > 0)
    throw new TokenRefusal('invalid_request', `Field given more than once: ${params.repeated[0]}`);
};
