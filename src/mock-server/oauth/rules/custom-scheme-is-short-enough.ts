import { clientLimits } from '../../../api-specs/oauth/client-types.ts';
import { OAuthPageError } from '../errors.ts';
import { redirectForm } from '../redirect-uri.ts';
import { type Rule, type RequestCall, clientOf } from './rule.ts';

/** doc1 Limits: custom URI scheme of the universal desktop platform, at most 39 characters. */
export const customSchemeIsShortEnough: Rule<RequestCall> = (call) => {
  const form = redirectForm(call.params.get('redirect_uri') ?? '');
  if (form.kind !== 'custom' || clientOf(call).type !== 'universal-desktop') return;
  if (form.scheme.length > clientLimits.universalScheme) {
    throw new OAuthPageError(
      'invalid_request',
      `The custom scheme must have at most ${clientLimits.universalScheme} characters, has ${form.scheme.length}`,
    );
  }
};
