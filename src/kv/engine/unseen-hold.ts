import { AppError } from '../../core/problem.ts';
import { heldBy, isHeldForWindow } from './holds.ts';
import type { FoundRun } from './journal.ts';

/**
 * What repeats a command until it succeeds must not pass a hold: somebody put it there to look first. `isNamed`: a flag says that the hold is
 * known; `hasWindow`: a new window is given, which is what a run that holds for its window waits for.
 */
export const refuseUnseenHold = (
  { run, entries }: Pick<FoundRun, 'run' | 'entries'>,
  { isNamed, hasWindow }: { readonly isNamed: boolean; readonly hasWindow: boolean },
): void => {
  const held = heldBy(entries);
  if (held === undefined || isNamed || (hasWindow && isHeldForWindow(entries))) return;
  throw new AppError('stopped', `run ${run} holds: ${held}`, {
    code: 'HELD',
    tryThis: [
      ...(isHeldForWindow(entries) ? ['opsctl kv resume --yes --until TIME, in the next window'] : []),
      'opsctl kv resume --yes --past-hold, to go on up to the last member of the old version',
      'opsctl kv resume --yes --accept-point-of-no-return, to go on to the end',
      'opsctl kv rollback',
    ],
  });
};
