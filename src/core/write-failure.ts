import { messageOf } from './error-message.ts';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file is larger than files may be there',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EIO: 'the disk fails',
};
/** Why a file cannot be written, in words; undefined when the error says something else. */
export const writeFailure = (error: unknown): string | undefined =>
  reasons[(error as { code?: string } | null)?.code ?? ''];

/** The same in a sentence that names the file: the error of the system would name it once more. */
export const whyUnwritable = (error: unknown): string => writeFailure(error) ?? messageOf(error);

/** There is no reader any more (`| head`): that is the reader's wish, and no error. */
export const isClosedPipe = (error: unknown): boolean =>
  (error as { code?: string } | null)?.code === 'EPIPE';
