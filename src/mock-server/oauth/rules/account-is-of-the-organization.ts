import { OAuthPageError } from '../errors.ts';
import type { AccountCall, Rule } from './rule.ts';

/** doc1 Errors org_internal: the project is restricted to accounts of one organization. */
export const accountIsOfTheOrganization: Rule<AccountCall> = ({ auth, client, user }) => {
  const project = auth.projects.get(client.project);
  if (project?.is_internal && project.organization !== user.organization) {
    throw new OAuthPageError(
      'org_internal',
      `${client.name} is for accounts of ${project.organization ?? 'another organization'}; you are signed in as ${user.email}`,
    );
  }
};
