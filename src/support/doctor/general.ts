import { adviceText } from '../../core/next.ts';
import type { Context, ServiceName } from '../../api/context.ts';
import { fails, type Finding as SignInFinding } from '../../auth/doctor.ts';
import type { LoginServerOptions } from '../../auth/login/plan.ts';
import { resolveTarget } from '../../config/resolve-target.ts';
import { AppError, messageOf } from '../../core/problem.ts';
import type { Level } from '../../core/result.ts';
import { NetworkError } from '../../platform/host.ts';

export const directoryFinding = async (
  context: Context,
  name: 'config' | 'state' | 'cache',
): Promise<Finding> => {
  const path = context.settings.directories[name];
  const { files } = context.host;
  try {
    await files.makeDirectory(path, 0o700);
    if (await files.isWritable(path)) {
      if ((await files.freeBytes(path)) > 0)
        return { check: `${name} directory`, state: 'pass', found: path };
      return {
        check: `${name} directory`,
        state: 'fail',
        found: `${path}: the disk is full`,
        remedy: 'free some space there, or set OPSCTL_HOME to a directory on another disk',
      };
    }
    return {
      check: `${name} directory`,
      state: 'fail',
      found: `${path} cannot be written`,
      remedy: `give yourself write access, or set OPSCTL_HOME`,
    };
  } catch (error) {
    return {
      check: `${name} directory`,
      state: 'fail',
      found: `${path}: ${messageOf(error)}`,
      remedy: 'set OPSCTL_HOME to a directory of yours',
    };
  }
};
const proxyFinding = ({ host }: Context): Finding => {
  const set = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NO_PROXY', 'no_proxy'].filter(
    (name) => host.env[name],
  );
  return { check: 'proxy', state: 'pass', found: set.length === 0 ? 'none' : set.join(', ') };
};
const browserless = ({ host }: Context): Finding => ({
  check: 'terminal',
  state: 'pass',
  found: `stdin ${host.terminal.stdin.isTty ? 'terminal' : 'pipe'}, stdout ${host.terminal.stdout.isTty ? 'terminal' : 'pipe'}, stderr ${host.terminal.stderr.isTty ? 'terminal' : 'pipe'}`,
});

const remedyOf = (error: unknown): string =>
  error instanceof NetworkError && error.code === 'TLS'
    ? 'name the certificate authority with NODE_EXTRA_CA_CERTS or ca_file'
    : 'check the URL and your network';
const asError = (error: unknown): { found: string; remedy: string } =>
  error instanceof AppError
    ? { found: error.message, remedy: adviceText(error.detail.tryThis?.[0] ?? '') }
    : { found: messageOf(error), remedy: remedyOf(error) };
/** A service is reachable if it returns any response. The status shows whether the token is valid. */
const serviceFinding = async (context: Context, service: ServiceName, probe: string): Promise<Finding> => {
  const check = `${service} service`;
  try {
    const found = resolveTarget(context.settings, service);
    if (found.kind === 'mock')
      return {
        check,
        state: 'warn',
        found: 'not configured: the embedded mock server is used',
        remedy: `opsctl config set ${service}.url https://…`,
      };
    const { headers } = await context.target(service);
    const reply = await context.host.network.request({
      method: 'GET',
      url: new URL(probe, found.baseUrl).href,
      headers,
      timeoutMs: 10_000,
    });
    await reply.bytes();
    if (reply.status === 401 || reply.status === 403)
      return {
        check,
        state: 'fail',
        found: `${found.baseUrl} refuses the token (${reply.status})`,
        remedy: 'give a token that is valid',
      };
    return { check, state: 'pass', found: `${found.baseUrl} answers (${reply.status})` };
  } catch (error) {
    return { check, state: 'fail', ...asError(error) };
  }
};

/** Checks the machine, the settings and whether each service responds. */
export const generalFindings = async (context: Context): Promise<readonly Finding[]> => {
  const { name, origin } = context.settings.profile;
  return [
    { check: 'opsctl', state: 'pass', found: OPSCTL_VERSION },
    {
      check: 'runtime',
      state: 'pass',
      found: `${context.host.runtime} on ${context.host.platform}`,
    },
    { check: 'profile', state: 'pass', found: `${name} (${origin})` },
    ...(await Promise.all([
      directoryFinding(context, 'config'),
      directoryFinding(context, 'state'),
      directoryFinding(context, 'cache'),
    ])),
    proxyFinding(context),
    browserless(context),
    ...(await Promise.all([
      serviceFinding(context, 'tracker', '/api/v3/member'),
      serviceFinding(context, 'labels', '/v2beta/limits/label'),
    ])),
  ];
};

export type Finding = {
  readonly check: string;
  readonly state: Level;
  readonly found: string;
  readonly remedy?: string;
};

type Given = LoginServerOptions & {
  readonly scope?: readonly string[] | undefined;
  readonly port?: number | undefined;
  readonly 'redirect-path'?: string | undefined;
};
/** Missing or invalid settings are findings. The checks of the machine are still shown. */
const settingsFinding = (error: unknown): SignInFinding[] => {
  if (!(error instanceof AppError) || (error.category !== 'config' && error.category !== 'usage'))
    throw error;
  const { problems = [], tryThis = [] } = error.detail;
  return [
    fails(
      'settings',
      [error.message, ...problems.map(({ path, message }) => `${path} ${message}`)].join('; '),
      adviceText(tryThis[0] ?? 'opsctl config list'),
    ),
  ];
};
const serverRows = async (context: Context, values: Given): Promise<readonly SignInFinding[]> => {
  const { serverFindings } = await import('../../auth/doctor.ts');
  const { probeFor } = await import('../../auth/probe.ts');
  const { loginServer } = await import('../../auth/settings.ts');
  const { givenServer } = await import('../../auth/login/plan.ts');
  const { fullScope } = await import('../../api-specs/oauth/endpoints.ts');
  const server = await loginServer(context, await givenServer(context, values)).catch(settingsFinding);
  if (!('endpoints' in server)) return server;
  return serverFindings(
    context,
    probeFor(
      context.host,
      server,
      values.scope ?? [fullScope('media.readonly')],
      values['redirect-path'] ?? '',
      context.signal,
    ),
  );
};
/** Checks all requirements of a sign-in. The user does not have to sign in. */
export const signInFindings = async (context: Context, values: Given): Promise<readonly SignInFinding[]> => {
  const { browserFinding, keychainFinding, portFindings, credentialStoreFinding } = await import(
    '../../auth/doctor.ts'
  );
  return [
    ...(await portFindings(context, values.port ?? 0)),
    await browserFinding(context, context.isInteractive),
    await keychainFinding(context),
    await credentialStoreFinding(context),
    ...(await serverRows(context, values)),
  ];
};
