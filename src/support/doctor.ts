import { adviceText } from '../core/next.ts';
import type { EngineContext, Prompts, Runtime, ServiceName } from '../api/context.ts';
import { fails, type Finding as SignInFinding } from '../auth/doctor.ts';
import type { LoginServerOptions } from '../auth/login/plan.ts';
import { resolveTarget } from '../config/resolve-target.ts';
import { AppError, messageOf } from '../core/problem.ts';
import { type Level, type Result, recordResult } from '../core/result.ts';
import { NetworkError } from '../platform/host.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { join, resolve } from 'node:path';
import { lossyText } from '../core/text.ts';
import { keys } from '../config/settings.ts';
import { secretsOf } from '../config/load.ts';
import { makeRedactor } from '../output/redact.ts';
import { limits } from '../core/limits.ts';

export const directoryFinding = async (
  context: EngineContext,
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
const proxyFinding = ({ host }: Runtime): Finding => {
  const set = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NO_PROXY', 'no_proxy'].filter(
    (name) => host.env[name],
  );
  return { check: 'proxy', state: 'pass', found: set.length === 0 ? 'none' : set.join(', ') };
};
const browserless = ({ host }: Runtime): Finding => ({
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
const serviceFinding = async (
  context: EngineContext,
  service: ServiceName,
  probe: string,
): Promise<Finding> => {
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
export const generalFindings = async (context: EngineContext): Promise<readonly Finding[]> => {
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
const serverRows = async (context: EngineContext, values: Given): Promise<readonly SignInFinding[]> => {
  const { serverFindings } = await import('../auth/doctor.ts');
  const { probeFor } = await import('../auth/probe.ts');
  const { loginServer } = await import('../auth/settings.ts');
  const { givenServer } = await import('../auth/login/plan.ts');
  const { fullScope } = await import('../api-specs/oauth/endpoints.ts');
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
export const signInFindings = async (
  context: EngineContext & Prompts,
  values: Given,
): Promise<readonly SignInFinding[]> => {
  const { browserFinding, keychainFinding, portFindings, credentialStoreFinding } = await import(
    '../auth/doctor.ts'
  );
  return [
    ...(await portFindings(context, values.port ?? 0)),
    await browserFinding(context, context.isInteractive),
    await keychainFinding(context),
    await credentialStoreFinding(context),
    ...(await serverRows(context, values)),
  ];
};

type Looks = Readonly<Record<string, () => Promise<readonly unknown[]>>>;
type File = { readonly name: string; readonly text: string };

const json = (name: string, value: unknown): File => ({ name, text: `${JSON.stringify(value, null, 2)}\n` });

const versions = ({ host }: Runtime) => ({
  opsctl: OPSCTL_VERSION,
  runtime: host.runtime,
  platform: host.platform,
  made_at: new Date(host.now()).toISOString(),
});

/** Each setting with where it comes from; of a secret only that. Of variables only the names. */
const configuration = ({ settings, host }: Runtime) => ({
  profile: settings.profile,
  directories: settings.directories,
  settings: keys.flatMap(({ key, secret }) => {
    const found = settings.get(key);
    if (found === undefined) return [];
    return [{ key, origin: found.origin, value: secret ? '***' : found.value }];
  }),
  variables: Object.keys(host.env).filter((name) =>
    /^(OPSCTL_|XDG_|.*_PROXY$|.*_proxy$|NODE_|LANG$|LC_|TERM$|CI$)/.test(name),
  ),
});

const lastCrash = async ({ host, settings }: Runtime): Promise<File[]> => {
  // Crashes belong to no profile: the directory above that of the profile's state.
  const directory = join(settings.directories.state, '..', 'crashes');
  const names = (await host.files.list(directory).catch(() => [])).filter((name) =>
    /^crash-[\w.-]+\.txt$/.test(name),
  );
  const newest = names.sort().at(-1);
  if (newest === undefined) return [];
  const path = childPath(directory, pathPart(newest));
  const info = await host.files.info(path);
  if (info?.kind !== 'file' || info.sizeBytes > limits.crashReportBytes) return [];
  return [{ name: newest, text: lossyText(await host.files.readBytes(path)) }];
};

/** A failing doctor is also a finding. The rest of the bundle is still created. */
const gatherFindings = async (looks: Looks): Promise<File[]> => {
  const files: File[] = [];
  for (const [name, look] of Object.entries(looks))
    files.push(json(`${name}.json`, await look().catch((error: unknown) => ({ error: messageOf(error) }))));
  return files;
};

/** Creates one archive for a bug report. The redactor processes every text from every source. */
export const writeBundle = async (context: EngineContext, file: string, looks: Looks): Promise<Result> => {
  const { host, settings } = context;
  const redactor = makeRedactor();
  for (const secret of secretsOf(settings, host.env)) redactor.hide(secret);
  const files = [
    json('versions.json', versions(context)),
    json('configuration.json', configuration(context)),
    ...(await gatherFindings(looks)),
    ...(await lastCrash(context)),
  ].map(({ name, text }) => ({ name: `opsctl-bundle/${name}`, data: redactor.clean(text) }));
  const { createTarGzip } = await import('nanotar');
  const bytes = await createTarGzip(files, { attrs: { mode: '600', mtime: host.now() } });
  const path = resolve(host.cwd, file);
  await host.files.replace(path, bytes, 0o600);
  const contents = files.map(({ name }) => name);
  return recordResult(
    { file: path, size_bytes: bytes.length, contents },
    {
      message: `${path} contains ${contents.length} files for a bug report, without secrets; review them before you send it`,
    },
  );
};
