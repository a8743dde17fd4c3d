import { isAbsolute, join, resolve } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import { type Host, type HttpRequest, withRequest } from '../platform/host.ts';
import { clientAuthentications, machineMethodNames } from '../core/shape.ts';

/** One setting. A flag beats its environment name, that the profile, that the fallback. */
export type Key = {
  readonly key: string;
  readonly env?: string;
  /** The flag that sets it, without dashes. */
  readonly flag?: string;
  readonly summary: string;
  readonly fallback?: string;
  /** Masked in every listing and refused as an argument, where other users of the machine could read it. */
  readonly secret?: true;
  /** The value may be a path instead of the secret. A path is not secret, and messages name it. */
  readonly orPath?: true;
  readonly kind?: 'url' | 'file' | 'duration' | 'header' | 'token' | 'count' | 'rate';
  /** The only values there are. */
  readonly words?: readonly string[];
};

/** spec/program#settings: every setting, its environment name and its default. `config list`, help and the README are made from it. */
export const keys: readonly Key[] = [
  {
    key: 'tracker.url',
    env: 'OPSCTL_TRACKER_URL',
    flag: 'tracker-url',
    kind: 'url',
    summary: 'Base URL of the tracker',
  },
  {
    key: 'tracker.token',
    env: 'OPSCTL_TRACKER_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Token of the tracker',
  },
  {
    key: 'tracker.token_header',
    env: 'OPSCTL_TRACKER_TOKEN_HEADER',
    kind: 'header',
    fallback: 'Tracker-Token',
    summary: 'Header that contains the tracker token',
  },
  { key: 'tracker.base_path', summary: 'Path prefix of every tracker endpoint', fallback: '/api/v3' },
  {
    key: 'tracker.planning_word',
    summary: 'Name that a real deployment uses for `planningtool` in paths and fields',
    fallback: 'planningtool',
  },
  {
    key: 'labels.url',
    env: 'OPSCTL_LABELS_URL',
    flag: 'labels-url',
    kind: 'url',
    summary: 'Base URL of the label service',
  },
  {
    key: 'labels.token',
    env: 'OPSCTL_LABELS_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Bearer token of the label service',
  },
  {
    key: 'auth.url',
    env: 'OPSCTL_AUTH_URL',
    flag: 'auth-url',
    kind: 'url',
    summary: 'Authorization endpoint',
  },
  {
    key: 'auth.token_url',
    env: 'OPSCTL_TOKEN_URL',
    flag: 'token-url',
    kind: 'url',
    summary: 'Token endpoint',
  },
  {
    key: 'auth.revoke_url',
    env: 'OPSCTL_REVOKE_URL',
    flag: 'revoke-url',
    kind: 'url',
    summary: 'Revocation endpoint',
  },
  { key: 'auth.client_id', env: 'OPSCTL_CLIENT_ID', flag: 'client-id', summary: 'OAuth client ID' },
  { key: 'auth.client_secret', env: 'OPSCTL_CLIENT_SECRET', secret: true, summary: 'OAuth client secret' },
  {
    key: 'auth.issuer',
    env: 'OPSCTL_ISSUER',
    flag: 'issuer',
    kind: 'url',
    summary: 'Issuer URL of the authorization server; its metadata lists the endpoints',
  },
  {
    key: 'auth.client_auth',
    env: 'OPSCTL_CLIENT_AUTH',
    words: clientAuthentications,
    summary: 'Client authentication: body, basic or private_key_jwt (default: from the metadata)',
  },
  {
    key: 'auth.client_key',
    env: 'OPSCTL_CLIENT_KEY',
    secret: true,
    orPath: true,
    summary: 'Private key for private_key_jwt: a PEM file or its content',
  },
  { key: 'auth.client_key_id', env: 'OPSCTL_CLIENT_KEY_ID', summary: 'Key ID of the private key' },
  {
    key: 'auth.dpop',
    env: 'OPSCTL_DPOP',
    flag: 'dpop',
    words: ['true', 'false'],
    summary: 'Bind tokens to a key (DPoP) and reject Bearer tokens: true or false (default)',
  },
  {
    key: 'auth.method',
    env: 'OPSCTL_AUTH_METHOD',
    flag: 'method',
    words: ['browser', ...machineMethodNames],
    summary: `Sign-in method: browser, ${machineMethodNames.join(', ').replace(/, (?=[^,]*$)/, ' or ')}`,
  },
  {
    key: 'auth.service_account_key',
    env: 'OPSCTL_SERVICE_ACCOUNT_KEY',
    secret: true,
    orPath: true,
    summary: 'Key file of a service account: a path, or the content as JSON or base64',
  },
  {
    key: 'auth.identity_token',
    env: 'OPSCTL_IDENTITY_TOKEN',
    secret: true,
    summary: 'Identity token of the CI job to exchange',
  },
  {
    key: 'auth.identity_token_file',
    env: 'OPSCTL_IDENTITY_TOKEN_FILE',
    kind: 'file',
    summary: 'File that contains the identity token',
  },
  {
    key: 'auth.identity_token_command',
    env: 'OPSCTL_IDENTITY_TOKEN_COMMAND',
    summary: 'Command that prints the identity token',
  },
  {
    key: 'auth.audience',
    env: 'OPSCTL_AUDIENCE',
    flag: 'audience',
    summary: 'Audience of the identity token and of the requested token',
  },
  {
    key: 'auth.subject_audience',
    env: 'OPSCTL_SUBJECT_AUDIENCE',
    summary: 'Audience of the identity token of the CI job (default: auth.audience)',
  },
  {
    key: 'auth.subject_token_type',
    env: 'OPSCTL_SUBJECT_TOKEN_TYPE',
    summary:
      'Type of the token to exchange: jwt (default), id_token, access_token, refresh_token, saml2 or a URI',
  },
  {
    key: 'auth.resource',
    env: 'OPSCTL_RESOURCE',
    summary: 'Resources of a non-interactive sign-in (RFC 8707), separated by spaces',
  },
  {
    key: 'auth.token_params',
    env: 'OPSCTL_TOKEN_PARAMS',
    summary: 'Additional fields of the token request of a non-interactive sign-in: name=value&name=value',
  },
  {
    key: 'auth.scopes',
    env: 'OPSCTL_SCOPES',
    summary: 'Scopes of a sign-in without --scope, separated by spaces',
  },
  {
    key: 'api.url',
    env: 'OPSCTL_API_URL',
    flag: 'api-url',
    kind: 'url',
    summary: 'Base URL of the data API',
  },
  {
    key: 'access_token',
    env: 'OPSCTL_ACCESS_TOKEN',
    secret: true,
    kind: 'token',
    summary: 'Access token to use instead of a sign-in',
  },
  {
    key: 'ca_file',
    env: 'OPSCTL_CA_FILE',
    kind: 'file',
    summary: 'Additional trusted CA certificate (PEM file)',
  },
  {
    key: 'timeout',
    env: 'OPSCTL_TIMEOUT',
    flag: 'timeout',
    kind: 'duration',
    fallback: '30s',
    summary: 'Request timeout',
  },
  {
    key: 'max_time',
    env: 'OPSCTL_MAX_TIME',
    flag: 'max-time',
    kind: 'duration',
    summary: 'Maximum duration of a command',
  },
  {
    key: 'kv.versions_file',
    env: 'OPSCTL_KV_VERSIONS_FILE',
    kind: 'file',
    summary: 'File with newer version data of the cluster',
  },
  {
    key: 'mock',
    env: 'OPSCTL_MOCK',
    words: ['never'],
    summary: '`never` disables the embedded mock server',
  },
  {
    key: 'rate_per_minute',
    env: 'OPSCTL_RATE_PER_MINUTE',
    kind: 'rate',
    summary: 'Requests per minute for all commands of this profile together, or `off`',
    fallback: '195',
  },
  {
    key: 'rate_store',
    env: 'OPSCTL_RATE_STORE',
    secret: true,
    summary:
      'Store in which machines with the same token share the rate limit: redis://…, rediss://… or etcd://…',
  },
  {
    key: 'rate_share',
    env: 'OPSCTL_RATE_SHARE',
    kind: 'count',
    summary: 'Number of machines that share the rate limit while the store is unreachable',
    fallback: '10',
  },
  {
    key: 'update_notice',
    env: 'OPSCTL_UPDATE_NOTICE',
    words: ['on', 'off'],
    fallback: 'off',
    summary: 'Check for a newer version once a day on a terminal: on or off',
  },
  {
    key: 'update_url',
    env: 'OPSCTL_UPDATE_URL',
    kind: 'url',
    summary: 'JSON page with the newest version, in the format of npm or GitHub (default: the npm registry)',
  },
];

export const findSettingKey = (name: string): Key | undefined => keys.find(({ key }) => key === name);

/** One setting with the place it came from: `flag --tracker-url`, `environment OPSCTL_TRACKER_URL`, `profile work`, `default`. */
export type Setting = { readonly key: string; readonly value: string; readonly origin: string };
/** What to type so that this setting no longer counts. */
export const removalOf = ({ key, origin }: Setting): string => {
  const [from, name] = origin.split(' ');
  if (from === 'environment') return `unset ${name}`;
  if (from === 'flag') return `leave ${name} out`;
  return `opsctl config unset ${key} --profile ${name}`;
};
type Directories = {
  readonly config: string;
  readonly state: string;
  readonly cache: string;
  /**
   * Runs of cluster upgrades and their locks. They do not belong to a profile, because a resume must find
   * them under any profile.
   */
  readonly clusters: string;
};
export type Settings = {
  /** `isNew`: named, but not in the configuration file. */
  readonly profile: { readonly name: string; readonly origin: string; readonly isNew?: boolean };
  /** Flag > environment > profile > default; undefined when no place sets it. */
  get(key: string): Setting | undefined;
  /** The environment variable of a setting if it is set but empty, as CI systems pass a missing secret. */
  readonly emptyVariable?: (key: string) => string | undefined;
  /** Directories of this profile's configuration, state and cache; absolute. */
  readonly directories: Directories;
  /** Names of all profiles, the built-in one among them. */
  readonly profiles: readonly string[];
};

const MASK = '***';
const showSetting = (key: Key, setting: Setting | undefined): string | null =>
  setting === undefined ? null : key.secret ? MASK : setting.value;
/** The profile and each setting as a row; a secret is masked. */
export const settingRows = (
  settings: Settings,
  { all, showOrigin }: { readonly all?: boolean | undefined; readonly showOrigin?: boolean | undefined },
): unknown[] => {
  const origin = (text: string | null) => (showOrigin ? { origin: text } : {});
  const rows = keys.flatMap((key) => {
    const setting = settings.get(key.key);
    if (setting === undefined && !all) return [];
    return [
      {
        key: key.key,
        value: showSetting(key, setting),
        ...origin(setting?.origin ?? null),
        ...(all ? { environment: key.env ?? null, summary: key.summary } : {}),
      },
    ];
  });
  return [{ key: 'profile', value: settings.profile.name, ...origin(settings.profile.origin) }, ...rows];
};

type World = Pick<Host, 'env' | 'platform' | 'cwd' | 'files'>;
/** With an empty or relative HOME, files would be written to the current directory. */
export const homeOf = ({ env, files }: World): string => {
  const home = env.HOME && isAbsolute(env.HOME) ? env.HOME : files.homeDirectory();
  if (home !== undefined) return home;
  const why = env.HOME ? `${env.HOME}, not a whole path` : 'not set';
  throw new AppError('config', `this user has no home directory: HOME is ${why}`, {
    code: 'NO_HOME',
    tryThis: ['OPSCTL_HOME=DIRECTORY', 'HOME=DIRECTORY'],
  });
};
/** A path as people write it, so that a line with it fits a terminal: below the home directory it starts with `~`. */
export const shortPath = ({ env: { HOME = '' } }: Pick<Host, 'env'>, path: string): string =>
  HOME.length > 1 && path.startsWith(`${HOME}/`) ? `~${path.slice(HOME.length)}` : path;
/** spec/program#settings: OPSCTL_HOME is one directory for all three; else the XDG directories (their specification has relative values ignored). */
const roots = (host: World): Omit<Directories, 'clusters'> => {
  const { env, platform } = host;
  const own = env.OPSCTL_HOME;
  if (own) {
    const base = resolve(host.cwd, own);
    return { config: join(base, 'config'), state: join(base, 'state'), cache: join(base, 'cache') };
  }
  const place = (value: string | undefined, ...rest: string[]): string =>
    value && isAbsolute(value) ? join(value, 'opsctl') : join(homeOf(host), ...rest, 'opsctl');
  if (platform === 'win32') {
    const local = place(env.LOCALAPPDATA, 'AppData', 'Local');
    return {
      config: place(env.APPDATA, 'AppData', 'Roaming'),
      state: join(local, 'state'),
      cache: join(local, 'cache'),
    };
  }
  return {
    config: place(env.XDG_CONFIG_HOME, '.config'),
    state: place(env.XDG_STATE_HOME, '.local', 'state'),
    cache: place(env.XDG_CACHE_HOME, '.cache'),
  };
};
/** The one file with all profiles. */
export const configFile = (host: World): string => join(roots(host).config, 'config.json');
/** A profile's own directories below the common ones: sign-ins and caches of two profiles never meet. */
export const directoriesOf = (host: World, profile: string): Directories => {
  const { config, state, cache } = roots(host);
  return {
    config: childPath(config, pathPart(profile)),
    state: childPath(state, pathPart(profile)),
    cache: childPath(cache, pathPart(profile)),
    clusters: join(state, 'kv-clusters'),
  };
};

const readAuthorities = (host: Host, setting: Setting): string => {
  const path = resolve(host.cwd, setting.value);
  const text = host.files.readNow(path);
  if (text?.includes('-----BEGIN CERTIFICATE-----')) return text;
  const why =
    text === undefined ? 'does not exist' : 'holds no certificate in PEM form (-----BEGIN CERTIFICATE-----)';
  throw new AppError('config', `\`ca_file\` (${setting.origin}): ${path} ${why}`, {
    code: 'CA_FILE',
    tryThis: [removalOf(setting)],
  });
};
/**
 * Returns the same host, which trusts the authorities of `ca_file` in addition to the default ones unless a
 * request names its own.
 */
export const withCaFile = (host: Host, settings: Settings): Host => {
  const setting = settings.get('ca_file');
  if (setting === undefined) return host;
  const extraCa = readAuthorities(host, setting);
  const request = (given: HttpRequest) =>
    host.network.request(given.tls?.ca === undefined ? { ...given, tls: { ...given.tls, extraCa } } : given);
  return withRequest(host, request);
};
