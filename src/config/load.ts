import { readJsonText } from '../core/json.ts';
import { similar } from '../core/text.ts';
import type { JsonFault } from '../core/json-scan.ts';
import { dirname } from 'node:path';
import { pathParts } from '../core/file-name.ts';
import { isKeyContent, refuseLongSecret } from '../core/field.ts';
import { type Page, prose, terms } from '../core/result.ts';
import { AppError, problem } from '../core/problem.ts';
import { isSecretName, passwordOfProxy, secretsInForm, secretsInUrl } from '../core/redact-secrets.ts';
import { isRecord } from '../core/shape.ts';
import type { Host } from '../platform/host.ts';
import {
  findSettingKey,
  type Key,
  keys,
  configFile,
  directoriesOf,
  type Setting,
  type Settings,
} from './settings.ts';

/** The configuration file: profiles by name, each a flat map of keys, and the default profile. */
export type Profiles = {
  readonly current?: string;
  readonly profiles: Readonly<Record<string, Readonly<Record<string, string>>>>;
};
export const MOCK_PROFILE = 'mock';
const makeBrokenFileError = (file: string, why: string): AppError =>
  new AppError('config', `${file} cannot be used: ${why}`, {
    code: 'CONFIG_FILE',
    tryThis: [`fix it, or move it away: mv ${file} ${file}.old`],
  });
const makeJsonError =
  (file: string) =>
  ({ line, column, what, hint, isJson }: JsonFault): AppError => {
    const place = `line ${line}, column ${column}: ${what}`;
    const { message, detail } = makeBrokenFileError(file, isJson ? place : `it is not JSON (${place})`);
    const problems = [{ ...problem('', 'format', what, hint), file, line, column }];
    return new AppError('config', message, { ...detail, problems });
  };
/** Checks for mistakes of manual edits and reports their position. Pure. */
export const parseProfiles = (text: string, file: string): Profiles => {
  if (text.trim() === '') return { profiles: {} };
  const value = readJsonText(text, makeJsonError(file));
  if (!isRecord(value)) throw makeBrokenFileError(file, 'it must hold one JSON object');
  const { current, profiles = {} } = value;
  if (current !== undefined && typeof current !== 'string')
    throw makeBrokenFileError(file, '`current` must be text');
  if (!isRecord(profiles)) throw makeBrokenFileError(file, '`profiles` must be an object');
  for (const [name, settings] of Object.entries(profiles)) {
    if (!isRecord(settings) || !Object.values(settings).every((one) => typeof one === 'string')) {
      throw makeBrokenFileError(file, `profile \`${name}\` must be an object whose values are text`);
    }
  }
  return { ...(current === undefined ? {} : { current }), profiles: profiles as Profiles['profiles'] };
};
/** Plain and synchronous, because every command runs this and `conf` takes 100 ms to load. */
export const readProfiles = (host: Host): Profiles => {
  const file = configFile(host);
  const text = host.files.readNow(file);
  return text === undefined ? { profiles: {} } : parseProfiles(text, file);
};
/** As with git, root trusts the user who ran sudo. The owner of the root directory can replace everything. */
const trustedOwners = async ({ files, env, uid }: Host): Promise<readonly number[]> => {
  const caller = uid === 0 ? Number(env['SUDO_UID'] ?? 0) : 0;
  return [0, uid, caller, (await files.info('/'))?.uid ?? 0];
};
type PlantedDirectory = { readonly path: string; readonly parent: string; readonly uid: number };
/**
 * The first directory or link of another user on the way to a directory of opsctl, if every user could create it there. Whoever did
 * can replace the settings and the records of changes, also those in directories that opsctl creates later. A mounted directory of
 * another user has a parent that only root can write to.
 */
const findPlantedDirectory = async (
  { files }: Host,
  directory: string,
  owners: readonly number[],
  exceptions: readonly string[],
): Promise<PlantedDirectory | undefined> => {
  for await (const [path, { uid }] of pathParts(files, directory)) {
    if (path === '/' || owners.includes(uid) || exceptions.includes(path)) continue;
    const parent = dirname(path);
    if ((((await files.info(parent))?.mode ?? 0) & 0o002) !== 0) return { path, parent, uid };
  }
  return undefined;
};
const TRUSTED_DIRECTORIES = 'OPSCTL_TRUSTED_DIRECTORIES';
/** Refuses directories for settings and records that another user created in a directory in which every user can create files. */
export const refusePlantedDirectories = async (host: Host, trusted?: readonly number[]): Promise<void> => {
  if (host.platform === 'win32') return;
  const owners = trusted ?? (await trustedOwners(host));
  const exceptions = (host.env[TRUSTED_DIRECTORIES] ?? '').split(':').map((path) => path.replace(/\/$/, ''));
  const state = dirname(directoriesOf(host, MOCK_PROFILE).clusters);
  for (const directory of new Set([dirname(configFile(host)), state])) {
    const planted = await findPlantedDirectory(host, directory, owners, exceptions);
    if (planted === undefined) continue;
    const { path, parent, uid } = planted;
    const { userText } = await import('../platform/trust.ts');
    const owner = userText(host, uid);
    throw new AppError(
      'config',
      `refused to use ${path}: it belongs to ${owner}, and every user can create files in ${parent}`,
      {
        code: 'CONFIG_UNTRUSTED',
        tryThis: [
          'OPSCTL_HOME=DIRECTORY that only you can write to',
          `${TRUSTED_DIRECTORIES}=${path} if you trust its owner, ${owner}, with your settings and tokens`,
        ],
      },
    );
  }
};
/**
 * Refuses a configuration file that another user could have written: it selects the servers that receive tokens. As with git, root
 * accepts the files of the user who ran sudo; the owner of its directory could replace the file anyway.
 */
export const refuseForeignConfiguration = async (host: Host): Promise<void> => {
  const { files } = host;
  if (host.platform === 'win32') return;
  const trusted = await trustedOwners(host);
  await refusePlantedDirectories(host, trusted);
  const file = await files.realPath(configFile(host));
  const info = file === undefined ? undefined : await files.info(file);
  if (file === undefined || info === undefined) return;
  const owners = [...trusted, (await files.info(dirname(file)))?.uid];
  const isForeign = !owners.includes(info.uid);
  if (!isForeign && (info.mode & 0o002) === 0) return;
  const { shellLine } = await import('../core/shell.ts');
  const reason = isForeign ? 'it belongs to another user' : 'every user can write to it';
  const mode = (info.mode & 0o7777).toString(8).padStart(4, '0');
  const fix = isForeign ? ['chown', String(host.uid), file] : ['chmod', 'o-w', file];
  throw new AppError(
    'config',
    `${file} is refused as configuration: ${reason} (uid ${info.uid}, mode ${mode})`,
    {
      code: 'CONFIG_UNTRUSTED',
      tryThis: ['opsctl config list --show-origin', shellLine(fix)],
    },
  );
};
export const profileNames = (profiles: Profiles): string[] =>
  [...new Set([MOCK_PROFILE, ...Object.keys(profiles.profiles)])].sort();

type Flags = Readonly<Record<string, string | undefined>>;
type Env = Host['env'];
const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** The name becomes part of a directory name, so it must not lead to another directory. */
const checkProfileName = (name: string, origin: string): void => {
  if (PROFILE_NAME.test(name)) return;
  const shape =
    'must be 1 to 64 letters, digits, dots, dashes or underscores, and start with a letter or digit';
  throw new AppError('config', `the profile name ${JSON.stringify(name)} (${origin}) ${shape}`, {
    code: 'PROFILE_NAME',
  });
};
const chooseProfile = (env: Env, flags: Flags, stored: Profiles): Settings['profile'] => {
  if (flags.profile !== undefined) return { name: flags.profile, origin: 'flag --profile' };
  if (env.OPSCTL_PROFILE) return { name: env.OPSCTL_PROFILE, origin: 'environment OPSCTL_PROFILE' };
  if (stored.current !== undefined) return { name: stored.current, origin: 'opsctl config use' };
  return { name: MOCK_PROFILE, origin: 'default' };
};
const find = (
  name: string,
  env: Env,
  flags: Flags,
  profile: string,
  stored: Profiles,
): Setting | undefined => {
  const known = findSettingKey(name);
  const flag = flags[name];
  if (flag !== undefined) return { key: name, value: flag, origin: `flag --${known?.flag ?? name}` };
  // In a shell, an empty variable means "not set". Files and secrets often end with an unintended line end.
  const variable = known?.env === undefined ? undefined : env[known.env]?.trim();
  if (variable) return { key: name, value: variable, origin: `environment ${known?.env}` };
  const own = Object.hasOwn(stored.profiles, profile) ? stored.profiles[profile]?.[name] : undefined;
  if (own !== undefined) return { key: name, value: own.trim(), origin: `profile ${profile}` };
  return known?.fallback === undefined ? undefined : { key: name, value: known.fallback, origin: 'default' };
};
/**
 * All settings of one run. `flags` are values by setting key (and `profile`); absent and undefined values are
 * not set.
 */
export const loadSettings = (host: Host, flags: Flags): Settings => {
  const stored = readProfiles(host);
  const profile = chooseProfile(host.env, flags, stored);
  checkProfileName(profile.name, profile.origin);
  const profiles = profileNames(stored);
  return {
    profile: { ...profile, isNew: !profiles.includes(profile.name) },
    get: (key) => find(key, host.env, flags, profile.name, stored),
    emptyVariable: (key) => {
      const variable = key === 'profile' ? 'OPSCTL_PROFILE' : findSettingKey(key)?.env;
      const isFlag = flags[key] !== undefined;
      return variable !== undefined && !isFlag && host.env[variable]?.trim() === '' ? variable : undefined;
    },
    directories: directoriesOf(host, profile.name),
    profiles,
  };
};
/**
 * A setting that does not belong to any service. It is named before it is sent, and `config unset` can still
 * remove it.
 */
export const refuseLongSecrets = (settings: Settings): void => {
  for (const { key, secret } of keys) {
    const found = secret ? settings.get(key) : undefined;
    if (found !== undefined) refuseLongSecret('config', `${key} (${found.origin})`, found.value);
  }
};
const VARIABLE_PREFIX = 'OPSCTL_';
/** The secrets of one setting: its value, or what an address or the fields of a request contain. */
export const secretsInSetting = ({ secret, orPath }: Key, value: string): string[] => {
  const whole = secret && (!orPath || isKeyContent(value)) ? [value] : [];
  return [...whole, ...secretsInUrl(value), ...secretsInForm(value)];
};
const proxyVariable = /^(https?|all)_proxy$/i;
/** Their values are settings, and `secretsInSetting` knows which of them are paths. */
const settingVariables: ReadonlySet<string> = new Set(
  keys.flatMap(({ env }) => (env === undefined ? [] : [env])),
);
/** Variables of this program with the name of a secret, and the passwords of proxies. */
const secretsInEnvironment = (env: Host['env']): string[] =>
  Object.entries(env).flatMap(([name, value = '']) => {
    if (proxyVariable.test(name)) return passwordOfProxy(value.includes('://') ? value : `http://${value}`);
    return name.startsWith(VARIABLE_PREFIX) && !settingVariables.has(name) && isSecretName(name)
      ? [value.trim()]
      : [];
  });
/** Values that must never be shown, from any source. */
export const secretsOf = (settings: Settings, env: Host['env']): string[] => [
  ...keys.flatMap((key) => {
    const found = settings.get(key.key)?.value;
    return found === undefined ? [] : secretsInSetting(key, found);
  }),
  ...secretsInEnvironment(env),
];

const others: readonly (readonly [string, string])[] = [
  ['OPSCTL_PROFILE', 'Profile to use'],
  ['OPSCTL_HOME', 'One directory for configuration, state and cache; else the XDG directories'],
  [TRUSTED_DIRECTORIES, 'Directories of other users that opsctl may use, separated by colons'],
  ['HTTPS_PROXY, HTTP_PROXY, NO_PROXY', 'Proxies; requests to this machine never use one'],
  ['OPSCTL_PLAIN_HTTP_HOSTS', 'Hosts that may get secrets over plain HTTP, separated by commas (insecure)'],
  ['NODE_EXTRA_CA_CERTS', 'File with certificate authorities that Node trusts in addition to its own'],
  ['NODE_COMPILE_CACHE', 'Directory for compiled code of the program, instead of the cache directory'],
  ['NODE_DISABLE_COMPILE_CACHE', 'When set, compiled code of the program is neither kept nor used'],
  ['NO_COLOR, FORCE_COLOR', 'Color off, color on; --color overrides both'],
  ['CLICOLOR=0, CLICOLOR_FORCE', 'Color off on a terminal, color on without a terminal'],
  ['OPSCTL_KEYCHAIN', '`never` keeps credentials in an encrypted file instead of the system keychain'],
  ['OPSCTL_KV_CLUSTER', 'Cluster file of the kv commands'],
  ['OPSCTL_KV_PASSWORD', "Password of the store's user, when no file is given"],
  ['OPSCTL_MOCK_URL', 'Running mock server that the mock commands talk to'],
  ['OPSCTL_WEBHOOK_SECRET', 'Secret of `tracker webhooks listen`, when no file is given'],
  ['OPSCTL_PAGER, PAGER', 'Pager for long output on a terminal; empty or `cat` disables it'],
  [
    'OTEL_TRACES_EXPORTER',
    '`otlp` sends a trace of each command to a collector; `none` or unset sends nothing',
  ],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'Collector of traces (default http://localhost:4318)'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'Headers for the collector: `name=value,name=value`'],
  ['OTEL_SERVICE_NAME', 'Service name in traces (default opsctl)'],
  ['TRACEPARENT', 'Span of the caller, such as a CI job, as the parent of a trace'],
  ['LC_ALL, LC_CTYPE, LANG', 'Without UTF-8 in it, lines and ticks are drawn in ASCII'],
  ['COLUMNS', 'Width of help and tables where the output is not a terminal'],
  ['CI', 'When set, opsctl does not prompt and shows no spinner'],
  ['ACCESSIBLE', 'When set, prompts are plain lines with numbered choices, and opsctl never redraws a line'],
  ['BROWSER', 'Command that opens the sign-in page; `none` for no browser'],
];
/** Every variable that changes what the program does, with what it sets. */
export const environmentRows = (): (readonly [string, string])[] => [
  ...keys.flatMap(({ env, summary }) => (env === undefined ? [] : [[env, summary] as const])),
  ...others,
];
/** Set by opsctl for the program that `auth exec` runs, which may run opsctl. */
const variablesForPrograms = ['TOKEN_FILE'];
/**
 * Warnings for variables that opsctl does not read and whose names differ from a known one by a few letters. The
 * environment may also hold variables of extensions and scripts, so an unknown name alone is not a mistake. Pure.
 */
export const mistypedVariables = (env: Host['env']): string[] => {
  const set = Object.keys(env).filter((name) => name.startsWith(VARIABLE_PREFIX) && env[name] !== undefined);
  if (set.length === 0) return [];
  const known = environmentRows()
    .flatMap(([names]) => names.split(', '))
    .flatMap((name) => (name.startsWith(VARIABLE_PREFIX) ? [name.slice(VARIABLE_PREFIX.length)] : []));
  const ends = new Set([...known, ...variablesForPrograms]);
  return set.flatMap((name) => {
    const end = name.slice(VARIABLE_PREFIX.length);
    const close = ends.has(end) ? undefined : similar(end, [...ends], end.length < 5 ? 1 : 2);
    return close === undefined
      ? []
      : [
          `${name} has no effect: opsctl does not read this variable; did you mean ${VARIABLE_PREFIX}${close}?`,
        ];
  });
};
/** `opsctl help environment`. */
export const page = (): Page => ({
  title: 'opsctl help environment',
  summary: 'Environment variables',
  blocks: [
    prose('A flag beats a variable, a variable beats the profile, the profile beats the default.'),
    terms(environmentRows()),
  ],
});
