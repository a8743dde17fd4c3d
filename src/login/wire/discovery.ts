import type { Host } from '../../host/host.ts';
import type { Endpoints } from '../endpoints.ts';

export type Metadata = {
  readonly issuer: string;
  readonly jwksUri?: string;
  readonly announcesIss: boolean;
  readonly raw: Readonly<Record<string, unknown>>;
};

const wellKnown = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
const asText = (value: unknown): string | undefined => (typeof value === 'string' && URL.canParse(value) ? value : undefined);

/** RFC 8414 3.3 in the other direction: metadata counts only when they name the token endpoint that is in use. */
export const metadataFrom = (body: unknown, endpoints: Endpoints): Metadata | undefined => {
  if (typeof body !== 'object' || body === null) return undefined;
  const raw = body as Record<string, unknown>;
  const issuer = asText(raw.issuer);
  if (issuer === undefined || raw.token_endpoint !== endpoints.token) return undefined;
  const jwksUri = asText(raw.jwks_uri);
  return { issuer, ...(jwksUri === undefined ? {} : { jwksUri }), announcesIss: raw.authorization_response_iss_parameter_supported === true, raw };
};

/** What the server publishes about itself; the documents do not demand that it does. */
export const discover = async (host: Host, endpoints: Endpoints): Promise<Metadata | undefined> => {
  for (const origin of new Set([new URL(endpoints.authorize).origin, new URL(endpoints.token).origin])) {
    for (const path of wellKnown) {
      const found = await read(host, origin + path, endpoints);
      if (found !== undefined) return found;
    }
  }
  return undefined;
};

const read = async (host: Host, url: string, endpoints: Endpoints): Promise<Metadata | undefined> => {
  try {
    const reply = await host.network.request({
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      timeoutMs: 5000,
      maxReplyBytes: 256 * 1024,
    });
    const body = await reply.text();
    return reply.status === 200 ? metadataFrom(JSON.parse(body), endpoints) : undefined;
  } catch {
    return undefined;
  }
};
