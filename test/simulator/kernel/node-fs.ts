/** The replacement of `node:fs` in a simulation: the functions that the product uses, on the simulated disk. */
import * as calls from './file-system.ts';
import { kernelNow } from './kernel.ts';

const later = <T>(act: () => T): Promise<T> => kernelNow().call(act);
const bytesOf = (data: string | Uint8Array, encoding?: BufferEncoding): Uint8Array =>
  typeof data === 'string' ? Buffer.from(data, encoding) : data;
const modeOf = (options?: number | { mode?: number }): number | undefined =>
  typeof options === 'number' ? options : options?.mode;
const isRecursive = (options: unknown): boolean =>
  (options as { recursive?: boolean } | undefined)?.recursive === true;

const handleOf = (fd: number) => ({
  fd,
  writeFile: async (data: string | Uint8Array) => {
    const bytes = bytesOf(data);
    for (let done = 0; done < bytes.length; )
      done += await later(() => calls.write(fd, bytes.subarray(done)));
  },
  sync: () => later(() => calls.sync(fd)),
  close: () => later(() => calls.close(fd)),
  chmod: (mode: number) => later(() => calls.changeModeOf(fd, mode)),
  truncate: (size: number) => later(() => calls.truncate(fd, size)),
});

const promises = {
  open: (path: string, flags?: calls.Flags, mode?: number) =>
    later(() => handleOf(calls.open(path, flags, mode))),
  realpath: (path: string) => later(() => calls.realPath(path)),
  stat: (path: string) => later(() => calls.stat(path)),
  lstat: (path: string) => later(() => calls.lstat(path)),
  rename: (from: string, to: string) => later(() => calls.rename(from, to)),
  rm: async (path: string, options?: { force?: boolean }) =>
    later(() => calls.remove(path, options?.force === true)),
  readdir: (path: string, options?: { withFileTypes?: boolean }) =>
    later(() => {
      const names = calls.readDirectory(path);
      if (options?.withFileTypes !== true) return names;
      return names.map((name) => ({ name, ...calls.lstat(`${path}/${name}`) }));
    }),
  mkdir: (path: string, options?: number | { mode?: number }) =>
    later(() =>
      isRecursive(options)
        ? calls.makeDirectories(path, modeOf(options))
        : calls.makeDirectory(path, modeOf(options)),
    ),
  chmod: (path: string, mode: number) => later(() => calls.changeMode(path, mode)),
  utimes: (path: string, _atime: Date, mtime: Date) => later(() => calls.setTimes(path, mtime)),
  readFile: (path: string) => later(() => calls.readWhole(path)),
  access: (path: string) => later(() => void calls.stat(path)),
  statfs: (path: string) =>
    later(() => {
      calls.stat(path);
      const free = kernelNow().current?.machine.disk.freeBytes ?? 0;
      return { bavail: Number.isFinite(free) ? Math.max(0, free) : 1e12, bsize: 1 };
    }),
  cp: (from: string, to: string): Promise<void> => later(() => copy(from, to)),
  readlink: (path: string) => later(() => calls.readLink(path)),
};
const copy = (from: string, to: string): void => {
  if (calls.lstat(from).isDirectory()) {
    calls.makeDirectories(to, calls.stat(from).mode & 0o7777);
    for (const name of calls.readDirectory(from)) copy(`${from}/${name}`, `${to}/${name}`);
    return;
  }
  const fd = calls.open(to, 'w', calls.stat(from).mode & 0o7777);
  calls.writeAll(fd, calls.readWhole(from));
  calls.setTimes(to, calls.stat(from).mtime);
};

export default {
  constants: calls.constants,
  promises,
  mkdirSync: (path: string) => calls.makeDirectories(path),
  openSync: calls.open,
  closeSync: calls.close,
  fstatSync: calls.fstat,
  ftruncateSync: calls.truncate,
  fsyncSync: calls.sync,
  fdatasyncSync: calls.sync,
  writeSync: (fd: number, data: string | Uint8Array, from?: number, length?: number | string) =>
    typeof data === 'string'
      ? calls.write(fd, Buffer.from(data), from)
      : calls.write(fd, data.subarray(from ?? 0, (from ?? 0) + Number(length ?? data.length))),
  readSync: (fd: number, into: Uint8Array, offset: number, length: number, position: number): number => {
    const part = calls.read(fd).subarray(position, position + length);
    into.set(part, offset);
    return part.length;
  },
  statSync: (path: string, options?: { throwIfNoEntry?: boolean }) =>
    options?.throwIfNoEntry === false && !calls.exists(path) ? undefined : calls.stat(path),
  lstatSync: (path: string, options?: { throwIfNoEntry?: boolean }) =>
    options?.throwIfNoEntry === false && !calls.exists(path) ? undefined : calls.lstat(path),
  lstat: (path: string, done: (error: unknown, stats?: ReturnType<typeof calls.lstat>) => void) =>
    void promises.lstat(path).then((stats) => done(null, stats), done),
  readFile: (path: string, done: (error: unknown, bytes?: Buffer) => void) =>
    void promises.readFile(path).then((bytes) => done(null, bytes), done),
  readlinkSync: calls.readLink,
  realpathSync: { native: calls.realPath },
  readFileSync: (path: string, encoding?: BufferEncoding | null) => {
    const bytes = calls.readWhole(path);
    return typeof encoding === 'string' ? bytes.toString(encoding) : bytes;
  },
  createReadStream: async function* (path: string, options?: { start?: number }) {
    yield (await later(() => calls.readWhole(path))).subarray(options?.start ?? 0);
  },
};
