/** System calls on the simulated disk of the machine that runs the current process. Each call that changes something is an effect. */
import { basename, dirname } from 'node:path';
import { type Inode, failure, writeAt } from './disk.ts';
import { type Kernel, Killed, kernelNow } from './kernel.ts';

type Open = { readonly inode: Inode; readonly path: string; readonly appends: boolean; at: number };
const files = new WeakMap<Kernel, Map<number, Open>>();
const openFiles = (kernel: Kernel): Map<number, Open> => {
  const found = files.get(kernel) ?? new Map<number, Open>();
  files.set(kernel, found);
  return found;
};

const here = () => {
  const kernel = kernelNow();
  const { current } = kernel;
  if (current === undefined) throw new Error('a file is used outside of every process');
  if (current.isDead) throw new Killed();
  return { kernel, disk: current.machine.disk };
};
const changing = <T>(label: string, path: string, act: () => T): T => {
  const { kernel, disk } = here();
  return kernel.effect(`${label} ${path}`, () => {
    if (disk.isReadOnly) throw failure('EROFS', label, path);
    return act();
  });
};
const parentOf = (path: string, call: string): Inode => {
  const parent = here().disk.find(dirname(path));
  if (parent === undefined) throw failure('ENOENT', call, path);
  if (parent.kind !== 'directory') throw failure('ENOTDIR', call, path);
  return parent;
};
const found = (path: string, call: string, followsLast = true): Inode => {
  const inode = here().disk.find(path, followsLast);
  if (inode === undefined) throw failure('ENOENT', call, path);
  return inode;
};

export type Flags = 'r' | 'r+' | 'w' | 'wx' | 'a';
/** The constants of Linux that the product uses. */
export const constants = {
  ...{ R_OK: 4, W_OK: 2, X_OK: 1, F_OK: 0 },
  ...{ O_RDONLY: 0, O_WRONLY: 0o1, O_RDWR: 0o2, O_CREAT: 0o100, O_EXCL: 0o200, O_TRUNC: 0o1000 },
  ...{ O_APPEND: 0o2000, O_NONBLOCK: 0o4000, O_DIRECTORY: 0o200000, O_NOFOLLOW: 0o400000 },
} as const;
const flagsOf = (flags: Flags | number): Flags => {
  if (typeof flags === 'string') return flags;
  const has = (name: keyof typeof constants): boolean => (flags & constants[name]) !== 0;
  if (has('O_APPEND')) return 'a';
  if (has('O_EXCL')) return 'wx';
  if (has('O_TRUNC')) return 'w';
  return has('O_WRONLY') || has('O_RDWR') ? 'r+' : 'r';
};
/** The usual umask: other users cannot write to a new file. */
const UMASK = 0o022;

export const open = (path: string, given: Flags | number = 'r', mode = 0o666): number => {
  const flags = flagsOf(given);
  const { kernel, disk } = here();
  const before = disk.find(path);
  if (before === undefined && (flags === 'r' || flags === 'r+')) throw failure('ENOENT', 'open', path);
  if (before !== undefined && flags === 'wx') throw failure('EEXIST', 'open', path);
  if (before?.kind === 'directory' && flags !== 'r') throw failure('EISDIR', 'open', path);
  let inode = before;
  if (inode === undefined) {
    const parent = parentOf(path, 'open');
    inode = changing('create', path, () => {
      if (disk.freeBytes <= 0) throw failure('ENOSPC', 'open', path);
      const made = disk.make('file', mode & ~UMASK & 0o7777);
      made.modifiedMs = kernel.nowMs;
      disk.change([{ directory: parent, name: basename(path), inode: made }]);
      return made;
    });
  } else if (flags === 'w') truncateInode(inode, path, 0);
  const fd = 100 + openFiles(kernel).size;
  openFiles(kernel).set(fd, { inode, path, appends: flags === 'a', at: 0 });
  return fd;
};
const opened = (fd: number): Open => {
  const entry = openFiles(here().kernel).get(fd);
  if (entry === undefined) throw failure('EBADF', 'use', String(fd));
  return entry;
};
const truncateInode = (inode: Inode, path: string, size: number): void =>
  changing('truncate', path, () => {
    here().disk.use(size - inode.data.length);
    const grown = Buffer.alloc(Math.max(0, size - inode.data.length));
    inode.data = Buffer.concat([inode.data.subarray(0, size), grown]);
    inode.modifiedMs = here().kernel.nowMs;
  });

/** Writes as many bytes as fit on a full disk. The call fails if no byte fits. */
export const write = (fd: number, bytes: Uint8Array, position?: number): number => {
  const { inode, path, ...file } = opened(fd);
  return changing('write', path, () => {
    const { disk, kernel } = here();
    const at = position ?? (file.appends ? inode.data.length : opened(fd).at);
    const growth = Math.max(0, at + bytes.length - inode.data.length);
    if (growth > 0 && disk.freeBytes <= 0) throw failure('ENOSPC', 'write', path);
    const count = bytes.length - Math.max(0, growth - disk.freeBytes);
    disk.use(Math.max(0, at + count - inode.data.length));
    writeAt(inode, bytes.subarray(0, count), at);
    inode.modifiedMs = kernel.nowMs;
    opened(fd).at = at + count;
    return count;
  });
};
export const writeAll = (fd: number, bytes: Uint8Array): void => {
  for (let done = 0; done < bytes.length; ) done += write(fd, bytes.subarray(done));
};
export const truncate = (fd: number, size: number): void =>
  truncateInode(opened(fd).inode, opened(fd).path, size);
export const sync = (fd: number): void => {
  const { inode, path } = opened(fd);
  const { kernel, disk } = here();
  kernel.effect(`sync ${path}`, () => {
    if (!disk.failsSync) return disk.sync(inode);
    disk.failsSync = false;
    throw failure('EIO', 'fsync', path);
  });
};
export const close = (fd: number): void => void opened(fd);
export const read = (fd: number): Buffer => Buffer.from(opened(fd).inode.data);

export type Stats = ReturnType<typeof statsOf>;
const statsOf = (inode: Inode) => ({
  isFile: () => inode.kind === 'file',
  isDirectory: () => inode.kind === 'directory',
  isSymbolicLink: () => inode.kind === 'link',
  isCharacterDevice: () => false,
  size: inode.data.length,
  mode: inode.mode | (inode.kind === 'file' ? 0o100000 : 0o40000),
  uid: 1000,
  gid: 1000,
  mtimeMs: inode.modifiedMs,
  atime: new Date(inode.modifiedMs),
  mtime: new Date(inode.modifiedMs),
  dev: 1,
});
export const fstat = (fd: number): Stats => statsOf(opened(fd).inode);
export const stat = (path: string): Stats => statsOf(found(path, 'stat'));
export const lstat = (path: string): Stats => statsOf(found(path, 'lstat', false));
export const exists = (path: string): boolean => here().disk.find(path) !== undefined;
export const realPath = (path: string): string => {
  const inode = found(path, 'realpath', false);
  return inode.kind === 'link' ? realPath(inode.target ?? '') : path;
};
export const readLink = (path: string): string => {
  const inode = found(path, 'readlink', false);
  if (inode.kind !== 'link') throw failure('EINVAL', 'readlink', path);
  return inode.target ?? '';
};
export const readWhole = (path: string): Buffer => {
  const inode = found(path, 'open');
  if (inode.kind === 'directory') throw failure('EISDIR', 'read', path);
  return Buffer.from(inode.data);
};
export const readDirectory = (path: string): string[] => {
  const inode = found(path, 'scandir');
  if (inode.kind !== 'directory') throw failure('ENOTDIR', 'scandir', path);
  return [...inode.entries.keys()].sort();
};
export const makeDirectory = (path: string, mode = 0o777): void => {
  if (exists(path)) throw failure('EEXIST', 'mkdir', path);
  const directory = parentOf(path, 'mkdir');
  const { disk } = here();
  changing('mkdir', path, () =>
    disk.change([{ directory, name: basename(path), inode: disk.make('directory', mode & ~UMASK & 0o7777) }]),
  );
};
export const makeDirectories = (path: string, mode?: number): void => {
  if (exists(path)) return;
  makeDirectories(dirname(path), mode);
  makeDirectory(path, mode);
};
const freed = (inode: Inode | undefined): void => {
  if (inode?.kind === 'file') here().disk.use(-inode.data.length);
};
export const rename = (from: string, to: string): void => {
  const inode = found(from, 'rename', false);
  const [old, next] = [parentOf(from, 'rename'), parentOf(to, 'rename')];
  changing('rename', `${from} ${to}`, () => {
    freed(next.entries.get(basename(to)));
    here().disk.change([
      { directory: old, name: basename(from), inode: undefined },
      { directory: next, name: basename(to), inode },
    ]);
  });
};
/** Removes a path like `rm -rf`. Each removed entry is an effect. */
export const remove = (path: string, isForced = true): void => {
  const { disk } = here();
  const inode = disk.find(path, false);
  if (inode === undefined && isForced) return;
  const gone = inode ?? found(path, 'unlink', false);
  for (const name of gone.kind === 'directory' ? [...gone.entries.keys()] : []) remove(`${path}/${name}`);
  changing('remove', path, () => {
    freed(gone);
    disk.change([{ directory: parentOf(path, 'unlink'), name: basename(path), inode: undefined }]);
  });
};
export const changeMode = (path: string, mode: number): void => {
  const inode = found(path, 'chmod');
  changing('chmod', path, () => {
    inode.mode = mode & 0o7777;
  });
};
export const changeModeOf = (fd: number, mode: number): void => {
  const { inode, path } = opened(fd);
  changing('chmod', path, () => {
    inode.mode = mode & 0o7777;
  });
};
export const setTimes = (path: string, mtime: Date): void => {
  const inode = found(path, 'utimes');
  changing('utimes', path, () => {
    inode.modifiedMs = mtime.getTime();
  });
};
