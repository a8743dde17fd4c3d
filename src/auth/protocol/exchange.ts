import type { Host, HttpRequest } from '../../platform/host.ts';
import type { CheckedCallback } from '../callback.ts';
import { type TokenResponse, processTokenResponse } from './token-response.ts';
import { clientRequest } from './client-authentication.ts';
import type { TokenClient, HttpResponse } from './token-client.ts';

const what = 'code exchange';

/** spec/sign-in#exchange. Only a checked callback can be exchanged. */
export const exchangeRequest = (
  tokenClient: TokenClient,
  callback: CheckedCallback,
  redirectUri: string,
  verifier: string,
  resource?: string,
): HttpRequest =>
  clientRequest(tokenClient, tokenClient.endpoints.token, {
    code: callback.code,
    code_verifier: verifier,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
    resource,
  });

export const processExchange = (
  tokenClient: TokenClient,
  read: HttpResponse,
  nonce: string | undefined,
  host: Host,
  signal?: AbortSignal,
): Promise<TokenResponse> =>
  processTokenResponse(what, tokenClient, read, { kind: 'exchange', nonce }, host, signal);
