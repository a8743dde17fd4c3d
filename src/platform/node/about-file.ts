/** What a disk says when it takes no more. */
const ofTheDisk = ['ENOSPC', 'EDQUOT', 'EFBIG', 'EIO', 'EROFS'];

/** An error of an open file names no file; nobody could tell which disk is full. */
export const aboutFile = (thrown: unknown, path: string): unknown => {
  const { code, path: named } = thrown as NodeJS.ErrnoException;
  if (!(thrown instanceof Error) || named !== undefined || !ofTheDisk.includes(String(code))) return thrown;
  thrown.message = `${thrown.message} '${path}'`;
  return Object.assign(thrown, { path });
};
