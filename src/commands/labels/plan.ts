import { oneOf, str } from '../../core/field.ts';
import { recordResult } from '../../core/result.ts';
import { defineCommand } from '../../cli/command.ts';
import { labelCommand } from '../../labels/command.ts';
import { comparingFlags, comparingOptions, filesFlag } from './flags.ts';

export const plan = labelCommand(
  defineCommand({
    path: ['labels', 'plan'],
    summary: 'Write down what an apply would send, for review',
    about: [
      'Compares label definitions with the service and changes nothing. With --out the plan goes into a file: the definitions, the edits and the revisions that they are pinned to. `labels apply --plan` sends exactly that, or nothing when a label changed meanwhile (exit 10).',
    ].join('\n'),
    flags: {
      file: { ...filesFlag, required: true },
      out: {
        effects: ['writes'],
        field: str(),
        summary: 'Write the plan into this file',
        value: 'plan.json',
        complete: 'file',
      },
      take: { field: oneOf('ours'), summary: 'Plan to undo what others changed since the last apply' },
      ...comparingFlags,
    },
    examples: [
      { line: 'opsctl labels plan -f labels/ --out plan.json', says: 'In the pipeline of a pull request' },
      { line: 'opsctl labels apply --plan plan.json', says: 'After the review' },
    ],
    run: async (context, values) => {
      const { planFiles, writePlan } = await import('../../labels/plan-file.ts');
      const options = {
        ...comparingOptions(values),
        ...(values.take === undefined ? {} : { take: values.take }),
      };
      const { plan: made, isChange, text } = await planFiles(context, values.file, options);
      if (values.out !== undefined) await writePlan(context, values.out, made);
      const where =
        values.out === undefined || !isChange ? '' : `\nto send it: opsctl labels apply --plan ${values.out}`;
      return recordResult(made, { text: `${text}${where}`, name: 'digest' });
    },
  }),
);
