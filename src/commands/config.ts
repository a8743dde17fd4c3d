import { type Command, defineCommand } from '../cli/command.ts';
import { readSettingValue } from '../cli/options.ts';
import { readProfiles } from '../config/load.ts';
import { configFile, settingRows } from '../config/settings.ts';
import {
  changeProfiles,
  knownKey,
  profileToChange,
  secretProblems,
  storedValue,
  withCurrent,
  withoutSetting,
  withSetting,
} from '../config/store.ts';
import { bool, refuseLongSecret, str } from '../core/field.ts';
import type { Argument, Flags } from '../core/flag.ts';
import { AppError, usageError } from '../core/problem.ts';
import { nothing, rawResult, rowsResult } from '../core/result.ts';

export const keyArgument = {
  name: 'key',
  effects: [],
  field: str(),
  summary: 'Name of the setting, like tracker.url',
  complete: 'setting',
} as const satisfies Argument;

export const get = defineCommand({
  path: ['config', 'get'],
  summary: 'The value of one setting',
  args: [keyArgument],
  flags: { reveal: { effects: ['sends'], field: bool(), summary: 'Print a secret, too' } },
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

const flags = {
  'show-origin': { effects: [], field: bool(), summary: 'Say where each value comes from' },
  all: { effects: [], field: bool(), summary: 'Settings that are not set too, with their environment names' },
} as const satisfies Flags;
export const list = defineCommand({
  path: ['config', 'list'],
  summary: 'Settings that are in force, secrets masked',
  about: 'A flag beats an environment variable, that the profile, that the default.',
  flags,
  examples: [{ line: 'opsctl config list --show-origin', says: 'Where each setting comes from' }],
  run: async ({ settings }, values) =>
    rowsResult(settingRows(settings, { all: values.all, showOrigin: values['show-origin'] }), {
      name: 'key',
    }),
});

export const path = defineCommand({
  path: ['config', 'path'],
  summary: 'The file with the profiles',
  examples: [{ line: 'opsctl config path', says: 'Where profiles are stored' }],
  run: async ({ host }) => rawResult(`${configFile(host)}\n`),
});

export const profiles = defineCommand({
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

const args = [
  keyArgument,
  { name: 'value', effects: [], field: str(), summary: 'Its value; secrets only by --stdin', optional: true },
] as const satisfies readonly Argument[];
export const set = defineCommand({
  path: ['config', 'set'],
  noDryRun: 'opsctl config list --show-origin shows what is set',
  summary: 'Store a setting in a profile',
  about:
    'Without --profile the profile in use is changed. The built-in profile `mock` always means the embedded mock server: where no profile was ever named, URLs and tokens go to the profile `default`, which is then in use.',
  args,
  flags: { stdin: { effects: ['reads', 'sends'], field: bool(), summary: 'Read the value from stdin' } },
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
    const value = storedValue(key, await readSettingValue(context, key, values), context.host.cwd);
    if (key.secret) {
      context.log.hide(value);
      refuseLongSecret('usage', key.key, value);
    }
    await changeProfiles(context.host, (stored) => withSetting(stored, profile, key, value));
    return nothing(`${key.key} is set in profile ${profile}`);
  },
});

export const unset = defineCommand({
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

export const use = defineCommand({
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
