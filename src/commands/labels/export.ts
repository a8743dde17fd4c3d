import { bool, list, str } from '../../core/field.ts';
import { defineCommand } from '../../cli/command.ts';
import { problem } from '../../core/problem.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, deploymentFlag } from './flags.ts';

export const exportLabels = labelCommand(
  defineCommand({
    path: ['labels', 'export'],
    summary: 'Write labels as definition files',
    about: [
      'Prints YAML documents as the pages arrive, with -o json one list of them, or writes one file a label with --directory; --directory with the name of a YAML file writes them into that one.',
      'A file that is there follows a rename of its label; labels.lock.yaml, if there is one, is brought up to date.',
      '`labels apply` reads all of these back and changes nothing.',
    ].join('\n'),
    args: [
      {
        name: 'labels',
        field: list(str()),
        summary: 'Titles, ids or labels/<id>',
        optional: true,
        rest: true,
        complete: 'label',
      },
    ],
    flags: {
      all: { field: bool(), summary: 'All labels' },
      directory: {
        effects: ['reads', 'writes'],
        field: str(),
        short: 'f',
        summary: 'Write one file a label into this directory; a name in .yaml is one file for all',
        value: 'directory|file.yaml',
        complete: 'file',
      },
      published: { field: bool(), summary: 'The published revisions (default: the newest ones)' },
      permissions: { field: bool(), summary: 'With the permissions; one more request for each label' },
      deployment: deploymentFlag,
      admin: adminFlag,
    },
    examples: [
      { line: 'opsctl labels export Contract > contract.yaml', says: 'One label' },
      { line: 'opsctl labels export --all -f labels/', says: 'Every label, a file each' },
    ],
    check: (values) => {
      const isNamed = (values.labels?.length ?? 0) > 0;
      if (isNamed && values.all)
        return [problem('--all', 'exclusive', 'cannot be given together with labels')];
      return isNamed || values.all ? [] : [problem('<labels>', 'required', 'is required', 'or --all')];
    },
    run: async (context, values) => {
      const { exportResult } = await import('../../labels/export-result.ts');
      const { all = false, published = false, permissions = false, admin = false } = values;
      const options = { all, published, permissions, admin };
      return exportResult(context, values.labels ?? [], options, values.directory, values.deployment);
    },
  }),
);
