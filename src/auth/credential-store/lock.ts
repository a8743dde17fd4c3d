import { randomShare } from '../../core/random-share.ts';
import type { Host } from '../../platform/host.ts';
import {
  type Holder,
  type Try,
  thisProcess,
  tryLock,
  waitFor,
  unlock,
  waitForLock,
} from '../../platform/file-lock.ts';
import { describeProcess, processState, waysPast } from '../../platform/process-identity.ts';
import { AppError } from '../../core/problem.ts';

const pollMs = 20;

export type Lock = { release(): Promise<void> };
export type LockOptions = {
  readonly waitMs: number;
  readonly signal?: AbortSignal;
  /** Asked at every turn of the wait; true ends it without the lock (another process has done the work). */
  isDone?(): Promise<boolean>;
};

/** The lock file that blocks, and its owner if it is known. */
type Busy = { readonly path: string; readonly by: Holder | undefined };

const busyError = (host: Host, { path, by }: Busy): AppError => {
  const isUnknown = by !== undefined && processState(host, by) === 'unknown';
  const reason = isUnknown ? ', which this command cannot check' : '';
  const who = by === undefined ? 'another opsctl' : `another opsctl (${describeProcess(host, by)}${reason})`;
  return new AppError('network', `${who} holds ${path}`, {
    code: 'LOCK_BUSY',
    retryable: true,
    tryThis: waysPast(host, by, path),
  });
};

/** One owner among all processes of this user, on all machines and in all containers that share the directory. A killed owner is replaced within a few turns of 20 ms. */
export const acquire = async (host: Host, path: string, options: LockOptions): Promise<Lock | undefined> => {
  const me = thisProcess(host);
  const attempt = async (): Promise<Try<Lock | undefined, Busy>> => {
    const seen = await tryLock(host, path, me);
    if (seen === true) return { got: { release: () => unlock(host, path, me) } };
    if (await options.isDone?.()) return { got: undefined };
    if (seen.kind !== 'held') return { busy: { path, by: undefined } };
    return { busy: { path: seen.claim ?? path, by: seen.by } };
  };
  options.signal?.throwIfAborted();
  return waitForLock(host, attempt, {
    waitMs: ({ by }) => waitFor(host, options.waitMs, by),
    signal: options.signal,
    pauseMs: () => pollMs + 25.6 * randomShare(host),
    expired: (busy) => busyError(host, busy),
  });
};
