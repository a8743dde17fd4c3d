import fs from 'node:fs';
import { limits } from '../../core/limits.ts';

/** How a shell names a pipe that it made for a command: `-f <(…)`. */
const PIPE_OF_A_SHELL = /^\/(dev|proc\/self)\/(fd\/\d+|stdin)$/;

const systemError = (code: string, message: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${message}, open '${path}'`), { code, path, syscall: 'open' });

/** A pipe that nobody writes to would be waited for for ever, and a device never ends. */
const refuseOthers = (stats: fs.Stats, path: string): void => {
  if (stats.isDirectory()) throw systemError('EISDIR', 'illegal operation on a directory', path);
  if (!stats.isFile() && path !== '/dev/null')
    throw systemError('ENOTFILE', 'neither a file nor a pipe of the shell', path);
  if (stats.size > limits.fileBytes)
    throw systemError('EFBIG', `larger than ${limits.fileBytes} bytes`, path);
};

/** The whole of a file. Rejects with EISDIR, ENOTFILE or EFBIG for what cannot be read whole. */
export const readFile = async (path: string): Promise<Buffer> => {
  if (!PIPE_OF_A_SHELL.test(path)) refuseOthers(await fs.promises.stat(path), path);
  return fs.promises.readFile(path);
};

/** The same without waiting, for small files on the way of every command. */
export const readFileNow = (path: string): string => {
  refuseOthers(fs.statSync(path), path);
  return fs.readFileSync(path, 'utf8');
};
