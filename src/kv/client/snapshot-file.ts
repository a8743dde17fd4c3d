import type { Files } from '../../platform/host.ts';
import { AppError } from '../../core/problem.ts';
import type { PageSource } from './snapshot-content.ts';

/** Reads a snapshot file page by page: it may be larger than what fits into one piece of memory. */
export const withSnapshot = <T>(
  files: Pick<Files, 'openParts'>,
  path: string,
  work: (file: PageSource) => T,
): T => {
  const parts = files.openParts(path);
  if (parts === undefined)
    throw new AppError('not-found', `there is no snapshot file ${path}`, { code: 'NO_SNAPSHOT' });
  try {
    return work({
      size: parts.size,
      read: (from, length) => {
        const { buffer, byteOffset, byteLength } = parts.read(from, length);
        return Buffer.from(buffer, byteOffset, byteLength);
      },
    });
  } finally {
    parts.close();
  }
};
