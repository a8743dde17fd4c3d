import type { MockRequest, Environment } from '../service.ts';

/**
 * The issuer as this client knows it: RFC 8414 3.3 and OpenID Connect Discovery 4.3 demand that it is the address the
 * metadata were asked at, and `localhost`, `127.0.0.1` and a container's name are different addresses. The server has
 * looked at the Host before (own-host.ts).
 */
export const issuerFor = (env: Environment, { headers }: Pick<MockRequest, 'headers'>): string => {
  const origin = env.origin();
  return headers.host === undefined
    ? origin
    : `${origin.slice(0, origin.indexOf('//') + 2)}${headers.host.toLowerCase()}`;
};
