import type { MockRequest } from '../../service.ts';
import type { Params } from '../params.ts';
import type { Auth, Client, Code, Family } from '../state.ts';

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
