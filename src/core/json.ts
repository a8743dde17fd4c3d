import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { limits } from './limits.ts';
import { decodeUtf8, escapedNulRemedy, nulFound, printable, withoutByteOrderMark } from './text.ts';
import { findJsonTokens, type JsonFault, jsonFault, measureJson, positionAt } from './json-scan.ts';
import { cutText, AppError } from './problem.ts';
import { quotableText } from './redact-secrets.ts';

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

/**
 * Prefix of a text that represents a number which JavaScript cannot represent exactly. It has two characters of
 * the private use area, because a name may contain one of them before a digit.
 */
const EXACT = '\uE000\uF5CA';
/**
 * Digits, also around a point, or an exponent that a number of JavaScript may lose, and a negative zero, whose sign
 * JSON.stringify loses. They may also be in a text.
 */
const MAY_LOSE = /(?:\d\.?){16}|\d[eE][+-]?\d{3}|(?:^|[:,[\s])-0/;
/** What each of these texts has: sixteen digits around one point have eight of them together. It is found faster. */
const RARE = /[:,[\s]-0|\d(?:\d{7}|[eE][+-]?\d{3})|^-0/;
const mayLose = (text: string): boolean => RARE.test(text) && MAY_LOSE.test(text);
const NUMBER_OR_QUOTE = /"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** The text without the zeros at its end. A regular expression would read each group of zeros many times. */
const withoutEndZeros = (digits: string): string => {
  let end = digits.length;
  while (digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
};
/** The significant digits of a number and its exponent: equal for equal numbers. */
const digitsOf = (number: string): string => {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = `${whole}${part}`.replace(/^0+/, '');
  // Zero is zero with any number of digits and any exponent.
  if (digits === '') return '0';
  const bareDigits = withoutEndZeros(digits);
  return `${sign}${bareDigits}e${Number(power) - part.length + digits.length - bareDigits.length}`;
};
const isExact = (number: string): boolean => digitsOf(String(Number(number))) === digitsOf(number);
/** Whether the output of a number shows the same value. */
const isShownExactly = (number: string): boolean => isExact(number) && !Object.is(Number(number), -0);
/** The JSON text with the matches of a pattern changed. Strings stay. */
const changeTokens = (text: string, pattern: RegExp, change: (token: string) => string): string => {
  const parts: string[] = [];
  let end = 0;
  for (const { token, at } of findJsonTokens(text, pattern)) {
    if (token.startsWith('"')) continue;
    parts.push(text.slice(end, at), change(token));
    end = at + token.length;
  }
  return parts.join('') + text.slice(end);
};
/**
 * The value of a JSON text for output. A number that JavaScript would round becomes a marked text, which
 * `restoreNumbers` turns back into the number of the response.
 */
export const parseExactJson = (text: string): unknown => {
  if (!mayLose(text) || text.includes(EXACT)) return JSON.parse(text);
  JSON.parse(text);
  return JSON.parse(
    changeTokens(text, NUMBER_OR_QUOTE, (token) => (isShownExactly(token) ? token : `"${EXACT}${token}"`)),
  );
};
const MARKED = new RegExp(`"${EXACT}(-?[\\d.eE+-]+)"|${EXACT}(?=-?\\d)`, 'g');
/** Text of any output format with the numbers of the response in place of their marks. */
export const restoreNumbers = (text: string): string =>
  text.includes(EXACT) ? text.replace(MARKED, (_, number?: string) => number ?? '') : text;

const parseRow = (row: Uint8Array, parse: (text: string) => unknown): unknown => {
  const text = Buffer.from(row.buffer, row.byteOffset, row.length).toString();
  // The mark of a replaced byte may also be in the data: only then every byte is checked.
  if (text.includes('\uFFFD')) decodeUtf8(row, 'a row of the list', 'network');
  try {
    return parse(text);
  } catch (error) {
    throw new AppError(
      'network',
      `a row of the list is not JSON: ${cutText(quotableText(text).trim(), 120)}`,
      {
        code: 'NOT_JSON',
        cause: error,
      },
    );
  }
};

/** The value of one row of a list that is read as bytes. */
export const jsonRow = (row: Uint8Array): unknown => parseRow(row, JSON.parse);

/** Rows that are parsed together. Larger groups save no time and need more memory. */
const MOST_IN_RUN = 32;
/** The end of consecutive rows in one piece of a response, each separated from the next by its comma. */
const runOf = (rows: readonly Uint8Array[], from: number, most = MOST_IN_RUN): number => {
  let end = from + 1;
  for (
    let last = rows[from], next = rows[end];
    last !== undefined && next !== undefined;
    last = next, next = rows[end]
  ) {
    if (end - from === most) break;
    if (next.buffer !== last.buffer || next.byteOffset !== last.byteOffset + last.length + 1) break;
    end += 1;
  }
  return end;
};
/** The bytes of consecutive rows, with the commas between them. */
const bytesOfRun = (rows: readonly Uint8Array[], from: number, end: number): Buffer => {
  const [first, last] = [rows[from], rows[end - 1]];
  if (first === undefined || last === undefined) return Buffer.alloc(0);
  return Buffer.from(first.buffer, first.byteOffset, last.byteOffset + last.length - first.byteOffset);
};
/** The runs of these rows, each with the bytes of its rows and of the commas between them. */
function* runsOf(
  rows: readonly Uint8Array[],
): Generator<{ readonly bytes: Buffer; readonly rows: readonly Uint8Array[] }> {
  for (let at = 0; at < rows.length; ) {
    const end = runOf(rows, at, rows.length);
    yield { bytes: bytesOfRun(rows, at, end), rows: rows.slice(at, end) };
    at = end;
  }
}
const COMMA = Buffer.from(',');
/** The checksum of rows, continued from that of the rows before them. It does not depend on the pieces of the response. */
export const crcOfRows = (rows: readonly Uint8Array[], before: number): number => {
  let found = before;
  for (const { bytes } of runsOf(rows)) found = crc32(COMMA, crc32(bytes, found));
  return found;
};
const checkedRows = new WeakSet<readonly Uint8Array[]>();
/** Notes that each of these rows is JSON without white space between its tokens, without repeated keys and without keys that are numbers. */
export const markChecked = <T extends readonly Uint8Array[]>(rows: T): T => {
  for (const { bytes } of runsOf(rows)) if (!isUtf8(bytes)) return rows;
  checkedRows.add(rows);
  return rows;
};
export const areChecked = (rows: readonly Uint8Array[]): boolean => checkedRows.has(rows);
/**
 * The values of a run of rows with this text; undefined if one of them must be read separately, because it is
 * damaged or has a character that may be a replaced byte.
 */
const parseRun = (
  text: string,
  count: number,
  parse: (text: string) => unknown,
): readonly unknown[] | undefined => {
  if (text.includes('\uFFFD')) return undefined;
  try {
    const values = parse(`[${text}]`) as unknown[];
    return values.length === count ? values : undefined;
  } catch {
    return undefined;
  }
};
/**
 * The values of rows of a list. Parsing many rows of one piece together takes half the time of parsing each
 * one. `onRepeated` receives a key that one object has twice, of which the value keeps the last.
 */
export const parseJsonRows = (rows: readonly Uint8Array[], onRepeated?: (key: string) => void): unknown[] => {
  const values: unknown[] = [];
  for (let at = 0; at < rows.length; ) {
    const end = runOf(rows, at);
    const text = bytesOfRun(rows, at, end).toString();
    const inRun =
      parseRun(text, end - at, parseExactJson) ??
      rows.slice(at, end).map((row) => parseRow(row, parseExactJson));
    if (onRepeated !== undefined) {
      const repeated = repeatedKeyIn(text, inRun);
      if (repeated !== undefined) onRepeated(repeated);
    }
    for (const value of inRun) values.push(value);
    at = end;
  }
  return values;
};
/**
 * True if there is white space between the tokens of a JSON text. A string that contains one of these
 * characters also makes the result true.
 */
const isSpaced = (text: string): boolean =>
  ['": ', ', "', '{ "', '\n', '\t', '\r'].some((sign) => text.includes(sign));
const SPACE_OR_QUOTE = /"|\s+/g;
const textOf = (row: Uint8Array): string => Buffer.from(row.buffer, row.byteOffset, row.length).toString();
/** The row on one line as the service wrote it: numbers of any size and repeated keys stay. */
const lineOfRow = (row: Uint8Array): string => {
  jsonRow(row);
  const text = textOf(row);
  return `${isSpaced(text) ? changeTokens(text, SPACE_OR_QUOTE, () => '') : text.trim()}\n`;
};
const LINE_END = 0x0a;
/** The lines of a run: every comma between two rows becomes a line end, and each byte of a row stays. */
const linesOfRun = (run: Buffer, rows: readonly Uint8Array[]): string => {
  const bytes = Buffer.from(run);
  let at = -1;
  for (const row of rows) {
    at += row.length + 1;
    if (at < bytes.length) bytes[at] = LINE_END;
  }
  return `${bytes.toString()}\n`;
};
/** The rows of a list as lines, checked but otherwise as the service wrote them. */
export const jsonLines = (rows: readonly Uint8Array[]): string => {
  const lines: string[] = [];
  if (areChecked(rows)) {
    for (const run of runsOf(rows)) lines.push(linesOfRun(run.bytes, run.rows));
    return lines.join('');
  }
  for (let at = 0; at < rows.length; ) {
    const end = runOf(rows, at);
    const text = bytesOfRun(rows, at, end).toString();
    // A service writes all rows in one way, and a line break would end a line too early.
    const first = rows[at] ?? new Uint8Array();
    const isReady =
      !text.includes('\n') && !isSpaced(textOf(first)) && parseRun(text, end - at, JSON.parse) !== undefined;
    if (isReady) lines.push(linesOfRun(bytesOfRun(rows, at, end), rows.slice(at, end)));
    else lines.push(...rows.slice(at, end).map(lineOfRow));
    at = end;
  }
  return lines.join('');
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

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
const deepKeyCount = (root: object): number => {
  let count = 0;
  const open: object[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    const inner: unknown[] = Object.values(value);
    if (!Array.isArray(value)) count += inner.length;
    for (const one of inner) if (isObject(one)) open.push(one);
  }
  return count;
};
/** A response of usual depth is counted by recursion, which takes a third of the time. */
const MAX_RECURSION = 50;
const keyCount = (root: object, depth = 0): number => {
  if (depth > MAX_RECURSION) return deepKeyCount(root);
  let count = 0;
  if (Array.isArray(root)) {
    for (const inner of root as readonly unknown[]) if (isObject(inner)) count += keyCount(inner, depth + 1);
    return count;
  }
  for (const key in root) {
    const inner = (root as Readonly<Record<string, unknown>>)[key];
    count += 1 + (isObject(inner) ? keyCount(inner, depth + 1) : 0);
  }
  return count;
};

const SIGN_OR_QUOTE = /["{}[\],:]/g;

type RepeatedKey = { readonly key: string; readonly at: number };
/** The first key that its object has already, in the order of the text. */
const firstRepeated = (text: string): RepeatedKey | undefined => {
  const open: (Set<string> | undefined)[] = [];
  let last = '';
  let lastAt = 0;
  for (const { token, at } of findJsonTokens(text, SIGN_OR_QUOTE)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const key = String(JSON.parse(last));
      const keys = open.at(-1);
      if (keys?.has(key)) return { key, at: lastAt };
      keys?.add(key);
    } else [last, lastAt] = [token, at];
  }
  return undefined;
};

const KEY_END = '":';
const countKeyEnds = (text: string): number => {
  let count = 0;
  for (let at = text.indexOf(KEY_END); at !== -1; at = text.indexOf(KEY_END, at + KEY_END.length)) count += 1;
  return count;
};
const SPACED_COLON = /"\s+:/;
/**
 * A key that appears twice in one object of a JSON text. `JSON.parse` silently drops one of the values.
 * `value` is the parsed text.
 */
const findRepeatedKey = (text: string, value: unknown): RepeatedKey | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  const keys = countKeyEnds(text);
  // A string may contain a quote and a colon as well, so only the same number proves that no key is lost.
  return keys === keyCount(value) && !SPACED_COLON.test(text) ? undefined : firstRepeated(text);
};
export const repeatedKeyIn = (text: string, value: unknown): string | undefined =>
  findRepeatedKey(text, value)?.key;

/** The key or the position of the first number that became infinite, because JavaScript has no number of its size. */
const infiniteAt = (root: unknown): string | undefined => {
  const open: [key: string, value: unknown][] = [['', root]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [key, value] = pair;
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) return key;
    if (isObject(value)) for (const [name, inner] of Object.entries(value)) open.push([name, inner]);
  }
  return undefined;
};
/**
 * Why two readers of a JSON text could see different values: a key that an object has twice, or a number without a
 * limit. Undefined if they cannot. `value` is the parsed text. Tokens, keys and metadata must have one meaning.
 */
export const ambiguityIn = (text: string, value: unknown): string | undefined => {
  const repeated = repeatedKeyIn(text, value);
  if (repeated !== undefined) return `${quotedKey(repeated)} appears twice in one object`;
  const infinite = infiniteAt(value);
  return infinite === undefined ? undefined : `the number of ${quotedKey(infinite)} is too large`;
};
const quotedKey = (key: string): string => JSON.stringify(printable(cutText(key, 60)));

/** The position of the first bracket of a JSON text that is nested too deeply; undefined if none is. */
export const tooDeepAt = (text: string, most: number = limits.yamlDepth): number | undefined => {
  let depth = 0;
  for (const { token, at } of findJsonTokens(text, SIGN_OR_QUOTE)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth > most) return at;
  }
  return undefined;
};
const inexactIn = (text: string): { readonly number: string; readonly at: number } | undefined => {
  if (!mayLose(text)) return undefined;
  for (const { token, at } of findJsonTokens(text, NUMBER_OR_QUOTE))
    if (!token.startsWith('"') && !isExact(token)) return { number: token, at };
  return undefined;
};
/** Why a number of JavaScript is not equal to this one. */
const describeLoss = (number: string): string => {
  const value = Number(number);
  if (!Number.isFinite(value)) return 'is too large for a number';
  return value === 0 ? 'is too close to zero for a number' : 'has more digits than a number can represent';
};
/** The first number of a JSON text that a number of JavaScript cannot represent, with the reason. */
export const lostNumberIn = (text: string): { readonly number: string; readonly why: string } | undefined => {
  const inexact = inexactIn(text);
  return inexact && { number: inexact.number, why: describeLoss(inexact.number) };
};
/** The position of an escaped NUL, or -1. In `\\u0000` the first backslash escapes the second one. */
export const escapedNulAt = (text: string): number => {
  for (let at = text.indexOf('\\u0000'); at !== -1; at = text.indexOf('\\u0000', at + 1)) {
    let start = at;
    while (text[start - 1] === '\\') start -= 1;
    if ((at - start) % 2 === 0) return at;
  }
  return -1;
};
type ValueFault = Pick<JsonFault, 'what' | 'hint'> & { readonly at: number };
type JsonOptions = {
  /** Numbers that JavaScript would round become marked texts as in `parseExactJson`. */
  readonly exact?: boolean;
  /** The file is a recording or a state, which contains what a service returned. */
  readonly mayHaveNul?: boolean;
};
const valueFault = (
  text: string,
  value: unknown,
  { exact = false, mayHaveNul = false }: JsonOptions,
): ValueFault | undefined => {
  // A state of the mock server has hundreds of megabytes: the slow searches start only for what they will find.
  const { depth, keys, mayRound } = measureJson(text);
  const deep = depth > limits.yamlDepth ? tooDeepAt(text) : undefined;
  if (deep !== undefined)
    return { at: deep, what: `values are nested more than ${limits.yamlDepth} levels deep` };
  const isWhole = !isObject(value) || keys === keyCount(value);
  const repeated = isWhole ? undefined : firstRepeated(text);
  if (repeated !== undefined)
    return {
      at: repeated.at,
      what: `the key ${JSON.stringify(repeated.key)} appears twice in one object`,
      hint: 'remove one of the two',
    };
  const nul = mayHaveNul ? -1 : escapedNulAt(text);
  if (nul !== -1) return { at: nul, what: nulFound, hint: escapedNulRemedy };
  const inexact = exact || !mayRound ? undefined : inexactIn(text);
  if (inexact === undefined) return undefined;
  return {
    at: inexact.at,
    what: `${inexact.number} ${describeLoss(inexact.number)}`,
    hint: `write it as text: "${inexact.number}"`,
  };
};
/**
 * The value of the JSON text of a file. Each file that a person or another program may have written is read with this
 * function: it refuses what `JSON.parse` silently changes, which is a repeated key and a number with too many digits,
 * and a NUL character. `fail` makes the error of the caller.
 */
export const readJsonText = (
  text: string,
  fail: (fault: JsonFault) => Error,
  options: JsonOptions = {},
): unknown => {
  const bare = withoutByteOrderMark(text);
  let value: unknown;
  try {
    value = options.exact === true ? parseExactJson(bare) : JSON.parse(bare);
  } catch {
    throw fail(jsonFault(bare));
  }
  const fault = valueFault(bare, value, options);
  if (fault !== undefined) {
    const { at, ...rest } = fault;
    throw fail({ ...positionAt(bare, at), ...rest, isJson: true });
  }
  return value;
};

/** What the text of a response shows and its value does not. */
type Lost = { readonly exact?: unknown; readonly repeated?: string };
const lostIn = new WeakMap<object, Lost>();
/** Each object and list inside the value has an entry, because a command may print only a part of a response. */
const noteLost = (root: unknown, exactRoot: unknown, repeated: string | undefined): void => {
  const open: [value: unknown, exact: unknown][] = [[root, exactRoot]];
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [value, exact] = pair;
    if (!isObject(value) || !isObject(exact)) continue;
    lostIn.set(value, { exact, ...(repeated === undefined ? {} : { repeated }) });
    const exactParts = exact as Readonly<Record<string, unknown>>;
    for (const [key, inner] of Object.entries(value)) open.push([inner, exactParts[key]]);
  }
};
/**
 * The value of a response. `shownValue` returns its exact numbers, and `lostKey` a key that an object has twice: the
 * value itself has neither.
 */
export const parseResponseJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  const repeated = repeatedKeyIn(text, value);
  if (repeated !== undefined || mayLose(text)) noteLost(value, parseExactJson(text), repeated);
  return value;
};
/**
 * Returns the value in another form that `change` makes, for example with other keys. Its exact numbers and its
 * repeated key stay known.
 */
export const changeResponse = (value: unknown, change: (value: unknown) => unknown): unknown => {
  const changed = change(value);
  const lost = isObject(value) ? lostIn.get(value) : undefined;
  if (lost !== undefined) noteLost(changed, change(lost.exact), lost.repeated);
  return changed;
};
export const shownValue = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? (lostIn.get(value)?.exact ?? value) : value;
export const lostKey = (value: unknown): string | undefined =>
  typeof value === 'object' && value !== null ? lostIn.get(value)?.repeated : undefined;

/** The parts of a JWT in compact form (RFC 7515), without verification. */
export type JwtParts = {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signed text: header and claims as they were sent. */
  readonly text: string;
  readonly signature: Buffer;
};

type JwtPart = { readonly value?: Readonly<Record<string, unknown>>; readonly ambiguity?: string };
const readPart = (part: string | undefined): JwtPart => {
  const text = Buffer.from(part ?? '', 'base64url').toString('utf8');
  try {
    const value: unknown = tooDeepAt(text) === undefined ? JSON.parse(text) : undefined;
    if (!isObject(value) || Array.isArray(value)) return {};
    const ambiguity = ambiguityIn(text, value);
    return ambiguity === undefined ? { value: value as Record<string, unknown> } : { ambiguity };
  } catch {
    return {};
  }
};
const objectIn = (part: string | undefined): JwtPart['value'] => readPart(part).value;
/** Why two readers of the header or of the claims of a token could see different values; undefined if they cannot. */
export const jwtAmbiguity = (token: string): string | undefined => {
  const [header, claims] = token.split('.');
  return readPart(header).ambiguity ?? readPart(claims).ambiguity;
};
/**
 * The alphabet of base64url. RFC 7515 2 has no padding, but widespread client libraries write it. The decoder of Node
 * skips all other characters.
 */
const ENCODED = /^[\w-]*(={0,2})$/;
const isEncoded = (part: string): boolean => {
  const padding = ENCODED.exec(part)?.[1];
  return padding === '' || (padding !== undefined && part.length % 4 === 0);
};
/**
 * Reads a JWT; undefined if it does not have three parts in base64url or if a part is not an object. Does not check the
 * signature.
 */
export const readJwt = (token: string): JwtParts | undefined => {
  const [head = '', body = '', signature, ...rest] = token.trim().split('.');
  if (![head, body, signature ?? ''].every(isEncoded)) return undefined;
  const [header, claims] = [objectIn(head), objectIn(body)];
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0)
    return undefined;
  return { header, claims, text: `${head}.${body}`, signature: Buffer.from(signature, 'base64url') };
};
/** Returns the header of a token whose other parts may be malformed; {} if none exists. */
export const headerOf = (token: string | undefined): Readonly<Record<string, unknown>> =>
  objectIn(token?.split('.')[0]) ?? {};
/** Returns the claims of a token whose other parts may be malformed; {} if none exist. Does not check the signature. */
export const claimsOf = (token: string | undefined): Readonly<Record<string, unknown>> =>
  objectIn(token?.split('.')[1]) ?? {};

/** A public key of a key set (RFC 7517). */
export type PublishedKey = {
  readonly kid?: string;
  readonly kty?: string;
  readonly crv?: string;
  readonly alg?: string;
  readonly use?: string;
  readonly key_ops?: readonly string[];
};
const keyTypes: Readonly<Record<string, string>> = { RS: 'RSA', PS: 'RSA', ES: 'EC', Ed: 'OKP' };
/** RFC 7518 3.4: each ES algorithm has one curve. */
const curves: Readonly<Record<string, string>> = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' };
/** RFC 9864: Ed25519 is the new name of EdDSA on that curve. */
const algorithmOf = (alg: string): string => (alg === 'EdDSA' ? 'Ed25519' : alg);
/** RFC 7517 4.2 to 4.4: whether the issuer made the key for signatures of this algorithm. */
const isKeyFor = (key: PublishedKey, alg: string): boolean =>
  key.kty === keyTypes[alg.slice(0, 2)] &&
  (curves[alg] === undefined || key.crv === curves[alg]) &&
  (key.use ?? 'sig') === 'sig' &&
  algorithmOf(key.alg ?? alg) === algorithmOf(alg) &&
  (key.key_ops === undefined || (Array.isArray(key.key_ops) && key.key_ops.includes('verify')));
/**
 * Returns the keys of a key set that may verify a token. `unknown`: the set has no key with the key ID of the token, or
 * the token does not name a key and no key of the set is for its algorithm. `unfit`: the set has the key that the token names,
 * but the issuer did not make that key for signatures of this algorithm.
 */
export const keysFor = <Key extends PublishedKey>(
  { kid, alg }: Readonly<Record<string, unknown>>,
  keys: readonly Key[],
): readonly Key[] | 'unknown' | 'unfit' => {
  const named = keys.filter((key) => kid === undefined || key.kid === kid);
  if (named.length === 0) return 'unknown';
  const fitting = named.filter((key) => isKeyFor(key, String(alg)));
  if (fitting.length > 0) return fitting;
  return kid === undefined ? 'unknown' : 'unfit';
};
/**
 * True if the header names another kind of token (RFC 8725 3.11), such as `at+jwt` or `logout+jwt`. A token without a
 * type, and one of the type JWT, may be of any kind.
 */
export const isOtherKind = ({ typ }: Readonly<Record<string, unknown>>, own: string): boolean => {
  const type = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  return type.endsWith('+jwt') && type !== own;
};
