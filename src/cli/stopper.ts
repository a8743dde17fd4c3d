import { exitCode } from '../core/exit.ts';
import { AppError, type Category } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';

/** One key press may arrive twice: from the terminal, and handed on by the program that started this one (npm run). */
const samePressMs = 500;
/**
 * The first signal asks to stop; a second one ends the process at once. A terminal that goes away sends its SIGHUP to the
 * shell, which sends another: that is never a person who insists.
 */
export const stopper = (
  host: Host,
): { signal: AbortSignal; off: () => void; ended: () => Category | undefined } => {
  const controller = new AbortController();
  let got: Category | undefined;
  let gotMs = 0;
  const off = host.onSignal((name) => {
    const category: Category = name === 'SIGINT' ? 'interrupted' : 'terminated';
    if (got !== undefined && (name === 'SIGHUP' || host.elapsed() - gotMs < samePressMs)) return;
    if (got !== undefined) host.exit(exitCode(category));
    [got, gotMs] = [category, host.elapsed()];
    controller.abort(new AppError(category, name === 'SIGINT' ? 'interrupted' : 'terminated'));
  });
  return { signal: controller.signal, off, ended: () => got };
};

/** What a signal has ended says so, with the code of that signal: a cut request alone does not know which one it was. */
export const endedBy = ({ ended, signal }: ReturnType<typeof stopper>, error: unknown): unknown => {
  const category = ended();
  if (category === undefined) return error;
  if (!(error instanceof AppError)) return signal.reason;
  return error.category === 'interrupted' && category !== 'interrupted'
    ? new AppError(category, error.message, error.detail)
    : error;
};
