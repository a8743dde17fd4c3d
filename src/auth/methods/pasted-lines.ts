import type { Expected } from '../callback.ts';
import type { Settled } from '../loopback/listen.ts';
import type { AuthContext } from '../auth-context.ts';
import { verdictOfPaste } from './paste.ts';

/** The first line of stdin that answers this login; undefined when stdin ends. Other lines are explained and change nothing. */
export const pastedVerdict = async (
  context: AuthContext,
  expected: Expected,
  signal: AbortSignal,
): Promise<Settled | undefined> => {
  try {
    for await (const line of context.host.terminal.stdin.lines(signal)) {
      if (line.trim() === '') continue;
      const verdict = verdictOfPaste(line, expected);
      if (verdict.kind === 'code' || verdict.kind === 'refused') return verdict;
      if (verdict.kind === 'ignored') context.log.warn(`The pasted line was not used: ${verdict.why}.`);
    }
  } catch {
    // A closed or foreign stdin is no reason to end a login that waits for the browser.
  }
  return undefined;
};
