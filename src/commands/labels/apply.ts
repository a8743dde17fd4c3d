import { bool, list, str } from '../../core/field.ts';
import { defineCommand, type Flags, type ValuesOf } from '../../cli/command.ts';
import { labelCommand } from './access.ts';
import { adminFlag } from './flags.ts';

const flags = {
  file: {
    field: list(str()),
    short: 'f',
    repeat: true,
    required: true,
    summary: 'File or directory; - is standard input',
    value: 'file',
    complete: 'file',
  },
  publish: { field: bool(), summary: 'Publish the changes as well' },
  force: {
    field: bool(),
    summary: 'Apply a file even when it undoes what others changed since it was exported',
  },
  prune: { field: bool(), summary: 'Delete what the file no longer has, instead of disabling it' },
  admin: adminFlag,
} as const satisfies Flags;
export type ApplyValues = ValuesOf<typeof flags>;

export const apply = labelCommand(
  defineCommand({
    path: ['labels', 'apply'],
    summary: 'Make labels what their files say',
    about: [
      'Reads label definitions (YAML or JSON, several documents and files, a directory), compares each with the service, shows the',
      'difference (+ added, ~ renamed or changed, > moved, - disabled, x deleted) and sends it as one atomic delta that is pinned',
      'to the revision that was shown. A second run sends nothing. A label is found by its id, else by its title.',
      '',
      'Fields and choices that are missing in the file are disabled, or deleted with --prune; drafts are deleted at once.',
      'A file that names the revision it came from (as `labels export` writes it) never undoes what others changed since.',
      'Say `was: Old name` to rename without an id. Limits, locks, rights and frozen types are checked before anything is sent.',
    ].join('\n'),
    flags,
    examples: [
      { line: 'opsctl labels apply -f contract.yaml --dry-run', says: 'Show what would be changed' },
      { line: 'opsctl labels apply -f contract.yaml --publish', says: 'Change and publish' },
      {
        line: 'opsctl labels export Contract | opsctl labels apply -f -',
        says: 'Sends nothing: the export is the definition',
      },
    ],
    run: async (context, values) => (await import('./run-apply.ts')).runApply(context, values),
  }),
);
