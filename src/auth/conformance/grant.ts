import type { ExternalUrl } from '../../core/external-url.ts';
import type { Host } from '../../platform/host.ts';
import { cutText, AppError } from '../../core/problem.ts';
import { authorizeUrl, type CheckedCallback, secretsFrom } from '../callback.ts';
import { listenForRedirect, type Redirect, type CallbackResult } from '../loopback/listen.ts';
import { successPage } from '../loopback/pages.ts';
import { authorizationEndpoint, type LoginServer } from '../settings.ts';
import { isIdentity, missing } from '../auth-context.ts';
import { processExchange, type TokenResponse } from '../protocol/token-response.ts';
import {
  type HttpResponse,
  type TokenClient,
  type Tolerance,
  tolerances,
  exchangeRequest,
  refreshRequest,
  revokeRequest,
  standardRevokeRequest,
} from '../protocol/token-client.ts';
import { errorDeviations } from '../protocol/read-response.ts';
import { errorOf, type Outcome, type Row, sawOf } from '../probe.ts';

export type GrantProbe = {
  readonly host: Host;
  readonly server: LoginServer;
  readonly tokenClient: TokenClient;
  readonly scopes: readonly string[];
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  hide(secret: string): void;
  send(request: Parameters<Host['network']['request']>[0]): Promise<HttpResponse>;
  /** Brings a person, or a program in their place, to the address. */
  visit(url: ExternalUrl, redirectUri: string, launch: ExternalUrl): Promise<void>;
};

type Got = {
  readonly answer: TokenResponse;
  readonly wire: HttpResponse;
  /** How the response at the redirect URI deviated. */
  readonly deviations: readonly Tolerance[];
  again(): Promise<HttpResponse>;
};

type Secrets = ReturnType<typeof secretsFrom>;

/** The response of the server, if a user signs in in time. */
const answerTo = async (probe: GrantProbe, redirect: Redirect, secrets: Secrets): Promise<CallbackResult> => {
  const over = new AbortController();
  try {
    const { clientId } = probe.server;
    const url = authorizeUrl({
      endpoint: authorizationEndpoint(probe.server),
      clientId,
      redirectUri: redirect.redirectUri,
      scopes: probe.scopes,
      secrets,
    });
    const late = () =>
      Promise.reject(new AppError('auth', 'no user signed in in time', { code: 'LOGIN_TIMEOUT' }));
    const time = probe.host.sleep(probe.timeoutMs, AbortSignal.any([probe.signal, over.signal])).then(late);
    const visit = probe
      .visit(url, redirect.redirectUri, redirect.launchFrom(url))
      .then(() => new Promise<never>(() => undefined));
    return await Promise.race([redirect.settled, time, visit]);
  } finally {
    over.abort();
  }
};

/** Trades the code for tokens; the same request can be sent again. */
const exchange = async (
  probe: GrantProbe,
  callback: CheckedCallback,
  redirectUri: string,
  secrets: Secrets,
): Promise<Got> => {
  const request = exchangeRequest(probe.tokenClient, callback, redirectUri, secrets.verifier);
  const wire = await probe.send(request);
  const nonce = probe.scopes.some(isIdentity) ? secrets.nonce : undefined;
  const answer = await processExchange(probe.tokenClient, wire, nonce, probe.host);
  for (const secret of [answer.accessToken, answer.refreshToken, answer.idToken])
    if (secret !== undefined) probe.hide(secret);
  const deviations: readonly Tolerance[] = callback.isForm === true ? ['form-post'] : [];
  return { answer, wire, deviations, again: () => probe.send(request) };
};

/** One sign-in; the state has been checked when it comes back. */
const login = async (probe: GrantProbe): Promise<Got> => {
  const secrets = secretsFrom((bytes) => probe.host.random(bytes));
  for (const secret of [secrets.verifier, secrets.state, secrets.nonce]) probe.hide(secret);
  const redirect = await listenForRedirect(probe.host, {
    expected: { state: secrets.state },
    port: 0,
    path: probe.path,
    onIgnored: () => undefined,
  });
  try {
    const verdict = await answerTo(probe, redirect, secrets);
    if (verdict.kind === 'failed') throw verdict.error;
    if (verdict.kind === 'refused')
      throw new AppError('auth', `the sign-in was refused: ${verdict.refusal.error}`, {
        code: 'ACCESS_DENIED',
      });
    probe.hide(verdict.callback.code);
    const got = await exchange(probe, verdict.callback, redirect.redirectUri, secrets);
    redirect.answer(successPage(undefined, []));
    return got;
  } finally {
    await redirect.close();
  }
};

const fieldOf = (read: HttpResponse, name: string): unknown => {
  try {
    return (JSON.parse(read.text) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
};
const saw = (holds: boolean, text: string): Outcome => ({ holds, saw: text });
const row = (id: string, says: string, source: string, found: Outcome): Row => ({
  id,
  says,
  source,
  ...found,
});

const revokeRow = async (probe: GrantProbe, token: string): Promise<Row> => {
  const first = await probe.send(revokeRequest(probe.tokenClient, token));
  const read =
    first.status === 200 ? first : await probe.send(standardRevokeRequest(probe.tokenClient, token));
  return row(
    'G8',
    'the refresh token can be revoked',
    'spec/sign-in#revoke',
    saw(read.status === 200, sawOf(read)),
  );
};

const tokenRows = (probe: GrantProbe, { answer, wire }: Awaited<ReturnType<typeof login>>): Row[] => {
  const scopes = answer.scopes ?? probe.scopes;
  const lifetime = fieldOf(wire, 'expires_in');
  const hasRefresh = answer.refreshToken !== undefined;
  return [
    row('G1', 'the state comes back unchanged', 'spec/sign-in#authorize', saw(true, 'query or fragment')),
    row(
      'G2',
      'token_type is Bearer',
      'spec/sign-in#token',
      saw(String(fieldOf(wire, 'token_type')).toLowerCase() === 'bearer', 'token_type'),
    ),
    row(
      'G3',
      'expires_in is a positive whole number',
      'spec/sign-in#token',
      saw(Number.isInteger(lifetime) && Number(lifetime) > 0, `${lifetime} s`),
    ),
    row(
      'G4',
      'a refresh token is returned',
      'spec/sign-in#token',
      saw(hasRefresh, hasRefresh ? 'one' : 'none'),
    ),
    row(
      'G5',
      'scopes beyond the asked ones are not granted',
      'spec/sign-in#authentication-5',
      saw(missing(scopes, probe.scopes).length === 0, cutText(scopes.join(' '), 80)),
    ),
  ];
};

/** What sign-in accepts although a standard forbids it. */
const toleranceRows = (responses: readonly (readonly Tolerance[])[]): Row[] => {
  const found = new Set(responses.flat());
  return (Object.keys(tolerances) as Tolerance[]).map((name, i) => {
    const { rule, source } = tolerances[name];
    const text = found.has(name) ? 'sign-in accepts the deviation' : 'no deviation';
    return row(`W${String(i + 1).padStart(2, '0')}`, rule, source, saw(!found.has(name), text));
  });
};

/** Refresh, revoke, refresh again: the order is the test. */
const refreshRows = async (probe: GrantProbe, accessToken: string, refreshToken: string): Promise<Row[]> => {
  const refreshed = await probe.send(refreshRequest(probe.tokenClient, refreshToken));
  const next = fieldOf(refreshed, 'access_token');
  if (typeof next === 'string') probe.hide(next);
  const isNew = refreshed.status === 200 && typeof next === 'string' && next !== accessToken;
  const rotated = fieldOf(refreshed, 'refresh_token');
  const live = typeof rotated === 'string' ? rotated : refreshToken;
  probe.hide(live);
  const revoked = await revokeRow(probe, live);
  const after = await probe.send(refreshRequest(probe.tokenClient, live));
  return [
    row('G6', 'a refresh gives another access token', 'spec/sign-in#refresh', saw(isNew, sawOf(refreshed))),
    revoked,
    row(
      'G9',
      'a revoked refresh token: invalid_grant',
      'spec/sign-in#states',
      saw(errorOf(after) === 'invalid_grant', sawOf(after)),
    ),
  ];
};

/** The checks that need one sign-in, in the order of the token's lifetime. */
export const grantRows = async (probe: GrantProbe): Promise<Row[]> => {
  const signedIn = await login(probe);
  const rows = tokenRows(probe, signedIn);
  const { accessToken, refreshToken } = signedIn.answer;
  const given = [signedIn.answer.deviations ?? [], signedIn.deviations];
  if (refreshToken === undefined) return [...rows, ...toleranceRows(given)];
  rows.push(...(await refreshRows(probe, accessToken, refreshToken)));
  const reused = await signedIn.again();
  const isRefused = reused.status >= 400 && errorOf(reused) === 'invalid_grant';
  rows.push(row('G7', 'a code is good for one use', 'RFC 6749 4.1.2', saw(isRefused, sawOf(reused))));
  rows.push(...toleranceRows([...given, errorDeviations(reused)]));
  return rows.sort((a, b) => a.id.localeCompare(b.id));
};
