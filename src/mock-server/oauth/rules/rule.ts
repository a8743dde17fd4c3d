import type { OauthParam } from '../../../api-specs/oauth/endpoints.ts';
import type { MockRequest } from '../../service.ts';
import type { Params } from '../params.ts';
import type { Auth, Client, User } from '../state.ts';

/** One check: returns when it holds, throws a refusal when it is broken. Endpoints are ordered lists of them. */
export type Rule<C> = (call: C) => void;

export type RequestCall = { readonly auth: Auth; readonly request: MockRequest; readonly params: Params };
/** What the rules of an account look at, after sign-in. */
export type AccountCall = {
  readonly auth: Auth;
  readonly client: Client;
  readonly user: User;
  readonly scopes: readonly string[];
};

/** RFC 6749 3.1: a parameter without a value counts as omitted. */
export const given = (params: Params, name: OauthParam): string | undefined => {
  const value = params.get(name);
  return value === '' ? undefined : value;
};
export const clientOf = ({ auth, params }: RequestCall): Client => {
  const client = auth.clients.get(params.get('client_id') ?? '');
  if (client === undefined) throw new Error('the client is looked up before it was checked');
  return client;
};
export const broken = <C>(rules: readonly Rule<C>[], call: C): void => {
  for (const rule of rules) rule(call);
};
