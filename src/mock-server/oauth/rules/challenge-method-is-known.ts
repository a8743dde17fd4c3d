import { challengeMethods } from '../../../api-specs/oauth/endpoints.ts';
import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** RFC 7636 4.4.1: an unsupported transformation is invalid_request. */
export const challengeMethodIsKnown: Rule<RequestCall> = ({ params }) => {
  const method = given(params, 'code_challenge_method');
  if (method === undefined || (challengeMethods as readonly string[]).includes(method)) return;
  throw new OAuthPageError('invalid_request', 'code_challenge_method must be S256 or plain');
};
