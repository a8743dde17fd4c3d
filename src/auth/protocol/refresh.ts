import type { Host, HttpRequest } from '../../platform/host.ts';
import { type Answer, processAnswer } from './token-response.ts';
import { formRequest, type Party, type Read } from './token-client.ts';

/** doc1 Endpoints 3. No scope: the granted ones stay, also after a partial consent. */
export const refreshRequest = (party: Party, refreshToken: string): HttpRequest =>
  formRequest(party.endpoints.token, {
    client_id: party.clientId,
    client_secret: party.clientSecret,
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
  });

export const processRefresh = (party: Party, read: Read, host: Host, signal?: AbortSignal): Promise<Answer> =>
  processAnswer('refresh', party, read, { kind: 'refresh' }, host, signal);
