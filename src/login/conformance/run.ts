import type { Host, HttpRequest } from '../../host/host.ts';
import type { LoginServer } from '../settings.ts';
import { send } from '../wire/send.ts';
import type { Read } from '../wire/party.ts';
import { authorizationChecks } from './authorization.ts';
import type { Check, Probe, Row } from './check.ts';
import { revokeChecks, tokenChecks } from './token.ts';

export const allChecks: readonly Check[] = [...authorizationChecks, ...tokenChecks, ...revokeChecks];

export const sender =
  (host: Host, signal: AbortSignal) =>
  (request: HttpRequest): Promise<Read> =>
    send(host, 'conformance', { timeoutMs: 10_000, maxReplyBytes: 1024 * 1024, ...request }, signal);

/** Any free-looking port: nothing is ever sent there, because nobody signs in in these checks. */
export const probeFor = (host: Host, server: LoginServer, scopes: readonly string[], path: string, signal: AbortSignal): Probe => ({
  server,
  scopes,
  redirectUri: `http://127.0.0.1:49152${path}`,
  send: sender(host, signal),
});

/** A check whose request fails has failed; the others go on. */
export const rowOf = async (check: Check, probe: Probe): Promise<Row> => {
  const { id, says, source } = check;
  try {
    return { id, ...(await check.run(probe)), says, source };
  } catch (error) {
    return { id, holds: false, says, source, saw: error instanceof Error ? error.message.slice(0, 120) : 'failed' };
  }
};
