import { bool, str } from '../../core/field.ts';
import { usageError } from '../../core/problem.ts';
import { defineCommand, type Argument, type Flags } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { adminFlag, labelArgument } from './flags.ts';

const flags = {
  file: {
    effects: ['reads'],
    field: str(),
    short: 'f',
    required: true,
    summary: 'The list; - is standard input',
    value: 'file',
    complete: 'file',
  },
  keep: { field: bool(), summary: 'Leave permissions that the file does not have' },
  admin: adminFlag,
} as const satisfies Flags;
const args = [labelArgument] as const satisfies readonly Argument[];

const csvRows = async (source: string, text: string): Promise<unknown[]> => {
  const { readRows } = await import('../../tracker/bulk/rows.ts');
  const bytes = (async function* () {
    yield new TextEncoder().encode(text);
  })();
  const rows: unknown[] = [];
  for await (const lines of readRows(bytes, 'csv', { name: source })) {
    for (const { line, row, problem: wrong } of lines) {
      if (wrong)
        throw usageError(`${source} is not a CSV table; nothing was sent`, [
          { ...wrong, file: source, line },
        ]);
      rows.push(row);
    }
  }
  if (rows.length === 0)
    throw usageError(
      `${source} has a header and no rows; nothing was sent`,
      [],
      ['to remove every permission, sync a YAML or JSON file that contains []'],
    );
  return rows;
};

export const permissionsSync = labelCommand(
  defineCommand({
    path: ['labels', 'permissions', 'sync'],
    summary: 'Make the permissions of a label those of a file',
    about: [
      'The file (YAML, JSON or a CSV table) is a list of {role, email | person | group | audience}; `labels permissions list` writes one with -o yaml, json or csv.',
      'Shows the difference, then sends one atomic batch of changes and one of deletions. A second run sends nothing.',
    ].join('\n'),
    args,
    flags,
    examples: [
      {
        line: 'opsctl labels permissions sync Contract -f readers.yaml --dry-run',
        says: 'Show what would change',
      },
    ],
    run: async (context, values) => {
      const { syncPermissions } = await import('../../labels/sync-permissions.ts');
      const { file, keep = false, admin = false } = values;
      return syncPermissions(context, values.label, { file, keep, admin }, csvRows);
    },
  }),
);
