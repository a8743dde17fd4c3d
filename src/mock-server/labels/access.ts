import { scopeBase, scopeName } from '../../api-specs/oauth/scopes.ts';
import { labelRoles } from '../../api-specs/labels/words.ts';
import { scopesFor } from '../../api-specs/labels/scopes.ts';
import { authState } from '../oauth/state.ts';
import { liveAccess } from '../oauth/tokens.ts';
import type { MockRequest, Environment } from '../service.ts';
import { LabelError, denied } from './errors.ts';
import { OWNER, isFirstUser, personOfUser } from './people.ts';
import type { LabelRecord, LabelState, PermissionRecord } from './state.ts';

export type Caller = {
  readonly person: string;
  /** May act with useAdminAccess and make ADMIN labels. */
  readonly isAdmin: boolean;
  /** Names of the token's scopes; undefined when scopes are not checked. */
  readonly scopes?: readonly string[];
};

const unauthenticated = (message: string): LabelError =>
  new LabelError('UNAUTHENTICATED', message, { reason: 'CREDENTIALS_MISSING' });

const tokenIn = (request: MockRequest, queryToken: string | undefined): string | undefined => {
  const header = request.headers.authorization;
  if (header === undefined) return queryToken === '' ? undefined : queryToken;
  return /^Bearer +([^\s]+)$/i.exec(header.trim())?.[1];
};

/** spec/labels#errors: no or broken bearer token is 401. With `--labels-auth any` every token will do (spec/program#mock-server). */
export const callerFrom = (
  env: Environment,
  request: MockRequest,
  queryToken: string | undefined,
): Caller => {
  const token = tokenIn(request, queryToken);
  if (token === undefined) {
    throw unauthenticated(
      'Request is missing required authentication credential. Expected an OAuth 2 access token: Authorization: Bearer <token>.',
    );
  }
  if (env.options.labelsAuth === 'any') return { person: OWNER, isAdmin: true };
  const auth = authState(env);
  const access = liveAccess(auth, token);
  const user = access && auth.users.get(access.family.user);
  if (access === undefined || user === undefined) {
    throw unauthenticated(
      'Request had invalid authentication credentials: the access token is unknown, expired or revoked.',
    );
  }
  return {
    person: personOfUser(env, user),
    isAdmin: isFirstUser(env, user.id),
    scopes: access.scopes.map(scopeName),
  };
};

/** spec/labels#scopes: reads take any of the four scopes, writes two; admin calls need an admin scope. */
export const refuseScope = (caller: Caller, method: string, isAdminCall: boolean): void => {
  const { scopes } = caller;
  if (scopes === undefined) return;
  const enough = scopesFor(method, isAdminCall);
  if (enough.some((name) => scopes.includes(name))) return;
  throw new LabelError(
    'PERMISSION_DENIED',
    `Request had insufficient authentication scopes. One of these is needed: ${enough.join(', ')}.`,
    {
      reason: 'ACCESS_TOKEN_SCOPE_INSUFFICIENT',
      metadata: {
        required_scopes: enough.map((name) => `${scopeBase}/${name}`).join(' '),
        service: 'labels',
      },
    },
  );
};

/** spec/labels#permissions: each role implies the ones before it. */
export const rank = (role: string): number => labelRoles.findIndex((one) => one === role);

export const permissionsFor = (state: LabelState, label: string): Iterable<PermissionRecord> =>
  state.permissions.index('label', (p) => p.label).get(label);

/** The caller's role on a label: the best of what was given to them; makers and, with the admin flag, admins edit. -1 is none. */
export const roleOf = (state: LabelState, label: LabelRecord, caller: Caller, asAdmin: boolean): number => {
  const mayEdit =
    label.creator === caller.person || (caller.isAdmin && (asAdmin || label.labelType === 'ADMIN'));
  // spec/labels#labels: a provider's own label is read only.
  if (label.labelType === 'PROVIDER_APP') return rank('APPLIER');
  if (mayEdit) return rank('EDITOR');
  let best = -1;
  for (const { principal, role } of permissionsFor(state, label.id)) {
    // The mock does not keep members of groups: a group or audience of the organisation holds everybody.
    if (principal === caller.person || !principal.startsWith('people/')) best = Math.max(best, rank(role));
  }
  return best;
};

export const refuseAdmin = (caller: Caller, asAdmin: boolean): void => {
  if (asAdmin && !caller.isAdmin)
    throw denied('NOT_ADMIN', 'The caller is not an administrator of labels, so useAdminAccess is refused.');
};

export const refuseRole = (held: number, needed: string, label: string): void => {
  if (held < rank(needed)) {
    throw denied(
      'ROLE_TOO_LOW',
      `The caller needs the role ${needed} on label ${label} and has ${labelRoles[held] ?? 'none'}.`,
      { role: needed, label },
    );
  }
};
