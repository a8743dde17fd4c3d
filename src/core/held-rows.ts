import { limits } from './limits.ts';
import { AppError } from './problem.ts';

/**
 * Counts the rows of a list that a command holds, or looks through, before it goes on: a service that gives rows without
 * end would fill the memory. `refuseMore` takes how many came.
 */
export const heldRows = (what: string) => {
  let rows = 0;
  return {
    refuseMore: (more: number): void => {
      rows += more;
      if (rows <= limits.heldRows) return;
      throw new AppError('network', `${what}: the list has more than ${limits.heldRows} rows`, {
        code: 'TOO_MANY_ROWS',
        tryThis: [
          'give ids instead of names, so that no list has to be read',
          'check the base URL: another service may be answering',
        ],
      });
    },
  };
};
