import { childPath, pathPart } from '../core/file-name.ts';
import { messageOf } from '../core/error-message.ts';
import { createHash } from 'node:crypto';
import { type Lock, acquire } from '../auth/credential-store/lock.ts';
import type { Context } from '../cli/command.ts';

/** As long as a request may wait for its place in the rate; after that two at once are better than none. */
const WAIT_MS = 90_000;

/** Goes on without a lock where none can be had: a read-only home is no reason to fail. */
const lockOf = async ({ host, settings, signal, log }: Context, name: string): Promise<Lock | undefined> => {
  try {
    await host.files.makeDirectory(settings.directories.state, 0o700);
    return await acquire(host, childPath(settings.directories.state, pathPart(`${name}.lock`)), {
      waitMs: WAIT_MS,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    log.debug(`goes on without a lock: ${messageOf(error)}`);
    return undefined;
  }
};

/** Looking and then making is one step for all processes of this user, so that two of them do not both make it. */
export const oneAtATime = async <T>(context: Context, what: string, act: () => Promise<T>): Promise<T> => {
  const { baseUrl } = await context.target('tracker');
  const lock = await lockOf(
    context,
    `ensure-${createHash('sha256').update(`${baseUrl} ${what}`).digest('hex').slice(0, 16)}`,
  );
  try {
    return await act();
  } finally {
    await lock?.release();
  }
};
