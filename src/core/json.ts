import { decodeUtf8 } from './utf8.ts';
import { AppError } from './problem.ts';

type Frame = {
  readonly entries: readonly (readonly [key: string, value: unknown])[];
  readonly end: ']' | '}';
  at: number;
};

const frameOf = (value: object): Frame =>
  Array.isArray(value)
    ? { entries: value.map((item) => ['', item] as const), end: ']', at: 0 }
    : {
        entries: Object.entries(value).flatMap(([key, item]) =>
          item === undefined ? [] : [[`${JSON.stringify(key)}:`, item] as const],
        ),
        end: '}',
        at: 0,
      };

const stepwise = (root: unknown): string => {
  const out: string[] = [];
  const open: Frame[] = [];
  const put = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) out.push(JSON.stringify(value) ?? 'null');
    else {
      const frame = frameOf(value);
      out.push(frame.end === ']' ? '[' : '{');
      open.push(frame);
    }
  };
  put(root);
  for (let frame = open.at(-1); frame !== undefined; frame = open.at(-1)) {
    const entry = frame.entries[frame.at];
    if (entry === undefined) {
      out.push(frame.end);
      open.pop();
      continue;
    }
    out.push(frame.at === 0 ? entry[0] : `,${entry[0]}`);
    frame.at += 1;
    put(entry[1]);
  }
  return out.join('');
};

/** The value of one row of a list that is read as bytes. */
export const jsonRow = (row: Uint8Array): unknown => {
  const text = Buffer.from(row.buffer, row.byteOffset, row.length).toString();
  // The mark of a replaced byte may also be in the data: only then every byte is checked.
  if (text.includes('\uFFFD')) decodeUtf8(row, 'a row of the list', 'network');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new AppError('network', `a row of the list is not JSON: ${text.trim().slice(0, 120)}`, {
      code: 'NOT_JSON',
      cause: error,
    });
  }
};

/** JSON of a value however deep it is: JSON.stringify gives up at some thousand levels (a thread of replies can have them). */
export const jsonOfAnyDepth = (value: unknown, indent?: number): string => {
  try {
    return (indent === undefined ? JSON.stringify(value) : JSON.stringify(value, null, indent)) ?? 'null';
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // At such a depth the indentation alone would be hundreds of megabytes.
    return stepwise(value);
  }
};

const keyCount = (root: unknown): number => {
  let count = 0;
  const open = [root];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.values(value);
    if (!Array.isArray(value)) count += inner.length;
    for (const one of inner) if (typeof one === 'object' && one !== null) open.push(one);
  }
  return count;
};

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** The first key that its object has already, in the order of the text. */
const firstRepeated = (text: string): string | undefined => {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const key = String(JSON.parse(last));
      const keys = open.at(-1);
      if (keys?.has(key)) return key;
      keys?.add(key);
    } else last = token;
  }
  return undefined;
};

/**
 * A key that appears twice in one object of a JSON text. `JSON.parse` silently drops one of the values.
 * `value` is the parsed text.
 */
export const repeatedKeyIn = (text: string, value: unknown): string | undefined => {
  let colons = 0;
  for (let at = text.indexOf(':'); at !== -1; at = text.indexOf(':', at + 1)) colons += 1;
  // Colons within strings only make the exact count necessary.
  return colons === keyCount(value) ? undefined : firstRepeated(text);
};
