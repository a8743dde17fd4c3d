import type { Command } from '../../cli/command.ts';
import { labelCommand } from './access.ts';
import { adminFlag, labelArgument } from './flags.ts';

export const diff: Command = labelCommand({
  path: ['labels', 'diff'],
  summary: 'Compare the draft of a label with what is published',
  about: 'Exit code 0: nothing is unpublished. 20: there is a difference.',
  args: [labelArgument],
  flags: { admin: adminFlag },
  examples: [{ line: "opsctl labels diff 'Project phase'", says: 'What a publish would change' }],
  run: async (context, values) => (await import('./run-diff.ts')).runDiff(context, values),
});
