import { rawResult } from '../core/result.ts';
import { configFile } from '../config/directories.ts';
import { defineCommand } from '../cli/command.ts';

export const path = defineCommand({
  path: ['config', 'path'],
  summary: 'The file with the profiles',
  examples: [{ line: 'opsctl config path', says: 'Where profiles are stored' }],
  run: async ({ host }) => rawResult(`${configFile(host)}\n`),
});
