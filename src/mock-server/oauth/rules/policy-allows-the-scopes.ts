import { scopeName } from '../../../api-specs/oauth/scopes.ts';
import { OAuthPageError } from '../errors.ts';
import type { AccountCall, Rule } from './rule.ts';

/** doc1 Errors admin_policy_enforced: one forbidden scope stops the whole request, for trusted and domain-wide apps too (facts 2.40, 3.10). */
export const policyAllowsTheScopes: Rule<AccountCall> = ({ auth, client, user, scopes }) => {
  for (const policy of auth.policies.values()) {
    if (
      policy.organization !== user.organization ||
      (policy.clients.length > 0 && !policy.clients.includes(client.id))
    )
      continue;
    const blocked = policy.blocked_scopes.map(scopeName);
    const hit = scopes.find((scope) => blocked.includes(scopeName(scope)));
    if (hit !== undefined)
      throw new OAuthPageError('admin_policy_enforced', `A policy of ${policy.organization} forbids ${hit}`);
  }
};
