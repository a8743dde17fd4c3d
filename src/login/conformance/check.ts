import type { HttpRequest } from '../../host/host.ts';
import { authorizeUrl } from '../authorize-url.ts';
import { challengeFrom } from '../pkce.ts';
import type { LoginServer } from '../settings.ts';
import { safeText } from '../terminal-text.ts';
import type { Read } from '../wire/party.ts';

/** One statement about an authorization server that a client can test from outside. */
export type Check = {
  readonly id: string;
  readonly says: string;
  /** `doc1 …` is the service of document 1, `RFC …` any server of the standard. */
  readonly source: string;
  run(probe: Probe): Promise<Outcome>;
};
export type Outcome = { readonly holds: boolean; readonly saw: string };
export type Probe = {
  readonly server: LoginServer;
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** Redirects are not followed. */
  send(request: HttpRequest): Promise<Read>;
};
export type Row = { readonly id: string; readonly holds: boolean; readonly says: string; readonly saw: string; readonly source: string };

export const errorOf = (read: Read): string | undefined => {
  try {
    const { error } = JSON.parse(read.text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
};

/** What came back, in a few words and without anything secret. */
export const sawOf = (read: Read): string => {
  const location = read.headers.location;
  const to = location === undefined ? '' : ` to ${safeText(location.split(/[?#]/)[0] ?? '', 60)}`;
  const error = errorOf(read) ?? errorInLocation(location);
  return `HTTP ${read.status}${to}${error === undefined ? '' : ` ${safeText(error, 40)}`}`;
};

const paramsOf = (location: string): URLSearchParams => {
  const url = new URL(location, 'http://127.0.0.1');
  return new URLSearchParams([...url.searchParams, ...new URLSearchParams(url.hash.slice(1))]);
};
export const errorInLocation = (location: string | undefined): string | undefined =>
  location === undefined ? undefined : (paramsOf(location).get('error') ?? undefined);

const verifier = 'opsctl-conformance-verifier-that-is-long-enough-0123456789';
export const goodVerifier = verifier;

/** The address of a right request; `changes` removes (undefined) or replaces parameters. */
export const requestTo = (probe: Probe, changes: Readonly<Record<string, string | undefined>> = {}): string => {
  const secrets = { challenge: challengeFrom(verifier), state: 'opsctl-conformance-state', nonce: 'opsctl-conformance-nonce' };
  const { endpoints, clientId } = probe.server;
  const url = new URL(authorizeUrl({ endpoint: endpoints.authorize, clientId, redirectUri: probe.redirectUri, scopes: probe.scopes, secrets }));
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url.href;
};

const browserAgent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36';
export const open = (probe: Probe, url: string, agent = browserAgent): Promise<Read> =>
  probe.send({ method: 'GET', url, headers: { 'user-agent': agent, accept: 'text/html' } });

/** Whether an answer leads to `uri`: then the server has accepted it as a place to send people. */
export const leadsTo = (read: Read, uri: string): boolean => read.headers.location?.startsWith(uri) ?? false;

export const outcome = (holds: boolean, read: Read): Outcome => ({ holds, saw: sawOf(read) });
