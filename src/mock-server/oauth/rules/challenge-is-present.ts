import { OAuthPageError } from '../errors.ts';
import { type Rule, type RequestCall, given } from './rule.ts';

/** doc1 Errors invalid_grant: "code_challenge invalid or missing"; facts 0.3: without any proof key the request goes on, unless a setting asks for one. */
export const challengeIsPresent: Rule<RequestCall> = ({ auth, params }) => {
  if (given(params, 'code_challenge') !== undefined) return;
  if (given(params, 'code_challenge_method') !== undefined)
    throw new OAuthPageError('invalid_grant', 'code_challenge_method was sent without code_challenge');
  if (auth.settings().require_pkce)
    throw new OAuthPageError('invalid_grant', 'code_challenge is missing and this server requires it');
};
