import { memberOf } from '../run.ts';
import type { Run } from '../run.ts';
import { classify, withoutTokens } from '../watch/log-lines.ts';
import { newLines } from '../watch/log-watch.ts';

const tailLines = 400;
const mostCharacters = 300;

const tailOf = (run: Run, name: string): Promise<readonly string[]> =>
  run.driver.logTail(memberOf(run, name), tailLines).catch(() => []);

/** Before a start: what stands in the log by then was not written by the process that is started. */
export const markLog = async (run: Run, name: string): Promise<void> => {
  run.logMarks.set(name, (await tailOf(run, name)).slice(-1));
};

/** A line of a Go stack trace says where, and not why. */
const isOfTrace = (line: string): boolean =>
  /^\s|^goroutine \d|^created by |^[\w./()*-]+\((\{|0x|\.\.\.|\))/.test(line);
const isError = (line: string): boolean => {
  const found = classify(line);
  return found !== undefined && !found.expected && !isOfTrace(line);
};
/** The last line that reports an error, else the last line. Pure. */
export const tellingLine = (lines: readonly string[]): string | undefined =>
  lines.findLast(isError) ?? lines.at(-1);

/** What the process that was started last wrote into its log: most of the time that is the reason. The log of the version before is none. */
export const logExcerpt = async (run: Run, name: string): Promise<string> => {
  const mark = run.logMarks.get(name);
  const lines = await tailOf(run, name);
  const fresh = mark === undefined ? lines : newLines(mark, lines);
  const line = tellingLine(fresh);
  if (line !== undefined) return ` (its log ends: ${withoutTokens(line).slice(0, mostCharacters)})`;
  return mark === undefined || lines.length === 0 ? '' : ' (it wrote nothing to its log)';
};

const olderThanCluster = /cannot be downgraded|invalid downgrade/;
/** Servers refuse to start below the cluster's version, and say so: the proof that it moved when no member answers. */
export const refusedDowngrade = async (run: Run, name: string): Promise<boolean> => {
  const lines = await tailOf(run, name);
  return newLines(run.logMarks.get(name) ?? [], lines).some((line) => olderThanCluster.test(line));
};
