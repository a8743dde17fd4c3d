import { scopeName } from '../../../api-specs/oauth/scopes.ts';
import { OAuthPageError, RedirectError } from '../errors.ts';
import type { AccountCall, Rule } from './rule.ts';

/** spec/sign-in#errors: an account that is deleted or disabled grants nothing. */
const accountIsActive: Rule<AccountCall> = ({ user }) => {
  if (user.state !== 'active') throw new RedirectError('access_denied', 'The account is disabled or deleted');
};

/** spec/sign-in#errors-4: the project is restricted to accounts of one organization. */
const accountIsOfTheOrganization: Rule<AccountCall> = ({ auth, client, user }) => {
  const project = auth.projects.get(client.project);
  if (project?.is_internal && project.organization !== user.organization) {
    throw new OAuthPageError(
      'org_internal',
      `${client.name} is for accounts of ${project.organization ?? 'another organization'}; you are signed in as ${user.email}`,
    );
  }
};

/** spec/sign-in#errors-2: one forbidden scope stops the whole request, for trusted and domain-wide apps too (spec/sign-in#check-2.40, spec/sign-in#check-3.10). */
const policyAllowsTheScopes: Rule<AccountCall> = ({ auth, client, user, scopes }) => {
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

/** In the order in which a user meets them. */
export const accountRules: readonly Rule<AccountCall>[] = [
  accountIsActive,
  accountIsOfTheOrganization,
  policyAllowsTheScopes,
];
