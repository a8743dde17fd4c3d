import { str } from '../../core/field.ts';
import { nothing } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { fill } from './fill.ts';

export const seedCommand = defineCommand({
  path: ['mock', 'seed'],
  noDryRun: 'opsctl mock status shows what the server holds',
  summary: 'Replace the data of the mock server',
  args: [
    {
      name: 'seed',
      effects: ['reads'],
      field: str(4096, { min: 1 }),
      summary: 'demo, empty, or a file that `opsctl mock state` wrote',
      complete: 'file',
    },
  ],
  examples: [
    { line: 'opsctl mock state > before.json', says: 'Keep everything in a file' },
    { line: 'opsctl mock seed before.json', says: 'Go back to it' },
  ],
  run: async (context, values) => nothing(`seeded: ${await fill(context, values.seed)}`),
});
