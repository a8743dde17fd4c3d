import type { OauthParam } from '../../../api-specs/oauth/endpoints.ts';
import type { MockRequest } from '../../service.ts';
import type { Params } from '../params.ts';
import type { Auth, Client, Code, Family, User } from '../state.ts';

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
};
export type ClientCall = TokenCall & { readonly client: Client };
export type ExchangeCall = ClientCall & { readonly code: Code };
export type RefreshCall = ClientCall & { readonly family: Family };

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
export const checkRules = <C>(rules: readonly Rule<C>[], call: C): void => {
  for (const rule of rules) rule(call);
};
