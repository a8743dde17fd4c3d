import { clientTypeRows } from '../../../api-specs/oauth/client-types.ts';
import { OAuthPageError } from '../errors.ts';
import { redirectForm } from '../redirect-uri.ts';
import type { Auth, Client } from '../state.ts';
import { type Rule, type RequestCall, clientOf } from './rule.ts';

const allowsLoopback = (auth: Auth, client: Client): boolean =>
  clientTypeRows[client.type].redirects.loopback ||
  (auth.settings().mobile_loopback === 'warn' && client.type.startsWith('mobile-'));

/** doc1 Errors redirect_uri_mismatch: "is invalid for the client type"; Versioning 3: loopback on mobile platforms is deprecated (a setting). */
export const redirectFitsTheClientType: Rule<RequestCall> = (call) => {
  const client = clientOf(call);
  const row = clientTypeRows[client.type];
  const uri = call.params.get('redirect_uri') ?? '';
  const form = redirectForm(uri);
  const fits =
    (form.kind === 'loopback' && allowsLoopback(call.auth, client)) ||
    (form.kind === 'custom' && row.redirects.customScheme) ||
    (form.kind === 'https' && row.redirects.https);
  if (!fits)
    throw new OAuthPageError(
      'redirect_uri_mismatch',
      `This redirect URI is invalid for a client of the type ${row.title}: ${uri.slice(0, 300)}`,
    );
};
