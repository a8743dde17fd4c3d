import type { Host, HttpRequest } from '../../platform/host.ts';
import { type TokenResponse, processTokenResponse } from './token-response.ts';
import { formRequest, type TokenClient, type HttpResponse } from './token-client.ts';

/** spec/sign-in#refresh. No scope: the granted ones stay, also after a partial consent. */
export const refreshRequest = (tokenClient: TokenClient, refreshToken: string): HttpRequest =>
  formRequest(tokenClient.endpoints.token, {
    client_id: tokenClient.clientId,
    client_secret: tokenClient.clientSecret,
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
