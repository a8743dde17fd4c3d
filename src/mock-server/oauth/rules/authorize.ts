import { cutText } from '../../../core/problem.ts';
import { clientLimits, clientTypeRows } from '../../../api-specs/oauth/console-records.ts';
import {
  challengeMethods,
  s256ChallengePattern,
  verifierPattern,
} from '../../../api-specs/oauth/endpoints.ts';
import {
  parseScopes,
  customSchemeProblem,
  isAuthorizedRedirect,
  OAuthPageError,
  redirectForm,
  unknownScopes,
} from '../errors.ts';
import { deletedClientError, isClientActive } from '../keys.ts';
import type { Auth, Client } from '../state.ts';
import { clientOf, readParam, type RequestCall, type Rule } from './rule.ts';

/** spec/sign-in#authorize: redirect_uri is required. */
const redirectUriIsGiven: Rule<RequestCall> = ({ params }) => {
  if (readParam(params, 'redirect_uri') === undefined)
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
      `This redirect URI is invalid for a client of the type ${row.title}: ${cutText(uri, 300)}`,
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
      `The redirect URI is not authorized for this client: ${cutText(uri, 300)}`,
    );
  }
};
/** spec/sign-in#redirect, in the order in which a request is checked. */
const redirectRules: readonly Rule<RequestCall>[] = [
  redirectUriIsGiven,
  redirectIsNotOutOfBand,
  customSchemeIsWellFormed,
  customSchemeIsEnabled,
  redirectFitsTheClientType,
  customSchemeIsShortEnough,
  redirectIsAuthorized,
];

const isLoopback = (address: string): boolean => /^(::ffff:)?127\.|^::1$/.test(address);
/** spec/sign-in#authorize "TLS only; plain HTTP connections are refused"; spec/program#choices: without `--tls` plain HTTP on loopback only. */
export const connectionIsSafe: Rule<RequestCall> = ({ auth, request }) => {
  if (request.isTls) return;
  if (auth.env.origin().startsWith('https:'))
    throw new OAuthPageError('invalid_request', 'Plain HTTP is refused: this endpoint accepts TLS only');
  if (!isLoopback(request.remoteAddress))
    throw new OAuthPageError('invalid_request', 'Plain HTTP is accepted from this machine only');
};
/**
 * spec/sign-in#authorize: GET; spec/sign-in#check-2.37 does not decide about POST: it is rejected, because
 * the document names no other method.
 */
const methodIsGet: Rule<RequestCall> = ({ request }) => {
  if (request.method !== 'GET' && request.method !== 'HEAD')
    throw new OAuthPageError('method_not_allowed', `${request.method} is not supported here`);
};
/** spec/sign-in#errors-8: malformed request. */
const requestIsWellFormed: Rule<RequestCall> = ({ params }) => {
  if (!params.isWellFormed)
    throw new OAuthPageError('invalid_request', 'A parameter is not valid percent-encoded UTF-8');
  if (params.count > 100) throw new OAuthPageError('invalid_request', 'More than 100 parameters');
};
/** spec/sign-in#check-2.38: marks of embedded browsers. A text browser or a script does not send them. */
const marks: readonly { readonly name: string; holds(agent: string): boolean }[] = [
  {
    name: 'a web view of mobile platform A',
    holds: (agent) => /; wv\)/.test(agent) || /Version\/4\.0 Chrome\//.test(agent),
  },
  {
    name: 'a web view of mobile platform B',
    holds: (agent) =>
      /\b(iPhone|iPad|iPod|Macintosh)\b/.test(agent) && /AppleWebKit/.test(agent) && !/Safari\//.test(agent),
  },
  {
    name: 'a web view of the universal desktop platform',
    holds: (agent) => /\b(MSAppHost|WebView)\//.test(agent),
  },
  {
    name: 'the browser inside a social app',
    holds: (agent) =>
      /\b(FBAN|FBAV|FB_IAB|Instagram|Snapchat|MicroMessenger|Line\/|TwitterAndroid|Twitter for |LinkedInApp|Pinterest\/|musical_ly|BytedanceWebview|TikTok|KAKAOTALK|NAVER\(|Teams\/)/.test(
        agent,
      ),
  },
  {
    name: 'a desktop framework',
    holds: (agent) => /\b(Electron|CefSharp|CEF|QtWebEngine|JavaFX)\//.test(agent),
  },
];
/** spec/sign-in#service-4 and spec/sign-in#errors-3. */
const userAgentIsABrowser: Rule<RequestCall> = ({ request }) => {
  const agent = request.headers['user-agent'] ?? '';
  const mark = marks.find(({ holds }) => holds(agent));
  if (mark !== undefined)
    throw new OAuthPageError('disallowed_useragent', `The browser identifies itself as ${mark.name}`);
};
/** RFC 6749 3.1: request parameters must not be included more than once. */
const noParameterIsRepeated: Rule<RequestCall> = ({ params }) => {
  if (params.repeated.length > 0)
    throw new OAuthPageError('invalid_request', `Parameter given more than once: ${params.repeated[0]}`);
};
/** spec/sign-in#authorize: client_id is required. */
const clientIdIsGiven: Rule<RequestCall> = ({ params }) => {
  if (readParam(params, 'client_id') === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: client_id');
};
/** spec/sign-in#check-2.3: 401 invalid_client on a page. */
const clientIsKnown: Rule<RequestCall> = ({ auth, params }) => {
  if (!auth.clients.has(params.get('client_id') ?? ''))
    throw new OAuthPageError('invalid_client', 'The OAuth client was not found.');
};
/** spec/sign-in#errors-5. */
const clientIsNotDeleted: Rule<RequestCall> = (call) => {
  if (!isClientActive(call.auth, clientOf(call))) throw deletedClientError(call.auth, clientOf(call));
};
/** spec/sign-in#authorize: response_type has the value `code`; spec/sign-in#check-2.18: everything else is the document's invalid_request, on a page. */
const responseTypeIsCode: Rule<RequestCall> = ({ params }) => {
  const value = readParam(params, 'response_type');
  if (value === undefined)
    throw new OAuthPageError('invalid_request', 'Missing required parameter: response_type');
  if (value !== 'code')
    throw new OAuthPageError(
      'invalid_request',
      `Unsupported response_type "${cutText(value, 60)}"; it must be code`,
    );
};
/** spec/sign-in#authorize: scope is required. 30 is the width of the mask in an access token, twice the known scopes. */
const scopeIsGiven: Rule<RequestCall> = ({ params }) => {
  const scopes = parseScopes(params.get('scope') ?? '');
  if (scopes.length === 0) throw new OAuthPageError('invalid_request', 'Missing required parameter: scope');
  if (scopes.length > 30)
    throw new OAuthPageError('invalid_request', `At most 30 scopes in one request, got ${scopes.length}`);
};
/** spec/sign-in#scope: space-delimited, case-sensitive strings; spec/sign-in#check-2.20 for the code. */
const scopesAreKnown: Rule<RequestCall> = ({ auth, params }) => {
  const unknown = unknownScopes(auth, parseScopes(params.get('scope') ?? ''));
  if (unknown.length > 0)
    throw new OAuthPageError('invalid_scope', `Unknown scope: ${cutText(unknown.join(' '), 300)}`);
};
/** RFC 7636 4.4.1: an unsupported transformation is invalid_request. */
const challengeMethodIsKnown: Rule<RequestCall> = ({ params }) => {
  const method = readParam(params, 'code_challenge_method');
  if (method === undefined || (challengeMethods as readonly string[]).includes(method)) return;
  throw new OAuthPageError('invalid_request', 'code_challenge_method must be S256 or plain');
};
/**
 * spec/sign-in#errors-6: "code_challenge invalid or missing"; spec/sign-in#check-0.3: without a proof key the
 * request continues, unless a setting requires one.
 */
const challengeIsPresent: Rule<RequestCall> = ({ auth, params }) => {
  if (readParam(params, 'code_challenge') !== undefined) return;
  if (readParam(params, 'code_challenge_method') !== undefined)
    throw new OAuthPageError('invalid_grant', 'code_challenge_method was sent without code_challenge');
  if (auth.settings().require_pkce)
    throw new OAuthPageError('invalid_grant', 'code_challenge is missing and this server requires it');
};
/** spec/sign-in#pkce: S256 is 43 base64url characters without padding; plain is the verifier itself, and the default. */
const challengeIsWellFormed: Rule<RequestCall> = ({ params }) => {
  const challenge = readParam(params, 'code_challenge');
  if (challenge === undefined) return;
  if (readParam(params, 'code_challenge_method') === 'S256') {
    if (!s256ChallengePattern.test(challenge))
      throw new OAuthPageError(
        'invalid_grant',
        'An S256 code_challenge has 43 base64url characters without padding',
      );
  } else if (!verifierPattern.test(challenge)) {
    throw new OAuthPageError(
      'invalid_grant',
      'A plain code_challenge has 43 to 128 characters of A-Z a-z 0-9 - . _ ~',
    );
  }
};
/**
 * spec/sign-in#authorize. Until the redirect URI is validated, no response may be sent to it, so every error
 * here is a page.
 */
export const requestRules: readonly Rule<RequestCall>[] = [
  connectionIsSafe,
  methodIsGet,
  requestIsWellFormed,
  userAgentIsABrowser,
  noParameterIsRepeated,
  clientIdIsGiven,
  clientIsKnown,
  clientIsNotDeleted,
  ...redirectRules,
  responseTypeIsCode,
  scopeIsGiven,
  scopesAreKnown,
  challengeMethodIsKnown,
  challengeIsPresent,
  challengeIsWellFormed,
];
/** Forms of the pages, and pages that the browser comes back to. */
export const pageRules: readonly Rule<RequestCall>[] = [
  connectionIsSafe,
  requestIsWellFormed,
  userAgentIsABrowser,
];
