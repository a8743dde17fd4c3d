import type { Host, HttpRequest } from '../platform/host.ts';
import { authorizeUrl, challengeFrom } from './callback.ts';
import { send } from './protocol/send.ts';
import type { HttpResponse } from './protocol/token-client.ts';
import { authorizationEndpoint, type LoginServer } from './settings.ts';
import { safeText } from './auth-context.ts';

/** Asks an authorization server from outside, without signing in. */
export type Probe = {
  readonly server: LoginServer;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** Redirects are not followed. */
  send(request: HttpRequest): Promise<HttpResponse>;
};

export const createProbeSender =
  (host: Host, signal: AbortSignal) =>
  (request: HttpRequest): Promise<HttpResponse> =>
    send(host, 'conformance', { timeoutMs: 10_000, maxReplyBytes: 1024 * 1024, ...request }, signal);

/** Any apparently free port. No response is sent there, because these checks do not sign in. */
export const probeFor = (
  host: Host,
  server: LoginServer,
  scopes: readonly string[],
  path: string,
  signal: AbortSignal,
): Probe => ({
  server,
  scopes,
  redirectUri: `http://127.0.0.1:49152${path}`,
  send: createProbeSender(host, signal),
});

const paramsOf = (location: string): URLSearchParams => {
  const url = new URL(location, 'http://127.0.0.1');
  return new URLSearchParams([...url.searchParams, ...new URLSearchParams(url.hash.slice(1))]);
};
export const errorInLocation = (location: string | undefined): string | undefined =>
  location === undefined ? undefined : (paramsOf(location).get('error') ?? undefined);

const verifier = 'opsctl-conformance-verifier-that-is-long-enough-0123456789';
export const goodVerifier = verifier;

/** The address of a right request; `changes` removes (undefined) or replaces parameters. */
export const requestTo = (
  probe: Probe,
  changes: Readonly<Record<string, string | undefined>> = {},
): string => {
  const secrets = {
    challenge: challengeFrom(verifier),
    state: 'opsctl-conformance-state',
    nonce: 'opsctl-conformance-nonce',
  };
  const { clientId } = probe.server;
  const url = new URL(
    authorizeUrl({
      endpoint: authorizationEndpoint(probe.server),
      clientId,
      redirectUri: probe.redirectUri,
      scopes: probe.scopes,
      secrets,
    }),
  );
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
};

const browserAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
export const open = (probe: Probe, url: string, agent = browserAgent): Promise<HttpResponse> =>
  probe.send({ method: 'GET', url, headers: { 'user-agent': agent, accept: 'text/html' } });

/** One statement about an authorization server that a client can test from outside. */
export type Check = {
  readonly id: string;
  readonly says: string;
  /** `spec/sign-in …` is the service itself, `RFC …` any server of the standard. */
  readonly source: string;
  run(probe: Probe): Promise<Outcome>;
};
export type Outcome = { readonly holds: boolean; readonly saw: string };
export type Row = {
  readonly id: string;
  readonly holds: boolean;
  readonly says: string;
  readonly saw: string;
  readonly source: string;
};

export const errorOf = (read: HttpResponse): string | undefined => {
  try {
    const { error } = JSON.parse(read.text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
};

/** A short description of a response without secrets. */
export const sawOf = (read: HttpResponse): string => {
  const location = read.headers.location;
  const to = location === undefined ? '' : ` to ${safeText(location.split(/[?#]/)[0] ?? '', 60)}`;
  const error = errorOf(read) ?? errorInLocation(location);
  return `HTTP ${read.status}${to}${error === undefined ? '' : ` ${safeText(error, 40)}`}`;
};

/** True if a response leads to `uri`, which means that the server accepted it as a redirect target. */
export const leadsTo = (read: HttpResponse, uri: string): boolean =>
  read.headers.location?.startsWith(uri) ?? false;

export const outcome = (holds: boolean, read: HttpResponse): Outcome => ({ holds, saw: sawOf(read) });
