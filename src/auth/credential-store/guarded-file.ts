import { dirname } from 'node:path';
import { AppError, writeFailure } from '../../core/problem.ts';
import { randomShare } from '../../core/shape.ts';
import { sh, shellLine } from '../../core/shell.ts';
import {
  type Holder,
  thisProcess,
  type Try,
  tryLock,
  unlock,
  waitFor,
  waitForLock,
} from '../../platform/file-lock.ts';
import type { FileInfo, Host } from '../../platform/host.ts';
import { describeProcess, processState, waysPast } from '../../platform/process-identity.ts';

/** Returns why a secret file is not trustworthy; undefined if it is. */
export const insecureFileReason = (
  info: FileInfo,
  uid: number,
  platform: string,
): { readonly why: string; readonly remedy: string } | undefined => {
  if (info.kind === 'link')
    return { why: 'it is a symbolic link', remedy: 'replace the link with the file itself' };
  if (info.kind !== 'file') return { why: 'it is not a plain file', remedy: 'move it away' };
  if (platform === 'win32') return undefined;
  if (info.uid !== uid)
    return {
      why: `it belongs to user ${info.uid}, not to ${uid} (mode ${(info.mode & 0o777).toString(8)})`,
      remedy: 'chown it, or remove it and sign in again',
    };
  if ((info.mode & 0o077) !== 0)
    return {
      why: `others may open it (owner ${info.uid}, mode ${(info.mode & 0o777).toString(8)})`,
      remedy: 'chmod 600',
    };
  return undefined;
};
/** Files that root created in the home directory of a user stop every later command of that user. */
export const explainForbidden =
  (path: string) =>
  (error: unknown): never => {
    const { code } = error as { code?: unknown };
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    throw new AppError(
      'config',
      `${path} cannot be read: no permission; often, it belongs to root because opsctl ran with sudo`,
      {
        code: 'STATE_FORBIDDEN',
        tryThis: [
          String(sh`sudo chown -R "$(id -un)" ${dirname(path)}`),
          'OPSCTL_HOME=DIRECTORY names another place',
        ],
        cause: error,
      },
    );
  };
/** The nearest directory that exists, from `path` upwards. */
const nearestDirectory = async (
  host: Host,
  path: string,
): Promise<{ path: string; uid: number } | undefined> => {
  const info = await host.files.info(path).catch(() => undefined);
  if (info !== undefined) return { path, uid: info.uid };
  return dirname(path) === path ? undefined : nearestDirectory(host, dirname(path));
};
/** sudo can keep HOME: root must not create files where the user who called sudo keeps theirs. */
const refuseSudo = async (host: Host, path: string): Promise<void> => {
  const caller = Number(host.env.SUDO_UID ?? 0);
  if (host.uid !== 0 || !(caller > 0)) return;
  const at = await nearestDirectory(host, path);
  if (at === undefined || at.uid !== caller) return;
  throw new AppError(
    'config',
    `opsctl runs with sudo and would create files of root in ${at.path}, which belongs to user ${caller}; no changes were made`,
    {
      code: 'SUDO_HOME',
      tryThis: [
        'run the command without sudo',
        'sudo -H opsctl … (uses the home directory of root)',
        'OPSCTL_HOME=DIRECTORY names another place',
      ],
    },
  );
};
const checkTrust = async (host: Host, path: string): Promise<boolean> => {
  const info = await host.files.info(path).catch(explainForbidden(path));
  if (info === undefined) return false;
  const found = insecureFileReason(info, host.uid, host.platform);
  if (found === undefined) return true;
  throw new AppError('config', `${path} is not used: ${found.why}`, {
    code: 'UNSAFE_FILE',
    tryThis: [found.remedy === 'chmod 600' ? shellLine(['chmod', '600', path]) : `${found.remedy}: ${path}`],
  });
};
/** Returns the text of a file that only its owner can read; undefined if it does not exist. */
export const readGuarded = async (host: Host, path: string): Promise<string | undefined> =>
  (await checkTrust(host, path)) ? host.files.read(path) : undefined;
/** Old or new text, never half; mode 0600 from the first byte. */
export const writeGuarded = async (host: Host, path: string, text: string): Promise<void> => {
  await checkTrust(host, path);
  await host.files.replace(path, text, 0o600).catch(orUnwritable(path));
};
/**
 * Creates a directory for secrets that only its owner can access. An unwritable home is a configuration
 * error, reported before the sign-in.
 */
export const makePrivateDirectory = async (host: Host, path: string): Promise<void> => {
  await refuseSudo(host, path);
  try {
    await host.files.makeDirectory(path, 0o700);
    if (await host.files.isWritable(path)) return;
  } catch (error) {
    throw unwritable(path, (error as { code?: string }).code ?? 'unknown cause', error);
  }
  throw unwritable(path, 'no permission');
};
/** A disk that accepts no file is an expected failure. The error names the operation and the file. */
export const orUnwritable =
  (path: string) =>
  (error: unknown): never => {
    const why = writeFailure(error);
    throw why === undefined ? error : unwritable(path, why, error);
  };
const unwritable = (path: string, why: string, cause?: unknown): AppError =>
  new AppError('config', `credentials cannot be stored in ${path} (${why})`, {
    code: 'DIRECTORY_UNWRITABLE',
    tryThis: ['OPSCTL_HOME=DIRECTORY names another place', 'OPSCTL_ACCESS_TOKEN needs no storage'],
    cause,
  });

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
    timeoutError: (busy) => busyError(host, busy),
  });
};
