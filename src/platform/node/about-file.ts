import { writeFailure } from '../../core/write-failure.ts';

/** An error of an open file names no file; nobody could tell which disk is full. */
export const aboutFile = (thrown: unknown, path: string): unknown => {
  const { path: named } = thrown as NodeJS.ErrnoException;
  if (!(thrown instanceof Error) || named !== undefined || writeFailure(thrown) === undefined) return thrown;
  thrown.message = `${thrown.message} '${path}'`;
  return Object.assign(thrown, { path });
};
