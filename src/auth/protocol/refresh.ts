import type { HttpRequest } from '../../platform/host.ts';
import { clientRequest } from './client-authentication.ts';
import type { TokenClient } from './token-client.ts';

/** spec/sign-in#refresh. No scope: the granted ones stay, also after a partial consent. */
export const refreshRequest = (tokenClient: TokenClient, refreshToken: string): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.token, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });
