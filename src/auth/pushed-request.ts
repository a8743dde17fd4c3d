import { type ExternalUrl, externalUrl } from '../core/external-url.ts';
import { AppError } from '../core/problem.ts';
import type { AuthContext } from './auth-context.ts';
import type { LoginServer } from './settings.ts';
import { tokenClientOf } from './server-profiles.ts';
import { discover } from './protocol/discovery.ts';
import { bodyOf } from './protocol/read-response.ts';
import { sendWithRetry } from './protocol/send.ts';
import { clientRequest, type FormFields } from './protocol/token-client.ts';
import { refusalOf } from './protocol/token-response.ts';

const what = 'pushed authorization request';
/** The address for the browser, and how long it works. */
export type PushedRequest = { readonly url: ExternalUrl; readonly expiresInS: number };

/** Parameters of an authorization address as the fields of a form; repeated ones stay repeated. */
const fieldsOf = (url: ExternalUrl): FormFields => {
  const { searchParams } = new URL(url);
  return Object.fromEntries([...searchParams.keys()].map((name) => [name, searchParams.getAll(name)]));
};
/** RFC 9126 4: the request URI replaces all parameters except client_id. */
const addressFor = (url: ExternalUrl, requestUri: string, clientId: string): ExternalUrl | undefined => {
  const { origin, pathname } = new URL(url);
  return externalUrl(
    `${origin}${pathname}?${new URLSearchParams({ client_id: clientId, request_uri: requestUri })}`,
  );
};
const badResponse = (why: string): AppError =>
  new AppError('refused', `${what}: the response is not valid: ${why}`, {
    code: 'BAD_PUSHED_RESPONSE',
    tryThis: ['opsctl auth conformance (shows how the server deviates from the standards)'],
  });
/**
 * Sends the authorization request to the server (RFC 9126), so that neither the browser nor anything between changes or
 * reads its parameters. The client authenticates as at the token endpoint.
 */
const push = async (
  context: AuthContext,
  server: LoginServer,
  endpoint: string,
  url: ExternalUrl,
): Promise<PushedRequest> => {
  const client = await tokenClientOf(context, server);
  const received = await sendWithRetry(
    context,
    what,
    clientRequest(client, endpoint, fieldsOf(url)),
    client.prover,
  );
  if (received.status < 200 || received.status > 299) throw refusalOf(what, received, context.host.now());
  const body = bodyOf(received) as { request_uri?: unknown; expires_in?: unknown } | null | undefined;
  if (typeof body?.request_uri !== 'string' || body.request_uri === '')
    throw badResponse('it contains no request_uri');
  const address = addressFor(url, body.request_uri, server.clientId);
  if (address === undefined) throw badResponse('its request_uri does not fit into an address');
  context.log.debug(`${what}: accepted`);
  return { url: address, expiresInS: typeof body.expires_in === 'number' ? body.expires_in : 60 };
};
/** A server that offers pushed requests without requiring them may refuse this client; the plain address works there. */
const mayBePlain = (error: unknown): error is AppError =>
  error instanceof AppError &&
  ['UNAUTHORIZED_CLIENT', 'NO_OAUTH_ERROR'].includes(error.detail.code ?? '') &&
  [401, 403, 404, 405].includes(error.detail.httpStatus ?? 0);
type Push = { readonly endpoint: string | undefined; readonly isRequired: boolean };
/**
 * Without an issuer, the addresses of the embedded server are known without its metadata. Its operator can still require
 * pushed requests; then its metadata contains the rule and the endpoint. All other sign-ins there use the plain address.
 */
const pushAtEmbedded = async ({ host, signal }: AuthContext, server: LoginServer): Promise<Push> => {
  const { raw = {} } = (await discover(host, server.endpoints, signal)) ?? {};
  const isRequired = raw.require_pushed_authorization_requests === true;
  const endpoint = raw.pushed_authorization_request_endpoint;
  return { isRequired, endpoint: isRequired && typeof endpoint === 'string' ? endpoint : undefined };
};
/**
 * Pushes the request if the server requires it, or if the server supports it and the URL will be opened now.
 * Undefined: the URL is used unchanged.
 */
export const pushIfRequired = async (
  context: AuthContext,
  server: LoginServer,
  url: ExternalUrl,
  isOpenedLater: boolean,
): Promise<PushedRequest | undefined> => {
  const { endpoint, isRequired } =
    server.isMock && server.metadata === undefined
      ? await pushAtEmbedded(context, server)
      : {
          endpoint: server.endpoints.pushed,
          isRequired: server.metadata?.requiresPushedRequests === true,
        };
  if (endpoint === undefined) {
    if (!isRequired) return undefined;
    throw new AppError(
      'config',
      'the server requires pushed authorization requests, but its metadata contains no endpoint for them',
      { code: 'NO_PUSHED_ENDPOINT', tryThis: ['report it to the operator of the server'] },
    );
  }
  // A pushed request expires after a minute or so: an address that a person opens tomorrow must not.
  if (isOpenedLater && !isRequired) return undefined;
  try {
    return await push(context, server, endpoint, url);
  } catch (error) {
    if (isRequired || !mayBePlain(error)) throw error;
    context.log.debug(`${error.message}; the request is sent with the browser`);
    return undefined;
  }
};
