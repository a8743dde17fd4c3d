import { bool, str } from '../core/field.ts';
import { nothing } from '../core/result.ts';
import { refuseLongSecret } from '../core/secret-size.ts';
import { knownKey, profileToChange, storedValue, withSetting } from '../config/edit.ts';
import { secretProblems } from '../config/secret-problems.ts';
import { changeProfiles } from '../config/store.ts';
import { type Argument, defineCommand } from '../cli/command.ts';
import { readSettingValue } from '../cli/setting-value.ts';
import { keyArgument } from './key-argument.ts';

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
