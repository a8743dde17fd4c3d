import { str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { filesFlag } from './flags.ts';

export const lint = defineCommand({
  path: ['labels', 'lint'],
  summary: 'Check label definitions against the rules of the team',
  about: [
    'Rules stand in labels.lint.yaml beside the files: `description`, `name_pattern`, `badge_contrast`, `editors`; `false` turns one',
    'off. With a lock file, definitions and records without their counterpart are found as well. No network.',
    'Exit code 0: nothing found. 20: findings.',
  ].join('\n'),
  flags: {
    file: { ...filesFlag, required: true },
    rules: {
      field: str(),
      summary: 'Rules from this file (default labels.lint.yaml beside the definitions)',
      value: 'file',
      complete: 'file',
    },
  },
  examples: [{ line: 'opsctl labels lint -f labels/', says: 'Check in CI' }],
  run: async (context, values) => {
    const { lintFiles, findingText } = await import('../../label-definitions/lint.ts');
    const { findings, count } = await lintFiles(context, values.file, values.rules);
    const text =
      findings.length === 0 ? `${count} definitions, no findings` : findings.map(findingText).join('\n');
    return recordResult({ definitions: count, findings }, { text }, findings.length > 0 ? 'no' : undefined);
  },
});
