import { basename, dirname, resolve } from 'node:path';
import { AppError, problem, type Problem, usageError } from '../core/problem.ts';
import { randomShare } from '../core/shape.ts';
import { nearest } from '../core/text.ts';
import {
  type Holder,
  type LockSnapshot,
  thisProcess,
  type Try,
  tryLock,
  unlock,
  waitFor,
  waitForLock,
} from '../platform/file-lock.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import type { ConfStore, Host } from '../platform/host.ts';
import { describeProcess, waysPast } from '../platform/process-identity.ts';
import { type Key, findSettingKey, keys, configFile, type Settings } from './settings.ts';
import { MOCK_PROFILE, profileNames, type Profiles, readProfiles, refusePlantedDirectories } from './load.ts';
import { faultOf } from './resolve-target.ts';

const patienceMs = 15_000;
/** What conf refuses. */
const schema = {
  current: { type: 'string' },
  profiles: {
    type: 'object',
    additionalProperties: { type: 'object', additionalProperties: { type: 'string' } },
  },
} as const;
/** The names of the private directories of `write`: `.config.json.PID.RANDOM.conf`. */
const privateDirectory = /^\.config\.json\.\d+\.[0-9a-f]{16}\.conf$/;
const PRIVATE_MODE = 0o700;
/**
 * Removes the private directories of commands that were killed. The owner of the lock is the only user of such a
 * directory. A file, a directory of another user and a directory with another mode are never removed.
 */
const removeLeftDirectories = async ({ files, uid }: Host, directory: string): Promise<void> => {
  const names = await files.list(directory).catch(() => []);
  for (const name of names.filter((one) => privateDirectory.test(one))) {
    const path = childPath(directory, pathPart(name));
    const info = await files.info(path);
    if (info?.kind === 'directory' && info.uid === uid && (info.mode & 0o777) === PRIVATE_MODE)
      await files.remove(path);
  }
};
/**
 * Old or new text, never a part of one, and on the disk before it is acknowledged; only its owner can read it: profiles
 * hold tokens. conf does not notice a short write on a full disk and does not sync the directory, so it stores in a
 * private directory, and `Files.replace` writes the text to its place (docs/decisions/0034).
 */
const write = async (host: Host, storeWithConf: ConfStore, file: string, next: Profiles): Promise<void> => {
  const { files } = host;
  const directory = dirname(file);
  await removeLeftDirectories(host, directory);
  const random = Buffer.from(host.random(8)).toString('hex');
  const own = childPath(directory, pathPart(`.${basename(file)}.${host.pid}.${random}.conf`));
  await files.makeDirectory(own, PRIVATE_MODE);
  let text: string;
  try {
    text = storeWithConf(own, schema, { ...next });
  } finally {
    await files.remove(own);
  }
  await files.replace(file, text, 0o600);
};
/** Its owner may still be at work: opsctl never removes the lock of a process that it cannot check. */
const lockedBy = (host: Host, path: string, by: Holder | undefined): AppError => {
  const who = by === undefined ? 'another command' : describeProcess(host, by);
  return new AppError('config', `${who} holds ${path}`, {
    code: 'CONFIG_LOCKED',
    tryThis: waysPast(host, by, path),
  });
};
/** Two concurrent commands that change settings must not lose a change. */
const withLock = async <T>(host: Host, path: string, act: () => Promise<T>): Promise<T> => {
  const me = thisProcess(host);
  let by: Holder | undefined;
  let file = path;
  const attempt = async (): Promise<Try<true, LockSnapshot<Holder>>> => {
    const seen = await tryLock(host, path, me);
    if (seen === true) return { got: true };
    by = seen.kind === 'held' ? seen.by : undefined;
    file = (seen.kind === 'held' ? seen.claim : undefined) ?? path;
    return { busy: seen };
  };
  await waitForLock(host, attempt, {
    waitMs: (seen) => waitFor(host, patienceMs, seen.kind === 'held' ? seen.by : undefined),
    holder: (seen) => (seen.kind === 'held' ? seen.by?.nonce : undefined),
    pauseMs: () => 20 + 32 * randomShare(host),
    timeoutError: () => lockedBy(host, file, by),
  });
  try {
    return await act();
  } finally {
    await unlock(host, path, me);
  }
};
/** Performs a change of the files next to the configuration (settings, aliases, extensions) while no other command changes one. */
export const withConfigLock = async <T>(host: Host, act: () => Promise<T>): Promise<T> => {
  const file = configFile(host);
  await refusePlantedDirectories(host);
  await host.files.makeDirectory(dirname(file), 0o700);
  return withLock(host, `${file}.lock`, act);
};
/** Reads, changes and writes the configuration file. */
export const changeProfiles = async (host: Host, change: (stored: Profiles) => Profiles): Promise<void> => {
  // Loading takes longer than the change, and other commands that change settings would wait for it.
  const storeWithConf = await host.loadConf();
  await withConfigLock(host, () => write(host, storeWithConf, configFile(host), change(readProfiles(host))));
};

/**
 * An invalid value on the command line is an invalid argument. Secrets are rejected in another function and
 * never repeated. Pure; throws a usage error.
 */
const refuseWrongValue = (key: Key, value: string): void => {
  const fault = faultOf(key, value);
  if (fault === undefined) return;
  const { why, tryThis, code } = fault;
  throw new AppError('usage', `${key.key} ${why}`, {
    ...(code === undefined ? {} : { code }),
    problems: [problem(key.key, 'format', why)],
    tryThis: [tryThis],
  });
};

/** Where settings of a real service go when no profile was ever named. */
const DEFAULT_PROFILE = 'default';
/** The key of that name. Throws a usage error that names the nearest one. */
export const knownKey = (name: string): Key => {
  const found = findSettingKey(name);
  if (found !== undefined) return found;
  // `tracker.token=SECRET`: no message repeats a value.
  const [plain = name] = name.split(/[=:\s]/);
  const meant = plain === name ? undefined : findSettingKey(plain);
  if (meant !== undefined)
    throw usageError(
      `the argument KEY must contain only the name of a setting: ${meant.key}`,
      [],
      [
        `opsctl config get ${meant.key}`,
        `opsctl config set ${meant.key} ${meant.secret === true ? '--stdin' : 'VALUE'}`,
      ],
    );
  const close = nearest(
    plain,
    keys.map(({ key }) => key),
  );
  throw usageError(
    `setting not found: ${JSON.stringify(plain)}${close === undefined ? '' : `; did you mean ${close}?`}`,
    [],
    ['opsctl config list --all'],
  );
};
/** Settings that lead to a real service; the rest holds for the mock server too. */
const isOfService = ({ key }: Key): boolean =>
  key === 'access_token' || /^(tracker|labels|auth|api)\./.test(key);
/**
 * Returns the profile to change. The built-in `mock` profile never leads to a real service: if it was named,
 * it is rejected. If no profile was named, `default` is used instead.
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
/** Returns the stored settings with another default profile. Pure; throws if the profile does not exist. */
export const withCurrent = (stored: Profiles, name: string): Profiles => {
  const known = profileNames(stored);
  if (known.includes(name)) return { ...stored, current: name };
  const close = nearest(name, known);
  throw new AppError('config', `profile not found: ${JSON.stringify(name)}; profiles: ${known.join(', ')}`, {
    code: 'PROFILE_UNKNOWN',
    tryThis: [
      close === undefined
        ? `opsctl config set tracker.url https://… --profile ${name}`
        : `opsctl config use ${close}`,
    ],
  });
};

type Given = {
  readonly key: string;
  readonly value?: string | undefined;
  readonly stdin?: boolean | undefined;
};
/** A secret on the command line could be read by every user of the machine, and stays in the shell's history. */
export const secretProblems = (values: Given): Problem[] => {
  if (values.stdin && values.value !== undefined)
    return [problem('<value>', 'exclusive', 'cannot be given together with --stdin')];
  const key = keys.find((one) => one.key === values.key);
  if (values.value !== undefined && key?.secret)
    return [
      problem(
        '<value>',
        'rule',
        `of ${key.key} is a secret and is not accepted on the command line`,
        'use --stdin',
      ),
    ];
  return [];
};
