import { bool } from '../core/field.ts';
import { rowsResult } from '../core/result.ts';
import { settingRows } from '../config/setting-rows.ts';
import { defineCommand, type Flags } from '../cli/command.ts';

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
