/** kill -9 of the built program as soon as its journal says something. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Ended, Program } from './built-program.ts';

/** The lines of the newest run's journal; none when no run was begun. */
export const newestJournal = (home: string): string[] => {
  if (!existsSync(home)) return [];
  const newest = readdirSync(home, { recursive: true, withFileTypes: true })
    .filter(({ name }) => name === 'journal.jsonl')
    .toSorted((one, other) => one.parentPath.localeCompare(other.parentPath))
    .at(-1);
  return newest === undefined
    ? []
    : readFileSync(join(newest.parentPath, newest.name), 'utf8')
        .split('\n')
        .filter((line) => line !== '');
};

/** Runs the words until the journal fits; `wasKilled` is false when the run ended before that. */
export const killedWhen = async (
  home: Program,
  words: readonly string[],
  fits: (lines: readonly string[]) => boolean,
): Promise<{ readonly wasKilled: boolean; readonly ended: Ended }> => {
  const running = home.start(words);
  let isOver = false;
  void running.ended.then(() => (isOver = true));
  while (!isOver && !fits(newestJournal(home.home))) await new Promise((resolve) => setTimeout(resolve, 1));
  if (!isOver) running.kill('SIGKILL');
  const ended = await running.ended;
  return { wasKilled: ended.signal === 'SIGKILL', ended };
};
