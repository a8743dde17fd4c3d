/** Kills the built program with SIGKILL as soon as its journal contains a given line. */
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { hangTimer } from './hang.ts';
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
/** Lists the journals of all runs and operations, by directory. Tests call it continuously, so it reads only the possible locations. */
const journalsBelow = (home: string): string[] => {
  const state = join(home, 'state', 'kv-clusters');
  return namesIn(state)
    .flatMap((cluster) => [join(state, cluster), join(state, cluster, 'operations')])
    .flatMap((runs) => namesIn(runs).map((run) => join(runs, run, 'journal.jsonl')))
    .filter((path) => sizeOf(path) >= 0)
    .toSorted();
};
const linesOf = (path: string | undefined): string[] =>
  // The last element is an incomplete line, or the empty text after the last line break.
  path === undefined ? [] : readFileSync(path, 'utf8').split('\n').slice(0, -1);

/** Returns the number of runs and operations that have started. */
export const journalCount = (home: string): number => journalsBelow(home).length;
/** Returns the lines of the newest run's journal, or an empty list if no run has started. */
export const newestJournal = (home: string): string[] => linesOf(journalsBelow(home).at(-1));

/**
 * Returns the number of journal lines of an uninterrupted upgrade, from the plan in the first line: opened and closed, the
 * crossing confirmed and crossed, and a `begin` and an `end` for each step. A snapshot and a start write one more line, a stop two.
 * `simulated.real.test.ts` counts the lines.
 */
export const linesOfRun = ([opened]: readonly string[]): number => {
  const steps: readonly { readonly id: string }[] = JSON.parse(opened as string).plan.steps;
  return steps.reduce(
    (sum, { id }) => sum + (/\.stop$/.test(id) ? 4 : /\.(snapshot|start)$/.test(id) ? 3 : 2),
    4,
  );
};
/**
 * Number of journal lines of a rollback of two members, which has no separate plan: resumed, three per member (one marks the
 * end of its log), closed.
 */
export const linesOfRollback = 8;

/** Sends SIGKILL as soon as the newest journal matches. `wasKilled` is false if the program exited before that. */
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
    // The size reveals an additional line. Reading and parsing the file each time would use half of a core.
    if (newest === undefined || (newest === read && now === size)) return false;
    [read, size] = [newest, now];
    const lines = linesOf(newest);
    return lines.length > 0 && fits(lines);
  };
  const isHanging = hangTimer();
  while (!isOver && !isThere()) {
    if (isHanging()) throw new Error(`the run neither ended nor wrote the line: ${words.join(' ')}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  if (!isOver) running.kill('SIGKILL');
  const ended = await running.ended;
  return { wasKilled: ended.signal === 'SIGKILL', ended };
};
