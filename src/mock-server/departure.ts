import type { Host } from '../platform/host.ts';
import type { Journal } from './journal.ts';

/**
 * What each answer waits for. With a journal, the write of all changes so far: nothing is told that a kill could take back,
 * neither what this request changed nor what it saw of others. Else the end of this turn of the loop, when every request that
 * has arrived is handled: an answer wakes its client, and waking eight of them between their requests costs more than the requests.
 */
export const departure = (
  { turn }: Pick<Host, 'turn'>,
  journal: Pick<Journal, 'written'> | undefined,
): (() => Promise<void>) => {
  let end: Promise<void> | undefined;
  const endOfTurn = (): Promise<void> => {
    end ??= turn().then(() => {
      end = undefined;
    });
    return end;
  };
  return () => journal?.written() ?? endOfTurn();
};
