import fs from 'node:fs';
import type { AppendFile } from '../host.ts';

/** See `Files.append`. Synchronous on purpose: an acknowledged write is in the operating system's hands before the answer goes out. */
export const openAppend = (path: string, mode = 0o666): AppendFile => {
  const file = fs.openSync(path, 'a', mode);
  let size = fs.fstatSync(file).size;
  return {
    write(data) {
      const bytes = typeof data === 'string' ? Buffer.from(data) : data;
      for (let at = 0; at < bytes.length; ) {
        const written = fs.writeSync(file, bytes, at);
        at += written;
        size += written;
      }
    },
    sync: () => fs.fdatasyncSync(file),
    sizeBytes: () => size,
    close: () => fs.closeSync(file),
  };
};
