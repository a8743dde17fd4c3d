import { clientLimits, clientTypeRows } from '../../../api-specs/oauth/client-types.ts';
import { OAuthPageError } from '../errors.ts';
import { customSchemeProblem, isAuthorizedRedirect, redirectForm } from '../redirect-uri.ts';
import type { Auth, Client } from '../state.ts';
import { type RequestCall, type Rule, clientOf, given } from './rule.ts';

/** spec/sign-in#authorize: redirect_uri is required. */
const redirectUriIsGiven: Rule<RequestCall> = ({ params }) => {
  if (given(params, 'redirect_uri') === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: redirect_uri');
};

/** spec/sign-in#versions-2: the out-of-band copy/paste flow is retired. */
const redirectIsNotOutOfBand: Rule<RequestCall> = ({ params }) => {
  const uri = params.get('redirect_uri') ?? '';
  if (/^urn:ietf:wg:oauth:2\.0:oob(:.*)?$/i.test(uri) || uri === 'oob') {
    throw new OAuthPageError(
      'redirect_uri_mismatch',
      'The out-of-band flow is retired; use a loopback redirect',
    );
  }
};

/** spec/sign-in#redirect: a period in the scheme, a path with a single slash. */
const customSchemeIsWellFormed: Rule<RequestCall> = ({ params }) => {
  const form = redirectForm(params.get('redirect_uri') ?? '');
  const problem = form.kind === 'custom' ? customSchemeProblem(form) : undefined;
  if (problem !== undefined) throw new OAuthPageError('invalid_request', problem);
};

/** spec/sign-in#errors-8: "a custom URI scheme that the platform … has disabled (mobile platform A default)". */
const customSchemeIsEnabled: Rule<RequestCall> = (call) => {
  const client = clientOf(call);
  const isCustom = redirectForm(call.params.get('redirect_uri') ?? '').kind === 'custom';
  if (isCustom && client.type === 'mobile-a' && !client.custom_uri_scheme) {
    throw new OAuthPageError(
      'invalid_request',
      'Custom URI scheme is not enabled for this client; switch it on in its advanced settings',
    );
  }
};

const allowsLoopback = (auth: Auth, client: Client): boolean =>
  clientTypeRows[client.type].redirects.loopback ||
  (auth.settings().mobile_loopback === 'warn' && client.type.startsWith('mobile-'));

/** spec/sign-in#errors-7: "is invalid for the client type"; spec/sign-in#versions-3: loopback on mobile platforms is deprecated (a setting). */
const redirectFitsTheClientType: Rule<RequestCall> = (call) => {
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

/** spec/sign-in#limits: custom URI scheme of the universal desktop platform, at most 39 characters. */
const customSchemeIsShortEnough: Rule<RequestCall> = (call) => {
  const form = redirectForm(call.params.get('redirect_uri') ?? '');
  if (form.kind !== 'custom' || clientOf(call).type !== 'universal-desktop') return;
  if (form.scheme.length > clientLimits.universalScheme) {
    throw new OAuthPageError(
      'invalid_request',
      `The custom scheme must have at most ${clientLimits.universalScheme} characters, has ${form.scheme.length}`,
    );
  }
};

/** The document names the two IP forms only; a developer who registers `localhost` has authorized it. */
const isRegistered = (client: Client): boolean =>
  client.redirect_uris.some((uri) => /^http:\/\/localhost(?=[:/?]|$)/.test(uri));

/** spec/sign-in#authorize: "must match exactly one authorized redirect URI of the client, otherwise redirect_uri_mismatch". */
const redirectIsAuthorized: Rule<RequestCall> = (call) => {
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

/** spec/sign-in#redirect, in the order in which a request is checked. */
export const redirectRules: readonly Rule<RequestCall>[] = [
  redirectUriIsGiven,
  redirectIsNotOutOfBand,
  customSchemeIsWellFormed,
  customSchemeIsEnabled,
  redirectFitsTheClientType,
  customSchemeIsShortEnough,
  redirectIsAuthorized,
];
