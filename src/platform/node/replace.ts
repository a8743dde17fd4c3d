import fs from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Bytes } from '../host.ts';
import { aboutFile } from './about-file.ts';
import { builtin } from './builtin.ts';
import { isPlaceToWrite, refuseOtherThanFileNow } from './read-file.ts';

const DEFAULT_MODE = 0o666;

/** A link is followed, so that a settings file kept elsewhere stays where its owner put it. */
const target = (path: string): Promise<string> => fs.promises.realpath(path).catch(() => path);

/** The mode a file had is kept; 0666 less the umask for a new one. */
const modeFor = async (path: string, mode: number | undefined): Promise<number | undefined> => {
  if (mode !== undefined) return mode;
  return fs.promises.stat(path).then(
    (stats) => stats.mode & 0o7777,
    () => undefined,
  );
};

const syncDirectory = async (directory: string): Promise<void> => {
  // Windows cannot open a directory.
  if (process.platform === 'win32') return;
  const handle = await fs.promises.open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

const fill = async (
  temporary: string,
  mode: number | undefined,
  write: (file: fs.promises.FileHandle) => Promise<void>,
): Promise<void> => {
  const file = await fs.promises.open(temporary, 'wx', mode ?? DEFAULT_MODE);
  try {
    await write(file);
    if (mode !== undefined) await file.chmod(mode);
    await file.sync();
  } finally {
    await file.close();
  }
};

/** The same error in terms of the file that was asked for: nobody knows the temporary one. */
const about = (thrown: unknown, temporary: string, path: string): unknown => {
  if (!(thrown instanceof Error) || !thrown.message.includes(temporary)) return aboutFile(thrown, path);
  thrown.message = thrown.message.replaceAll(temporary, path);
  return Object.assign(thrown, { path });
};

/** What stands for a stream of this process, or for nothing: the bytes go there, as a shell's `>` would send them. */
const passThrough = async (
  path: string,
  write: (file: fs.promises.FileHandle) => Promise<void>,
): Promise<void> => {
  const file = await fs.promises.open(path, 'a');
  try {
    await write(file);
  } catch (error) {
    throw aboutFile(error, path);
  } finally {
    await file.close();
  }
};

const replaceWith = async (
  path: string,
  mode: number | undefined,
  write: (file: fs.promises.FileHandle) => Promise<void>,
): Promise<void> => {
  if (isPlaceToWrite(path)) return passThrough(path, write);
  // A file must not take the place of a device, which root could: every program of the machine would miss it.
  refuseOtherThanFileNow(path);
  const real = await target(path);
  const directory = dirname(real);
  const temporary = join(
    directory,
    `.${basename(real)}.${process.pid}.${builtin.crypto.randomBytes(4).toString('hex')}.tmp`,
  );
  try {
    await fill(temporary, await modeFor(real, mode), write);
    await fs.promises.rename(temporary, real);
  } catch (error) {
    await fs.promises.rm(temporary, { force: true });
    throw about(error, temporary, path);
  }
  await syncDirectory(directory);
};

/** See `Files.replace`. */
export const replace = (path: string, data: string | Bytes, mode?: number): Promise<void> =>
  replaceWith(path, mode, (file) => file.writeFile(data));

/** See `Files.replaceStream`. */
export const replaceStream = async (
  path: string,
  data: AsyncIterable<Bytes>,
  mode?: number,
): Promise<number> => {
  let size = 0;
  await replaceWith(path, mode, async (file) => {
    for await (const chunk of data) {
      await file.writeFile(chunk);
      size += chunk.length;
    }
  });
  return size;
};
