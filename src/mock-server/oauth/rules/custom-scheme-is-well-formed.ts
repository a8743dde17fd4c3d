import { OAuthPageError } from '../errors.ts';
import { customSchemeProblem, redirectForm } from '../redirect-uri.ts';
import type { Rule, RequestCall } from './rule.ts';

/** doc1 Redirect URI forms: a period in the scheme, a path with a single slash. */
export const customSchemeIsWellFormed: Rule<RequestCall> = ({ params }) => {
  const form = redirectForm(params.get('redirect_uri') ?? '');
  const problem = form.kind === 'custom' ? customSchemeProblem(form) : undefined;
  if (problem !== undefined) throw new OAuthPageError('invalid_request', problem);
};
