import { rowsResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { filesFlag } from './flags.ts';

export const validate = defineCommand({
  path: ['labels', 'validate'],
  summary: 'Check label definitions without a network',
  about:
    'Reports everything that is wrong with the files, each with file, line and column. Exit code 0: valid. 2: not. Limits, locks and rights are the service’s: `labels plan` checks them.',
  flags: { file: { ...filesFlag, required: true } },
  examples: [{ line: 'opsctl labels validate -f labels/', says: 'In a pre-commit hook' }],
  run: async (context, values) => {
    const { readWishes } = await import('../../labels/wishes.ts');
    const wishes = await readWishes(context, values.file);
    const rows = wishes.map(({ source, wanted }) => ({ title: wanted.title, file: source, valid: true }));
    return rowsResult(rows, {
      columns: ['title', 'file'],
      name: 'title',
      message: `${rows.length} definitions are valid`,
    });
  },
});
