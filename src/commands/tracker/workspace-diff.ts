import { bool, str } from '../../core/field.ts';
import { rawResult, recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { planText } from '../../tracker/workspace/plan.ts';
import { planFindings } from '../../tracker/workspace/plan-findings.ts';
import { planned } from '../../tracker/workspace/planned.ts';
import { savePlan } from '../../tracker/workspace/saved-plan.ts';
import { changeFlags, optionsOf } from './workspace-flags.ts';

export const diffCommand = defineCommand({
  path: ['tracker', 'diff'],
  summary: 'Show what `tracker apply` would change; exit 20 when that is anything',
  about:
    '--out keeps the plan in a file: `tracker apply --plan` carries out exactly that plan, or refuses when the workspace is another one by then.',
  flags: {
    ...changeFlags,
    out: {
      effects: ['writes'],
      field: str(),
      summary: 'Keep the plan in this file',
      value: 'file',
      complete: 'file',
    },
    markdown: { effects: [], field: bool(), summary: 'As Markdown, for a comment on a pull request' },
  },
  isCheck: true,
  examples: [
    { line: 'opsctl tracker diff -f workspace.yaml', says: 'What would change' },
    { line: 'opsctl tracker diff -f workspace.yaml --markdown', says: 'For a pull request' },
  ],
  run: async (context, values) => {
    const { plan, workspace } = await planned(context, values.file, optionsOf(values));
    const { actions, refused } = plan;
    if (values.out !== undefined)
      await savePlan(context, values.out, { version: 1, workspace, options: optionsOf(values), actions });
    const exit = actions.length + refused.length > 0 ? ('no' as const) : undefined;
    const findings = () => planFindings(plan, values.file);
    if (!values.markdown) return recordResult(plan, { text: planText(plan), findings }, exit);
    const { planMarkdown } = await import('../../tracker/workspace/plan-markdown.ts');
    return { ...rawResult(planMarkdown(plan)), view: { findings }, ...(exit === undefined ? {} : { exit }) };
  },
});
