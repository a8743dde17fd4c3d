import { isRecord } from './shape.ts';

/**
 * Checks rows of a list byte by byte, without making values. Rows of one list have the same keys in the same
 * order, so the keys of a row are compared with those of an earlier row. That proves two things at once: the row
 * is JSON, and none of its objects has a key twice.
 */
type Bytes = Uint8Array;
/**
 * A text of at least four bytes that is compared in words of four bytes, because most of a row is keys. The last word
 * may overlap the one before it.
 */
type Words = {
  readonly bytes: Bytes;
  readonly length: number;
  readonly words: Int32Array;
  readonly last: number;
};
const wordsOf = (text: string): Words => {
  const bytes = Buffer.from(text);
  const { length } = bytes;
  const words = Int32Array.from({ length: length >> 2 }, (_, i) => bytes.readInt32LE(4 * i));
  return { bytes, length, words, last: bytes.readInt32LE(length - 4) };
};
/** The bytes that are read, and the same bytes for the comparison of words. */
type Scan = { readonly bytes: Bytes; readonly view: DataView };
const scanOf = (bytes: Bytes): Scan => ({
  bytes,
  view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length),
});
const hasWords = ({ bytes, view }: Scan, from: number, { length, words, last }: Words): boolean => {
  if (from + length > bytes.length) return false;
  for (let i = 0; i < words.length; i++) if (view.getInt32(from + 4 * i, true) !== words[i]) return false;
  return view.getInt32(from + length - 4, true) === last;
};
/** A key, `{"id":` or `,"name":`, what is known about its value, and the keys that may follow. */
type Member = { readonly key: Words; readonly value: Place; readonly next: Member[] };
/** What was seen at one place of a row: the first keys of its objects, and the place of all elements of its arrays. */
type Place = { readonly first: Member[]; element?: Place };

export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const OPEN_LIST = 0x5b;
export const CLOSE_LIST = 0x5d;
export const OPEN_RECORD = 0x7b;
export const CLOSE_RECORD = 0x7d;
const SPACE = 0x20;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const LETTER_U = 0x75;
/** The place of a value that is not there or cannot be judged. */
export const NOWHERE = -1;
/** Keys that may follow one key. */
const MOST_NEXT = 16;
/** Rows from which keys are learned, the size of such a row, and its levels: what is learned stays small. */
const MOST_LEARNED = 32;
const LARGEST_LEARNED = 16_384;
const DEEPEST = 20;

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= 0x39;
const isHex = (byte: number | undefined): boolean =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
/** The characters after a backslash: `"\/bfnrt`. */
const ESCAPED: ReadonlySet<number | undefined> = new Set(Buffer.from('"\\/bfnrt'));
const escapeEnd = (bytes: Bytes, at: number): number => {
  if (ESCAPED.has(bytes[at])) return at + 1;
  if (bytes[at] !== LETTER_U) return NOWHERE;
  for (let i = 1; i <= 4; i++) if (!isHex(bytes[at + i])) return NOWHERE;
  return at + 5;
};
/** One for each byte that a string may contain as it is. */
const IN_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte >= SPACE && byte !== QUOTE && byte !== BACKSLASH),
);
/** The end of a string whose first character is at `from`. */
const stringEnd = (bytes: Bytes, from: number): number => {
  for (let at = from; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    if (IN_STRING[byte] === 1) {
      at += 1;
      continue;
    }
    if (byte !== BACKSLASH) return byte === QUOTE ? at + 1 : NOWHERE;
    at = escapeEnd(bytes, at + 1);
    if (at === NOWHERE) return NOWHERE;
  }
  return NOWHERE;
};
const digitsEnd = (bytes: Bytes, from: number): number => {
  let at = from;
  while (at < bytes.length && isDigit(bytes[at])) at += 1;
  return at;
};
const exponentEnd = (bytes: Bytes, from: number): number => {
  const isSigned = bytes[from + 1] === MINUS || bytes[from + 1] === 0x2b;
  const first = from + (isSigned ? 2 : 1);
  const end = digitsEnd(bytes, first);
  return end === first ? NOWHERE : end;
};
/** The end of a number as RFC 8259 defines it. */
const numberEnd = (bytes: Bytes, from: number): number => {
  const first = bytes[from] === MINUS ? from + 1 : from;
  if (!isDigit(bytes[first])) return NOWHERE;
  let end = bytes[first] === ZERO ? first + 1 : digitsEnd(bytes, first);
  if (bytes[end] === POINT) {
    const fraction = end + 1;
    end = digitsEnd(bytes, fraction);
    if (end === fraction) return NOWHERE;
  }
  return ((bytes[end] ?? 0) | 0x20) === 0x65 ? exponentEnd(bytes, end) : end;
};
const WORDS = ['true', 'false', 'null'].map(wordsOf);
const wordEnd = (scan: Scan, at: number): number => {
  for (const word of WORDS) if (hasWords(scan, at, word)) return at + word.length;
  return NOWHERE;
};
const memberAt = (scan: Scan, at: number, members: readonly Member[]): Member | undefined => {
  for (let i = 0; i < members.length; i++) {
    const member = members[i];
    if (member !== undefined && hasWords(scan, at, member.key)) return member;
  }
  return undefined;
};
/** No byte is read twice, for all shapes: the next key decides. */
const objectEnd = (scan: Scan, from: number, { first }: Place): number => {
  const { bytes } = scan;
  if (bytes[from + 1] === CLOSE_RECORD) return from + 2;
  let next = first;
  for (let at = from; ; ) {
    const member = memberAt(scan, at, next);
    if (member === undefined) return NOWHERE;
    at = valueEnd(scan, at + member.key.length, member.value);
    if (at === NOWHERE) return NOWHERE;
    if (bytes[at] === CLOSE_RECORD) return at + 1;
    next = member.next;
  }
};
const arrayEnd = (scan: Scan, from: number, { element }: Place): number => {
  const { bytes } = scan;
  if (bytes[from + 1] === CLOSE_LIST) return from + 2;
  if (element === undefined) return NOWHERE;
  for (let at = from; ; ) {
    at = valueEnd(scan, at + 1, element);
    if (at === NOWHERE) return NOWHERE;
    if (bytes[at] === CLOSE_LIST) return at + 1;
    if (bytes[at] !== COMMA) return NOWHERE;
  }
};
/** The end of a value without white space between its tokens, if the keys of its objects are known. */
const valueEnd = (scan: Scan, from: number, place: Place): number => {
  const { bytes } = scan;
  const byte = bytes[from];
  if (byte === QUOTE) return stringEnd(bytes, from + 1);
  if (byte === OPEN_RECORD) return objectEnd(scan, from, place);
  if (byte === OPEN_LIST) return arrayEnd(scan, from, place);
  return byte === MINUS || isDigit(byte) ? numberEnd(bytes, from) : wordEnd(scan, from);
};

/** A key that JavaScript would move to the front of its object, or that a JSON text can write in several ways. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a key may have them
const OTHER_KEY = /^\d|["\\\u0000-\u001f]/;
const learnObject = (value: Readonly<Record<string, unknown>>, { first }: Place, depth: number): void => {
  const names = Object.keys(value);
  if (names.some((name) => OTHER_KEY.test(name))) return;
  let next = first;
  for (const [i, name] of names.entries()) {
    const key = wordsOf(`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    let member = next.find((known) => Buffer.compare(key.bytes, known.key.bytes) === 0);
    if (member === undefined) {
      if (next.length === MOST_NEXT) return;
      member = { key, value: { first: [] }, next: [] };
      next.push(member);
    }
    learnValue(value[name], member.value, depth + 1);
    next = member.next;
  }
};
const learnValue = (value: unknown, place: Place, depth: number): void => {
  if (depth === DEEPEST) return;
  if (isRecord(value)) learnObject(value, place, depth);
  if (!Array.isArray(value)) return;
  place.element ??= { first: [] };
  for (const one of value) learnValue(one, place.element, depth + 1);
};

/** The keys of the rows of one list. */
export class RowShapes {
  readonly #row: Place = { first: [] };
  #learned = 0;
  #scan: Scan = scanOf(new Uint8Array());

  /**
   * The end of the row at `from`, if the row is JSON without white space between its tokens, without repeated keys
   * and without keys that are numbers. Otherwise the row must be read in another way.
   */
  endOf(bytes: Bytes, from: number): number {
    if (this.#scan.bytes !== bytes) this.#scan = scanOf(bytes);
    return valueEnd(this.#scan, from, this.#row);
  }
  /** Learns the keys of a row and returns whether `endOf` knows them now. */
  learn(row: Bytes): boolean {
    if (this.#learned === MOST_LEARNED || row.length > LARGEST_LEARNED) return false;
    this.#learned += 1;
    try {
      learnValue(JSON.parse(Buffer.from(row).toString()), this.#row, 0);
    } catch {
      // The consumer of the row reports what is wrong with it.
      return false;
    }
    return this.endOf(row, 0) === row.length;
  }
}

/** The states of a JSON reader, with what each of them expects. */
const expected = {
  value: 'a value',
  item: 'a value or "]"',
  key: 'a key in double quotes',
  member: 'a key in double quotes or "}"',
  colon: '":"',
  'item-end': '"," or "]"',
  'member-end': '"," or "}"',
  end: 'the end of the text',
} as const;
type JsonState = keyof typeof expected;
type JsonBrackets = ('{' | '[')[];
/**
 * The end of the text in double quotes that starts at this position, after its closing quote; undefined without one. A
 * backslash escapes any character. A regular expression would exhaust its stack in a text of some megabytes.
 */
export const endOfQuotes = (text: string, start: number): number | undefined => {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at + 1;
    if (code === BACKSLASH) at += 1;
  }
  return undefined;
};
const SIMPLE_ESCAPES = new Set([...'"\\/bfnrt'].map((sign) => sign.charCodeAt(0)));
const escapeOfFour = /u[\dA-Fa-f]{4}/y;
/** Whether each character and each escape between the quotes of a string is one of JSON. */
const isJsonString = (text: string, start: number, end: number): boolean => {
  for (let at = start + 1; at < end - 1; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20) return false;
    if (code !== BACKSLASH) continue;
    at += 1;
    if (SIMPLE_ESCAPES.has(text.charCodeAt(at))) continue;
    escapeOfFour.lastIndex = at;
    if (!escapeOfFour.test(text)) return false;
  }
  return true;
};
/**
 * The matches of a global pattern in a valid JSON text. Where the pattern finds a quote, the match is the whole string.
 */
export function* findJsonTokens(
  text: string,
  pattern: RegExp,
): Generator<{ readonly token: string; readonly at: number }> {
  const search = new RegExp(pattern);
  for (let found = search.exec(text); found !== null; found = search.exec(text)) {
    const at = found.index;
    if (found[0] === '"') search.lastIndex = endOfQuotes(text, at) ?? text.length;
    yield { token: text.slice(at, search.lastIndex), at };
  }
}
const COLON = 0x3a;
const isExponent = (code: number): boolean => (code | 0x20) === 0x65;
/** Decimal digits that a number of JavaScript always represents exactly. */
const EXACT_DIGITS = 15;
/** What a valid JSON text contains, read once without its strings. */
export type JsonMeasure = {
  /** Levels of the objects and lists. */
  readonly depth: number;
  /** Keys of all objects. A repeated key counts twice. */
  readonly keys: number;
  /** True if a number has an exponent or more than 15 digits, so that JavaScript may round it. */
  readonly mayRound: boolean;
};
/** The end of the number that starts at this position, and whether JavaScript may round it. */
const readNumber = (text: string, start: number): { readonly end: number; readonly mayRound: boolean } => {
  let [at, hasExponent] = [start, false];
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (isExponent(code)) hasExponent = true;
    else if (!isDigit(code) && code !== POINT && code !== MINUS && code !== 0x2b) break;
  }
  return { end: at, mayRound: hasExponent || at - start > EXACT_DIGITS };
};
/** The change of the depth at a bracket. */
const LEVEL = Int8Array.from({ length: 128 }, (_, code) => {
  if (code === OPEN_RECORD || code === OPEN_LIST) return 1;
  return code === CLOSE_RECORD || code === CLOSE_LIST ? -1 : 0;
});
export const measureJson = (text: string): JsonMeasure => {
  let [depth, deepest, keys, mayRound] = [0, 0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = (endOfQuotes(text, at) ?? text.length) - 1;
    else if (code === COLON) keys += 1;
    else if (isDigit(code)) {
      const number = readNumber(text, at);
      mayRound ||= number.mayRound;
      at = number.end - 1;
    } else {
      depth += LEVEL[code] ?? 0;
      deepest = Math.max(deepest, depth);
    }
  }
  return { depth: deepest, keys, mayRound };
};
/** A sign, a point or an exponent in a number. Most rows do not contain one. */
const OTHER_FORM = /[:,[]\s*(?:-|\d+[.eE])/;
const NUMBER_OR_QUOTE = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const ID_KEY = /^"(?:id|\w+_ids?|[a-z-]+-public-id)"$/;
/**
 * The first ID of a valid JSON text whose number has another form than its value: `1e2` and `5.0` are names of nothing,
 * and JSON.parse makes the IDs 100 and 5 of them. Pure.
 */
export const oddIdIn = (text: string): { readonly key: string; readonly number: string } | undefined => {
  if (!OTHER_FORM.test(text)) return undefined;
  let key = '';
  for (const { token } of findJsonTokens(text, NUMBER_OR_QUOTE)) {
    if (token.startsWith('"')) key = token;
    else if (ID_KEY.test(key) && !/^(?:0|[1-9]\d*)$/.test(token))
      return { key: key.slice(1, -1), number: token };
  }
  return undefined;
};
const JSON_WORD = /[{}[\],:]|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
/** The token of JSON at this position; undefined if none exists. */
const jsonTokenAt = (text: string, at: number): string | undefined => {
  if (text[at] === '"') {
    const end = endOfQuotes(text, at);
    return end !== undefined && isJsonString(text, at, end) ? text.slice(at, end) : undefined;
  }
  JSON_WORD.lastIndex = at;
  return JSON_WORD.exec(text)?.[0];
};
const stateAfter = (open: JsonBrackets): JsonState => {
  const bracket = open.at(-1);
  return bracket === undefined ? 'end' : bracket === '{' ? 'member-end' : 'item-end';
};
const closeBracket = (open: JsonBrackets): JsonState => {
  open.pop();
  return stateAfter(open);
};
const stateOfValue = (state: JsonState, token: string, open: JsonBrackets): JsonState | undefined => {
  if (token === '{' || token === '[') {
    open.push(token);
    return token === '{' ? 'member' : 'item';
  }
  if (token === ']' && state === 'item') return closeBracket(open);
  return /^[\]}:,]/.test(token) ? undefined : stateAfter(open);
};
const stateOfKey = (state: JsonState, token: string, open: JsonBrackets): JsonState | undefined => {
  if (token.startsWith('"')) return 'colon';
  return state === 'member' && token === '}' ? closeBracket(open) : undefined;
};
const stateAfterPart = (state: JsonState, token: string, open: JsonBrackets): JsonState | undefined => {
  const isItem = state === 'item-end';
  if (token === ',') return isItem ? 'value' : 'key';
  return token === (isItem ? ']' : '}') ? closeBracket(open) : undefined;
};
const jsonSteps: Readonly<Record<JsonState, typeof stateOfValue>> = {
  value: stateOfValue,
  item: stateOfValue,
  key: stateOfKey,
  member: stateOfKey,
  colon: (_, token) => (token === ':' ? 'value' : undefined),
  'item-end': stateAfterPart,
  'member-end': stateAfterPart,
  end: () => undefined,
};
const isVisible = (char: string): boolean => !/[\p{C}\p{Z}]/u.test(char);
/** Describes the character at a position. Only one character is shown, because a file may contain secrets. */
const describeFound = (text: string, at: number): string => {
  const code = text.codePointAt(at);
  if (code === undefined) return 'the text ends';
  const char = String.fromCodePoint(code);
  if (char === '"')
    return jsonTokenAt(text, at) === undefined
      ? 'found a string without a closing quote or with an invalid character'
      : 'found a string';
  return `found ${isVisible(char) ? `"${char}"` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}`;
};
/** A position in a text, from 1. */
export const positionAt = (text: string, at: number): { readonly line: number; readonly column: number } => {
  const before = text.slice(0, at);
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') };
};
/** The first place at which a text is not JSON, in words of this program: a text of the engine differs by version. */
export type JsonFault = {
  readonly line: number;
  readonly column: number;
  readonly what: string;
  readonly hint?: string;
  /** The text is JSON, but `JSON.parse` would change its content. */
  readonly isJson?: true;
};
export const jsonFault = (text: string): JsonFault => {
  const open: JsonBrackets = [];
  const space = /[ \t\r\n]*/y;
  let state: JsonState = 'value';
  for (let end = 0; ; ) {
    space.lastIndex = end;
    const at: number = end + (space.exec(text)?.[0].length ?? 0);
    const token = jsonTokenAt(text, at);
    const next: JsonState | undefined =
      token === undefined ? undefined : jsonSteps[state](state, token, open);
    if (token === undefined || next === undefined)
      return { ...positionAt(text, at), what: `expected ${expected[state]}, ${describeFound(text, at)}` };
    state = next;
    end = at + token.length;
  }
};
/** The same as one phrase. A text with a single line needs no line number. */
export const jsonFaultText = (text: string): string => {
  const { line, column, what } = jsonFault(text);
  return `${line === 1 ? '' : `line ${line}, `}column ${column}: ${what}`;
};

/** Whether a text is one JSON value. Pure. */
export const isJsonText = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};
