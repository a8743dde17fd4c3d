import { isLoopbackHost } from '../core/external-url.ts';
import { join } from 'node:path';
import type { Logger, Reach, ServiceName, Target } from '../api/context.ts';
import { resolveTarget } from '../config/resolve-target.ts';
import type { Settings } from '../config/settings.ts';
import type { AccessToken } from '../auth/token.ts';
import { claimsOf } from '../core/json.ts';
import { AppError } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';
import type { Embedded } from './mock/embedded.ts';

export type Environment = {
  readonly host: Host;
  readonly settings: Settings;
  readonly log: Logger;
  readonly signal?: AbortSignal;
};
/** spec/program#settings: path prefix and brand words are part of a profile. The embedded server speaks as the documents do. */
const wordingOf = (settings: Settings): NonNullable<Target['wording']> => {
  const [basePath, planningWord] = ['tracker.base_path', 'tracker.planning_word'].map(
    (key) => settings.get(key)?.value,
  );
  return { basePath, planningWord };
};
/** spec/tracker#versions-4: version 2 has another path prefix, and every request to it would be 404. */
const refuseVersion2 = (baseUrl: string, basePath: string | undefined, origin: string): void => {
  const place = [new URL(baseUrl).pathname, basePath].find((path) => /(^|\/)api\/v2(\/|$)/.test(path ?? ''));
  if (place === undefined) return;
  const current = baseUrl.replace(/\/api\/v2(?=\/|$)/, '/api/v3');
  throw new AppError('config', `${place} is version 2 of the tracker API, the previous version (${origin})`, {
    code: 'PREVIOUS_API_VERSION',
    tryThis: [`OPSCTL_TRACKER_URL=${current}`, 'replace /v2/ by /v3/ in paths'],
  });
};
/** Claims that change with each token of one account. */
const claimsOfOneToken = new Set(['exp', 'iat', 'nbf', 'jti', 'auth_time', 'nonce', 'at_hash']);
/**
 * The account of a renewed token of a service with OAuth 2.0, or undefined if only the token itself names the account. Two
 * accounts must never become one, because `undo` would change the records of the other: each claim that can tell them
 * apart counts.
 */
const accountOfToken = (token: string): string | undefined => {
  const claims = claimsOf(token);
  if (claims.iss === undefined || claims.sub === undefined) return undefined;
  const kept = Object.entries(claims).filter(([name]) => !claimsOfOneToken.has(name));
  return JSON.stringify(kept.toSorted(([x], [y]) => (x < y ? -1 : 1)));
};
/** The account of a sign-in: the person if the server named one, otherwise the name in the store or of the machine. */
const accountOfSignIn = ({ account, server, origin, token }: AccessToken): string | undefined => {
  if (account === undefined && server === undefined) return accountOfToken(token);
  const { subject, subjectIssuer, issuer, server: home } = account ?? {};
  return JSON.stringify(
    subject === undefined ? [home ?? server, origin] : [subjectIssuer ?? issuer ?? home, subject],
  );
};
/** A configured server as a target: its token, and for the tracker its shared rate and its wording. */
export const configuredTarget = async (
  { host, settings, log }: Environment,
  service: ServiceName,
  found: Extract<ReturnType<typeof resolveTarget>, { readonly baseUrl: string }>,
): Promise<Target> => {
  const { baseUrl, origin, token, header, prefix } = found;
  if (token !== undefined) log.hide(token);
  const headers: Record<string, string> =
    token === undefined ? {} : { [header.toLowerCase()]: prefix + token };
  // A token of the tracker is a key of one workspace. Two workspaces may have the same claims.
  const account = token === undefined || service === 'tracker' ? undefined : accountOfToken(token);
  const target = { baseUrl, headers, isMock: false, origin, ...(account === undefined ? {} : { account }) };
  if (service !== 'tracker') return target;
  refuseVersion2(baseUrl, settings.get('tracker.base_path')?.value, origin);
  const { host: address, hostname } = new URL(baseUrl);
  const rateKey = `${settings.profile.name}-${address.replace(/[^A-Za-z0-9.]/g, '-')}`;
  const isFree =
    isLoopbackHost(hostname) &&
    settings.get('rate_per_minute')?.origin === 'default' &&
    // Without a mock server on this state directory, its code is not loaded.
    host.files.readNow(join(settings.directories.state, 'mock', 'owner.json')) !== undefined &&
    (await import('./mock/embedded.ts')).isOwnUnlimitedMock(host, settings, baseUrl);
  return { ...target, ...(isFree ? {} : { rateKey }), wording: wordingOf(settings) };
};

/**
 * The token of a sign-in, for services that accept one if no other token is set. A token never changes sides:
 * a token of the embedded server stays there, and a token of a real server is never sent to the mock.
 */
export const signedIn = async (
  env: Environment,
  reach: Reach['reach'],
  isMock: boolean,
): Promise<Pick<Target, 'headers' | 'prover' | 'account'>> => {
  const [{ accessToken, authorizationOf }, { mockKey }] = await Promise.all([
    import('../auth/token.ts'),
    import('../auth/settings.ts'),
  ]);
  const signal = env.signal ?? new AbortController().signal;
  try {
    const found = await accessToken({ ...env, signal, target: reach });
    const { token, account, prover } = found;
    const name = accountOfSignIn(found);
    if (account === undefined ? isMock : (account.server === mockKey) !== isMock) return { headers: {} };
    env.log.hide(token);
    const headers = { authorization: authorizationOf(found) };
    return { headers, ...(name && { account: name }), ...(prover && { prover }) };
  } catch (error) {
    if (error instanceof AppError && error.detail.code === 'NOT_SIGNED_IN') return { headers: {} };
    throw error;
  }
};

const mockHeaders = (
  service: ServiceName,
  { tracker, labels }: Embedded['ready'],
): Record<string, string> => {
  if (service === 'tracker') return { 'tracker-token': tracker.token };
  return service === 'labels' && labels.token !== '' ? { authorization: `Bearer ${labels.token}` } : {};
};
/** The embedded server as a target. */
const mockTarget = (settings: Settings, service: ServiceName, server: Embedded): Target => ({
  baseUrl: server.url,
  headers: mockHeaders(service, server.ready),
  isMock: true,
  isPassing: !server.isLive,
  origin: 'mock',
  ...(server.isLive && service === 'tracker' && server.ready.tracker.rate_limit !== 'off'
    ? { rateKey: `${settings.profile.name}-mock` }
    : {}),
});
/** spec/program#settings: configured, or the embedded mock server; one for all services of a command. */
export const makeReach = (env: Environment): Reach => {
  const { host, settings, log, signal } = env;
  let embedded: Promise<Embedded> | undefined;
  const mock = (): Promise<Embedded> =>
    (embedded ??= import('./mock/embedded.ts').then((module) =>
      module.embeddedMock(host, settings, log, signal),
    ));
  // The data API's commands fetch its token themselves (auth/token.ts): they also renew one that is refused.
  const takesSignIn = (service: ServiceName, headers: object): boolean =>
    service === 'labels' && Object.keys(headers).length === 0;
  const reach = async (service: ServiceName): Promise<Target> => {
    const found = resolveTarget(settings, service);
    const target =
      found.kind === 'mock'
        ? mockTarget(settings, service, await mock())
        : await configuredTarget(env, service, found);
    return takesSignIn(service, target.headers)
      ? { ...target, ...(await signedIn(env, reach, target.isMock)) }
      : target;
  };
  return {
    reach,
    close: async () => {
      const server = await embedded?.catch(() => undefined);
      await server?.close();
    },
  };
};
