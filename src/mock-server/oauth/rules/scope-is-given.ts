import { splitScopes } from '../../../api-specs/oauth/scopes.ts';
import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Endpoints 1: scope is required. 30 is the width of the mask in an access token, twice the known scopes. */
export const scopeIsGiven: Rule<RequestCall> = ({ params }) => {
  const scopes = splitScopes(params.get('scope') ?? '');
  if (scopes.length === 0) throw new OAuthPageError('invalid_request', 'Missing required parameter: scope');
  if (scopes.length > 30)
    throw new OAuthPageError('invalid_request', `At most 30 scopes in one request, got ${scopes.length}`);
};
