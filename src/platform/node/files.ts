import fs from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import type { FileInfo, FileParts, Files } from '../host.ts';
import { aboutFile } from './about-file.ts';
import { openAppend } from './append-file.ts';
import { builtin } from './builtin.ts';
import { makeDirectory } from './make-directory.ts';
import { decodeUtf8 } from '../../core/utf8.ts';
import { readFile, readFileNow, refuseOtherThanFileNow, streamFile } from './read-file.ts';
import { replace, replaceStream } from './replace.ts';

const isMissing = (error: unknown): boolean => {
  const { code } = error as { code?: string };
  return code === 'ENOENT' || code === 'ENOTDIR';
};
const orMissing = async <T>(found: Promise<T>): Promise<T | undefined> => {
  try {
    return await found;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const kindOf = (stats: fs.Stats): FileInfo['kind'] =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : stats.isSymbolicLink() ? 'link' : 'other';

const infoFrom = (stats: fs.Stats): FileInfo => ({
  kind: kindOf(stats),
  sizeBytes: stats.size,
  mode: stats.mode & 0o7777,
  uid: stats.uid,
  gid: stats.gid,
  modifiedMs: stats.mtimeMs,
  ...(stats.ino > 0
    ? { change: [stats.dev, stats.ino, stats.size, stats.mtimeMs, stats.ctimeMs].join() }
    : {}),
});

/** `fs.cp` keeps the times of files only; a directory's change when it is filled. */
const copyDirectoryTimes = async (from: string, to: string): Promise<void> => {
  for (const entry of await fs.promises.readdir(from, { withFileTypes: true })) {
    if (entry.isDirectory()) await copyDirectoryTimes(join(from, entry.name), join(to, entry.name));
  }
  const { atime, mtime } = await fs.promises.stat(from);
  await fs.promises.utimes(to, atime, mtime);
};

const copy = async (from: string, to: string): Promise<void> => {
  await fs.promises.cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  if ((await fs.promises.lstat(from)).isDirectory()) await copyDirectoryTimes(from, to);
};

const create = async (path: string, data: string, mode = 0o666, passing = false): Promise<boolean> => {
  try {
    const file = await fs.promises.open(path, 'wx', mode);
    try {
      await file.writeFile(data);
      if (!passing) await file.sync();
    } catch (error) {
      // A full disk must not leave an empty file that looks like somebody's.
      await fs.promises.rm(path, { force: true });
      throw aboutFile(error, path);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw error;
  }
};

const truncate = async (path: string, sizeBytes: number): Promise<void> => {
  refuseOtherThanFileNow(path);
  const file = await fs.promises.open(path, 'r+');
  try {
    await file.truncate(sizeBytes);
    await file.sync();
  } finally {
    await file.close();
  }
};

const readNow = (path: string): string | undefined => {
  try {
    return readFileNow(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

const freeBytes = async (path: string): Promise<number> => {
  const { bavail, bsize } = await fs.promises.statfs(path);
  return bavail * bsize;
};

const diskOf = (path: string): Promise<string | undefined> =>
  fs.promises.stat(path).then(
    ({ dev }) => String(dev),
    () => undefined,
  );

const isWritable = (path: string): Promise<boolean> =>
  fs.promises.access(path, fs.constants.W_OK).then(
    () => true,
    () => false,
  );

/** Read at once: a thread of the pool is late on a busy machine, and the time between a stop and a start is down time. */
const realPath = (path: string): Promise<string | undefined> =>
  orMissing(Promise.resolve(path).then((named) => fs.realpathSync.native(named)));

/** To open a pipe waits for whoever writes into it. */
const WITHOUT_WAITING = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);

const openParts = (path: string): FileParts | undefined => {
  let file: number;
  try {
    file = fs.openSync(path, WITHOUT_WAITING);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
  const sizeNow = (): number => fs.fstatSync(file).size;
  return {
    get size() {
      return sizeNow();
    },
    read: (from, length) => {
      const size = sizeNow();
      const bytes = new Uint8Array(Math.max(0, Math.min(length, size - from)));
      let done = 0;
      while (done < bytes.length) {
        const count = fs.readSync(file, bytes, done, bytes.length - done, from + done);
        if (count === 0) break;
        done += count;
      }
      return bytes.subarray(0, done);
    },
    close: () => fs.closeSync(file),
  };
};

/** Node takes HOME as it is, also an empty one, and throws for a user that the system does not know (a container's made-up user id). */
const homeDirectory = (): string | undefined => {
  try {
    return [builtin.os.homedir(), builtin.os.userInfo().homedir].find((path) => isAbsolute(path));
  } catch {
    return undefined;
  }
};

/** The machine's own files. */
export const nodeFiles: Files = {
  read: (path) => orMissing(readFile(path).then((bytes) => decodeUtf8(bytes, path))),
  readBytes: (path) => orMissing(readFile(path)),
  readNow,
  stream: streamFile,
  openParts,
  replace,
  replaceStream,
  create,
  append: openAppend,
  truncate,
  info: async (path) => {
    const stats = await orMissing(fs.promises.lstat(path));
    if (!stats?.isSymbolicLink()) return stats && infoFrom(stats);
    const target = await orMissing(fs.promises.readlink(path));
    return { ...infoFrom(stats), ...(target === undefined ? {} : { target }) };
  },
  realPath,
  list: async (directory) => (await orMissing(fs.promises.readdir(directory))) ?? [],
  makeDirectory,
  setMode: (path, mode) => fs.promises.chmod(path, mode),
  rename: (from, to) => fs.promises.rename(from, to),
  copy: async (from, to) => {
    await makeDirectory(dirname(to));
    await copy(from, to);
  },
  remove: (path) => fs.promises.rm(path, { recursive: true, force: true }),
  freeBytes,
  diskOf,
  isWritable,
  temporaryDirectory: () => {
    const directory = builtin.os.tmpdir();
    // A relative TMPDIR would put secrets into the working directory.
    return isAbsolute(directory) ? directory : '/tmp';
  },
  homeDirectory,
};
