import { parseUrl } from '../../core/external-url.ts';
import type { PublishedKey } from '../../core/json.ts';
import { AppError, firstReason } from '../../core/problem.ts';
import { type ClientAuthentication, isRecord } from '../../core/shape.ts';
import { type Host, NetworkError } from '../../platform/host.ts';
import { type AuthContext, safeText } from '../auth-context.ts';
import { readJson, readResponse, withDeadline } from './read-response.ts';
import { networkFailure } from './send.ts';
import { type HttpResponse, type Endpoints, isLoopback } from './token-client.ts';

/** The metadata that a server publishes below its issuer URL. */
export type IssuerMetadata = {
  readonly issuer: string;
  readonly endpoints: Endpoints;
  readonly jwksUri?: string;
  readonly announcesIss: boolean;
  /** Undefined if it is not published: RFC 8414 2 then means HTTP Basic. */
  readonly clientAuths: readonly string[];
  /** RFC 9449 5.1; undefined if the metadata does not mention DPoP. */
  readonly dpopAlgorithms?: readonly string[];
  /** RFC 9126 5. */
  readonly requiresPushedRequests: boolean;
  /**
   * RFC 8414 2; undefined if the metadata does not list any, because many servers support PKCE without
   * listing it.
   */
  readonly challengeMethods?: readonly string[];
};
const limitMs = 10_000;
/** OpenID Connect Discovery 4.1 appends, RFC 8414 3.1 inserts before the path. */
export const metadataPlaces = (issuer: string): string[] => {
  const url = new URL(issuer);
  const path = url.pathname.replace(/\/$/, '');
  return [
    `${url.origin}${path}/.well-known/openid-configuration`,
    `${url.origin}/.well-known/oauth-authorization-server${path}`,
  ];
};
const fail = (issuer: string, why: string, cause?: unknown): AppError =>
  new AppError('config', `${issuer} cannot be used as issuer: ${why}`, {
    code: 'BAD_ISSUER',
    tryThis: [
      'check --issuer: the address before /.well-known/openid-configuration',
      'or give --auth-url and --token-url',
    ],
    cause,
  });
/** An address of the metadata that opsctl may send secrets to, or trust: https, or on this machine. */
export const safeUrl = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return undefined;
  const url = parseUrl(value);
  return url !== undefined && (url.protocol === 'https:' || isLoopback(url)) ? value : undefined;
};
/**
 * True if metadata sets a boolean field. Some servers publish `"true"` as text. Each of these fields makes the server
 * stricter, so a reader that ignores the text would drop a protection that the server announces.
 */
export const isTrue = (value: unknown): boolean =>
  value === true || (typeof value === 'string' && value.trim().toLowerCase() === 'true');
const slashless = (text: string): string => text.replace(/\/$/, '');
/** RFC 8414 3.3: metadata that name another issuer are of another server. */
const issuerMetadata = (issuer: string, body: unknown): IssuerMetadata => {
  const raw = (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>;
  if (typeof raw.issuer !== 'string' || slashless(raw.issuer) !== slashless(issuer))
    throw fail(issuer, `its metadata name ${JSON.stringify(raw.issuer ?? null)}`);
  const [token, authorize] = [safeUrl(raw.token_endpoint), safeUrl(raw.authorization_endpoint)];
  if (token === undefined) throw fail(issuer, 'its metadata contains no token_endpoint with https');
  const [revoke, device, jwksUri, pushed] = [
    raw.revocation_endpoint,
    raw.device_authorization_endpoint,
    raw.jwks_uri,
    raw.pushed_authorization_request_endpoint,
  ].map(safeUrl);
  const methods = raw.token_endpoint_auth_methods_supported;
  const algorithms = raw.dpop_signing_alg_values_supported;
  const methodsOfPkce = raw.code_challenge_methods_supported;
  return {
    issuer: raw.issuer,
    endpoints: {
      ...(authorize === undefined ? {} : { authorize }),
      token,
      revoke: revoke ?? token.replace(/[^/]*$/, 'revoke'),
      ...(device === undefined ? {} : { device }),
      ...(pushed === undefined ? {} : { pushed }),
    },
    ...(jwksUri === undefined ? {} : { jwksUri }),
    announcesIss: isTrue(raw.authorization_response_iss_parameter_supported),
    clientAuths: Array.isArray(methods) ? methods.map(String) : ['client_secret_basic'],
    ...(Array.isArray(algorithms) ? { dpopAlgorithms: algorithms.map(String) } : {}),
    ...(Array.isArray(methodsOfPkce) ? { challengeMethods: methodsOfPkce.map(String) } : {}),
    requiresPushedRequests: isTrue(raw.require_pushed_authorization_requests),
  };
};
/** Metadata is never read from another address than the one below the issuer; the target shows which issuer is meant. */
const redirectText = (location: string | undefined): string =>
  location === undefined ? '' : `, which redirects to ${safeText(location, 200)}`;
/** `--issuer`: requests both well-known URLs in parallel. The first JSON response counts. */
export const readIssuer = async ({ host, signal }: AuthContext, issuer: string): Promise<IssuerMetadata> => {
  const read = async (url: string, stop: AbortSignal): Promise<unknown> => {
    const reply = await host.network.request({
      method: 'GET',
      url,
      headers: { accept: 'application/json', 'accept-encoding': 'identity' },
      timeoutMs: limitMs,
      maxReplyBytes: 256 * 1024,
      needsTls: true,
      signal: stop,
    });
    if (reply.status !== 200)
      throw fail(issuer, `HTTP ${reply.status} at ${url}${redirectText(reply.headers.location)}`);
    const { value } = readJson(await readResponse(reply));
    if (value === undefined) throw fail(issuer, `its metadata at ${url} is not JSON`);
    return value;
  };
  try {
    const body = await withDeadline(host, limitMs, signal, (stop) =>
      Promise.any(metadataPlaces(issuer).map((url) => read(url, stop))),
    );
    return issuerMetadata(issuer, body);
  } catch (error) {
    const thrown = firstReason(error);
    // Only the deadline aborts a request that the command did not abort.
    const isLate = thrown instanceof NetworkError && thrown.code === 'ABORTED' && !signal.aborted;
    const first = isLate
      ? new NetworkError('TIMEOUT', `no complete response within ${limitMs / 1000} s`, true, thrown)
      : thrown;
    const known = networkFailure(`metadata of ${issuer}`, first);
    throw known instanceof AppError ? known : fail(issuer, 'its metadata cannot be read', first);
  }
};
/**
 * The authentication method that this client supports and the server accepts; by default the one of the
 * document.
 */
export const chosenAuthentication = (
  metadata: Pick<IssuerMetadata, 'clientAuths'>,
  has: { readonly secret: boolean; readonly key: boolean },
): ClientAuthentication | undefined => {
  if (has.key && metadata.clientAuths.includes('private_key_jwt')) return 'private_key_jwt';
  if (!has.secret) return undefined;
  return metadata.clientAuths.includes('client_secret_post') ? 'body' : 'basic';
};

export type Metadata = {
  readonly issuer: string;
  readonly jwksUri?: string;
  readonly announcesIss: boolean;
  readonly raw: Readonly<Record<string, unknown>>;
};
const discoveryLimitMs = 5000;
const wellKnown = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
/** RFC 8414 3.3 in the other direction: metadata counts only when they name the token endpoint that is in use. */
export const metadataFrom = (body: unknown, endpoints: Endpoints): Metadata | undefined => {
  if (typeof body !== 'object' || body === null) return undefined;
  const raw = body as Record<string, unknown>;
  const issuer = safeUrl(raw.issuer);
  if (issuer === undefined || raw.token_endpoint !== endpoints.token) return undefined;
  const jwksUri = safeUrl(raw.jwks_uri);
  return {
    issuer,
    ...(jwksUri === undefined ? {} : { jwksUri }),
    announcesIss: isTrue(raw.authorization_response_iss_parameter_supported),
    raw,
  };
};
/** True if a reader rejected a response because it can mean two things. */
export const isUnclear = (error: unknown): error is AppError =>
  error instanceof AppError && error.detail.code === 'BAD_TOKEN_ANSWER';
/**
 * The metadata that the server publishes; the documents do not require it. All URLs are requested in parallel
 * and the first valid response is used, so unresponsive URLs cost 5 s in total, not 5 s each.
 */
export const discover = async (
  host: Host,
  endpoints: Endpoints,
  signal?: AbortSignal,
  issuer?: string,
): Promise<Metadata | undefined> => {
  const addresses = [endpoints.authorize ?? endpoints.token, endpoints.token];
  const origins = [...new Set(addresses.map((url) => new URL(url).origin))];
  const places =
    issuer === undefined
      ? origins.flatMap((origin) => wellKnown.map((path) => origin + path))
      : metadataPlaces(issuer);
  return withDeadline(host, discoveryLimitMs, signal, (stop) =>
    Promise.any(places.map((url) => read(host, url, endpoints, stop))),
  ).catch((error: unknown) => {
    // Metadata that can mean two things is not the same as no metadata.
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [];
    const unclear = errors.find(isUnclear);
    if (unclear !== undefined) throw unclear;
    return undefined;
  });
};
const read = async (
  host: Host,
  url: string,
  endpoints: Endpoints,
  signal: AbortSignal,
): Promise<Metadata> => {
  const reply = await host.network.request({
    method: 'GET',
    url,
    headers: { accept: 'application/json', 'accept-encoding': 'identity' },
    timeoutMs: discoveryLimitMs,
    maxReplyBytes: 256 * 1024,
    needsTls: true,
    signal,
  });
  const response = await readResponse(reply);
  const found = reply.status === 200 ? metadataFrom(readJson(response).value, endpoints) : undefined;
  if (found === undefined) throw new Error(`no metadata at ${url}`);
  return found;
};

const keySetMs = 10_000;
/** One request for a key set (RFC 7517 5), over the network of the host. `keys` is undefined if the response contains none. */
export const requestKeySet = async (
  host: Host,
  url: string,
  signal?: AbortSignal,
): Promise<{ readonly keys: readonly PublishedKey[] | undefined; readonly response: HttpResponse }> => {
  const asked = {
    method: 'GET',
    url,
    headers: { accept: 'application/json, application/jwk-set+json', 'accept-encoding': 'identity' },
    maxReplyBytes: 1024 * 1024,
    needsTls: true as const,
    timeoutMs: keySetMs,
  };
  const response = await withDeadline(host, keySetMs, signal, async (stop) =>
    readResponse(await host.network.request({ ...asked, signal: stop })),
  );
  const { value } = readJson(response);
  const keys = response.status === 200 && isRecord(value) ? value.keys : undefined;
  return { keys: Array.isArray(keys) ? keys.filter(isRecord) : undefined, response };
};
/** Any sender can use an unknown key ID, so one address is read at most once in this time because of unknown keys. */
export const keyPauseMs = 60_000;
/** Key sets without the key that a token named. All processes of a profile share them, so that no flood causes requests. */
export type KeyMemory = {
  /** The key set that was read less than a minute ago and did not contain the key of a token. */
  recall(url: string): Promise<readonly PublishedKey[] | undefined>;
  note(url: string, keys: readonly PublishedKey[]): Promise<void>;
  /**
   * Runs the request for a key set while no other process runs one for any address of the profile. The wait ends when
   * another process notes a key set of this address, so `work` has to recall first.
   */
  alone<T>(url: string, work: () => Promise<T>): Promise<T>;
};
