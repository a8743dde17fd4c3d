import fs from 'node:fs';
import { basename, dirname, isAbsolute, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { fileNameKey, isPlaceToWrite } from '../../core/file-name.ts';
import { limits } from '../../core/limits.ts';
import { messageOf, writeFailure } from '../../core/problem.ts';
import { decodeUtf8 } from '../../core/text.ts';
import type { AppendFile, Bytes, FileInfo, FileParts, Files } from '../host.ts';
import { builtin, randomBytes } from './builtin.ts';
import { bytesUntilSignal } from './terminal.ts';

/** An error of an open file has no file name. Without the name, the user cannot know which disk is full. */
const aboutFile = (thrown: unknown, path: string): unknown => {
  const { path: named } = thrown as NodeJS.ErrnoException;
  if (!(thrown instanceof Error) || named !== undefined || writeFailure(thrown) === undefined) return thrown;
  thrown.message = `${thrown.message} '${path}'`;
  return Object.assign(thrown, { path });
};

/** Linux reports the path of an open file. */
const pathOfOpen = (file: number): string | undefined => {
  try {
    return process.platform === 'linux' ? fs.readlinkSync(`/proc/self/fd/${file}`) : undefined;
  } catch {
    return undefined;
  }
};
/** Returns the same error for the requested file: users know neither its temporary file nor its open directory. */
const about = (thrown: unknown, path: string, ...inner: readonly string[]): unknown => {
  if (!(thrown instanceof Error)) return thrown;
  const { message } = thrown;
  if (!inner.some((name) => message.includes(name))) return aboutFile(thrown, path);
  thrown.message = inner.reduce((text, name) => text.replaceAll(name, path), message);
  return Object.assign(thrown, { path });
};
/** How a shell names a pipe that it made for a command: `-f <(…)`. */
const PIPE_OF_A_SHELL = /^\/(dev|proc\/self)\/(fd\/\d+|stdin)$/;
/** The code of a refusal: another user made a link on the path, or replaced a directory by one. */
const REPLACED = 'ELINKOWNER';
const systemError = (code: string, message: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${message}, open '${path}'`), { code, path, syscall: 'open' });
/** Opening a pipe without a writer would wait forever, and a device never ends. */
const refuseOtherThanFile = (stats: fs.Stats, path: string): void => {
  if (stats.isDirectory()) throw systemError('EISDIR', 'illegal operation on a directory', path);
  if (!stats.isFile() && path !== '/dev/null')
    throw systemError('ENOTFILE', 'neither a file nor a pipe of the shell', path);
};
/** What is at a path, without following a link. The later open reports a path that cannot be searched. */
const statsAt = (path: string): fs.Stats | undefined => {
  try {
    return fs.lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};
const OTHERS_MAY_WRITE = 0o002;
const isOpenToOthers = (mode: number | undefined): boolean => ((mode ?? 0) & OTHERS_MAY_WRITE) !== 0;
/**
 * Directories that this turn of the event loop found without a link on their path, by their mode. A directory is included
 * only if no other user can replace it by a link: none of the directories on its path lets other users write to it.
 */
const directories = new Map<string, number>();
const noteDirectory = (path: string, stats: fs.Stats | undefined, parent: string): void => {
  const mode = path === sep ? 0 : directories.get(parent);
  if (mode === undefined || (mode & OTHERS_MAY_WRITE) !== 0 || stats?.isDirectory() !== true) return;
  if (directories.size === 0) queueMicrotask(() => directories.clear());
  directories.set(path, stats.mode);
};
/** The absolute path, in which `..` is kept: the kernel follows a link before it. */
const wholePath = (path: string): string => (isAbsolute(path) ? path : `${process.cwd()}${sep}${path}`);
/**
 * As in Linux, a link of the owner of its directory is allowed: that user can replace everything in the directory anyway.
 * Unlike in Linux, the directory needs no sticky bit: without it, even more users can replace the link.
 */
const refuseLinkOfStranger = (at: string, link: fs.Stats, user: number, path: string): void => {
  const directory = fs.statSync(dirname(at));
  if (![user, 0, directory.uid].includes(link.uid) && isOpenToOthers(directory.mode))
    throw systemError(REPLACED, `the link ${at} belongs to user ${link.uid}`, path);
};
/** Where the walk of a path starts: at the root, or at its directory if that was just checked. */
const startOf = (whole: string): { at: string; rest: readonly string[] } => {
  const at = dirname(whole);
  return directories.has(at) ? { at, rest: [basename(whole)] } : { at: sep, rest: whole.split(sep) };
};
/** A path without links, the same with its last name not followed, and whether other users can write to a directory on it. */
type Resolved = { readonly real: string; readonly named: string; readonly isShared: boolean };
/** The kernel follows at most this many links in one path. */
const MOST_LINKS = 40;
/**
 * In a directory that other users can write to, such as /tmp, a link of another user may lead to any file of this user.
 * Linux refuses to follow it (fs.protected_symlinks), but not on every machine, and not for a path that is resolved first.
 * With `isLastKept`, the last name is not followed, and may be any link.
 */
const refuseLinkOfOther = (path: string, isLastKept = false): Resolved | undefined => {
  const user = process.geteuid?.();
  if (user === undefined) return undefined;
  let { at, rest } = startOf(wholePath(path));
  let isShared = isOpenToOthers(directories.get(at));
  let links = 0;
  let named: string | undefined;
  while (rest.length > 0) {
    const [part = '', ...others] = rest;
    rest = others;
    const next = join(at, part);
    const stats = statsAt(next);
    if (rest.length === 0) named ??= next;
    if (stats?.isSymbolicLink() !== true || (isLastKept && rest.length === 0)) {
      noteDirectory(next, stats, at);
      isShared ||= rest.length > 0 && isOpenToOthers(stats?.mode);
      at = next;
      continue;
    }
    links += 1;
    if (links > MOST_LINKS) return undefined;
    refuseLinkOfStranger(next, stats, user, path);
    const to = fs.readlinkSync(next);
    rest = [...to.split(sep), ...rest];
    if (isAbsolute(to)) at = sep;
  }
  return { real: at, named: named ?? at, isShared };
};
/** Opens a directory without the right to read it. Only Linux has it, and Node does not name it. */
const O_PATH = 0o10000000;
type Pinned = { readonly path: string; readonly flags: number; close(): void };
/**
 * The file below its open directory, as openat(2) names it. In a shared directory, another user can replace a directory
 * on the path by a link after the check. The open directory stays the same, and its own path proves which one it is.
 */
const pin = (path: string, resolved: Resolved | undefined): Pinned => {
  const unpinned = { path, flags: 0, close: () => undefined };
  if (resolved?.isShared !== true || process.platform !== 'linux') return unpinned;
  const directory = dirname(resolved.real);
  let file: number;
  try {
    file = fs.openSync(directory, O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW);
  } catch (error) {
    const { code = 'EIO' } = error as { code?: string };
    // The message contains the code, and the directory instead of the file.
    throw systemError(code, messageOf(error).replace(/^[A-Z0-9]+: |, open '.*'$/gs, ''), path);
  }
  const close = (): void => fs.closeSync(file);
  const found = pathOfOpen(file);
  if (found === undefined) return { ...unpinned, close };
  // A file system that ignores case reports the names as they are stored.
  if (fileNameKey(found) !== fileNameKey(directory)) {
    close();
    throw systemError(REPLACED, 'another user replaced a directory on its path', path);
  }
  // With a slash or a dot at its end, a path names a directory only.
  const end = /\/\.?$/.test(path) ? sep : '';
  const below = join(`/proc/self/fd/${file}`, basename(resolved.real), end);
  return { path: below, flags: fs.constants.O_NOFOLLOW, close };
};
const openPinned = (path: string, resolved: Resolved | undefined, flags: number, mode?: number): number => {
  const pinned = pin(path, resolved);
  try {
    return fs.openSync(pinned.path, flags | pinned.flags, mode);
  } catch (error) {
    throw about(error, path, pinned.path);
  } finally {
    pinned.close();
  }
};
/** Runs an action on a path whose last name is not followed, below its open directory if other users share a directory. */
const atPinned = async <T>(path: string, act: (path: string) => Promise<T>): Promise<T> => {
  const pinned = pin(path, refuseLinkOfOther(path, true));
  try {
    return await act(pinned.path);
  } catch (error) {
    throw about(error, path, pinned.path);
  } finally {
    pinned.close();
  }
};
/** Applies the same rule to a path. The file may be missing, because it is about to be created. */
const refuseOtherThanFileNow = (
  path: string,
  isAllowed: (stats: fs.Stats) => boolean = () => false,
): Resolved | undefined => {
  if (isPlaceToWrite(path)) return undefined;
  const resolved = refuseLinkOfOther(path);
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !isAllowed(stats)) refuseOtherThanFile(stats, path);
  return resolved;
};
/** Output may be appended to a device, which does not block and is not replaced. */
export const openToAppend = (path: string, mode: number): number => {
  const { O_APPEND, O_CREAT, O_WRONLY } = fs.constants;
  const resolved = refuseOtherThanFileNow(path, (stats) => stats.isCharacterDevice());
  return openPinned(path, resolved, O_APPEND | O_CREAT | O_WRONLY, mode);
};
const refuseUnreadable = (stats: fs.Stats, path: string): void => {
  refuseOtherThanFile(stats, path);
  if (stats.size > limits.fileBytes)
    throw systemError('EFBIG', `larger than ${limits.fileBytes} bytes`, path);
};
/** Links below /proc come from the kernel. Their text may be no path: `/tmp/file (deleted)`. */
const isOfKernel = (path: string): boolean => /^\/proc\//.test(path);
/** The content may be sent to a service or shown, so that another user must not choose the file either. */
const refuseToRead = (path: string): Resolved | undefined =>
  isOfKernel(path) || PIPE_OF_A_SHELL.test(path) ? undefined : refuseLinkOfOther(path);
/** Opening a pipe waits for its writer. */
const WITHOUT_WAITING = fs.constants.O_RDONLY | (fs.constants.O_NONBLOCK ?? 0);
/** A file in a shared directory is checked after it was opened, because its name may stand for another file then. */
const openShared = (path: string, resolved: Resolved, refuse: typeof refuseUnreadable): number => {
  const file = openPinned(path, resolved, WITHOUT_WAITING);
  try {
    refuse(fs.fstatSync(file), path);
    return file;
  } catch (error) {
    fs.closeSync(file);
    throw error;
  }
};
const readWhole = promisify(fs.readFile);
/** True for the null device, which `< /dev/null` gives to a program. */
const isNullDevice = (stats: fs.Stats): boolean =>
  stats.isCharacterDevice() && stats.rdev === fs.statSync('/dev/null', { throwIfNoEntry: false })?.rdev;
const statsOfOpen = (file: number): fs.Stats | undefined => {
  try {
    return fs.fstatSync(file);
  } catch {
    return undefined;
  }
};
/** The descriptors of the shell that were read. Their streams close them, so that the number may stand for another file. */
const readDescriptors = new Set<number>();
async function* noBytes(): AsyncGenerator<Bytes> {}
/**
 * The bytes of a pipe or terminal that the shell opened. A thread that opens or reads it would wait for a sender that
 * may be gone or silent, and no signal ends that thread. Undefined for a file, which is read from its start.
 */
const openPipeOfShell = (path: string): AsyncGenerator<Bytes> | undefined => {
  if (!PIPE_OF_A_SHELL.test(path)) return undefined;
  const fd = Number(/\d+$/.exec(path)?.[0] ?? 0);
  if (readDescriptors.has(fd)) return noBytes();
  const stats = statsOfOpen(fd);
  if (stats === undefined || stats.isFile() || isNullDevice(stats)) return undefined;
  const isTerminal = builtin.tty.isatty(fd);
  if (!stats.isFIFO() && !stats.isSocket() && !isTerminal) refuseOtherThanFile(stats, path);
  readDescriptors.add(fd);
  if (fd === 0) return bytesUntilSignal(process.stdin);
  return bytesUntilSignal(isTerminal ? new builtin.tty.ReadStream(fd) : new builtin.net.Socket({ fd }));
};
const readPipe = async (pipe: AsyncIterable<Bytes>, path: string): Promise<Buffer> => {
  const parts: Bytes[] = [];
  let size = 0;
  for await (const part of pipe) {
    parts.push(part);
    size += part.length;
    if (size > limits.fileBytes) throw systemError('EFBIG', `larger than ${limits.fileBytes} bytes`, path);
  }
  return Buffer.concat(parts);
};
/** The whole of a file. Rejects with EISDIR, ENOTFILE or EFBIG for what cannot be read whole. */
const readFile = async (path: string): Promise<Buffer> => {
  const resolved = refuseToRead(path);
  if (resolved?.isShared === true) {
    const file = openShared(path, resolved, refuseUnreadable);
    return readWhole(file).finally(() => fs.closeSync(file));
  }
  const pipe = openPipeOfShell(path);
  if (pipe !== undefined) return readPipe(pipe, path);
  if (!PIPE_OF_A_SHELL.test(path)) refuseUnreadable(await fs.promises.stat(path), path);
  return fs.promises.readFile(path, { flag: WITHOUT_WAITING });
};
/** The synchronous variant, for small files that every command reads. */
export const readFileNow = (path: string): string => {
  const resolved = refuseToRead(path);
  if (resolved?.isShared === true) {
    const file = openShared(path, resolved, refuseUnreadable);
    try {
      return decodeUtf8(fs.readFileSync(file), path);
    } finally {
      fs.closeSync(file);
    }
  }
  refuseUnreadable(fs.statSync(path), path);
  return decodeUtf8(fs.readFileSync(path, { flag: WITHOUT_WAITING as unknown as string }), path);
};
/** The bytes of a file of any size. */
async function* streamFile(path: string): AsyncGenerator<Buffer> {
  const resolved = refuseToRead(path);
  if (resolved?.isShared === true) {
    const fd = openShared(path, resolved, refuseOtherThanFile);
    yield* fs.createReadStream(path, { fd }) as AsyncIterable<Buffer>;
    return;
  }
  const pipe = openPipeOfShell(path);
  if (pipe !== undefined) {
    yield* pipe as AsyncIterable<Buffer>;
    return;
  }
  if (!PIPE_OF_A_SHELL.test(path)) refuseOtherThanFile(await fs.promises.stat(path), path);
  yield* fs.createReadStream(path) as AsyncIterable<Buffer>;
}

/**
 * Removes the bytes that a write appended before it failed. It reads the current size from the file, because
 * another process may have appended since the file was opened.
 */
const cutBack = (file: number, appendedBytes: number): void => {
  if (appendedBytes === 0) return;
  try {
    fs.ftruncateSync(file, fs.fstatSync(file).size - appendedBytes);
  } catch {
    // Not every file can be cut; why it could not be written is what counts.
  }
};
/** A device cannot be synced. */
const sync = (file: number): void => {
  try {
    fs.fdatasyncSync(file);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EINVAL') throw error;
  }
};
/**
 * See `Files.append`. Synchronous on purpose: the operating system has an acknowledged write before the
 * response is sent.
 */
export const openAppend = (path: string, mode = 0o666): AppendFile => {
  const file = openToAppend(path, mode);
  let size = fs.fstatSync(file).size;
  return {
    write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      let at = 0;
      try {
        while (at < bytes.length) at += fs.writeSync(file, bytes, at);
      } catch (error) {
        // A full disk stores the first part of a line. The next write must not continue that line.
        cutBack(file, at);
        throw aboutFile(error, path);
      }
      size += bytes.length;
    },
    sync: () => sync(file),
    sizeBytes: () => size,
    get path() {
      return pathOfOpen(file) ?? fs.realpathSync.native(path);
    },
    close: () => fs.closeSync(file),
  };
};

const isDirectory = (path: string): Promise<boolean> =>
  fs.promises.stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
/** A directory with its parents. Node's own recursive `mkdir` never ends where a directory that is there lets none be made in it (/proc, automounts). */
export const makeDirectory = async (path: string, mode?: number): Promise<void> => {
  const make = (): Promise<void> => atPinned(path, (at) => fs.promises.mkdir(at, mode));
  try {
    await make();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== REPLACED && (await isDirectory(path))) return;
    const parent = dirname(path);
    if (code !== 'ENOENT' || parent === path) throw error;
    // Another process may have created the parent since then. One retry shows whether a directory can be
    // created in it.
    if (!(await isDirectory(parent))) await makeDirectory(parent, mode);
    await make().catch(async (second: unknown) => {
      if ((second as { code?: string }).code === REPLACED || !(await isDirectory(path))) throw second;
    });
  }
};

const DEFAULT_MODE = 0o666;
/** A link is followed, so that a settings file in another location stays there. */
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
/**
 * A path that stands for a stream of this process or for a null device. Bytes go to it, as with a shell's
 * `>`.
 */
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
/** Pins the file that is replaced: the target of a link, or the link itself if its target is missing. */
const pinReplaced = (path: string): Pinned => {
  // A file must not replace a device, which root could do: every program of the machine would lose the
  // device.
  const resolved = refuseOtherThanFileNow(path);
  const isNew = resolved !== undefined && statsAt(resolved.real) === undefined;
  return pin(path, isNew ? { ...resolved, real: resolved.named } : resolved);
};
const replaceWith = async (
  path: string,
  mode: number | undefined,
  write: (file: fs.promises.FileHandle) => Promise<void>,
): Promise<void> => {
  if (isPlaceToWrite(path)) return passThrough(path, write);
  const pinned = pinReplaced(path);
  const real = pinned.flags === 0 ? await target(path) : pinned.path;
  const directory = dirname(real);
  const temporary = join(
    directory,
    `.${basename(real)}.${process.pid}.${Buffer.from(randomBytes(4)).toString('hex')}.tmp`,
  );
  try {
    await fill(temporary, await modeFor(real, mode), write);
    await fs.promises.rename(temporary, real);
    await syncDirectory(directory);
  } catch (error) {
    await fs.promises.rm(temporary, { force: true });
    throw about(error, path, temporary, ...(pinned.flags === 0 ? [] : [real, directory]));
  } finally {
    pinned.close();
  }
};
/** See `Files.replace`. */
const replace = (path: string, data: string | Bytes, mode?: number): Promise<void> =>
  replaceWith(path, mode, (file) => file.writeFile(data));
/** See `Files.replaceStream`. */
const replaceStream = async (path: string, data: AsyncIterable<Bytes>, mode?: number): Promise<number> => {
  let size = 0;
  await replaceWith(path, mode, async (file) => {
    for await (const chunk of data) {
      await file.writeFile(chunk);
      size += chunk.length;
    }
  });
  return size;
};

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
const copyAt = async (from: string, to: string): Promise<void> => {
  await fs.promises.cp(from, to, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
  if ((await fs.promises.lstat(from)).isDirectory()) await copyDirectoryTimes(from, to);
};
const copy = async (from: string, to: string): Promise<void> => {
  await makeDirectory(dirname(to));
  await atPinned(from, (source) => atPinned(to, (target) => copyAt(source, target)));
};
const rename = (from: string, to: string): Promise<void> =>
  atPinned(from, (source) => atPinned(to, (target) => fs.promises.rename(source, target)));
const remove = async (path: string): Promise<void> => {
  await orMissing(atPinned(path, (at) => fs.promises.rm(at, { recursive: true, force: true })));
};
/** Opens what a path leads to without following its last name, so that the name cannot become a link in between. */
const setMode = async (path: string, mode: number): Promise<void> => {
  const resolved = refuseLinkOfOther(path);
  if (resolved?.isShared !== true || process.platform !== 'linux') return fs.promises.chmod(path, mode);
  const file = openPinned(path, resolved, O_PATH);
  try {
    await fs.promises.chmod(`/proc/self/fd/${file}`, mode);
  } finally {
    fs.closeSync(file);
  }
};
const list = async (directory: string): Promise<string[]> => {
  const resolved = refuseLinkOfOther(directory);
  const pinned = pin(directory, resolved && { ...resolved, real: join(resolved.real, 'name') });
  const at = pinned.flags === 0 ? directory : dirname(pinned.path);
  try {
    return await fs.promises.readdir(at);
  } catch (error) {
    throw about(error, directory, at);
  } finally {
    pinned.close();
  }
};
const create = async (path: string, data: string, mode = 0o666, passing = false): Promise<boolean> => {
  const pinned = pin(path, refuseLinkOfOther(path, true));
  try {
    const file = await fs.promises.open(pinned.path, 'wx', mode);
    try {
      await file.writeFile(data);
      if (!passing) await file.sync();
    } catch (error) {
      // A full disk must not leave an empty file that looks valid.
      await fs.promises.rm(pinned.path, { force: true });
      throw aboutFile(error, path);
    } finally {
      await file.close();
    }
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === 'EEXIST') return false;
    throw about(error, path, pinned.path);
  } finally {
    pinned.close();
  }
};
const truncate = async (path: string, sizeBytes: number): Promise<void> => {
  const file = openPinned(path, refuseOtherThanFileNow(path), fs.constants.O_RDWR);
  try {
    fs.ftruncateSync(file, sizeBytes);
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
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
/**
 * Reads synchronously: every command inspects directories, and the threads of the pool, which it would start for them, take longer
 * than all of its calls.
 */
const lstat = async (path: string): Promise<fs.Stats | undefined> =>
  fs.lstatSync(path, { throwIfNoEntry: false });
/**
 * Reads synchronously: a thread of the pool is late on a busy machine, and the time between stop and start is
 * downtime.
 */
const realPath = (path: string): Promise<string | undefined> =>
  orMissing(Promise.resolve(path).then((named) => fs.realpathSync.native(named)));
const openParts = (path: string): FileParts | undefined => {
  let file: number;
  try {
    file = openPinned(path, refuseToRead(path), WITHOUT_WAITING);
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
    get path() {
      return pathOfOpen(file);
    },
    close: () => fs.closeSync(file),
  };
};
/**
 * Node accepts any HOME, even an empty one, and throws for a user that the system does not know (a
 * container's arbitrary user ID).
 */
const homeDirectory = (): string | undefined => {
  try {
    return [builtin.os.homedir(), builtin.os.userInfo().homedir].find((path) => isAbsolute(path));
  } catch {
    return undefined;
  }
};
/** A relative TMPDIR would put secrets into the working directory, and each command would use another directory. */
export const temporaryDirectory = (): string => {
  const directory = builtin.os.tmpdir();
  return isAbsolute(directory) ? directory : '/tmp';
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
    const stats = await orMissing(lstat(path));
    if (!stats?.isSymbolicLink()) return stats && infoFrom(stats);
    const target = await orMissing(fs.promises.readlink(path));
    return { ...infoFrom(stats), ...(target === undefined ? {} : { target }) };
  },
  realPath,
  list: async (directory) => (await orMissing(list(directory))) ?? [],
  makeDirectory,
  setMode,
  rename,
  copy,
  remove,
  freeBytes,
  diskOf,
  isWritable,
  temporaryDirectory,
  homeDirectory,
};
