import { OAuthPageError } from '../errors.ts';
import { isAuthorizedRedirect, redirectForm } from '../redirect-uri.ts';
import type { Client } from '../state.ts';
import { type Rule, type RequestCall, clientOf } from './rule.ts';

/** The document names the two IP forms only; a developer who registers `localhost` has authorized it. */
const isRegistered = (client: Client): boolean =>
  client.redirect_uris.some((uri) => /^http:\/\/localhost(?=[:/?]|$)/.test(uri));

/** doc1 Endpoints 1: "must match exactly one authorized redirect URI of the client, otherwise redirect_uri_mismatch". */
export const redirectIsAuthorized: Rule<RequestCall> = (call) => {
  const client = clientOf(call);
  const settings = call.auth.settings();
  const uri = call.params.get('redirect_uri') ?? '';
  const form = redirectForm(uri);
  const isLocalName =
    form.kind === 'loopback' &&
    form.host === 'localhost' &&
    !settings.accept_localhost &&
    !isRegistered(client);
  if (isLocalName || !isAuthorizedRedirect(client, uri, settings.any_loopback_path || client.any_path)) {
    throw new OAuthPageError(
      'redirect_uri_mismatch',
      `The redirect URI is not authorized for this client: ${uri.slice(0, 300)}`,
    );
  }
};
