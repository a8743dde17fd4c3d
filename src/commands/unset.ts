import { nothing } from '../core/result.ts';
import { knownKey, withoutSetting } from '../config/edit.ts';
import { readProfiles } from '../config/profiles.ts';
import { changeProfiles } from '../config/store.ts';
import { defineCommand } from '../cli/command.ts';
import { keyArgument } from './key-argument.ts';

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
