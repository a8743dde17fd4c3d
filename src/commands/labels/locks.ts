import type { Command } from '../../cli/command.ts';
import { labelCommand } from './access.ts';
import { adminFlag, labelArgument } from './flags.ts';

export const locks: Command = labelCommand({
  path: ['labels', 'locks'],
  summary: 'Show what of a label is locked, as a tree',
  about:
    'A lock guards its part and what is inside; what holds a locked part cannot be disabled or deleted. `labels locks list` has the plain list.',
  args: [labelArgument],
  flags: { admin: adminFlag },
  examples: [{ line: 'opsctl labels locks Contract', says: 'Label, fields and choices with their locks' }],
  run: async (context, values) => (await import('./run-locks.ts')).runLocks(context, values),
});
