import { type Problem, problem } from '../../core/problem.ts';
import type { Values } from '../../cli/command.ts';

/** Without a title and a type there is no label: the short flag is named, not the member that it stands for. */
export const labelProblems = (values: Values): Problem[] => {
  if (values.body !== undefined) return [];
  const hasTitle = values.title !== undefined || values.properties !== undefined;
  return [
    ...(hasTitle ? [] : [problem('--title', 'required', 'is required', 'or --properties, or --body')]),
    ...(values['label-type'] === undefined
      ? [problem('--label-type', 'required', 'is required: SHARED or ADMIN')]
      : []),
  ];
};
