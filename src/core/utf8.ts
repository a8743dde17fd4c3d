import { AppError, problem } from './problem.ts';
import { shellWord } from './shell.ts';

/** The first byte of a text that is not UTF-8. `byte` counts from 0, `line` from 1. */
export type Utf8Fault = { readonly byte: number; readonly line: number; readonly what: string };

/** Lengths of the sequences by first byte, with the range of the second byte (Unicode 3.9, table 3-7). */
const SEQUENCES: readonly (readonly [from: number, to: number, length: number, low: number, high: number])[] =
  [
    [0xc2, 0xdf, 2, 0x80, 0xbf],
    [0xe0, 0xe0, 3, 0xa0, 0xbf],
    [0xe1, 0xec, 3, 0x80, 0xbf],
    [0xed, 0xed, 3, 0x80, 0x9f],
    [0xee, 0xef, 3, 0x80, 0xbf],
    [0xf0, 0xf0, 4, 0x90, 0xbf],
    [0xf1, 0xf3, 4, 0x80, 0xbf],
    [0xf4, 0xf4, 4, 0x80, 0x8f],
  ];

/** The length of the sequence that starts there; 0 when it is not UTF-8. */
const sequenceAt = (bytes: Uint8Array, at: number): number => {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return 1;
  const row = SEQUENCES.find(([from, to]) => first >= from && first <= to);
  if (row === undefined) return 0;
  const [, , length, low, high] = row;
  const second = bytes[at + 1] ?? 0;
  if (second < low || second > high) return 0;
  for (let i = 2; i < length; i += 1) if (((bytes[at + i] ?? 0) & 0xc0) !== 0x80) return 0;
  return length;
};

const hex = (byte: number | undefined): string =>
  `0x${(byte ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;
const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

const faultOf = (bytes: Uint8Array, before: Omit<Utf8Fault, 'what'>): Utf8Fault => {
  if (before.byte === 0 && isUtf16(bytes))
    return { ...before, what: 'UTF-16 (it starts with a byte order mark of UTF-16), not UTF-8' };
  let { line } = before;
  let at = 0;
  for (let size = sequenceAt(bytes, at); size > 0 && at < bytes.length; size = sequenceAt(bytes, at)) {
    if (bytes[at] === 0x0a) line += 1;
    at += size;
  }
  const byte = before.byte + at;
  return { byte, line, what: `not UTF-8: byte ${byte} is ${hex(bytes[at])}` };
};

/** The hint: the encodings that programs write instead of UTF-8. */
export const utf8Remedy = (name: string, { what }: Utf8Fault): string => {
  const from = what.includes('UTF-16') ? 'UTF-16' : 'WINDOWS-1252';
  const isFile = name !== '-' && name !== 'standard input';
  return isFile
    ? `iconv -f ${from} -t UTF-8 ${shellWord(name)} > ${shellWord(`${name}.utf8`)}`
    : `convert the input to UTF-8, for example: iconv -f ${from} -t UTF-8 FILE | opsctl …`;
};

/** Bytes that are not UTF-8, as an error that names the file, the line, the byte and the way to convert it. */
const notUtf8 = (
  name: string,
  fault: Utf8Fault,
  category: 'usage' | 'config' | 'network' = 'config',
): AppError =>
  new AppError(category, `${name}:${fault.line}: ${fault.what}`, {
    code: 'NOT_UTF8',
    problems: [{ ...problem('', 'format', fault.what), file: name, line: fault.line }],
    tryThis: category === 'network' ? [] : [utf8Remedy(name, fault)],
    data: { file: name, line: fault.line, byte: fault.byte },
  });

const strict = { fatal: true, ignoreBOM: true } as const;

/** The text of bytes, or the first byte that is not UTF-8. A byte order mark stays in the text. Pure. */
export const utf8Text = (
  bytes: Uint8Array,
): { readonly text: string; readonly fault?: never } | { readonly fault: Utf8Fault } => {
  try {
    return { text: new TextDecoder('utf-8', strict).decode(bytes) };
  } catch {
    return { fault: faultOf(bytes, { byte: 0, line: 1 }) };
  }
};

/** The text of bytes. Throws an error for bytes that are not UTF-8, which a lenient decoder would replace. */
export const decodeUtf8 = (
  bytes: Uint8Array,
  name: string,
  category?: 'usage' | 'config' | 'network',
): string => {
  const read = utf8Text(bytes);
  if (read.fault !== undefined) throw notUtf8(name, read.fault, category);
  return read.text;
};

/** The start of a sequence at the end of a piece whose other bytes are in the next piece. */
const openSequence = (bytes: Uint8Array): Uint8Array => {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 3); at -= 1)
    if ((bytes[at] ?? 0) >= 0xc0) return sequenceAt(bytes, at) === 0 ? bytes.slice(at) : new Uint8Array();
  return new Uint8Array();
};

/** Decodes a stream piece by piece. Throws like `decodeUtf8`, with the place in the whole stream. */
export const utf8Decoder = (name: string, category: 'usage' | 'config' = 'usage') => {
  const decoder = new TextDecoder('utf-8', strict);
  let [before, line] = [0, 1];
  /** The end of the pieces so far: a sequence may continue in the next piece. */
  let tail: Uint8Array = new Uint8Array();
  const fail = (bytes: Uint8Array): never => {
    const joined = Buffer.concat([tail, bytes]);
    throw notUtf8(name, faultOf(joined, { byte: before - tail.length, line }), category);
  };
  return {
    push(bytes: Uint8Array): string {
      try {
        const text = decoder.decode(bytes, { stream: true });
        tail = openSequence(bytes.length < 3 ? Buffer.concat([tail, bytes]) : bytes);
        before += bytes.length;
        for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) line += 1;
        return text;
      } catch {
        return fail(bytes);
      }
    },
    end(): string {
      try {
        return decoder.decode();
      } catch {
        return fail(new Uint8Array());
      }
    },
  };
};

/** The text of a log that another program wrote: it is shown and never stored, so damaged bytes are replaced. Pure. */
export const lossyText = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? '' : new TextDecoder().decode(bytes);
