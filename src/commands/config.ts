import { refuseLongSecret } from '../core/secret-size.ts';
import { changeProfiles } from '../config/store.ts';
import { knownKey, profileToChange, withCurrent, withSetting, withoutSetting } from '../config/edit.ts';
import { configFile } from '../config/directories.ts';
import { type Key, keys } from '../config/keys.ts';
import { readProfiles } from '../config/profiles.ts';
import type { Setting, Settings } from '../config/settings.ts';
import { bool, str } from '../core/field.ts';
import { AppError, type Problem, problem, usageError } from '../core/problem.ts';
import { nothing, rawResult, rowsResult } from '../core/result.ts';
import {
  defineCommand,
  type Argument,
  type Command,
  type Context,
  type Flags,
  type ValuesOf,
} from '../cli/command.ts';
import { firstLine } from '../cli/standard-input.ts';

const MASK = '***';
const keyArgument = {
  name: 'key',
  field: str(),
  summary: 'Name of the setting, like tracker.url',
  complete: 'setting',
} as const satisfies Argument;

const shown = (key: Key, setting: Setting | undefined): string | null =>
  setting === undefined ? null : key.secret ? MASK : setting.value;

const listFlags = {
  'show-origin': { field: bool(), summary: 'Say where each value comes from' },
  all: { field: bool(), summary: 'Settings that are not set too, with their environment names' },
} as const satisfies Flags;

const listed = (
  settings: Settings,
  { all, 'show-origin': showOrigin }: ValuesOf<typeof listFlags>,
): unknown[] => {
  const origin = (text: string | null) => (showOrigin ? { origin: text } : {});
  const rows = keys.flatMap((key) => {
    const setting = settings.get(key.key);
    if (setting === undefined && !all) return [];
    return [
      {
        key: key.key,
        value: shown(key, setting),
        ...origin(setting?.origin ?? null),
        ...(all ? { environment: key.env ?? null, summary: key.summary } : {}),
      },
    ];
  });
  return [{ key: 'profile', value: settings.profile.name, ...origin(settings.profile.origin) }, ...rows];
};

const list = defineCommand({
  path: ['config', 'list'],
  summary: 'Settings that are in force, secrets masked',
  about: 'A flag beats an environment variable, that the profile, that the default.',
  flags: listFlags,
  examples: [{ line: 'opsctl config list --show-origin', says: 'Where each setting comes from' }],
  run: async ({ settings }, values) => rowsResult(listed(settings, values), { name: 'key' }),
});

const get = defineCommand({
  path: ['config', 'get'],
  summary: 'The value of one setting',
  args: [keyArgument],
  flags: { reveal: { field: bool(), summary: 'Print a secret, too' } },
  examples: [{ line: 'opsctl config get tracker.url', says: 'One value, ready for a script' }],
  async run({ settings }, values) {
    const key = knownKey(values.key);
    const setting = settings.get(key.key);
    if (setting === undefined) {
      throw new AppError('not-found', `${key.key} is not set`, {
        code: 'NOT_SET',
        tryThis: [`opsctl config set ${key.key} ${key.secret ? '--stdin' : '…'}`],
      });
    }
    if (key.secret && !values.reveal)
      throw usageError(
        `${key.key} is a secret; it is printed only with --reveal`,
        [],
        [`opsctl config get ${key.key} --reveal`],
      );
    return rawResult(`${setting.value}\n`);
  },
});

const setArgs = [
  keyArgument,
  { name: 'value', field: str(), summary: 'Its value; secrets only by --stdin', optional: true },
] as const satisfies readonly Argument[];
const setFlags = { stdin: { field: bool(), summary: 'Read the value from stdin' } } as const satisfies Flags;
type SetValues = ValuesOf<typeof setFlags, typeof setArgs>;

/** A secret on the command line could be read by every user of the machine, and stays in the shell's history. */
const secretProblems = (values: SetValues): Problem[] => {
  if (values.stdin && values.value !== undefined)
    return [problem('<value>', 'exclusive', 'cannot be given together with --stdin')];
  const key = keys.find((one) => one.key === values.key);
  if (values.value !== undefined && key?.secret)
    return [
      problem(
        '<value>',
        'rule',
        `of ${key.key} is a secret and is not taken from the command line`,
        'use --stdin',
      ),
    ];
  return [];
};

const readValue = async ({ host, isInteractive }: Context, key: Key, values: SetValues): Promise<string> => {
  if (values.value !== undefined) return values.value;
  if (!values.stdin && isInteractive)
    return host.terminal.prompts.text(`${key.key}:`, { secret: key.secret === true });
  if (!values.stdin)
    throw usageError(
      `${key.key}: no value is given`,
      [],
      [`opsctl config set ${key.key} ${key.secret ? '--stdin' : 'VALUE'}`],
    );
  const line = await firstLine(host);
  if (line !== undefined) return line.trim();
  throw usageError(
    `${key.key}: stdin is empty`,
    [],
    [`printf %s "$VALUE" | opsctl config set ${key.key} --stdin`],
  );
};

const set = defineCommand({
  path: ['config', 'set'],
  noDryRun: 'opsctl config list --show-origin shows what is set',
  summary: 'Store a setting in a profile',
  about:
    'Without --profile the profile in use is changed. The built-in profile `mock` always means the embedded mock server: where no profile was ever named, URLs and tokens go to the profile `default`, which is then in use.',
  args: setArgs,
  flags: setFlags,
  examples: [
    {
      line: 'opsctl config set tracker.url https://tracker.example.com --profile work',
      says: 'A profile of your own',
    },
    {
      line: 'printf %s "$TOKEN" | opsctl config set tracker.token --stdin --profile work',
      says: 'A secret, out of sight of other users',
    },
  ],
  check: secretProblems,
  async run(context, values) {
    const key = knownKey(values.key);
    const profile = profileToChange(context.settings, key);
    const value = await readValue(context, key, values);
    if (key.secret) {
      context.log.hide(value);
      refuseLongSecret('usage', key.key, value);
    }
    await changeProfiles(context.host, (stored) => withSetting(stored, profile, key, value));
    return nothing(`${key.key} is set in profile ${profile}`);
  },
});

const unset = defineCommand({
  path: ['config', 'unset'],
  noDryRun: 'opsctl config list --show-origin shows what is set',
  summary: 'Remove a setting from a profile',
  args: [keyArgument],
  examples: [{ line: 'opsctl config unset tracker.token --profile work', says: 'Forget a stored token' }],
  async run({ host, settings }, values) {
    const key = knownKey(values.key);
    const { name } = settings.profile;
    if (readProfiles(host).profiles[name]?.[key.key] === undefined)
      return nothing(`${key.key} was not set in profile ${name}`);
    await changeProfiles(host, (stored) => withoutSetting(stored, name, key));
    return nothing(`${key.key} is no longer set in profile ${name}`);
  },
});

const path = defineCommand({
  path: ['config', 'path'],
  summary: 'The file with the profiles',
  examples: [{ line: 'opsctl config path', says: 'Where profiles are stored' }],
  run: async ({ host }) => rawResult(`${configFile(host)}\n`),
});

const profiles = defineCommand({
  path: ['config', 'profiles'],
  summary: 'All profiles, and which is in use',
  examples: [{ line: 'opsctl config profiles', says: 'All profiles' }],
  async run({ host, settings }) {
    const stored = readProfiles(host).profiles;
    const rows = settings.profiles.map((name) => ({
      name,
      in_use: name === settings.profile.name,
      settings: Object.keys(stored[name] ?? {}).length,
    }));
    return rowsResult(rows, { name: 'name' });
  },
});

const use = defineCommand({
  path: ['config', 'use'],
  noDryRun: 'opsctl config profiles shows the profiles',
  summary: 'Use a profile from now on',
  args: [
    {
      name: 'profile',
      field: str(),
      summary: 'Its name; `mock` is the embedded mock server',
      complete: 'profile',
    },
  ],
  examples: [{ line: 'opsctl config use work', says: 'Commands without --profile use it' }],
  async run({ host }, values) {
    await changeProfiles(host, (stored) => withCurrent(stored, values.profile));
    return nothing(`profile ${values.profile} is in use`);
  },
});

export const commands: readonly Command[] = [list, get, set, unset, path, profiles, use];
