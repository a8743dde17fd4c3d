import { isAbsolute, join, resolve } from 'node:path';
import { childPath, pathPart } from '../core/file-name.ts';
import { AppError } from '../core/problem.ts';
import { type Host, type HttpRequest, withRequest } from '../platform/host.ts';
import { type Key, keys } from './keys.ts';

/** One setting with the place it came from: `flag --tracker-url`, `environment OPSCTL_TRACKER_URL`, `profile work`, `default`. */
export type Setting = { readonly key: string; readonly value: string; readonly origin: string };
/** What to type so that this setting no longer counts. */
export const removalOf = ({ key, origin }: Setting): string => {
  const [from, name] = origin.split(' ');
  if (from === 'environment') return `unset ${name}`;
  if (from === 'flag') return `leave ${name} out`;
  return `opsctl config unset ${key} --profile ${name}`;
};
export type Directories = {
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
