import { type OauthParam, scopeName } from '../../../api-specs/oauth/endpoints.ts';
import type { MockRequest } from '../../service-set.ts';
import { OAuthError, OAuthPageError, type Params, RedirectError } from '../errors.ts';
import type { Auth, Client, Code, Family, User } from '../state.ts';

/** One check: returns when it holds, throws a refusal when it is broken. Endpoints are ordered lists of them. */
export type Rule<C> = (call: C) => void;
export type RequestCall = { readonly auth: Auth; readonly request: MockRequest; readonly params: Params };
/** The data for the rules of an account, after sign-in. */
export type AccountCall = {
  readonly auth: Auth;
  readonly client: Client;
  readonly user: User;
  readonly scopes: readonly string[];
};
/** Client ID and secret as they came: in the body, or by HTTP Basic (RFC 6749 2.3.1). */
export type Credentials = {
  readonly id: string | undefined;
  readonly secret: string | undefined;
  readonly isBasic: boolean;
};
export type TokenCall = {
  readonly auth: Auth;
  readonly request: MockRequest;
  readonly params: Params;
  readonly credentials: Credentials;
  /** Thumbprint of the key that the tokens will be bound to; absent for Bearer tokens. */
  readonly boundTo?: string;
};
export type ClientCall = TokenCall & { readonly client: Client };
export type ExchangeCall = ClientCall & { readonly code: Code };
export type RefreshCall = ClientCall & { readonly family: Family };
/** RFC 6749 3.1: a parameter without a value counts as omitted. */
export const readParam = (params: Params, name: OauthParam): string | undefined => {
  const value = params.get(name);
  return value === '' ? undefined : value;
};
export const clientOf = ({ auth, params }: RequestCall): Client => {
  const client = auth.clients.get(params.get('client_id') ?? '');
  if (client === undefined) throw new Error('the client is looked up before it was checked');
  return client;
};
export const checkRules = <C>(rules: readonly Rule<C>[], call: C): void => {
  for (const rule of rules) rule(call);
};

/** spec/sign-in#limits-6; spec/sign-in#check-12.9: none unless a setting gives one. Counts whole minutes. */
export const makeRateRule = (auth: Auth) => {
  let minute = 0;
  let count = 0;
  return (): void => {
    const limit = auth.settings().rate_per_minute;
    if (limit === null) return;
    const now = Math.floor(auth.env.now() / 60_000);
    if (now !== minute) [minute, count] = [now, 0];
    count += 1;
    if (count > limit)
      throw new OAuthError('rate_limit_exceeded', `More than ${limit} requests in this minute`, 429, {
        'retry-after': '60',
      });
  };
};

/** spec/sign-in#errors: a deleted or disabled account cannot grant access. */
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
