import { problem } from '../../../kernel/problem.ts';
import { Refused } from '../../refused.ts';
import type { Tracker } from '../state.ts';

/** doc2 Errors 422: duplicate label name on update; decisions 8: on create too. */
export const labelNameIsUnused = (state: Tracker, name: string | undefined, self?: number): void => {
  if (name === undefined) return;
  const taken = state.labels.find((label) => label.name === name && label.id !== self);
  if (taken === undefined) return;
  throw new Refused(422, `A label named ${JSON.stringify(name)} already exists (id ${taken.id}).`, {
    problems: [problem('name', 'rule', `is already used by label ${taken.id}`)],
  });
};
