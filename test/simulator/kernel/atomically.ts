/** The replacement of `atomically`, with which conf writes: it would create files on the real disk. */
import * as calls from './file-system.ts';

export const writeFileSync = (
  path: string,
  data: string | Uint8Array,
  { mode = 0o666 }: { readonly mode?: number } = {},
): void => {
  const file = calls.open(path, 'w', mode);
  try {
    calls.writeAll(file, Buffer.from(data));
  } finally {
    calls.close(file);
  }
};
