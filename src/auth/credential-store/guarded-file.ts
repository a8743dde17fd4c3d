import type { FileInfo, Host } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import { writeFailure } from '../../core/write-failure.ts';

/** What makes a secret file untrustworthy; undefined when nothing does. */
export const distrust = (
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
      why: `it belongs to user ${info.uid}, not to ${uid}`,
      remedy: 'chown it, or remove it and sign in again',
    };
  if ((info.mode & 0o077) !== 0)
    return { why: `others may open it (mode ${(info.mode & 0o777).toString(8)})`, remedy: 'chmod 600' };
  return undefined;
};

const checkTrust = async (host: Host, path: string): Promise<boolean> => {
  const info = await host.files.info(path);
  if (info === undefined) return false;
  const found = distrust(info, host.uid, host.platform);
  if (found === undefined) return true;
  throw new AppError('config', `${path} is not used: ${found.why}`, {
    code: 'UNSAFE_FILE',
    tryThis: [found.remedy === 'chmod 600' ? `chmod 600 ${path}` : `${found.remedy}: ${path}`],
  });
};

/** The text of a file that only its owner can read, or undefined when there is none. */
export const readGuarded = async (host: Host, path: string): Promise<string | undefined> =>
  (await checkTrust(host, path)) ? host.files.read(path) : undefined;

/** Old or new text, never half; mode 0600 from the first byte. */
export const writeGuarded = async (host: Host, path: string, text: string): Promise<void> => {
  await checkTrust(host, path);
  await host.files.replace(path, text, 0o600).catch(orUnwritable(path));
};

/** A directory for secrets, its owner's alone. A home that cannot be written is a matter of configuration, and said before anybody signs in. */
export const makePrivateDirectory = async (host: Host, path: string): Promise<void> => {
  try {
    await host.files.makeDirectory(path, 0o700);
    if (await host.files.isWritable(path)) return;
  } catch (error) {
    throw unwritable(path, (error as { code?: string }).code ?? 'unknown cause', error);
  }
  throw unwritable(path, 'no permission');
};
/** A disk that takes no file is nothing unexpected: what failed and where is said. */
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
