import type { Host } from '../../platform/host.ts';
import { type Holder, thisProcess, tryLock, unlock } from '../../platform/file-lock.ts';
import { AppError } from '../../core/problem.ts';

/** A lock of another machine (a shared home directory) cannot be asked; it is taken over by age. */
const foreignAgeMs = 90_000;
const pollMs = 20;

export type Lock = { release(): Promise<void> };
export type LockOptions = {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Asked at every turn of the wait; true ends it without the lock (another process has done the work). */
  isDone?(): Promise<boolean>;
};

const busy = (path: string, holder: Holder | undefined): AppError =>
  new AppError(
    'network',
    `another opsctl${holder === undefined ? '' : ` (process ${holder.pid})`} has held ${path} for too long`,
    {
      code: 'LOCK_BUSY',
      retryable: true,
      tryThis: ['try again', ...(holder === undefined ? [] : [`end process ${holder.pid} if it hangs`])],
    },
  );

/** One holder among all processes of this user. A killed holder is replaced within a few turns of 20 ms. */
export const acquire = async (host: Host, path: string, options: LockOptions): Promise<Lock | undefined> => {
  const me = thisProcess(host);
  const until = host.elapsed() + options.waitMs;
  for (;;) {
    options.signal?.throwIfAborted();
    const seen = await tryLock(host, path, me, foreignAgeMs);
    if (seen === true) return { release: () => unlock(host, path, me) };
    if (seen.kind !== 'held') continue;
    if (options.isDone !== undefined && (await options.isDone())) return undefined;
    if (host.elapsed() > until) throw busy(path, seen.by);
    // Without the signal: it is looked at each turn, and a hundred waiters in one process would each listen to it.
    await host.sleep(pollMs + (host.random(1)[0] ?? 0) / 10);
  }
};
