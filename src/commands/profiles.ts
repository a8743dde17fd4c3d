import { rowsResult } from '../core/result.ts';
import { readProfiles } from '../config/profiles.ts';
import { defineCommand } from '../cli/command.ts';

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
