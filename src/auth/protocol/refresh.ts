import type { Host, HttpRequest } from '../../platform/host.ts';
import { type TokenResponse, processTokenResponse } from './token-response.ts';
import { clientRequest } from './client-authentication.ts';
import type { HttpResponse, TokenClient } from './token-client.ts';

/** spec/sign-in#refresh. No scope: the granted ones stay, also after a partial consent. */
export const refreshRequest = (tokenClient: TokenClient, refreshToken: string): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.token, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });

export const processRefresh = (
  tokenClient: TokenClient,
  read: HttpResponse,
  host: Host,
  signal?: AbortSignal,
): Promise<TokenResponse> =>
  processTokenResponse('refresh', tokenClient, read, { kind: 'refresh' }, host, signal);
