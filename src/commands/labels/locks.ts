import { defineCommand, type Argument, type Flags } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, labelArgument } from './flags.ts';

const flags = { admin: adminFlag } as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];

export const locks = labelCommand(
  defineCommand({
    path: ['labels', 'locks'],
    summary: 'Show what of a label is locked, as a tree',
    about:
      'A lock guards its part and what is inside; what holds a locked part cannot be disabled or deleted. `labels locks list` has the plain list.',
    args,
    flags,
    examples: [{ line: 'opsctl labels locks Contract', says: 'Label, fields and choices with their locks' }],
    run: async (context, values) => {
      const { showLocks } = await import('../../labels/lock-tree.ts');
      return showLocks(context, values.label, { admin: values.admin ?? false });
    },
  }),
);
