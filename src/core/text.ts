import { jsonFaultText } from './json-scan.ts';
import type { Advice } from './next.ts';
import { AppError, cutText, problem } from './problem.ts';
import { misfit, type Shape } from './shape.ts';
import { shellWord } from './shell.ts';

/** A file that this program wrote and that is not whole any more: where, and what can be done. */
const makeDamagedFileError = (
  path: string,
  line: number | undefined,
  why: string,
  tryThis: readonly Advice[],
): AppError =>
  new AppError('config', `${path}${line === undefined ? '' : `:${line}`} is damaged: ${why}`, {
    code: 'FILE_DAMAGED',
    tryThis: [...tryThis],
  });
const storedValue = (path: string, text: string, shape: Shape, tryThis: readonly Advice[]): unknown => {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw makeDamagedFileError(path, undefined, `it is not JSON: ${jsonFaultText(text)}`, tryThis);
  }
  const wrong = misfit(value, shape);
  if (wrong !== undefined) throw makeDamagedFileError(path, undefined, wrong, tryThis);
  return value;
};
/** The object of a JSON file that is written whole or not at all. */
export const storedObject = <T>(
  path: string,
  text: string,
  shape: { readonly [F in keyof T & string as F | `${F}?`]?: Shape },
  tryThis: readonly Advice[],
): T => storedValue(path, text, shape as Shape, tryThis) as T;
/** The list of such a file. */
export const storedList = <T>(path: string, text: string, item: Shape, tryThis: readonly Advice[]): T[] =>
  storedValue(path, text, [item], tryThis) as T[];
type StoredLines = {
  readonly values: readonly Record<string, unknown>[];
  /** The last line was cut off by a kill, a full disk or a loss of power; it is left out. */
  readonly isTorn: boolean;
};
/**
 * Returns the objects of a file of JSON lines. An invalid line in the middle is damage. The last line may be
 * incomplete.
 */
export const storedLines = (
  path: string,
  text: string,
  tryThis: readonly Advice[],
  shapeOf: (line: unknown) => Shape = () => ({}),
): StoredLines => {
  const end = text.lastIndexOf('\n') + 1;
  const lines = text.slice(0, end).split('\n').slice(0, -1);
  const values = lines.map((line, i) => {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw makeDamagedFileError(path, i + 1, `it is not JSON: ${jsonFaultText(line)}`, tryThis);
    }
    const wrong = misfit(value, shapeOf(value));
    if (wrong !== undefined) throw makeDamagedFileError(path, i + 1, wrong, tryThis);
    return value as Record<string, unknown>;
  });
  return { values, isTorn: end < text.length };
};

/** Whether the last two letters of both beginnings changed places. */
const isSwap = (a: string, b: string, i: number, j: number): boolean =>
  i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
/** Edit distance with early end; two letters that changed places count as one edit. Names longer apart than `limit` are all equally far. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1;
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = a[i - 1] === b[j - 1] ? 0 : 1;
      const [removed = 0, kept = 0] = [previous[j], previous[j - 1]];
      const swap = isSwap(a, b, i, j) ? (before[j - 2] ?? 0) + 1 : limit + 1;
      row[j] = Math.min(removed + 1, (row[j - 1] ?? 0) + 1, kept + change, swap);
    }
    [before, previous] = [previous, row];
  }
  return previous[b.length] ?? limit + 1;
};
/** `desc` is a prefix of `description`; `members` matches `member_ids` without its last letter. */
const findByStart = (typed: string, known: readonly string[]): string | undefined => {
  const stem = typed.toLowerCase().replace(/s$/, '');
  if (stem.length < 3) return undefined;
  return known.filter((name) => name.toLowerCase().startsWith(stem)).sort((a, b) => a.length - b.length)[0];
};
/** The known name that differs from a mistyped one by at most `limit` letters. */
export const similar = (typed: string, known: readonly string[], limit: number): string | undefined => {
  let best: string | undefined;
  let least = limit + 1;
  for (const name of known) {
    const far = distance(typed.toLowerCase(), name.toLowerCase(), limit);
    // People seldom mistype the first letter: `plugin` does not mean `login`.
    const isOther = far > 1 && typed[0]?.toLowerCase() !== name[0]?.toLowerCase();
    if (far < least && !isOther) [best, least] = [name, far];
  }
  return best;
};
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');
/**
 * The known name that a mistyped one most likely meant, if any is close. Another number is another choice and not a
 * mistyped letter: `3.7` does not mean `3.2`, but `3,4` means `3.4`.
 */
export const nearest = (typed: string, names: Iterable<string>): string | undefined => {
  const isNumber = /^[^\p{L}]*\d[^\p{L}]*$/u.test(typed);
  const known = [...names].filter((name) => !isNumber || digitsOf(name) === digitsOf(typed));
  const limit = typed.length < 5 ? 1 : typed.length < 9 ? 2 : 3;
  return similar(typed, known, limit) ?? findByStart(typed, known);
};

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/**
 * Escapes text for the content and the quoted attributes of HTML and SVG. Returns an empty string for
 * undefined.
 */
export const escapeHtml = (text: string | number | undefined): string =>
  String(text ?? '').replace(/[&<>"']/g, (sign) => entities[sign] ?? sign);

/**
 * Escapes text for the content and the quoted attributes of XML. Line breaks stay in attributes. XML cannot express most
 * control characters: U+FFFD takes their place.
 */
export const escapeXml = (text: string): string =>
  escapeHtml(text.replaceAll(/[^\t\n\r -\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD'))
    .replaceAll('\n', '&#10;')
    .replaceAll('\r', '&#13;');

/** Text that is HTML already. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
type Part = string | number | Html | undefined | false | readonly Html[];
const renderPart = (part: Part): string => {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  return typeof part === 'object' ? part.map(({ text }) => text).join('') : escapeHtml(String(part));
};
/** HTML whose values are escaped unless they are HTML themselves; there is no other way to write a page here. */
export const html = (texts: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(texts.map((text, i) => text + (i < parts.length ? renderPart(parts[i]) : '')).join(''));

/** The first byte of a text that is not UTF-8. `byte` counts from 0, `line` from 1. */
type Utf8Fault = {
  readonly byte: number;
  readonly line: number;
  readonly what: string;
  /** How to get text from a file of another format. */
  readonly remedy?: string;
};

const exportSheet = 'open the file in a spreadsheet program and export the sheet as CSV in UTF-8';
/** Formats of other programs by the start of the file, with the way to get text from it. */
const foreignFormats: readonly (readonly [start: string | RegExp, what: string, remedy: string])[] = [
  ['PK\x03\x04', 'a ZIP archive or a document in one, such as .xlsx', `unpack an archive; ${exportSheet}`],
  ['PK\x05\x06', 'an empty ZIP archive', 'name the file that contains the data'],
  ['\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1', 'an Excel workbook (.xls) or an old Office document', exportSheet],
  ['%PDF-', 'a PDF document', 'export the data as CSV from the program that made the PDF document'],
  ['\x1F\x8B', 'compressed by gzip', 'decompress the file first: gunzip'],
  ['BZh91AY&SY', 'compressed by bzip2', 'decompress the file first: bunzip2'],
  ['\xFD7zXZ\0', 'compressed by xz', 'decompress the file first: unxz'],
  ['\x28\xB5\x2F\xFD', 'compressed by zstd', 'decompress the file first: unzstd'],
  ['7z\xBC\xAF\x27\x1C', 'an archive of 7-Zip', 'unpack the archive first'],
  ['Rar!\x1A\x07', 'an archive of RAR', 'unpack the archive first'],
  ['SQLite format 3\0', 'an SQLite database', 'export a table: sqlite3 -csv -header'],
  [/^PAR1[^\t\n\r -~]/, 'a Parquet file', 'convert the file to CSV or NDJSON'],
  ['\x89PNG', 'an image', 'name the file that contains the data'],
  ['\xFF\xD8\xFF', 'an image', 'name the file that contains the data'],
  ['{\\rtf', 'a rich-text document (.rtf)', 'save the document as plain text in UTF-8'],
  [
    /^\uFEFF?\s*<(?:!doctype\s+html|html|head|meta|table|body|script)\b/i,
    'an HTML page',
    'open the file in a browser: it may be a page for signing in or an error; a spreadsheet program exports a table of the page as CSV',
  ],
  [/^\uFEFF?\s*<\?xml\b/i, 'an XML document', 'export the data as CSV, NDJSON, YAML or JSON'],
  ['version https://git-lfs.github.com/', 'a pointer of Git LFS', 'git lfs pull fetches the file'],
];
/** Spreadsheets in a ZIP archive by the names of its parts. */
const spreadsheets: readonly (readonly [part: RegExp, what: string])[] = [
  [/opendocument\.spreadsheet/, 'an OpenDocument spreadsheet (.ods)'],
  [/\bxl\/(?:workbook|worksheets|_rels|styles|theme)/, 'an Excel workbook (.xlsx)'],
];
type ForeignFormat = { readonly what: string; readonly remedy: string };
/** The format of a file that starts with this text, if it is a format of another program. Pure. */
const foreignFormatOf = (start: string): ForeignFormat | undefined => {
  const [, what, remedy] =
    foreignFormats.find(([one]) => (typeof one === 'string' ? start.startsWith(one) : one.test(start))) ?? [];
  if (what === undefined || remedy === undefined) return undefined;
  const [, sheet] = (start.startsWith('PK') && spreadsheets.find(([part]) => part.test(start))) || [];
  return sheet === undefined ? { what, remedy } : { what: sheet, remedy: exportSheet };
};
/** Throws for the text of a page or a document, which readers of tables and YAML would split. */
export const refuseForeignText = (text: string, name: string): void => {
  const foreign = foreignFormatOf(text);
  if (foreign === undefined) return;
  const wrong = { ...problem('', 'format', `is ${foreign.what}`), file: name, line: 1 };
  throw new AppError('usage', `${name} is ${foreign.what}; no request was sent`, {
    code: 'FOREIGN_FORMAT',
    problems: [wrong],
    tryThis: [foreign.remedy],
  });
};

/** True if the bytes show the format of a file: a line of text, or enough bytes for the names of the parts of an archive. */
const showsFormat = (start: Buffer): boolean => {
  const text = start.toString('latin1').trimStart();
  if (start.length >= 4096) return true;
  return !text.startsWith('PK\x03') && (text.length >= 64 || text.includes('\n'));
};
/** Joins the first pieces of a stream until they show its format, because a pipe can deliver single bytes. */
export async function* joinStart(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let start = Buffer.alloc(0);
  let isShown = false;
  for await (const piece of bytes) {
    if (!isShown) start = Buffer.concat([start, piece]);
    if (isShown) yield piece;
    else if (showsFormat(start)) {
      isShown = true;
      yield start;
    }
  }
  if (!isShown && start.length > 0) yield start;
}

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

/** The encoding of several bytes for each character that the first bytes show. */
const wideEncodingOf = (bytes: Uint8Array): string | undefined => {
  const [first, second, third, fourth] = bytes;
  if (isUtf16(bytes) && third === 0 && fourth === 0)
    return 'UTF-32 (it starts with a byte order mark of UTF-32)';
  if (isUtf16(bytes)) return 'UTF-16 (it starts with a byte order mark of UTF-16)';
  // Letters of a header are ASCII, so every second byte is zero.
  if (second === 0 && fourth === 0 && first !== 0 && third !== 0)
    return 'UTF-16LE (every second byte is zero)';
  return first === 0 && third === 0 && second !== 0 && fourth !== 0
    ? 'UTF-16BE (every second byte is zero)'
    : undefined;
};
const faultOf = (bytes: Uint8Array, before: Omit<Utf8Fault, 'what'>): Utf8Fault => {
  const wide = before.byte === 0 ? wideEncodingOf(bytes) : undefined;
  if (wide !== undefined) return { ...before, what: `${wide}, not UTF-8` };
  const foreign = before.byte === 0 ? foreignFormatOf(Buffer.from(bytes).toString('latin1')) : undefined;
  if (foreign !== undefined)
    return { ...before, what: `${foreign.what}, not text in UTF-8`, remedy: foreign.remedy };
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
export const utf8Remedies = (name: string, fault: Utf8Fault): string[] => {
  const remedy = utf8Remedy(name, fault);
  // The encoding is a guess. Another one would make other letters of the bytes, without an error.
  return remedy.includes('WINDOWS-1252')
    ? [
        remedy,
        'use the encoding of the program that wrote the file, such as MACINTOSH (Excel for Mac), WINDOWS-1251 or SHIFT_JIS',
      ]
    : [remedy];
};
const utf8Remedy = (name: string, { what, remedy }: Utf8Fault): string => {
  if (remedy !== undefined) return remedy;
  const from = /^UTF-(?:16LE|16BE|16|32)/.exec(what)?.[0] ?? 'WINDOWS-1252';
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
    tryThis: category === 'network' ? [] : utf8Remedies(name, fault),
    data: { file: name, line: fault.line, byte: fault.byte },
  });

const strict = { fatal: true, ignoreBOM: true } as const;

const MARK = Buffer.from('\uFEFF');
/**
 * What the first bytes of a text show although they can be decoded: letters of UTF-16 with zeros between them, or two
 * files that were joined, each with its mark.
 */
const startFault = (bytes: Uint8Array): Utf8Fault | undefined => {
  const wide = bytes[0] === 0 || bytes[1] === 0 ? wideEncodingOf(bytes) : undefined;
  if (wide !== undefined) return { byte: 0, line: 1, what: `${wide}, not UTF-8` };
  const isTwice = bytes[0] === MARK[0] && Buffer.concat([MARK, MARK]).equals(bytes.subarray(0, 6));
  return isTwice
    ? {
        byte: 3,
        line: 1,
        what: 'a second byte order mark follows the first',
        remedy: 'remove one of the marks',
      }
    : undefined;
};
/**
 * A byte order mark inside the text of a file from a person: files that were joined, or an invisible character.
 * The escape `\uFEFF` of JSON and YAML is visible, and stays allowed. `from` is 1 for the start of a file. Pure.
 */
const findInnerMark = (text: string, from: 0 | 1 = 1): Utf8Fault | undefined => {
  const at = text.indexOf('\uFEFF', from);
  if (at === -1) return undefined;
  return {
    byte: Buffer.byteLength(text.slice(0, at)),
    line: text.slice(0, at).split('\n').length,
    what: 'a byte order mark (U+FEFF) is inside the text; only the start of a file may have it',
    remedy: 'remove the mark; two files that were joined have a mark and a header each',
  };
};
/** Rejects the complete text of a file with a byte order mark inside it. */
export const refuseInnerMark = (text: string, name: string): void => {
  const mark = findInnerMark(text);
  if (mark !== undefined) throw notUtf8(name, mark, 'usage');
};
/** The text of bytes, or the first byte that is not UTF-8. A byte order mark stays in the text. Pure. */
export const utf8Text = (
  bytes: Uint8Array,
): { readonly text: string; readonly fault?: never } | { readonly fault: Utf8Fault } => {
  const fault = startFault(bytes);
  if (fault !== undefined) return { fault };
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

const shiftFault = <T extends { readonly byte: number; readonly line: number }>(
  fault: T,
  bytes: number,
  lines: number,
): T => ({ ...fault, byte: fault.byte + bytes, line: fault.line + lines });
const countNewlines = (bytes: Uint8Array): number => {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
};
/**
 * Decodes a stream piece by piece. Throws like `decodeUtf8`, with the place in the whole stream. A file that opsctl wrote
 * `allowsMarks`: the values of a service in it can contain U+FEFF.
 */
export const utf8Decoder = (
  name: string,
  category: 'usage' | 'config' = 'usage',
  { allowsMarks = false }: { readonly allowsMarks?: boolean } = {},
) => {
  const decoder = new TextDecoder('utf-8', strict);
  let [before, line] = [0, 1];
  /** The end of the pieces so far: a sequence, also of the first mark, may continue in the next piece. */
  let tail: Uint8Array = new Uint8Array();
  const refuseMark = (text: string): void => {
    const mark = findInnerMark(text, before === tail.length ? 1 : 0);
    if (mark !== undefined) throw notUtf8(name, shiftFault(mark, before - tail.length, line - 1), category);
  };
  const decode = (bytes: Uint8Array, options?: { readonly stream: boolean }): string => {
    try {
      return decoder.decode(bytes, options);
    } catch {
      const place = { byte: before - tail.length, line };
      throw notUtf8(name, faultOf(Buffer.concat([tail, bytes]), place), category);
    }
  };
  return {
    push(bytes: Uint8Array): string {
      const fault = before === 0 ? startFault(bytes) : undefined;
      if (fault !== undefined) throw notUtf8(name, fault, category);
      const text = decode(bytes, { stream: true });
      if (!allowsMarks) refuseMark(text);
      tail = openSequence(bytes.length < 3 ? Buffer.concat([tail, bytes]) : bytes);
      before += bytes.length;
      line += countNewlines(bytes);
      return text;
    },
    end: () => decode(new Uint8Array()),
  };
};

/** True for a text with characters that Unicode may encode in several forms, such as `é`. */
const hasForms = (text: string): boolean => /\P{ASCII}/u.test(text);
/** The text in the canonical form of Unicode: texts that look the same have one form. */
export const toForm = (text: string): string => (hasForms(text) ? text.normalize('NFC') : text);
/** The text first, then the composed and the decomposed form of Unicode if they have other characters. */
export const formsOf = (text: string): string[] =>
  hasForms(text) ? [...new Set([text, text.normalize('NFC'), text.normalize('NFD')])] : [text];
/** Texts by their canonical form. A text of ASCII has one form and is not kept. */
export class TextForms {
  readonly #texts = new Map<string, string>();
  constructor(texts: Iterable<string> = []) {
    for (const text of texts) this.note(text);
  }
  note(text: string): void {
    if (hasForms(text) && !this.#texts.has(toForm(text))) this.#texts.set(toForm(text), text);
  }
  /** Another text that looks the same and has other characters; undefined if none exists. */
  findOther(text: string): string | undefined {
    const found = hasForms(text) ? this.#texts.get(toForm(text)) : undefined;
    return found === text ? undefined : found;
  }
}
/** Shows accents that are separate characters as escapes. */
export const showForm = (text: string): string =>
  showHidden(text).replace(
    /\p{M}/gu,
    (sign) => `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
export const lookalikeHint = 'write the characters of the other text';
/** Shows characters that look like a space or are invisible as escapes. */
export const showHidden = (text: string): string =>
  JSON.stringify(cutText(text, 100)).replace(/[\p{Cf}\p{Cc}\p{Zs}\u2028\u2029]/gu, (sign) =>
    sign === ' ' ? sign : `\\u${(sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );

export const nulFound = 'a NUL character is part of the text';
export const nulRemedy =
  'remove it; if every second character is NUL, convert the file: iconv -f UTF-16LE -t UTF-8';
/** UTF-8 cannot encode half of a surrogate pair. It would be stored as a question mark. */
export const LONE_SURROGATE = /[\ud800-\udfff]/u;
export const escapedNulRemedy = 'remove the escape: no service stores this character';
/** The place of the first NUL character in the text of a file. Pure. */
export const placeOfNul = (text: string): { readonly line: number; readonly column: number } | undefined => {
  const at = text.indexOf('\0');
  if (at === -1) return undefined;
  const before = text.slice(0, at).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
};

/** The text of a log that another program wrote: it is shown and never stored, so damaged bytes are replaced. Pure. */
export const lossyText = (bytes: Uint8Array | undefined): string =>
  bytes === undefined ? '' : new TextDecoder().decode(bytes);

/** Each UTF-16 unit as in JSON, so that escaped JSON is still JSON. */
const escapeText = (c: string): string =>
  Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join('');
// C0 without tab and line end, DEL and C1, and invisible characters: marks of the reading direction (Bidi_Control), zero-width characters except joiners, which emoji and scripts need, byte order marks, marks of interlinear texts, and tags (U+E0000 to U+E007F) outside the flag of a region. The last part of the pattern runs for tags only.
const UNSAFE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f](?<!\ud83c\udff4(?:\udb40[\udc30-\udc39\udc61-\udc7a]){0,6}\udb40[\udc30-\udc39\udc61-\udc7f])/g;
const UNSAFE_IN_LINE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f](?<!\ud83c\udff4(?:\udb40[\udc30-\udc39\udc61-\udc7a]){0,6}\udb40[\udc30-\udc39\udc61-\udc7f])/g;
/** Data on its way to a terminal: what would move the cursor, change colors or hide text is shown as `\u001b` instead. */
export const printable = (text: string): string => text.replace(UNSAFE, escapeText);
/** Like the function above, for text on a single line: a line end becomes `\n`. */
export const oneLine = (text: string): string =>
  text.replace(UNSAFE_IN_LINE, (c) =>
    c === '\n' ? '\\n' : c === '\t' ? '\\t' : c === '\r' ? '\\r' : escapeText(c),
  );
// biome-ignore lint/suspicious/noControlCharactersInRegex: a color is a control sequence
const COLOR = /(\u001b\[[0-9;]*m)/;
/** A line of a screen that the program draws itself: its colors stay, and nothing else is a command for the terminal. */
export const drawnLine = (line: string): string =>
  line
    .split(COLOR)
    .map((part, i) => (i % 2 === 1 ? part : oneLine(part)))
    .join('');

const markdownSigns: Readonly<Record<string, string>> = {
  ...{ '|': '\\|', '\\': '&#92;', '<': '&lt;', '`': '&#96;', '[': '&#91;', ']': '&#93;' },
};
/** An empty space between the sign and the name. An entity for the sign does not help: services look for names after they resolve entities. */
const GAP = '&#8203;';
/**
 * Puts a gap into what GitHub and GitLab turn into a mention or a reference: a mention notifies a person or a team, and a reference writes
 * into the issue, the change or the commit that it names. Addresses are not changed, except addresses of such records.
 */
const withGaps = (text: string): string =>
  text.replace(
    /@(?=[\p{L}\p{N}_-])|[#!$&](?=["\d])|\bgh-(?=\d)|\/(?:issues|pulls?|discussions|merge_requests|work_items|epics|commit)\/(?=[\da-f])|&(?=[#\w])/giu,
    (sign, at: number, all: string) =>
      // An ampersand of the text must not start an entity, which would become such a sign.
      sign !== '&' ? sign + GAP : /["\d]/.test(all.charAt(at + 1)) ? `&amp;${GAP}` : '&amp;',
  );
/**
 * One line of text for Markdown, such as a cell of a table: without HTML, links, images, mentions and references, because
 * a comment on a pull request would load an image of a stranger, show a link under another text, or notify people.
 */
export const escapeMarkdown = (text: string): string =>
  withGaps(printable(text.replaceAll(/[\r\n\t]+/g, ' '))).replaceAll(
    /[|\\<`[\]]/g,
    (sign) => markdownSigns[sign] ?? sign,
  );
/** More backticks than the texts have in a row, and at least the given number. */
const fenceAround = (texts: readonly string[], least: number): string => {
  const runs = texts.flatMap((text) => [...text.matchAll(/`+/g)].map(([run]) => run.length));
  return '`'.repeat(Math.max(least - 1, ...runs) + 1);
};
/** A span of code outside a table. Markdown shows entities and backslashes in a span as they are, so nothing is escaped. */
export const codeSpan = (text: string): string => {
  const line = printable(text.replaceAll(/[\r\n\t]+/g, ' '));
  const fence = fenceAround([line], 1);
  // Markdown removes one space at both ends, and a backtick there would belong to the fence.
  const space = /^`|`$|^ .* $/.test(line) ? ' ' : '';
  return `${fence}${space}${line}${space}${fence}`;
};
/** A block of lines that no line can close. */
export const fencedMarkdown = (language: string, lines: readonly string[]): string[] => {
  const fence = fenceAround(lines, 3);
  return [`${fence}${language}`, ...lines.map(oneLine), fence];
};
/** A byte order mark at the start is not part of the text. */
export const withoutByteOrderMark = (text: string): string => text.replace(/^\uFEFF/, '');
/** Returns a text that stands for itself in a regular expression. */
export const escapePattern = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** Returns PEM with lines of 64 characters (RFC 7468) from the base64 of the content. */
export const pemText = (label: string, base64: string): string =>
  `-----BEGIN ${label}-----\n${(base64.match(/.{1,64}/g) ?? []).join('\n')}\n-----END ${label}-----\n`;
/** Encodes also the characters that `encodeURIComponent` leaves although RFC 3986 reserves them. */
export const encodeStrictly = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
