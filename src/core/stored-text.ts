import { messageOf } from './error-message.ts';
import { AppError } from './problem.ts';

/** A file that this program wrote and that is not whole any more: where, and what can be done. */
const damaged = (path: string, line: number | undefined, why: string, tryThis: readonly string[]): AppError =>
  new AppError('config', `${path}${line === undefined ? '' : `:${line}`} is damaged: ${why}`, {
    code: 'FILE_DAMAGED',
    tryThis: [...tryThis],
  });

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The object of a JSON file that is written whole or not at all. `fields` are those that every one has. */
export const storedObject = <T>(
  path: string,
  text: string,
  fields: readonly (keyof T & string)[],
  tryThis: readonly string[],
): T => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(path, undefined, messageOf(error), tryThis);
  }
  if (!isRecord(value)) throw damaged(path, undefined, 'it does not hold an object', tryThis);
  const missing = fields.find((field) => value[field] === undefined);
  if (missing !== undefined) throw damaged(path, undefined, `\`${missing}\` is missing`, tryThis);
  return value as T;
};

export type StoredLines = {
  readonly values: readonly Record<string, unknown>[];
  /** The last line was cut off by a kill, a full disk or a loss of power; it is left out. */
  readonly isTorn: boolean;
};
/** The objects of a file of JSON lines. A line in the middle that is none is damage; the last one may be torn. */
export const storedLines = (path: string, text: string, tryThis: readonly string[]): StoredLines => {
  const end = text.lastIndexOf('\n') + 1;
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  const values = lines.map((line, i) => {
    try {
      const value: unknown = JSON.parse(line);
      if (isRecord(value)) return value;
    } catch (error) {
      throw damaged(path, i + 1, messageOf(error), tryThis);
    }
    throw damaged(path, i + 1, 'it does not hold an object', tryThis);
  });
  return { values, isTorn: end < text.length };
};
