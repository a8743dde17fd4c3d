import { problem } from '../../../core/problem.ts';
import { HttpError } from '../../http-error.ts';

/** spec/tracker#iterations: start_date and end_date are days; one that ends before it starts cannot be. */
export const iterationEndsAfterItStarts = (start: string, end: string): void => {
  if (end >= start) return;
  throw new HttpError(422, `The iteration ends (${end}) before it starts (${start}).`, {
    problems: [problem('end_date', 'rule', `is before start_date ${start}`)],
  });
};
