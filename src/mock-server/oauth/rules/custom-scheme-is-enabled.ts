import { OAuthPageError } from '../errors.ts';
import { redirectForm } from '../redirect-uri.ts';
import { type Rule, type RequestCall, clientOf } from './rule.ts';

/** doc1 Errors invalid_request: "a custom URI scheme that the platform … has disabled (mobile platform A default)". */
export const customSchemeIsEnabled: Rule<RequestCall> = (call) => {
  const client = clientOf(call);
  const isCustom = redirectForm(call.params.get('redirect_uri') ?? '').kind === 'custom';
  if (isCustom && client.type === 'mobile-a' && !client.custom_uri_scheme) {
    throw new OAuthPageError(
      'invalid_request',
      'Custom URI scheme is not enabled for this client; switch it on in its advanced settings',
    );
  }
};
