import { messageOf } from './error-message.ts';
import { AppError } from './problem.ts';
import { type Shape, misfit } from './shape.ts';

/** A file that this program wrote and that is not whole any more: where, and what can be done. */
const damaged = (path: string, line: number | undefined, why: string, tryThis: readonly string[]): AppError =>
  new AppError('config', `${path}${line === undefined ? '' : `:${line}`} is damaged: ${why}`, {
    code: 'FILE_DAMAGED',
    tryThis: [...tryThis],
  });

const storedValue = (path: string, text: string, shape: Shape, tryThis: readonly string[]): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw damaged(path, undefined, messageOf(error), tryThis);
  }
  const wrong = misfit(value, shape);
  if (wrong !== undefined) throw damaged(path, undefined, wrong, tryThis);
  return value;
};

/** The object of a JSON file that is written whole or not at all. */
export const storedObject = <T>(
  path: string,
  text: string,
  shape: { readonly [F in keyof T & string]?: Shape },
  tryThis: readonly string[],
): T => storedValue(path, text, shape as Shape, tryThis) as T;

/** The list of such a file. */
export const storedList = <T>(path: string, text: string, item: Shape, tryThis: readonly string[]): T[] =>
  storedValue(path, text, [item], tryThis) as T[];

export type StoredLines = {
  readonly values: readonly Record<string, unknown>[];
  /** The last line was cut off by a kill, a full disk or a loss of power; it is left out. */
  readonly isTorn: boolean;
};
/** The objects of a file of JSON lines. A line in the middle that is none is damage; the last one may be torn. */
export const storedLines = (
  path: string,
  text: string,
  tryThis: readonly string[],
  shapeOf: (line: unknown) => Shape = () => ({}),
): StoredLines => {
  const end = text.lastIndexOf('\n') + 1;
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  const values = lines.map((line, i) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw damaged(path, i + 1, messageOf(error), tryThis);
    }
    const wrong = misfit(value, shapeOf(value));
    if (wrong !== undefined) throw damaged(path, i + 1, wrong, tryThis);
    return value as Record<string, unknown>;
  });
  return { values, isTorn: end < text.length };
};
