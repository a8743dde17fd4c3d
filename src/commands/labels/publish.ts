import { str } from '../../core/field.ts';
import { labelsService } from '../../api-specs/labels/index.ts';
import { defineCommand, type Argument, type Flags } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, labelArgument } from './flags.ts';

const flags = {
  revision: { field: str(), summary: 'Refuse unless this is the newest revision', value: 'number' },
  'language-code': { field: str(), summary: 'BCP-47 tag of the names in the answer', value: 'text' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];

export const publish = labelCommand(
  defineCommand({
    path: ['labels', 'publish'],
    summary: 'Publish all draft changes of a label',
    about: [
      'Shows what is going to be published, asks, and publishes exactly the revision that was shown: when somebody changes the label in between, nothing is published and the new difference is shown.',
    ].join('\n'),
    args,
    flags,
    examples: [
      { line: "opsctl labels publish 'Project phase'", says: 'Show, ask, publish' },
      { line: "opsctl labels publish 'Project phase' --yes", says: 'From a script' },
    ],
    operation: { service: labelsService, operation: labelsService.table.labels.publish },
    run: async (context, values) => {
      const { publishLabel } = await import('../../labels/publish.ts');
      const { revision, 'language-code': languageCode, admin = false } = values;
      return publishLabel(context, values.label, {
        admin,
        ...(revision === undefined ? {} : { revision }),
        ...(languageCode === undefined ? {} : { languageCode }),
      });
    },
  }),
);
