/** kill -9 of the built program as soon as its journal says something. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended, Program } from './built-program.ts';

const namesIn = (directory: string): string[] => {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
};
const sizeOf = (path: string): number => {
  try {
    return statSync(path).size;
  } catch {
    return -1;
  }
};
/** Journals of all runs and operations, by directory: asked for all the time, so only places where one can be are looked at. */
const journalsBelow = (home: string): string[] => {
  const state = join(home, 'state', 'kv-clusters');
  return namesIn(state)
    .flatMap((cluster) => [join(state, cluster), join(state, cluster, 'operations')])
    .flatMap((runs) => namesIn(runs).map((run) => join(runs, run, 'journal.jsonl')))
    .filter((path) => sizeOf(path) >= 0)
    .toSorted();
};
const linesOf = (path: string | undefined): string[] =>
  // The last one has no end yet, or is the empty text behind the last end.
  path === undefined ? [] : readFileSync(path, 'utf8').split('\n').slice(0, -1);

/** How many runs and operations were begun. */
export const journalCount = (home: string): number => journalsBelow(home).length;
/** The lines of the newest run's journal; none when no run was begun. */
export const newestJournal = (home: string): string[] => linesOf(journalsBelow(home).at(-1));

/**
 * Lines of an upgrade that nothing interrupts, by the plan in the first one: opened and closed, the crossing confirmed and crossed, and of each
 * step a begin and an end. A snapshot, a stop and a start write one line more. `simulated.real.test.ts` counts them.
 */
export const linesOfRun = ([opened]: readonly string[]): number => {
  const steps: readonly { readonly id: string }[] = JSON.parse(opened as string).plan.steps;
  return steps.reduce((sum, { id }) => sum + (/\.(snapshot|stop|start)$/.test(id) ? 3 : 2), 4);
};
/** Lines of a rollback of two members, which has no plan of its own: resumed, three of each member (one marks the end of its log), closed. */
export const linesOfRollback = 8;

/** SIGKILL as soon as the newest journal fits; `wasKilled` is false when the program ended before that. */
export const killedWhen = async (
  home: Program,
  words: readonly string[],
  fits: (lines: readonly string[]) => boolean,
): Promise<{ readonly wasKilled: boolean; readonly ended: Ended }> => {
  const running = home.start(words);
  let isOver = false;
  void running.ended.then(() => (isOver = true));
  let [read, size] = ['', -1];
  const isThere = (): boolean => {
    const newest = journalsBelow(home.home).at(-1);
    const now = newest === undefined ? -1 : sizeOf(newest);
    // A line more is seen by the size; reading and parsing each time would take half of a core.
    if (newest === undefined || (newest === read && now === size)) return false;
    [read, size] = [newest, now];
    const lines = linesOf(newest);
    return lines.length > 0 && fits(lines);
  };
  while (!isOver && !isThere()) await new Promise((resolve) => setTimeout(resolve, 1));
  if (!isOver) running.kill('SIGKILL');
  const ended = await running.ended;
  return { wasKilled: ended.signal === 'SIGKILL', ended };
};
