import { countText } from '../core/format.ts';
import { adviceText } from '../core/next.ts';
import { cutText, AppError } from '../core/problem.ts';
import type { Level } from '../core/result.ts';
import { type Host, type HttpReply, NetworkError } from '../platform/host.ts';
import { type AuthContext, safeText } from './auth-context.ts';
import { openCredentialStore } from './credential-store/store.ts';
import { isLoopback } from './protocol/token-client.ts';
import { browserChoice, browserEnvironment, forwardLine } from './methods/browser-environment.ts';
import { errorInLocation, open, type Probe, requestTo } from './probe.ts';
import type { LoginServer } from './settings.ts';

/**
 * One requirement of a sign-in. With `fail`, the command exits with code 20. For `warn` there is a
 * workaround.
 */
export type Finding = {
  readonly check: string;
  readonly state: Level;
  readonly found: string;
  readonly remedy: string;
};
const ok = (check: string, found: string): Finding => ({ check, state: 'pass', found, remedy: '' });
const warns = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'warn',
  found,
  remedy,
});
export const fails = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'fail',
  found,
  remedy,
});

const caHelp =
  'put the certificate of your company into a file and set ca_file (OPSCTL_CA_FILE) or NODE_EXTRA_CA_CERTS';
const proxyHelp = 'check HTTPS_PROXY and NO_PROXY';
const reachFailure = (check: string, error: unknown): Finding => {
  if (!(error instanceof NetworkError)) return fails(check, 'failed', 'try again with --verbose');
  const remedy =
    error.code === 'TLS'
      ? caHelp
      : error.code === 'PROXY'
        ? proxyHelp
        : error.code === 'DNS'
          ? 'check the host name'
          : 'check the address, the proxy and the firewall';
  return fails(check, safeText(error.message, 120), remedy);
};
/** With an incorrect clock, new tokens look expired. The Date of the response is accurate to a second. */
const clockFinding = (nowMs: number, date: string | undefined): Finding => {
  const theirs = date === undefined ? Number.NaN : Date.parse(date);
  if (Number.isNaN(theirs)) return warns('clock', 'the server sends no Date', 'compare with: date -u');
  const seconds = Math.round((nowMs - theirs) / 1000);
  const found =
    Math.abs(seconds) <= 1
      ? 'agrees with the server'
      : `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the server`;
  if (Math.abs(seconds) <= 30) return ok('clock', found);
  return (Math.abs(seconds) <= 300 ? warns : fails)(
    'clock',
    found,
    'set the clock of this machine: timedatectl set-ntp true',
  );
};
const proxyFinding = (context: AuthContext, url: URL): Finding => {
  const { env } = context.host;
  const names = [`${url.protocol.slice(0, -1)}_proxy`, 'all_proxy'].flatMap((name) => [
    name,
    name.toUpperCase(),
  ]);
  const set = names.find((name) => env[name] !== undefined && env[name] !== '');
  if (set === undefined) return ok('proxy', 'none set');
  if (isLoopback(url)) return ok('proxy', `${set} is set; not used for this machine`);
  return ok('proxy', `${set} is used for ${url.host}, unless NO_PROXY names it`);
};
const authorityFinding = (context: AuthContext, url: URL, isReached: boolean): Finding => {
  const extra = context.settings.get('ca_file')?.value ?? context.host.env.NODE_EXTRA_CA_CERTS;
  if (url.protocol === 'http:') return ok('certificate authority', 'plain HTTP on this machine');
  const named = extra === undefined ? 'the usual ones' : `the usual ones and ${extra}`;
  return isReached
    ? ok('certificate authority', `the certificate of ${url.host} is trusted by ${named}`)
    : warns('certificate authority', `could not be checked; trusted: ${named}`, caHelp);
};
const tokenFindings = async (context: AuthContext, server: LoginServer): Promise<Finding[]> => {
  const url = new URL(server.endpoints.token);
  const common = (isReached: boolean): Finding[] => [
    proxyFinding(context, url),
    authorityFinding(context, url, isReached),
  ];
  let reply: HttpReply;
  let body: string;
  try {
    reply = await context.host.network.request({
      method: 'POST',
      url: url.href,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: '',
      timeoutMs: 10_000,
    });
    body = await reply.text();
  } catch (error) {
    return [reachFailure('token endpoint', error), ...common(false)];
  }
  const isToken = reply.status >= 400 && reply.status < 500 && /"error"/.test(body);
  const reached = isToken
    ? ok('token endpoint', url.href)
    : fails(
        'token endpoint',
        `${url.href} returned HTTP ${reply.status}, which is not the response of a token endpoint`,
        'check --token-url',
      );
  return [reached, clockFinding(context.host.now(), reply.headers.date), ...common(true)];
};
const codes =
  /\b(redirect_uri_mismatch|invalid_client|deleted_client|invalid_scope|org_internal|admin_policy_enforced|disallowed_useragent|invalid_grant|invalid_request)\b/;
const remedies: Readonly<Record<string, string>> = {
  redirect_uri_mismatch:
    'register http://127.0.0.1 (any port) for the client, or give --redirect-path and --port as registered',
  invalid_client: 'check --client-id',
  deleted_client: 'restore the client in the developer console, or use another',
  invalid_scope: 'check --scope',
};
/**
 * Sends an authorization request without a user. The response shows whether the server accepts the redirect
 * URI.
 */
const redirectFinding = async (probe: Probe): Promise<Finding> => {
  try {
    const read = await open(probe, requestTo(probe, { prompt: 'none' }));
    const sent = read.headers.location?.startsWith(probe.redirectUri) ?? false;
    const error = sent ? errorInLocation(read.headers.location) : codes.exec(read.text)?.[1];
    if (sent && /required$/.test(error ?? 'login_required'))
      return ok('redirect URI', `${probe.redirectUri} is accepted`);
    if (read.status < 400 && error === undefined)
      return ok('redirect URI', 'accepted: the server shows its sign-in page');
    const named = error ?? `HTTP ${read.status}`;
    return fails(
      'redirect URI',
      `the authorization endpoint reported: ${safeText(named, 60)}`,
      remedies[named] ?? 'check --auth-url and --client-id',
    );
  } catch (error) {
    return reachFailure('authorization endpoint', (error as { cause?: unknown }).cause ?? error);
  }
};
export const serverFindings = async (context: AuthContext, probe: Probe): Promise<Finding[]> => [
  ...(await tokenFindings(context, probe.server)),
  await redirectFinding(probe),
];

const listens = async (host: Host, address: string, port: number): Promise<string | undefined> => {
  try {
    const listener = await host.network.listen(() => ({ status: 204 }), { host: address, port });
    await listener.close();
    return undefined;
  } catch (error) {
    return (error as { code?: string }).code ?? 'UNKNOWN';
  }
};
/** Can the redirect reach us? Both literals, because browsers and tunnels differ in which one they take. */
export const portFindings = async ({ host }: AuthContext, port: number): Promise<Finding[]> => {
  const name = port === 0 ? 'a free port' : `port ${port}`;
  const v4 = await listens(host, '127.0.0.1', port);
  const v6 = await listens(host, '::1', port);
  const taken = `another program has it; opsctl login without --port, or find it: ss -ltnp 'sport = :${port}'`;
  return [
    v4 === undefined
      ? ok('listen on 127.0.0.1', name)
      : fails(
          'listen on 127.0.0.1',
          v4,
          v4 === 'EADDRINUSE' ? taken : 'opsctl login --no-browser, and paste the address',
        ),
    v6 === undefined
      ? ok('listen on ::1', name)
      : warns(
          'listen on ::1',
          v6,
          v6 === 'EADDRINUSE' ? taken : 'not needed: the redirect goes to 127.0.0.1',
        ),
  ];
};
export const browserFinding = async ({ host }: AuthContext, hasTerminal: boolean): Promise<Finding> => {
  const at = await browserEnvironment(host);
  const { open, why } = browserChoice(at, {}, hasTerminal);
  if (open) return ok('browser', host.env.BROWSER === undefined ? why : `BROWSER=${host.env.BROWSER}`);
  const remedy = at.isSsh
    ? `opsctl login --port 8400, and on your computer: ${forwardLine(8400, at, host.hostname)}`
    : 'opsctl login --no-browser, open the URL on another machine and paste the result; or opsctl login --start';
  return warns('browser', `is not opened: ${why}`, remedy);
};
export const keychainFinding = async ({ host }: AuthContext): Promise<Finding> => {
  const otherwise = 'not needed: credentials go to an encrypted file that only you can read';
  if (host.env.OPSCTL_KEYCHAIN === 'never') return ok('keychain', 'switched off by OPSCTL_KEYCHAIN=never');
  if (host.keychain === undefined) return warns('keychain', 'this system offers none', otherwise);
  try {
    await host.keychain.get('opsctl', 'doctor');
    return ok('keychain', 'answers');
  } catch (error) {
    return warns(
      'keychain',
      error instanceof Error ? cutText(error.message, 120) : 'does not answer',
      'unlock it, or set OPSCTL_KEYCHAIN=never',
    );
  }
};
export const credentialStoreFinding = async (context: AuthContext): Promise<Finding> => {
  const credentials = openCredentialStore(context);
  try {
    const { accounts } = await credentials.read();
    return ok(
      'stored credentials',
      accounts.length === 0
        ? 'none yet'
        : `${countText(accounts.length, 'account')}, key in the ${(await credentials.keyLocation()) ?? 'file'}`,
    );
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return fails('stored credentials', error.message, adviceText(error.detail.tryThis?.[0] ?? ''));
  }
};
