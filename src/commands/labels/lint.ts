import { str } from '../../core/field.ts';
import type { CheckFinding } from '../../core/finding.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import type { Finding } from '../../labels/lint.ts';
import { filesFlag } from './flags.ts';

/** A finding as reports for CI have it. */
const reported = ({ lint: rule, file, line, column, hint, path, message }: Finding): CheckFinding => ({
  rule,
  level: 'fail',
  message: path === '' ? message : `${path} ${message}`,
  hint,
  file,
  line,
  column,
});

export const lint = defineCommand({
  path: ['labels', 'lint'],
  summary: 'Check label definitions against the rules of the team',
  about: [
    'Rules stand in labels.lint.yaml beside the files: `description`, `name_pattern`, `badge_contrast`, `editors`; `false` turns one off. With a lock file, definitions and records without their counterpart are found as well. No network.',
    'Exit code 0: nothing found. 20: findings.',
  ].join('\n'),
  flags: {
    file: { ...filesFlag, required: true },
    rules: {
      effects: ['reads'],
      field: str(),
      summary: 'Rules from this file (default labels.lint.yaml beside the definitions)',
      value: 'file',
      complete: 'file',
    },
  },
  isCheck: true,
  examples: [{ line: 'opsctl labels lint -f labels/', says: 'Check in CI' }],
  run: async (context, values) => {
    const { lintFiles, findingText } = await import('../../labels/lint.ts');
    const { findings, count } = await lintFiles(context, values.file, values.rules);
    const text =
      findings.length === 0 ? `${count} definitions, no findings` : findings.map(findingText).join('\n');
    const report = (): CheckFinding[] =>
      findings.length === 0 ? [{ rule: 'lint', level: 'pass', message: text }] : findings.map(reported);
    return recordResult(
      { definitions: count, findings },
      { text, findings: report },
      findings.length > 0 ? 'no' : undefined,
    );
  },
});
