import fs from 'node:fs';
import type { AppendFile } from '../host.ts';
import { aboutFile } from './about-file.ts';
import { refuseToAppend } from './read-file.ts';

const cutBack = (file: number, size: number): void => {
  try {
    fs.ftruncateSync(file, size);
  } catch {
    // Not every file can be cut; why it could not be written is what counts.
  }
};

/** A device has nothing that could be synced. */
const sync = (file: number): void => {
  try {
    fs.fdatasyncSync(file);
  } catch (error) {
    if ((error as { code?: string }).code !== 'EINVAL') throw error;
  }
};

/** See `Files.append`. Synchronous on purpose: an acknowledged write is in the operating system's hands before the answer goes out. */
export const openAppend = (path: string, mode = 0o666): AppendFile => {
  refuseToAppend(path);
  const file = fs.openSync(path, 'a', mode);
  let size = fs.fstatSync(file).size;
  return {
    write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      try {
        for (let at = 0; at < bytes.length; ) at += fs.writeSync(file, bytes, at);
      } catch (error) {
        // A full disk takes the first part of a line: what is written next must not be joined to it.
        cutBack(file, size);
        throw aboutFile(error, path);
      }
      size += bytes.length;
    },
    sync: () => sync(file),
    sizeBytes: () => size,
    close: () => fs.closeSync(file),
  };
};
