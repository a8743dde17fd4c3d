import type { Level } from '../../core/level.ts';
import { messageOf } from '../../core/error-message.ts';
import { NetworkError } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { resolveTarget } from '../../config/resolve-target.ts';
import { str } from '../../core/field.ts';
import type { Result } from '../../core/result.ts';
import { defineCommand, type Context, type Flags, type ServiceName } from '../../cli/command.ts';

type Finding = {
  readonly check: string;
  readonly state: Level;
  readonly found: string;
  readonly remedy?: string;
};

const directoryFinding = async (context: Context, name: 'config' | 'state' | 'cache'): Promise<Finding> => {
  const path = context.settings.directories[name];
  const { files } = context.host;
  try {
    await files.makeDirectory(path, 0o700);
    if (await files.isWritable(path)) return { check: `${name} directory`, state: 'pass', found: path };
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
      found: `${path}: ${error instanceof Error ? error.message : error}`,
      remedy: 'set OPSCTL_HOME to a directory of yours',
    };
  }
};

const asError = (error: unknown): { found: string; remedy: string } =>
  error instanceof AppError
    ? { found: error.message, remedy: error.detail.tryThis?.[0] ?? '' }
    : {
        found: messageOf(error),
        remedy: 'check the URL and your network',
      };

/** A service is reachable when it answers anything at all; whether the token is good shows its status. */
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
    const isNetwork = error instanceof NetworkError;
    return {
      check,
      state: 'fail',
      ...asError(error),
      ...(isNetwork && error.code === 'TLS'
        ? { remedy: 'name the certificate authority with NODE_EXTRA_CA_CERTS or ca_file' }
        : {}),
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

/** The machine, the settings and whether each service answers. */
const generalFindings = async (context: Context): Promise<readonly Finding[]> => {
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

const flags = {
  bundle: {
    field: str(4096, { min: 1 }),
    summary: 'Write one archive for a bug report (.tar.gz), without secrets',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;

const bundled = async (context: Context, file: string): Promise<Result> => {
  const [{ writeBundle }, { signInFindings }] = await Promise.all([
    import('./bundle.ts'),
    import('./auth.ts'),
  ]);
  return writeBundle(context, file, {
    doctor: () => generalFindings(context),
    'doctor-auth': () => signInFindings(context, {}),
  });
};

export const doctor = defineCommand({
  path: ['doctor'],
  summary: "Find out what is wrong with this machine's set-up",
  about:
    'Looks at directories, settings, proxies and whether each configured service answers. Ends with 20 when a check fails. `opsctl doctor auth` looks at signing in. --bundle writes what both of them found, the versions, the origin of each setting and the last crash report into one archive.',
  flags,
  examples: [
    { line: 'opsctl doctor', says: 'Every check with its remedy' },
    { line: 'opsctl doctor --bundle report.tar.gz', says: 'One file for a bug report' },
  ],
  run: async (context, { bundle }) => {
    if (bundle !== undefined) return bundled(context, bundle);
    const rows = await generalFindings(context);
    const failed = rows.some(({ state }) => state === 'fail');
    return {
      kind: 'rows',
      rows,
      view: { columns: ['check', 'state', 'found', 'remedy'], name: 'check' },
      exit: () => (failed ? 'no' : 'done'),
    };
  },
});
