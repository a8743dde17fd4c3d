import { str } from '../core/field.ts';
import { nothing } from '../core/result.ts';
import { withCurrent } from '../config/edit.ts';
import { changeProfiles } from '../config/store.ts';
import { defineCommand } from '../cli/command.ts';

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
