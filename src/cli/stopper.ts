import { exitCode } from '../core/exit.ts';
import { AppError, type Category } from '../core/problem.ts';
import type { Host } from '../platform/host.ts';

/** One key press may arrive twice: from the terminal, and handed on by the program that started this one (npm run). */
const samePressMs = 500;
/**
 * The first signal asks to stop; a second one ends the process at once. A terminal that goes away sends its SIGHUP to the
 * shell, which sends another: that is never a person who insists.
 */
export type Stopper = {
  readonly signal: AbortSignal;
  off(): void;
  ended(): Category | undefined;
  /** Stops the run as a first signal does. */
  stop(reason: AppError): void;
};

export const stopper = (host: Pick<Host, 'onSignal' | 'elapsed' | 'exit'>): Stopper => {
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
  const stop = (reason: AppError): void => controller.abort(reason);
  return { signal: controller.signal, off, ended: () => got, stop };
};

/** For a command that leaves signals to the program it runs: only --max-time stops it. */
export const deafStopper = (host: Host): Stopper =>
  stopper({ onSignal: () => () => undefined, elapsed: host.elapsed, exit: host.exit });

/** --max-time has ended the run; what can be resumed, or is done in part, says that itself. */
const afterMaxTime = (reason: unknown, error: unknown): unknown =>
  error instanceof AppError && ['stopped', 'partial'].includes(error.category) ? error : reason;

/** Stops a run that takes longer than --max-time. */
export const limited = (host: Host, stopper: Stopper, maxMs: number | undefined): Stopper => {
  if (maxMs === undefined) return stopper;
  const reason = new AppError('network', `not done within ${maxMs / 1000} s (--max-time)`, {
    code: 'MAX_TIME',
    retryable: true,
  });
  void host.sleep(maxMs).then(() => stopper.stop(reason));
  return stopper;
};

/** What a signal has ended says so, with the code of that signal: a cut request alone does not know which one it was. */
export const endedBy = ({ ended, signal }: Stopper, error: unknown): unknown => {
  const category = ended();
  if (category === undefined) return signal.aborted ? afterMaxTime(signal.reason, error) : error;
  if (!(error instanceof AppError)) return signal.reason;
  return error.category === 'interrupted' && category !== 'interrupted'
    ? new AppError(category, error.message, error.detail)
    : error;
};
