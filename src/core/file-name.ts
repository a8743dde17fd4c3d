import { dirname, isAbsolute, join, relative } from 'node:path';
import { limits } from './limits.ts';
import { AppError } from './problem.ts';

declare const fileNameBrand: unique symbol;
/**
 * One part of a path that stays in its directory: no separator, no NUL, not `.` and not `..`. Only this file
 * creates values of this type, and `childPath` accepts no other text. Text from outside therefore cannot lead
 * out of a directory.
 */
export type FileName = string & { readonly [fileNameBrand]: true };

/** Device names. Windows opens the device even if the name has an extension. */
const DEVICE =
  /^(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]*(\.|$)/i;
/** Dots, dashes and spaces. A space that has no width or breaks the line is one of the characters without a shape. */
const LEADING = /^[-. \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+/;
/** Control characters, bidi marks, characters without a shape, and unpaired surrogates. */
const withoutUnseen = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/gu, '_');
/** Characters that Windows does not allow in a file name. The separators have already been removed. */
const FORBIDDEN = /[<>:"|?*]/g;
const LONGEST_EXTENSION_BYTES = 20;

/** Without a regular expression: a pattern that is anchored at the end takes quadratic time on a run of spaces. */
const withoutEnd = (text: string, isRemoved: (letter: string) => boolean): string => {
  let end = text.length;
  while (end > 0 && isRemoved(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
};
const isSeparator = (letter: string): boolean => letter === '/' || letter === '\\';
const isRemovedAtEnd = (letter: string): boolean => letter === '.' || letter === ' ';

const lastPart = (text: string): string => {
  const path = withoutEnd(text, isSeparator);
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
};

/** A letter of one byte may replace two units of UTF-16, and neither end of the name may begin within a pair. */
const MOST_UNITS = 2;
/**
 * Removes the middle of a long text, so that the rules read a bounded number of characters. The kept ends are
 * longer than the start and the extension that `shortenName` takes from them.
 */
const withoutMiddle = (text: string): string => {
  const start = MOST_UNITS * (limits.fileNameBytes + 1);
  const end = MOST_UNITS * (LONGEST_EXTENSION_BYTES + 1);
  return text.length <= start + end ? text : `${text.slice(0, start)}_${text.slice(-end)}`;
};

const extensionOf = (name: string): string => {
  const at = name.lastIndexOf('.');
  const extension = at <= 0 ? '' : name.slice(at);
  return Buffer.byteLength(extension) <= LONGEST_EXTENSION_BYTES ? extension : '';
};

/** The longest prefix with at most this number of bytes. No character is split. */
const cutTo = (text: string, bytes: number): string => {
  let start = '';
  let size = 0;
  for (const letter of text) {
    size += Buffer.byteLength(letter);
    if (size > bytes) break;
    start += letter;
  }
  return start;
};

/** Shortened to the limit in bytes; the extension stays. */
const shortenName = (name: string): string => {
  if (Buffer.byteLength(name) <= limits.fileNameBytes) return name;
  const extension = extensionOf(name);
  return cutTo(name, limits.fileNameBytes - Buffer.byteLength(extension)) + extension;
};

/**
 * Converts text from a service, a cluster, an archive or another host into a file name. Only the last part of
 * a path counts. The name has no leading dot, dash or space, so that it is neither a settings file nor a
 * flag. It contains no control characters and no invisible characters, is not a device name, and has a valid
 * length. `otherwise` is the name for a text of which no characters remain.
 */
export const safeFileName = (text: string, otherwise: string): FileName => {
  const part = withoutEnd(lastPart(text), isRemovedAtEnd).replace(LEADING, (start) =>
    '_'.repeat(start.length),
  );
  const safe = withoutUnseen(withoutMiddle(part)).replace(FORBIDDEN, '_');
  const name = withoutEnd(shortenName(DEVICE.test(part) ? `_${safe}` : safe), isRemovedAtEnd);
  if (name.replaceAll('_', '') !== '') return name as FileName;
  return (otherwise === '' ? 'file' : safeFileName(otherwise, '')) as FileName;
};

/** True if the text is already a safe name. */
export const isSafeFileName = (text: string): text is FileName => safeFileName(text, 'x') === text;

/** Two names with the same key are one file on a file system that ignores case or normalizes Unicode (macOS, Windows). */
export const fileNameKey = (name: string): string => name.normalize('NFC').toLowerCase().normalize('NFC');

/** The first wish that `taken` does not contain, else the last wish with a number. `taken` holds keys of names. */
export const uniqueFileName = (
  wishes: readonly string[],
  extension: string,
  taken: ReadonlySet<string>,
): FileName => {
  const nameOf = (wish: string, mark = ''): FileName => {
    const stem = safeFileName(wish, 'file');
    const room = limits.fileNameBytes - Buffer.byteLength(mark + extension);
    return safeFileName(`${cutTo(stem, room)}${mark}${extension}`, 'file');
  };
  const names = wishes.map((wish) => nameOf(wish));
  const free = names.find((name) => !taken.has(fileNameKey(name)));
  if (free !== undefined) return free;
  for (let count = 2; ; count += 1) {
    const name = nameOf(wishes.at(-1) ?? '', `-${count}`);
    if (!taken.has(fileNameKey(name))) return name;
  }
};

/** Returns text that is one part of a path, unchanged: a name of a directory listing, or a name that a rule has checked. Throws otherwise. */
export const pathPart = (text: string): FileName => {
  if (text !== '' && text !== '.' && text !== '..' && !/[/\\\0]/.test(text)) return text as FileName;
  throw new AppError('unsafe', `${JSON.stringify(text)} is not the name of a file; no file was written`, {
    code: 'UNSAFE_FILE_NAME',
    tryThis: ['use a name without "/", "\\" and NUL that is neither "." nor ".."'],
  });
};

/** The only way from a name that this program did not choose to a path. */
export const childPath = (directory: string, name: FileName): string => join(directory, name);

/** Returns whether a path is a directory or below it. A name may start with two dots: a Kubernetes volume has `..data`. */
export const isInside = (directory: string, path: string): boolean => {
  const way = relative(directory, path);
  return way !== '..' && !/^\.\.[/\\]/.test(way) && !isAbsolute(way);
};

const mostLinks = 40;
const segmentsOf = (path: string): string[] => path.split('/').filter(Boolean);
/** Every directory and link on the way to a path, and its end. Stops at the first that does not exist. */
export const pathParts = async function* <Info extends { readonly kind: string; readonly target?: string }>(
  files: { readonly info: (path: string) => Promise<Info | undefined> },
  path: string,
): AsyncGenerator<readonly [path: string, info: Info]> {
  const root = await files.info('/');
  // A simulated machine may have no root directory.
  if (root !== undefined) yield ['/', root];
  let at = '/';
  let left = segmentsOf(path);
  for (let links = 0; left.length > 0 && links <= mostLinks; ) {
    const [name = '', ...rest] = left;
    left = rest;
    const next = name === '..' ? dirname(at) : join(at, name);
    const info = await files.info(next);
    if (info === undefined) return;
    yield [next, info];
    const target = info.kind === 'link' ? info.target : undefined;
    if (target === undefined) at = next;
    else {
      links += 1;
      at = isAbsolute(target) ? '/' : at;
      left = [...segmentsOf(target), ...left];
    }
  }
};
/** The target receives bytes but is not replaced by a file: `--out /dev/stdout`. */
const PLACE_TO_WRITE = /^\/(dev|proc\/self)\/(fd\/\d+|stdout|stderr|null)$/;
export const isPlaceToWrite = (path: string): boolean => PLACE_TO_WRITE.test(path);
