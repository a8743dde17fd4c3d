import type { Host } from '../../platform/host.ts';
import type { Endpoints } from '../endpoints.ts';
import { readResponse } from './read-response.ts';
import { readJson } from './token-body.ts';
import { withDeadline } from './deadline.ts';
import { metadataPlaces } from './issuer.ts';

export type Metadata = {
  readonly issuer: string;
  readonly jwksUri?: string;
  readonly announcesIss: boolean;
  readonly raw: Readonly<Record<string, unknown>>;
};

const limitMs = 5000;
const wellKnown = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const asText = (value: unknown): string | undefined =>
  typeof value === 'string' && URL.canParse(value) ? value : undefined;

/** RFC 8414 3.3 in the other direction: metadata counts only when they name the token endpoint that is in use. */
export const metadataFrom = (body: unknown, endpoints: Endpoints): Metadata | undefined => {
  if (typeof body !== 'object' || body === null) return undefined;
  const raw = body as Record<string, unknown>;
  const issuer = asText(raw.issuer);
  if (issuer === undefined || raw.token_endpoint !== endpoints.token) return undefined;
  const jwksUri = asText(raw.jwks_uri);
  return {
    issuer,
    ...(jwksUri === undefined ? {} : { jwksUri }),
    announcesIss: raw.authorization_response_iss_parameter_supported === true,
    raw,
  };
};

/**
 * What the server publishes about itself; the documents do not demand that it does. All places are asked at once and the
 * first that fits is taken: a place that never answers costs 5 s, not 5 s each.
 */
export const discover = async (
  host: Host,
  endpoints: Endpoints,
  signal?: AbortSignal,
  issuer?: string,
): Promise<Metadata | undefined> => {
  const origins = [...new Set([new URL(endpoints.authorize).origin, new URL(endpoints.token).origin])];
  const places =
    issuer === undefined
      ? origins.flatMap((origin) => wellKnown.map((path) => origin + path))
      : metadataPlaces(issuer);
  return withDeadline(host, limitMs, signal, (stop) =>
    Promise.any(places.map((url) => read(host, url, endpoints, stop))),
  ).catch(() => undefined);
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
    timeoutMs: limitMs,
    maxReplyBytes: 256 * 1024,
    signal,
  });
  const found = metadataFrom(readJson(await readResponse(reply)).value, endpoints);
  if (reply.status !== 200 || found === undefined) throw new Error(`no metadata at ${url}`);
  return found;
};
