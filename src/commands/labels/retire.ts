import { str } from '../../core/field.ts';
import { defineCommand, type Argument, type Flags } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, labelArgument } from './flags.ts';

const flags = {
  title: { field: str(), summary: 'The title, as the confirmation', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];

export const retire = labelCommand(
  defineCommand({
    path: ['labels', 'retire'],
    summary: 'Disable a label and delete it for good, with what it left on items',
    about: [
      'Says what disappears, wants the title typed (or --yes with --title), disables the label when it is published, and deletes the very revision that was shown. Works whether the service deletes any label or only disabled ones.',
    ].join('\n'),
    args,
    flags,
    examples: [{ line: 'opsctl labels retire Archive --yes --title Archive', says: 'From a script' }],
    run: async (context, values) => {
      const { retireLabel } = await import('../../labels/retire.ts');
      return retireLabel(context, values.label, { admin: values.admin ?? false }, values.title);
    },
  }),
);
