import { trustCall } from '../../core/program-call.ts';
import { parseUrl } from '../../core/external-url.ts';
import type { Advice } from '../../core/next.ts';
import { refuseLongSecret } from '../../core/field.ts';
import { ambiguityIn } from '../../core/json.ts';
import { AppError, reword } from '../../core/problem.ts';
import { type AuthContext, safeText } from '../auth-context.ts';
import { sendWithRetry } from '../protocol/send.ts';

type IdentitySettings = {
  readonly audience: string | undefined;
  /** The token may have any form: its type is not JWT. */
  readonly isOpaque?: boolean;
};
/** The source of the identity token of a CI job. The first configured source is used. */
type Source = {
  readonly name: string;
  isThere(context: AuthContext): boolean;
  read(context: AuthContext, settings: IdentitySettings): Promise<string>;
};
const setting = (context: AuthContext, key: string): string | undefined => context.settings.get(key)?.value;
const noToken = (why: string, tryThis: readonly string[]): AppError =>
  new AppError('auth', `no identity token: ${why}`, { code: 'NO_IDENTITY_TOKEN', tryThis });
const fromSetting: Source = {
  name: 'OPSCTL_IDENTITY_TOKEN',
  isThere: (context) => setting(context, 'auth.identity_token') !== undefined,
  read: async (context) => setting(context, 'auth.identity_token') ?? '',
};
const fromFile: Source = {
  name: 'OPSCTL_IDENTITY_TOKEN_FILE',
  isThere: (context) => setting(context, 'auth.identity_token_file') !== undefined,
  read: async (context) => {
    const path = setting(context, 'auth.identity_token_file') ?? '';
    const text = await context.host.files.read(path).catch(() => undefined);
    if (text === undefined)
      throw noToken(`${path} cannot be read`, [
        'OPSCTL_IDENTITY_TOKEN_FILE=PATH names a file with the token',
      ]);
    return text;
  },
};
const commandLimitMs = 30_000;
const fromCommand: Source = {
  name: 'OPSCTL_IDENTITY_TOKEN_COMMAND',
  isThere: (context) => setting(context, 'auth.identity_token_command') !== undefined,
  read: async (context) => {
    const command = setting(context, 'auth.identity_token_command') ?? '';
    const ended = await context.host.processes.run(...trustCall(['/bin/sh', '-c', command]), {
      timeoutMs: commandLimitMs,
      signal: context.signal,
    });
    if (ended.code === 0 && ended.stdout.trim() !== '') return ended.stdout;
    const why =
      ended.timedOut === true
        ? `the command did not end within ${commandLimitMs / 1000} s`
        : `the command ended with ${ended.code ?? ended.signal} (${safeText(ended.stderr, 200) || 'no message'})`;
    throw noToken(why, ['check OPSCTL_IDENTITY_TOKEN_COMMAND: it prints the token on standard output']);
  },
};
const permission = 'add to the job: permissions: { id-token: write, contents: read }';
/** GitHub Actions: a job with the permission may ask for a token with an audience of its choice. */
const fromGithub: Source = {
  name: 'GitHub Actions',
  isThere: ({ host }) =>
    host.env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined &&
    host.env.ACTIONS_ID_TOKEN_REQUEST_TOKEN !== undefined,
  read: async (context, { audience }) => {
    const { ACTIONS_ID_TOKEN_REQUEST_URL: base = '', ACTIONS_ID_TOKEN_REQUEST_TOKEN: bearer = '' } =
      context.host.env;
    refuseLongSecret('config', 'ACTIONS_ID_TOKEN_REQUEST_TOKEN', bearer);
    context.log.hide(bearer);
    const url = parseUrl(base);
    if (url === undefined) throw noToken('ACTIONS_ID_TOKEN_REQUEST_URL is no address', [permission]);
    if (audience !== undefined) url.searchParams.set('audience', audience);
    const request = {
      method: 'GET',
      url: url.href,
      headers: { authorization: `bearer ${bearer}`, accept: 'application/json' },
      maxReplyBytes: 256 * 1024,
      timeoutMs: 15_000,
    };
    const response = await sendWithRetry(context, 'identity token of GitHub Actions', request);
    const value = valueIn(response.text);
    if (response.status === 200 && value !== undefined) return value;
    const isOutage = response.status === 429 || response.status >= 500;
    throw noToken(`GitHub Actions returned HTTP ${response.status}`, [
      isOutage ? 'run the job again: the service of GitHub failed three times' : permission,
    ]);
  },
};
const valueIn = (text: string): string | undefined => {
  try {
    const body = JSON.parse(text) as { value?: unknown };
    const { value } = body;
    return typeof value === 'string' && ambiguityIn(text, body) === undefined ? value : undefined;
  } catch {
    return undefined;
  }
};
const sources: readonly Source[] = [fromSetting, fromFile, fromCommand, fromGithub];
/** What to change where there is no identity token; by the CI that this is. */
const identityHints = ({ host }: Pick<AuthContext, 'host'>): readonly string[] => {
  if (host.env.GITHUB_ACTIONS !== undefined) return [permission];
  if (host.env.GITLAB_CI !== undefined)
    return ['add to the job: id_tokens: { OPSCTL_IDENTITY_TOKEN: { aud: AUDIENCE } }'];
  return ['set OPSCTL_IDENTITY_TOKEN, OPSCTL_IDENTITY_TOKEN_FILE or OPSCTL_IDENTITY_TOKEN_COMMAND'];
};
/** Distinguishes CI jobs without a request; undefined if only the token identifies the job. */
export const jobFingerprint = async (context: AuthContext): Promise<string | undefined> => {
  const source = sources.find((each) => each.isThere(context));
  if (source === undefined || source === fromCommand) return undefined;
  if (source === fromGithub) return context.host.env.ACTIONS_ID_TOKEN_REQUEST_TOKEN;
  return source.read(context, { audience: undefined }).catch(() => undefined);
};
export const identityToken = async (context: AuthContext, settings: IdentitySettings): Promise<string> => {
  const source = sources.find((each) => each.isThere(context));
  if (source === undefined) throw noToken('no identity token is configured here', identityHints(context));
  context.log.debug(`identity token from ${source.name}`);
  const token = (await source.read(context, settings)).trim();
  refuseLongSecret('config', `the identity token of ${source.name}`, token);
  context.log.hide(token);
  if (settings.isOpaque !== true && !/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token))
    throw noToken(`${source.name} gave something that is not a JWT`, [
      ...identityHints(context),
      'OPSCTL_SUBJECT_TOKEN_TYPE=access_token, if the token has another form',
    ]);
  if (token === '') throw noToken(`${source.name} is empty`, identityHints(context));
  return token;
};

/** No user can open a browser here: a CI job, or a program without a terminal. */
const isUnattended = ({ host }: Pick<AuthContext, 'host'>): boolean =>
  Boolean(host.env.CI) || !(host.terminal.stdin.isTty && host.terminal.stderr.isTty);
/** The sign-in methods that would work here, the one without a stored secret first. */
export const machineHints = (context: Pick<AuthContext, 'host'>): readonly string[] => {
  const { env } = context.host;
  const exchange = 'OPSCTL_AUTH_METHOD=token-exchange (exchanges the identity token of this CI job)';
  const hasIdentity =
    env.ACTIONS_ID_TOKEN_REQUEST_URL !== undefined || env.OPSCTL_IDENTITY_TOKEN !== undefined;
  const isCi = env.GITHUB_ACTIONS !== undefined || env.GITLAB_CI !== undefined;
  return [
    ...(hasIdentity ? [exchange] : isCi ? [`${exchange}; ${identityHints(context)[0]}`] : []),
    'OPSCTL_SERVICE_ACCOUNT_KEY=PATH (a service account signs in with its key file)',
    'OPSCTL_ACCESS_TOKEN=TOKEN',
    'opsctl login --start, and --finish where a person has a browser',
  ];
};
/** The embedded server lets a program without a browser or a terminal sign in, so there the usual line works. */
const isEmbedded = ({ settings }: Pick<AuthContext, 'settings'>): boolean =>
  ['auth.url', 'auth.issuer', 'auth.token_url', 'mock'].every((key) => settings.get(key) === undefined);
/** A hint that needs a person at a browser. */
const needsPerson = (hint: Advice): boolean =>
  /^opsctl login(?!.*--(?:method (?:service|client|token)|start))/.test(hint.toString());
/** The hints of an error without a user at a browser; undefined if the hints are usable unchanged. */
const unattendedHints = (
  context: Pick<AuthContext, 'host' | 'settings'>,
  { detail }: AppError,
): readonly Advice[] | undefined => {
  const { tryThis = [] } = detail;
  const ways = machineHints(context);
  const fits = detail.code !== 'NOT_SIGNED_IN' && !(context.host.env.CI && tryThis.some(needsPerson));
  if (fits || tryThis.includes(ways[0] ?? '')) return undefined;
  if (isEmbedded(context)) return [...tryThis, ...ways];
  if (!context.host.env.CI) return [...ways, ...tryThis];
  const usable = tryThis.filter((hint) => !needsPerson(hint));
  // A job that has chosen its method needs the hints for that method, not the other methods.
  const isMachine = ['auth.method', 'auth.service_account_key'].some(
    (key) => context.settings.get(key) !== undefined,
  );
  return isMachine && usable.length > 0 ? usable : [...usable, ...ways];
};
/** The error of any command with the hints that a CI job can follow. `opsctl login` is the choice of the person who wrote it. */
export const adviseJob = (context: Pick<AuthContext, 'host' | 'settings'>, error: AppError): AppError => {
  const tryThis = context.host.env.CI ? unattendedHints(context, error) : undefined;
  return tryThis === undefined ? error : reword(error, { ...error.detail, tryThis });
};
/** In a CI job, no user can open a browser. The hints name the non-interactive methods instead. */
export const withMachineHints = async <T>(context: AuthContext, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError) || !isUnattended(context)) throw error;
    const tryThis = unattendedHints(context, error);
    throw tryThis === undefined
      ? error
      : new AppError(error.category, error.message, { ...error.detail, tryThis });
  }
};
