import { parseUrl } from '../core/external-url.ts';
import { authPaths } from '../api-specs/oauth/endpoints.ts';
import { type Problem, problem } from '../core/problem.ts';

/** Whole addresses. `device` and `pushed` are known from metadata only. */
export type Endpoints = {
  /** Absent if the metadata of the server contain none: such a server has no sign-in with a browser. */
  readonly authorize?: string;
  readonly token: string;
  readonly revoke: string;
  readonly device?: string;
  /** Where authorization requests are pushed to (RFC 9126). */
  readonly pushed?: string;
};

const isBare = (url: URL): boolean => url.pathname === '/' && url.search === '';

const loopbackNames = new Set(['localhost', '127.0.0.1', '[::1]']);
export const isLoopback = (url: URL): boolean =>
  loopbackNames.has(url.hostname) || /^127(\.\d{1,3}){3}$/.test(url.hostname);

/** A bare host gets the path of the document. A URL with a path is the endpoint itself. */
const withPath = (text: string, path: string): string => {
  const url = parseUrl(text);
  if (url === undefined) return text;
  return isBare(url) ? `${url.origin}${path}` : text;
};

/** spec/sign-in#authorize, spec/sign-in#exchange, spec/sign-in#revoke: `{auth_url}/o/oauth2/v2/auth`, `{token_url}/token`, `{token_url}/revoke`. */
export const endpointsFrom = (given: {
  readonly auth: string;
  readonly token?: string;
  readonly revoke?: string;
}): Endpoints => {
  const authorize = withPath(given.auth, '/o/oauth2/v2/auth');
  const tokenBase = given.token ?? parseUrl(given.auth)?.origin ?? given.auth;
  const token = withPath(tokenBase, '/token');
  const revoke = given.revoke === undefined ? siblingOf(token) : withPath(given.revoke, '/revoke');
  return { authorize, token, revoke };
};

const siblingOf = (token: string): string => {
  const url = parseUrl(token);
  if (url === undefined) return token;
  url.pathname = url.pathname.replace(/[^/]*$/, 'revoke');
  return url.href;
};

const flagOf = { auth: 'auth-url', token: 'token-url', revoke: 'revoke-url' } as const;

/**
 * spec/sign-in#authorize: TLS only; plain HTTP is for a server on this machine. Missing endpoints are derived
 * from the given ones and cause no second message.
 */
export const endpointProblems = (
  given: Partial<Readonly<Record<keyof typeof flagOf, string | undefined>>>,
): Problem[] =>
  (Object.keys(flagOf) as (keyof typeof flagOf)[]).flatMap((key) => {
    const text = given[key];
    const flag = `--${flagOf[key]}`;
    if (text === undefined) return [];
    const url = parseUrl(text);
    if (url === undefined)
      return [
        problem(
          flag,
          'format',
          'must be an absolute address',
          `for example ${flag} https://accounts.example.com`,
        ),
      ];
    if (url.username !== '' || url.password !== '')
      return [
        problem(
          flag,
          'rule',
          'must not hold a user name or password',
          'use --client-id, and OPSCTL_CLIENT_SECRET for a secret',
        ),
      ];
    // RFC 6749 3.1 and 3.2.
    if (url.hash !== '') return [problem(flag, 'rule', 'must not have a fragment (#…)')];
    if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url))) return [];
    return [
      problem(
        flag,
        'rule',
        `must be https, is ${url.protocol.slice(0, -1)} (plain http is for loopback only)`,
      ),
    ];
  });

/** True if no revocation endpoint was configured. */
export const isRevokeGuessed = ({ token, revoke }: Endpoints): boolean => revoke === siblingOf(token);

/**
 * Accounts of one authorization server belong together, and a token is never sent to another server. Realms
 * and tenants on one host are separate servers: the path without its last segment distinguishes them.
 */
export const serverKey = (endpoints: Endpoints): string => {
  const address = endpoints.authorize ?? endpoints.token;
  const url = parseUrl(address);
  if (url === undefined) return address;
  if (url.pathname === authPaths.authorize) return url.origin;
  return `${url.origin}${url.pathname.replace(/\/[^/]*$/, '')}`;
};
