import { AppError, problem } from '../../core/problem.ts';
import type { Refusal } from '../engine/types.ts';

type Refused = Pick<Refusal, 'refused' | 'findings'>;

/** Nothing was changed: every reason at once, the first in the message. `tryThis` is made from the hint of the first. */
export const refusalError = (
  { refused, findings }: Refused,
  tryThis: (hint: string | undefined) => readonly string[],
): AppError => {
  const [first, ...rest] = refused;
  const more = rest.length === 0 ? '' : ` (and ${rest.length} more)`;
  return new AppError(
    'unsafe',
    `refused, nothing was changed: ${first?.message ?? 'a guard refused'}${more}`,
    {
      code: first?.guard.toUpperCase().replaceAll('-', '_') ?? 'REFUSED',
      problems:
        rest.length === 0
          ? []
          : refused.map(({ guard, message, hint }) => problem(guard, 'rule', message, hint)),
      tryThis: tryThis(first?.hint),
      data: { refused, findings },
    },
  );
};
