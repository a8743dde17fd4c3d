import { type ExternalUrl, externalUrl, plainHttpProblem } from '../../core/external-url.ts';
import { deviceCode } from '../../api-specs/oauth/console-records.ts';
import { AppError } from '../../core/problem.ts';
import { redactedUrl } from '../../core/redact-secrets.ts';
import { type AuthContext, instantNow, safeText, scopeText } from '../auth-context.ts';
import { type Account, accountFrom, accountNameFrom } from '../credential-store/account.ts';
import { keepAccount } from '../complete-login.ts';
import { issuerOf, receiveTokens, reportDeviations } from '../issued-tokens.ts';
import { clientRequest, type HttpResponse } from '../protocol/token-client.ts';
import { discover, safeUrl } from '../protocol/discovery.ts';
import { sendWithRetry } from '../protocol/send.ts';
import { bodyOf, errorDeviations, errorIn } from '../protocol/read-response.ts';
import { refusalOf } from '../protocol/token-response.ts';
import type { LoginServer } from '../settings.ts';
import { tokenClientOf } from '../server-profiles.ts';

export type DevicePlan = {
  readonly server: LoginServer;
  readonly scopes: readonly string[];
  readonly account?: string;
  readonly timeoutMs: number;
};
/** RFC 8628 3.2. */
export type DeviceAuthorization = {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly verificationUri: ExternalUrl;
  /** With the code in it: what a QR code holds. */
  readonly completeUri: ExternalUrl;
  readonly expiresInS: number;
  readonly intervalS: number;
};

const none = (): AppError =>
  new AppError('config', 'the server offers no device flow', {
    code: 'NO_DEVICE_FLOW',
    tryThis: ['opsctl login --no-browser', 'opsctl login --start, and --finish where a browser is'],
  });

const endpointOf = async (context: AuthContext, { endpoints }: LoginServer): Promise<string> => {
  if (endpoints.device !== undefined) return endpoints.device;
  const metadata = await discover(context.host, endpoints, context.signal);
  const found = safeUrl(metadata?.raw.device_authorization_endpoint);
  if (found === undefined) throw none();
  return found;
};

const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const seconds = (value: unknown, otherwise: number): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : otherwise;

const recordOf = (body: unknown): Readonly<Record<string, unknown>> =>
  (typeof body === 'object' && body !== null ? body : {}) as Readonly<Record<string, unknown>>;
type Env = AuthContext['host']['env'];
/** A person enters the code and often a password there, so the rule for plain HTTP counts as well. */
const safeAddress = (text: unknown, env: Env): ExternalUrl | undefined => {
  const url = externalUrl(text);
  const isPlain = url !== undefined && plainHttpProblem(new URL(url), { needsTls: true }, env) !== undefined;
  return isPlain ? undefined : url;
};
/** The server returned both codes, but no address that a person may open. */
const refuseUnsafeAddress = (body: unknown, env: Env): void => {
  const given = recordOf(body);
  const address = text(given.verification_uri) ?? text(given.verification_url);
  const isWhole = text(given.device_code) !== undefined && text(given.user_code) !== undefined;
  if (!isWhole || address === undefined || safeAddress(address, env) !== undefined) return;
  throw new AppError(
    'network',
    `device flow: unsafe verification_uri in the response: must be an https URL without user information (http only on loopback), got ${safeText(JSON.stringify(redactedUrl(address)), 100)}`,
    {
      code: 'UNSAFE_ADDRESS',
      tryThis: [
        'check --auth-url and --token-url: opsctl shows no such address',
        'opsctl login --no-browser',
      ],
    },
  );
};

/** Undefined if a required field is missing. Only an https URL is shown, or an http URL on loopback. */
export const deviceAuthorization = (body: unknown, env: Env = {}): DeviceAuthorization | undefined => {
  const given = recordOf(body);
  const [code, userCode] = [text(given.device_code), text(given.user_code)];
  // Google and others wrote verification_url before the RFC was done.
  const uri = safeAddress(text(given.verification_uri) ?? text(given.verification_url), env);
  if (code === undefined || userCode === undefined || uri === undefined) return undefined;
  return {
    deviceCode: code,
    userCode: safeText(userCode, 40),
    verificationUri: uri,
    completeUri: safeAddress(given.verification_uri_complete, env) ?? uri,
    expiresInS: seconds(given.expires_in, 900),
    // A part of a second would flood the server, or another host that it names.
    intervalS: Math.max(1, seconds(given.interval, 5)),
  };
};

/**
 * The QR code is for a phone next to a terminal. In other output the URL and the code are sufficient. The
 * text fits on 24 rows.
 */
const show = async (context: AuthContext, device: DeviceAuthorization): Promise<void> => {
  const { stderr } = context.host.terminal;
  const lines = `On any device open:\n\n  ${device.verificationUri}\n\nand type the code:\n\n  ${device.userCode}\n\n`;
  if (!stderr.isTty) return stderr.write(lines);
  const { renderUnicodeCompact } = await import('uqr');
  const picture = renderUnicodeCompact(device.completeUri, { border: 2 });
  const below = `Scan this, or open on any device:  ${device.verificationUri}\nand type the code:  ${device.userCode}\n`;
  await stderr.write(`${picture}\n${below}`);
};

type Answer = 'wait' | 'wait longer' | HttpResponse;
const answerFrom = (context: AuthContext, received: HttpResponse): Answer => {
  // The error code decides, not the status: GitHub sends 200.
  const error = errorIn(bodyOf(received))?.error;
  if (error !== undefined) reportDeviations(context, 'device flow', errorDeviations(received));
  if (error === 'authorization_pending') return 'wait';
  return error === 'slow_down' ? 'wait longer' : received;
};

const timedOut = (): AppError =>
  new AppError('auth', 'the device code expired before a user entered it', {
    code: 'LOGIN_TIMEOUT',
    tryThis: ['opsctl login --method device (shows a new code)', 'opsctl login --timeout 15m'],
  });

/**
 * RFC 8628 3.5: polls at the interval that the server requests, and less often on request. A network failure
 * does not stop the polling.
 */
const poll = async (
  context: AuthContext,
  device: DeviceAuthorization,
  limitMs: number,
  ask: () => Promise<HttpResponse>,
): Promise<HttpResponse> => {
  const until = context.host.elapsed() + Math.min(limitMs, device.expiresInS * 1000);
  let waitS = device.intervalS;
  while (context.host.elapsed() < until) {
    // A longer interval than the lifetime of the code would outlast the sign-in.
    await context.host.sleep(Math.min(waitS * 1000, until - context.host.elapsed()), context.signal);
    if (context.host.elapsed() >= until) break;
    const answer = await ask().then(
      (received) => answerFrom(context, received),
      (error: unknown): Answer => {
        if (error instanceof AppError && error.detail.retryable === true) return 'wait longer';
        throw error;
      },
    );
    if (typeof answer !== 'string') return answer;
    if (answer === 'wait longer') waitS += 5;
  }
  throw timedOut();
};

const deviceIn = ({ host }: AuthContext, begun: HttpResponse): DeviceAuthorization => {
  const device = begun.status === 200 ? deviceAuthorization(bodyOf(begun), host.env) : undefined;
  if (begun.status === 200) refuseUnsafeAddress(bodyOf(begun), host.env);
  if (device === undefined) throw refusalOf('device flow', begun, host.now());
  return device;
};

/** Sign-in with a code that is typed on another device (RFC 8628, an extension: spec/sign-in#machines-5). */
export const signInWithDevice = async (context: AuthContext, plan: DevicePlan): Promise<Account> => {
  const { server, scopes } = plan;
  const url = await endpointOf(context, server);
  const begun = await sendWithRetry(
    context,
    'device flow',
    clientRequest(await tokenClientOf(context, server), url, {
      scope: scopes.length === 0 ? undefined : scopeText(scopes),
    }),
  );
  const device = deviceIn(context, begun);
  context.log.hide(device.deviceCode);
  await show(context, device);
  let asked = instantNow(context.host);
  const received = await poll(context, device, plan.timeoutMs, async () => {
    asked = instantNow(context.host);
    const client = await tokenClientOf(context, server);
    const fields = { grant_type: deviceCode, device_code: device.deviceCode };
    const request = clientRequest(client, server.endpoints.token, fields);
    return sendWithRetry(context, 'device flow', request, client.prover);
  });
  const client = await tokenClientOf(context, server);
  const response = await receiveTokens(context, 'device flow', client, issuerOf(server), received, {
    kind: 'exchange',
    nonce: undefined,
    requested: scopes,
  });
  const { endpoints, clientId, clientSecret, clientAuth, key, metadata, dpopKey } = server;
  const name = plan.account ?? accountNameFrom(response);
  const owner = { name, signIn: '', server: key, endpoints, clientId, clientSecret, clientAuth, dpopKey };
  const made = accountFrom({ ...owner, issuer: metadata?.issuer }, response, scopes, asked);
  return keepAccount(context, made, { name: plan.account, unreadKeys: response.unreadKeys });
};
