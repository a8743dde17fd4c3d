import type { HttpRequest } from '../../platform/host.ts';
import { refusalOf } from './token-response.ts';
import { bodyOf, errorIn } from './token-body.ts';
import { clientRequest } from './client-authentication.ts';
import { formRequest, type TokenClient, type HttpResponse } from './token-client.ts';

/** spec/sign-in#revoke: the token stands in the query. */
export const revokeRequest = (tokenClient: TokenClient, token: string): HttpRequest => {
  const url = new URL(tokenClient.endpoints.revoke);
  url.searchParams.set('token', token);
  return formRequest(url.href, {});
};

/** RFC 7009 2.1: servers of the standard want it in the body, with the client beside it. */
export const standardRevokeRequest = (tokenClient: TokenClient, token: string): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.revoke, { token });

export type Revoked = 'revoked' | 'was-invalid' | 'wants-standard';

/** spec/sign-in#revoke: 200, or 400 with a code. A token that is no longer valid is what a sign-out wants. */
export const processRevoke = (read: HttpResponse, nowMs: number): Revoked => {
  if (read.status === 200 || read.status === 204) return 'revoked';
  const error = errorIn(bodyOf(read))?.error;
  if (read.status === 400 && (error === 'invalid_token' || error === 'invalid_grant')) return 'was-invalid';
  // Some answer invalid_client with 400 when the client is not named.
  const wantsClient = error === 'invalid_request' || error === 'invalid_client';
  if ((read.status === 400 && wantsClient) || read.status === 401) return 'wants-standard';
  throw refusalOf('revoke', read, nowMs);
};
