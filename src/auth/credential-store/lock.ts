import { randomShare } from '../../core/random-share.ts';
import type { Host } from '../../platform/host.ts';
import {
  type Holder,
  type Try,
  thisProcess,
  tryLock,
  unlock,
  waitForLock,
} from '../../platform/file-lock.ts';
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
  const attempt = async (): Promise<Try<Lock | undefined, Holder | undefined>> => {
    const seen = await tryLock(host, path, me, foreignAgeMs);
    if (seen === true) return { got: { release: () => unlock(host, path, me) } };
    if (await options.isDone?.()) return { got: undefined };
    return { busy: seen.kind === 'none' ? undefined : seen.by };
  };
  options.signal?.throwIfAborted();
  return waitForLock(host, attempt, {
    waitMs: options.waitMs,
    signal: options.signal,
    pauseMs: () => pollMs + 25.6 * randomShare(host),
    expired: (by) => busy(path, by),
  });
};
