import type { Host } from '../platform/host.ts';
import { AppError } from '../core/problem.ts';
import { refuseLongSecret } from '../core/secret-size.ts';
import { directoriesOf } from './directories.ts';
import { keyNamed, keys } from './keys.ts';
import { MOCK_PROFILE, type Profiles, profileNames, readProfiles } from './profiles.ts';
import type { Setting, Settings } from './settings.ts';

type Flags = Readonly<Record<string, string | undefined>>;
type Env = Host['env'];

const PROFILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The name becomes a directory's, so that it must be nothing that leads elsewhere. */
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
  const known = keyNamed(name);
  const flag = flags[name];
  if (flag !== undefined) return { key: name, value: flag, origin: `flag --${known?.flag ?? name}` };
  // An empty variable is how a shell says "not set"; files and secrets end with a line end that nobody meant.
  const variable = known?.env === undefined ? undefined : env[known.env]?.trim();
  if (variable) return { key: name, value: variable, origin: `environment ${known?.env}` };
  const own = Object.hasOwn(stored.profiles, profile) ? stored.profiles[profile]?.[name] : undefined;
  if (own !== undefined) return { key: name, value: own.trim(), origin: `profile ${profile}` };
  return known?.fallback === undefined ? undefined : { key: name, value: known.fallback, origin: 'default' };
};

/** All settings of one run. `flags` are values by setting key (and `profile`); what is absent or undefined was not given. */
export const loadSettings = (host: Host, flags: Flags): Settings => {
  const stored = readProfiles(host);
  const profile = chooseProfile(host.env, flags, stored);
  checkProfileName(profile.name, profile.origin);
  const profiles = profileNames(stored);
  return {
    profile: { ...profile, isNew: !profiles.includes(profile.name) },
    get: (key) => find(key, host.env, flags, profile.name, stored),
    directories: directoriesOf(host, profile.name),
    profiles,
  };
};

/** A setting that is no secret of any service: named before it is sent, while `config unset` can still remove it. */
export const refuseLongSecrets = (settings: Settings): void => {
  for (const { key, secret } of keys) {
    const found = secret ? settings.get(key) : undefined;
    if (found !== undefined) refuseLongSecret('config', `${key} (${found.origin})`, found.value);
  }
};

/** Values that must never be shown, from wherever they came. */
export const secretsOf = (settings: Settings): string[] =>
  keys.flatMap(({ key, secret }) => {
    const found = secret ? settings.get(key)?.value : undefined;
    return found === undefined ? [] : [found];
  });
