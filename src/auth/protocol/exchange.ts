import type { Host, HttpRequest } from '../../platform/host.ts';
import type { CheckedCallback } from '../callback.ts';
import { type Answer, processAnswer } from './token-response.ts';
import { formRequest, type Party, type Read } from './token-client.ts';

const what = 'code exchange';

/** doc1 Endpoints 2. Only a checked callback can be exchanged. */
export const exchangeRequest = (
  party: Party,
  callback: CheckedCallback,
  redirectUri: string,
  verifier: string,
): HttpRequest =>
  formRequest(party.endpoints.token, {
    client_id: party.clientId,
    client_secret: party.clientSecret,
    code: callback.code,
    code_verifier: verifier,
    grant_type: 'authorization_code',
    redirect_uri: redirectUri,
  });

export const processExchange = (
  party: Party,
  read: Read,
  nonce: string | undefined,
  host: Host,
  signal?: AbortSignal,
): Promise<Answer> => processAnswer(what, party, read, { kind: 'exchange', nonce }, host, signal);
