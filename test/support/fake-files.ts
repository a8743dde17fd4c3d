import { basename, dirname } from 'node:path';
import type { Bytes, FileInfo, Files } from '../../src/platform/host.ts';

type Entry = { bytes: Bytes; mode: number; modifiedMs: number };

const utf8 = new TextEncoder();
const bytesOf = (data: string | Bytes): Bytes =>
  typeof data === 'string' ? utf8.encode(data) : Uint8Array.from(data);
const textOf = (entry: Entry | undefined): string | undefined =>
  entry && new TextDecoder().decode(entry.bytes);
const missing = (path: string): Error =>
  Object.assign(new Error(`ENOENT: no such file or directory, '${path}'`), { code: 'ENOENT' });
const joined = (parts: readonly Bytes[]): Bytes => Uint8Array.from(Buffer.concat(parts));

export type FakeFiles = Files & {
  /** Path → content. */ all(): Record<string, string>;
  mode(path: string): number | undefined;
};

/** Files in memory with the same results as real files. A directory exists if it was created or contains an entry. */
export const fakeFiles = (
  start: Readonly<Record<string, string>>,
  now: () => number,
  temporary: string,
  home: string,
): FakeFiles => {
  const entries = new Map<string, Entry>();
  const directories = new Map<string, number>([['/', 0o755]]);
  const makeDirectories = (path: string, mode = 0o755): void => {
    for (let at = path; !directories.has(at); at = dirname(at)) directories.set(at, mode);
  };
  const put = (path: string, bytes: Bytes, mode?: number): void => {
    makeDirectories(dirname(path));
    entries.set(path, { bytes, mode: mode ?? entries.get(path)?.mode ?? 0o644, modifiedMs: now() });
  };
  const get = (path: string): Entry => {
    const entry = entries.get(path);
    if (entry === undefined) throw missing(path);
    return entry;
  };
  const inside = (directory: string): string[] =>
    [...entries.keys(), ...directories.keys()].filter((path) => path.startsWith(`${directory}/`));
  const info = (path: string): FileInfo | undefined => {
    const entry = entries.get(path);
    const owner = { uid: 1000, gid: 1000 };
    if (entry !== undefined)
      return {
        kind: 'file',
        sizeBytes: entry.bytes.length,
        mode: entry.mode,
        modifiedMs: entry.modifiedMs,
        ...owner,
      };
    const mode = directories.get(path);
    return mode === undefined
      ? undefined
      : { kind: 'directory', sizeBytes: 0, mode, modifiedMs: 0, ...owner };
  };
  const move = (from: string, to: string, keep: boolean): void => {
    for (const path of [from, ...inside(from)]) {
      const entry = entries.get(path);
      if (entry !== undefined) put(`${to}${path.slice(from.length)}`, entry.bytes, entry.mode);
      else if (directories.has(path))
        makeDirectories(`${to}${path.slice(from.length)}`, directories.get(path));
      else throw missing(path);
      if (!keep) [entries, directories].map((map) => map.delete(path));
    }
  };
  for (const [path, text] of Object.entries(start)) put(path, utf8.encode(text));
  return {
    all: () => Object.fromEntries([...entries].map(([path, entry]) => [path, textOf(entry) ?? ''])),
    mode: (path) => info(path)?.mode,
    read: async (path) => textOf(entries.get(path)),
    readBytes: async (path) => entries.get(path)?.bytes,
    openParts: (path) => {
      const entry = entries.get(path);
      return entry === undefined
        ? undefined
        : {
            get size() {
              return entry.bytes.length;
            },
            read: (from, length) => entry.bytes.subarray(from, from + length),
            close: () => {},
          };
    },
    readNow: (path) => textOf(entries.get(path)),
    async *stream(path) {
      yield get(path).bytes;
    },
    replace: async (path, data, mode) => put(path, bytesOf(data), mode),
    async replaceStream(path, data, mode) {
      const parts: Bytes[] = [];
      for await (const part of data) parts.push(part);
      put(path, joined(parts), mode);
      return get(path).bytes.length;
    },
    async create(path, data, mode) {
      if (info(path) !== undefined) return false;
      put(path, bytesOf(data), mode);
      return true;
    },
    append(path, mode) {
      if (!entries.has(path)) put(path, new Uint8Array(0), mode);
      // A process that had opened a file before its removal can still write and read it.
      const entry = get(path);
      return {
        write: (data) => {
          entry.bytes = joined([entry.bytes, bytesOf(data)]);
          entry.modifiedMs = now();
        },
        sync: () => {},
        sizeBytes: () => entry.bytes.length,
        close: () => {},
      };
    },
    truncate: async (path, sizeBytes) => put(path, get(path).bytes.slice(0, sizeBytes)),
    info: async (path) => info(path),
    realPath: async (path) => (info(path) === undefined ? undefined : path),
    list: async (directory) =>
      inside(directory)
        .filter((path) => dirname(path) === directory)
        .map((path) => basename(path)),
    makeDirectory: async (path, mode) => makeDirectories(path, mode),
    async setMode(path, mode) {
      if (directories.has(path)) directories.set(path, mode);
      else get(path).mode = mode;
    },
    rename: async (from, to) => move(from, to, false),
    copy: async (from, to) => move(from, to, true),
    async remove(path) {
      for (const gone of [path, ...inside(path)]) [entries, directories].map((map) => map.delete(gone));
    },
    freeBytes: async () => 1e12,
    diskOf: async (path) => (info(path) === undefined ? undefined : 'disk'),
    isWritable: async (path) => info(path) !== undefined,
    temporaryDirectory: () => temporary,
    homeDirectory: () => home,
  };
};
