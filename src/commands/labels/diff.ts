import { defineCommand, type Argument, type Flags, type ValuesOf } from '../../cli/command.ts';
import { labelCommand } from './access.ts';
import { adminFlag, labelArgument } from './flags.ts';

const flags = { admin: adminFlag } as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];
export type DiffValues = ValuesOf<typeof flags, typeof args>;

export const diff = labelCommand(
  defineCommand({
    path: ['labels', 'diff'],
    summary: 'Compare the draft of a label with what is published',
    about: 'Exit code 0: nothing is unpublished. 20: there is a difference.',
    args,
    flags,
    examples: [{ line: "opsctl labels diff 'Project phase'", says: 'What a publish would change' }],
    run: async (context, values) => (await import('./run-diff.ts')).runDiff(context, values),
  }),
);
