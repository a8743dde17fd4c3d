import { classify, withoutTokens } from './log-lines.ts';
import { memberOf } from '../run.ts';
import type { Run } from '../run.ts';

const tailLines = 400;
const everyMs = 1000;

export type LogWatch = { finish(): Promise<void> };

/** New lines of a member's log since the last look: what follows the last line that was seen. Pure. */
export const newLines = (before: readonly string[], now: readonly string[]): readonly string[] => {
  const last = before.at(-1);
  if (last === undefined) return now;
  const at = now.lastIndexOf(last);
  return at < 0 ? now : now.slice(at + 1);
};

const emitLine = (run: Run, member: string, line: string): void => {
  const found = classify(line);
  if (found !== undefined)
    run.emit({ event: 'log-line', member, line: withoutTokens(line).slice(0, 500), ...found });
};

/** Looks at the members' logs during a run and says which of the new lines mean something. */
export const watchLogs = async (run: Run): Promise<LogWatch> => {
  const names = run.plan.observation.members.map(({ name }) => name);
  const seen = new Map<string, readonly string[]>();
  const over = new AbortController();
  const look = async (isSilent: boolean): Promise<void> => {
    for (const name of names) {
      const lines = await run.driver.logTail(memberOf(run, name), tailLines).catch(() => []);
      const fresh = newLines(seen.get(name) ?? [], lines);
      if (lines.length > 0) seen.set(name, lines.slice(-1));
      if (!isSilent) for (const line of fresh) emitLine(run, name, line);
    }
  };
  await look(true);
  const watching = (async () => {
    while (!over.signal.aborted) {
      await run.host.sleep(everyMs, over.signal).catch(() => {});
      if (!over.signal.aborted) await look(false).catch(() => {});
    }
  })();
  return {
    finish: async () => {
      over.abort();
      await watching;
      await look(false).catch(() => {});
    },
  };
};
