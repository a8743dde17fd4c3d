import { oneOf } from '../../core/field.ts';
import { reportable } from '../../labels/diff-finding.ts';
import { problem } from '../../core/problem.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { comparingFlags, comparingOptions, filesFlag, labelArgument } from './flags.ts';

export const diff = labelCommand(
  defineCommand({
    path: ['labels', 'diff'],
    summary: 'Compare the draft of a label with what is published, or files with the service',
    about: [
      'With a label: what a publish would change. With --file: what an apply would change, and what others changed in the service since the last apply (drift). Exit code 0: no difference. 20: there is one.',
    ].join('\n'),
    args: [{ ...labelArgument, optional: true }],
    flags: {
      file: filesFlag,
      summary: {
        field: oneOf('text', 'markdown'),
        summary: 'How the comparison of files is printed: markdown is for a pull request (default text)',
      },
      ...comparingFlags,
    },
    isCheck: true,
    examples: [
      { line: "opsctl labels diff 'Project phase'", says: 'What a publish would change' },
      { line: 'opsctl labels diff -f labels/', says: 'Check in CI: exit 20 when files and service differ' },
      { line: 'opsctl labels diff -f labels/ --summary markdown', says: 'A comment for a pull request' },
    ],
    check: ({ label, file }) => {
      const isOfFiles = (file ?? []).length > 0;
      if (label !== undefined && isOfFiles)
        return [problem('--file', 'exclusive', 'cannot be given together with a label')];
      return label === undefined && !isOfFiles
        ? [problem('<label>', 'required', 'is required', 'or --file')]
        : [];
    },
    run: async (context, values) => {
      const { label, file, summary } = values;
      if (label !== undefined) {
        const { diffDraft } = await import('../../labels/compare.ts');
        return diffDraft(context, label, { admin: values.admin ?? false });
      }
      const engine = await import('../../labels/diff.ts');
      const found = await engine.diffFiles(context, file ?? [], comparingOptions(values));
      const exit = engine.isDifferent(found) ? ('no' as const) : undefined;
      const findings = () => engine.diffData(found).labels.map(reportable);
      if (summary === 'markdown')
        return {
          kind: 'raw',
          chunks: [
            `${engine.diffMarkdown(found)}
`,
          ],
          view: { findings },
          ...(exit ? { exit } : {}),
        };
      return recordResult(
        engine.diffData(found),
        { text: engine.diffText(found), name: 'deployment', findings },
        exit,
      );
    },
  }),
);
