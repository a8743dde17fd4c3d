import { resolve } from 'node:path';
import { AppError, usageError } from '../core/problem.ts';
import { nearest } from '../core/nearest.ts';
import { refuseWrongValue } from './check-value.ts';
import { type Key, keyNamed, keys } from './keys.ts';
import { MOCK_PROFILE, type Profiles, profileNames } from './profiles.ts';
import type { Settings } from './settings.ts';

/** Where settings of a real service go when no profile was ever named. */
const DEFAULT_PROFILE = 'default';

/** The key of that name. Throws a usage error that names the nearest one. */
export const knownKey = (name: string): Key => {
  const found = keyNamed(name);
  if (found !== undefined) return found;
  const names = keys.map(({ key }) => key);
  const close = nearest(name, names);
  throw usageError(
    `there is no setting \`${name}\`${close === undefined ? '' : `; did you mean ${close}?`}`,
    [],
    ['opsctl config list --all'],
  );
};

/** Settings that lead to a real service; the rest holds for the mock server too. */
const isOfService = ({ key }: Key): boolean =>
  key === 'access_token' || /^(tracker|labels|auth|api)\./.test(key);

/**
 * The profile that a change goes to. The built-in `mock` never leads to a real service: a named one is refused,
 * and where nobody named any, the profile `default` takes its place.
 */
export const profileToChange = ({ profile }: Settings, key: Key): string => {
  if (profile.name !== MOCK_PROFILE || !isOfService(key)) return profile.name;
  if (profile.origin === 'default') return DEFAULT_PROFILE;
  throw new AppError(
    'config',
    `the built-in profile \`${MOCK_PROFILE}\` always means the mock server; \`${key.key}\` needs another profile`,
    {
      code: 'PROFILE_BUILT_IN',
      tryThis: [`opsctl config set ${key.key} … --profile work`],
    },
  );
};

/** A file is the same one for commands that run in another directory. Pure. */
export const storedValue = ({ kind }: Key, value: string, cwd: string): string =>
  kind === 'file' && value !== '' ? resolve(cwd, value) : value;

/** The stored settings with one value set. The first real profile becomes the one that is used. Pure; throws on a wrong value. */
export const withSetting = (stored: Profiles, profile: string, key: Key, value: string): Profiles => {
  refuseWrongValue(key, value);
  const profiles = { ...stored.profiles, [profile]: { ...stored.profiles[profile], [key.key]: value } };
  const current = stored.current ?? (profile === DEFAULT_PROFILE ? DEFAULT_PROFILE : undefined);
  return { ...(current === undefined ? {} : { current }), profiles };
};

/** The stored settings without one value; an emptied profile stays, so that its name is not mistaken for the mock. Pure. */
export const withoutSetting = (stored: Profiles, profile: string, key: Key): Profiles => {
  const { [key.key]: _, ...rest } = stored.profiles[profile] ?? {};
  return { ...stored, profiles: { ...stored.profiles, [profile]: rest } };
};

/** The stored settings with another profile in use. Pure; throws for one that is not there. */
export const withCurrent = (stored: Profiles, name: string): Profiles => {
  const known = profileNames(stored);
  if (known.includes(name)) return { ...stored, current: name };
  const close = nearest(name, known);
  throw new AppError('config', `there is no profile \`${name}\`; known: ${known.join(', ')}`, {
    code: 'PROFILE_UNKNOWN',
    tryThis: [
      close === undefined
        ? `opsctl config set tracker.url https://… --profile ${name}`
        : `opsctl config use ${close}`,
    ],
  });
};
