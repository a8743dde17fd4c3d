import type { HttpRequest } from './host.ts';

type Env = Readonly<Record<string, string | undefined>>;
/** Names hosts that may get secrets without encryption, separated by commas. The one exception to the rule below. */
const PLAIN_HTTP_SETTING = 'OPSCTL_PLAIN_HTTP_HOSTS';
const hostsIn = (env: Env): string[] =>
  (env[PLAIN_HTTP_SETTING] ?? '')
    .split(/[\s,]+/)
    .map((host) => host.toLowerCase())
    .filter((host) => host !== '');
/** Addresses that never leave this machine. */
export const isLoopbackHost = (hostname: string): boolean =>
  hostname === 'localhost' ||
  hostname.endsWith('.localhost') ||
  hostname === '[::1]' ||
  hostname === '::1' ||
  /^127(\.\d{1,3}){3}$/.test(hostname);
const secretHeaders = new Set(['authorization', 'cookie', 'token', 'x-api-key', 'dpop', 'x-trackertoken']);
const carriesSecret = ({ needsTls, headers = {} }: Pick<HttpRequest, 'needsTls' | 'headers'>): boolean =>
  needsTls === true || Object.keys(headers).some((name) => secretHeaders.has(name.toLowerCase()));
/**
 * Returns why a request must not be sent: it carries a secret, or its response is trusted, and the connection
 * is not encrypted. Undefined if it may be sent.
 */
export const plainHttpProblem = (
  url: URL,
  request: Pick<HttpRequest, 'needsTls' | 'headers'>,
  env: Env,
): string | undefined => {
  if (url.protocol !== 'http:' || isLoopbackHost(url.hostname) || !carriesSecret(request)) return undefined;
  const allowed = hostsIn(env);
  if (allowed.includes(url.hostname.toLowerCase()) || allowed.includes(url.host.toLowerCase()))
    return undefined;
  return `${url.origin} is not encrypted: opsctl sends secrets and reads keys over https only (${PLAIN_HTTP_SETTING}=${url.hostname} makes an exception for this host)`;
};
/** The warning for a run in which the exception is set. */
export const plainHttpWarning = (env: Env): string | undefined => {
  const hosts = hostsIn(env);
  return hosts.length === 0
    ? undefined
    : `${PLAIN_HTTP_SETTING} is set: opsctl sends secrets without encryption to ${hosts.join(', ')}, where others on the network can read them`;
};
