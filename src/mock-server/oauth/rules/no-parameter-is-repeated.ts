import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** RFC 6749 3.1: request parameters must not be included more than once. */
export const noParameterIsRepeated: Rule<RequestCall> = ({ params }) => {
  if (params.repeated.length > 0)
    throw new OAuthPageError('invalid_request', `Parameter given more than once: ${params.repeated[0]}`);
};
