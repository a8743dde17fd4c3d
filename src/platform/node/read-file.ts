import fs from 'node:fs';
import { decodeUtf8 } from '../../core/utf8.ts';
import { limits } from '../../core/limits.ts';

/** How a shell names a pipe that it made for a command: `-f <(…)`. */
const PIPE_OF_A_SHELL = /^\/(dev|proc\/self)\/(fd\/\d+|stdin)$/;
/** Where bytes are sent that no file is to take the place of: `--out /dev/stdout`. */
const PLACE_TO_WRITE = /^\/(dev|proc\/self)\/(fd\/\d+|stdout|stderr|null)$/;
export const isPlaceToWrite = (path: string): boolean => PLACE_TO_WRITE.test(path);

const systemError = (code: string, message: string, path: string): Error =>
  Object.assign(new Error(`${code}: ${message}, open '${path}'`), { code, path, syscall: 'open' });

/** A pipe that nobody is at the other end of would be waited for for ever, and a device never ends. */
const refuseOtherThanFile = (stats: fs.Stats, path: string): void => {
  if (stats.isDirectory()) throw systemError('EISDIR', 'illegal operation on a directory', path);
  if (!stats.isFile() && path !== '/dev/null')
    throw systemError('ENOTFILE', 'neither a file nor a pipe of the shell', path);
};

/** The same for a file that may be missing: it is about to be made. */
export const refuseOtherThanFileNow = (
  path: string,
  isAllowed: (stats: fs.Stats) => boolean = () => false,
): void => {
  const stats = fs.statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined && !isAllowed(stats) && !isPlaceToWrite(path)) refuseOtherThanFile(stats, path);
};

/** What is appended to may be a device: that waits for nobody, and stays what it is. */
export const refuseToAppend = (path: string): void => {
  refuseOtherThanFileNow(path, (stats) => stats.isCharacterDevice());
};

const refuseUnreadable = (stats: fs.Stats, path: string): void => {
  refuseOtherThanFile(stats, path);
  if (stats.size > limits.fileBytes)
    throw systemError('EFBIG', `larger than ${limits.fileBytes} bytes`, path);
};

/** The whole of a file. Rejects with EISDIR, ENOTFILE or EFBIG for what cannot be read whole. */
export const readFile = async (path: string): Promise<Buffer> => {
  if (!PIPE_OF_A_SHELL.test(path)) refuseUnreadable(await fs.promises.stat(path), path);
  return fs.promises.readFile(path);
};

/** The same without waiting, for small files on the way of every command. */
export const readFileNow = (path: string): string => {
  refuseUnreadable(fs.statSync(path), path);
  return decodeUtf8(fs.readFileSync(path), path);
};

/** The bytes of a file of any size. */
export async function* streamFile(path: string): AsyncGenerator<Buffer> {
  if (!PIPE_OF_A_SHELL.test(path)) refuseOtherThanFile(await fs.promises.stat(path), path);
  yield* fs.createReadStream(path) as AsyncIterable<Buffer>;
}
