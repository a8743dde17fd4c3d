import { scopeRow, splitScopes } from '../../../api-specs/oauth/scopes.ts';
import { OAuthPageError } from '../errors.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Scope: space-delimited, case-sensitive strings; facts 2.20 for the code. */
export const scopesAreKnown: Rule<RequestCall> = ({ params }) => {
  const unknown = splitScopes(params.get('scope') ?? '').filter((scope) => scopeRow(scope) === undefined);
  if (unknown.length > 0)
    throw new OAuthPageError('invalid_scope', `Unknown scope: ${unknown.join(' ').slice(0, 300)}`);
};
