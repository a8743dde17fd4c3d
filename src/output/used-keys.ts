import type { Bytes } from '../platform/host.ts';
import { CLOSE_RECORD, COMMA, NOWHERE, OPEN_RECORD } from '../core/json-scan.ts';
import { COLON, Output, Values, valueEnd } from './row-bytes.ts';

/**
 * Finds the keys of a row that a jq program uses, and reduces rows to these keys: parsing whole rows is most of the work
 * of jq. Programs that this file does not understand, and programs that print or compare a whole row, get whole rows.
 */

/**
 * What `.` is: a row, an array of rows, an array of such arrays, or a value that no row is part of. `none` is the
 * result of `empty`, which has no values.
 */
type Kind = 'row' | 'rows' | 'groups' | 'value' | 'none';

/** Ends the reading of a program that may use more than some keys. */
class Unknown extends Error {}
const refuse = (): never => {
  throw new Unknown();
};
const elementOf = (kind: Kind): Kind => {
  if (kind === 'rows') return 'row';
  if (kind === 'groups') return 'rows';
  return kind === 'row' ? refuse() : kind;
};
const listOf = (kind: Kind): Kind => {
  if (kind === 'row') return 'rows';
  if (kind === 'rows') return 'groups';
  return kind === 'groups' ? refuse() : 'value';
};
/** A place that holds results of both kinds. */
const either = (a: Kind, b: Kind): Kind => {
  if (a === 'none') return b;
  return b === 'none' || a === b ? a : refuse();
};
const asValue = (kind: Kind): Kind => (kind === 'value' || kind === 'none' ? 'value' : refuse());
/** A function of a value gives a value. A whole row as its input would be used completely. */
const ofValue = (kind: Kind): Kind => (kind === 'value' ? 'value' : refuse());
/** `length` of a row counts its keys. */
const count = (kind: Kind): Kind => (kind === 'row' ? refuse() : 'value');
const sameList = (kind: Kind): Kind => (kind === 'row' ? refuse() : kind);

/** Functions without arguments, by the kind of `.`. */
const PLAIN: ReadonlyMap<string, (kind: Kind) => Kind> = new Map([
  ...['true', 'false', 'null', 'not', 'type', 'now'].map((name) => [name, () => 'value'] as const),
  ['empty', () => 'none'],
  ['length', count],
  ['first', elementOf],
  ['last', elementOf],
  ['reverse', sameList],
  ...[
    ...[
      'add',
      'any',
      'all',
      'abs',
      'floor',
      'ceil',
      'round',
      'sqrt',
      'min',
      'max',
      'sort',
      'unique',
      'flatten',
    ],
    ...['keys', 'keys_unsorted', 'to_entries', 'from_entries', 'tostring', 'tonumber', 'tojson', 'fromjson'],
    ...['ascii_downcase', 'ascii_upcase', 'trim', 'ltrim', 'rtrim', 'fromdate', 'todate', 'fromdateiso8601'],
    ...['todateiso8601', 'values', 'nulls', 'numbers', 'strings', 'booleans', 'arrays', 'objects', 'scalars'],
  ].map((name) => [name, ofValue] as const),
]);
type ByElement = (list: Kind, argument: Kind) => Kind;
/** Functions that compare the results of their argument. */
const by =
  (resultOf: (list: Kind) => Kind): ByElement =>
  (list, argument) => {
    asValue(argument);
    return resultOf(list);
  };
/** Functions whose argument sees each element of the list: the result by the kind of the list and of the argument. */
const BY_ELEMENT: ReadonlyMap<string, ByElement> = new Map([
  ['map', (_, argument) => listOf(argument)],
  ...['sort_by', 'unique_by'].map((name) => [name, by((list) => list)] as const),
  ...['min_by', 'max_by'].map((name) => [name, by(elementOf)] as const),
  ['group_by', by((list) => (list === 'value' ? list : listOf(list)))],
  ...['any', 'all'].map((name) => [name, () => 'value'] as const),
]);
/** Functions of a value whose arguments see that value. */
const OF_VALUE = new Set([
  ...['test', 'startswith', 'endswith', 'contains', 'inside', 'split', 'join', 'ltrimstr', 'rtrimstr', 'has'],
  ...[
    'index',
    'rindex',
    'indices',
    'sub',
    'gsub',
    'with_entries',
    'map_values',
    'del',
    'flatten',
    'strftime',
  ],
]);
const FORMATS = new Set(['@csv', '@tsv', '@json', '@text', '@sh', '@html', '@uri', '@base64']);

const SPACES = /[ \t\r\n]*/y;
const NAME = /[A-Za-z_]\w*/y;
const NUMBER = /\d+(?:\.\d+)?/y;
const FORMAT = /@\w+/y;
const INDEX = /\[\s*-?\d+\s*\]/y;
const SLICE = /\[\s*(?:-?\d+)?\s*:\s*(?:-?\d+)?\s*\]/y;
const COMPARISON = /[=!]=|[<>]=?/y;
const ARITHMETIC = /[-+*%]|\/(?!\/)/y;

/** Reads a program from left to right and follows the kind of `.` through it. */
class Reader {
  readonly keys = new Set<string>();
  readonly #program: string;
  #at = 0;

  constructor(program: string) {
    this.#program = program;
  }
  /** The kind of the results. Throws `Unknown` for anything that this class does not know. */
  read(kind: Kind): Kind {
    const found = this.#pipe(kind);
    if (this.#at < this.#program.length) refuse();
    return found;
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#program) ?? [];
    if (found !== undefined) this.#at += found.length;
    return found;
  }
  #spaces(): void {
    this.#take(SPACES);
  }
  #is(text: string): boolean {
    if (!this.#program.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
  #need(text: string): void {
    this.#spaces();
    if (!this.#is(text)) refuse();
  }
  #isSign(sign: string): boolean {
    this.#spaces();
    return this.#is(sign);
  }
  /** A word such as `and`, which ends where the name ends. */
  #isWord(word: string): boolean {
    this.#spaces();
    const before = this.#at;
    if (this.#take(NAME) === word) return true;
    this.#at = before;
    return false;
  }

  #pipe(kind: Kind): Kind {
    let found = this.#comma(kind);
    while (this.#isSign('|')) found = this.#comma(found);
    return found;
  }
  #comma(kind: Kind): Kind {
    let found = this.#alternative(kind);
    while (this.#isSign(',')) found = either(found, this.#alternative(kind));
    return found;
  }
  /** `//` binds less than all other operators, and its result depends on the truth of the values before it. */
  #alternative(kind: Kind): Kind {
    let found = this.#or(kind);
    while (this.#isSign('//')) found = either(found, this.#or(kind));
    return found;
  }
  /** The result of `and` and `or` depends on truth only, and a row is true without its keys, too. */
  #or(kind: Kind): Kind {
    let found = this.#comparison(kind);
    while (this.#isWord('and') || this.#isWord('or')) {
      this.#comparison(kind);
      found = 'value';
    }
    return found;
  }
  #comparison(kind: Kind): Kind {
    const left = this.#sum(kind);
    this.#spaces();
    if (this.#take(COMPARISON) === undefined) return left;
    asValue(left);
    return asValue(this.#sum(kind));
  }
  /** The order of the operators does not matter: all of them need values. */
  #sum(kind: Kind): Kind {
    let found = this.#term(kind);
    for (this.#spaces(); ; this.#spaces()) {
      if (this.#take(ARITHMETIC) === undefined) return found;
      asValue(found);
      found = asValue(this.#term(kind));
    }
  }
  #term(kind: Kind): Kind {
    this.#spaces();
    let found = this.#head(kind);
    for (this.#spaces(); ; this.#spaces()) {
      const next = this.#step(found);
      if (next === undefined) return found;
      found = next;
    }
  }
  #head(kind: Kind): Kind {
    // `..` yields the row itself and each value in it.
    if (this.#is('..')) return refuse();
    if (this.#is('.')) return this.#path(kind);
    if (this.#is('(')) return this.#until(')', kind);
    if (this.#is('-')) return asValue(this.#term(kind));
    if (this.#is('[')) return this.#isSign(']') ? 'value' : listOf(this.#until(']', kind));
    if (this.#is('{')) return this.#record(kind);
    if (this.#is('"')) return this.#text(kind);
    if (this.#take(NUMBER) !== undefined) return 'value';
    const format = this.#take(FORMAT);
    if (format !== undefined) return this.#format(format, kind);
    return this.#call(this.#take(NAME) ?? refuse(), kind);
  }
  #until(end: string, kind: Kind): Kind {
    const found = this.#pipe(kind);
    this.#need(end);
    return found;
  }
  #format(name: string, kind: Kind): Kind {
    this.#spaces();
    return FORMATS.has(name) && this.#program[this.#at] !== '"' ? ofValue(kind) : refuse();
  }
  /** After a point: `.`, `.key`, `."key"` or `.[…]`. */
  #path(kind: Kind): Kind {
    return this.#key(kind) ?? this.#brackets(kind) ?? kind;
  }
  #key(kind: Kind): Kind | undefined {
    const key = this.#take(NAME) ?? (this.#is('"') ? this.#plainText() : undefined);
    if (key === undefined) return undefined;
    if (kind === 'row') this.keys.add(key);
    return kind === 'row' ? 'value' : asValue(kind);
  }
  #brackets(kind: Kind): Kind | undefined {
    if (this.#take(INDEX) !== undefined) return elementOf(kind);
    if (this.#take(SLICE) !== undefined) return sameList(kind);
    if (!this.#is('[')) return undefined;
    if (this.#isSign(']')) return elementOf(kind);
    if (!this.#isSign('"')) return refuse();
    const key = this.#plainText();
    this.#need(']');
    if (kind === 'row') this.keys.add(key);
    return kind === 'row' ? 'value' : asValue(kind);
  }
  /** A step after a term; undefined if the term has ended. */
  #step(kind: Kind): Kind | undefined {
    if (this.#is('?')) return kind;
    const found = this.#is('.')
      ? (this.#key(kind) ?? this.#brackets(kind) ?? refuse())
      : this.#brackets(kind);
    return found;
  }
  /** The text of a string without escapes and without inserted values, after its first quote. */
  #plainText(): string {
    const end = this.#program.indexOf('"', this.#at);
    const text = this.#program.slice(this.#at, end);
    if (end === -1 || text.includes('\\')) return refuse();
    this.#at = end + 1;
    return text;
  }
  /** A string after its first quote. Inserted values are part of the text. */
  #text(kind: Kind): Kind {
    for (;;) {
      const sign = this.#program[this.#at] ?? refuse();
      this.#at += 1;
      if (sign === '"') return 'value';
      if (sign !== '\\') continue;
      if (this.#is('(')) asValue(this.#until(')', kind));
      else this.#at += 1;
    }
  }
  #record(kind: Kind): Kind {
    if (this.#isSign('}')) return 'value';
    do {
      this.#spaces();
      const key = this.#take(NAME) ?? (this.#is('"') ? this.#plainText() : refuse());
      if (this.#isSign(':')) asValue(this.#recordValue(kind));
      else if (kind === 'row') this.keys.add(key);
      else ofValue(kind);
    } while (this.#isSign(','));
    this.#need('}');
    return 'value';
  }
  #recordValue(kind: Kind): Kind {
    let found = this.#alternative(kind);
    while (this.#isSign('|')) found = this.#alternative(found);
    return found;
  }
  #call(name: string, kind: Kind): Kind {
    if (name === 'if') return this.#choice(kind);
    const plain = PLAIN.get(name);
    return this.#isSign('(') ? this.#callWith(name, kind) : (plain ?? refuse)(kind);
  }
  #callWith(name: string, kind: Kind): Kind {
    if (name === 'select') {
      this.#until(')', kind);
      return kind;
    }
    const byElement = BY_ELEMENT.get(name);
    if (byElement !== undefined && kind !== 'none') return byElement(kind, this.#until(')', elementOf(kind)));
    if (name === 'first' || name === 'last') return this.#until(')', kind);
    if (name === 'limit') {
      asValue(this.#pipe(kind));
      this.#need(';');
      return this.#until(')', kind);
    }
    if (!OF_VALUE.has(name) || kind !== 'value') return refuse();
    do asValue(this.#pipe(kind));
    while (this.#isSign(';'));
    this.#need(')');
    return 'value';
  }
  /** `if` after its word. A condition depends on truth only. */
  #choice(kind: Kind): Kind {
    let found: Kind = 'none';
    do {
      this.#pipe(kind);
      if (!this.#isWord('then')) refuse();
      found = either(found, this.#pipe(kind));
    } while (this.#isWord('elif'));
    found = either(found, this.#isWord('else') ? this.#pipe(kind) : kind);
    return this.#isWord('end') ? found : refuse();
  }
}

/** A parenthesis needs several calls of the reader, and the stack has room for thousands of them. */
const LONGEST = 500;
/**
 * The keys of the rows that a program over an array of rows (`rows`) or over each row (`row`) uses; undefined if the
 * program may use whole rows. Pure.
 */
export const usedKeys = (program: string, input: 'row' | 'rows'): readonly string[] | undefined => {
  if (program.length > LONGEST) return undefined;
  const reader = new Reader(program);
  try {
    const kind = reader.read(input);
    return kind === 'value' || kind === 'none' ? [...reader.keys] : undefined;
  } catch (error) {
    if (error instanceof Unknown) return undefined;
    throw error;
  }
};

/** Returns a function that writes checked rows (`areChecked`) with these keys only. Values that are not objects stay whole. */
export const makeReducedRows = (
  keys: readonly string[],
): ((rows: readonly Bytes[], before: string, between: string) => Bytes) => {
  const out = new Output();
  const values = new Values(keys);
  const names = keys.map((key) => Buffer.from(JSON.stringify(key)));
  const put = (row: Bytes): void => {
    if (!values.find(row)) {
      out.copy(row, 0, row.length);
      return;
    }
    const start = out.length;
    out.put(OPEN_RECORD);
    for (const [i, name] of names.entries()) {
      const from = values.starts[i] ?? NOWHERE;
      if (from === NOWHERE) continue;
      if (out.length > start + 1) out.put(COMMA);
      out.copy(name, 0, name.length);
      out.put(COLON);
      out.copy(row, from, valueEnd(row, from));
    }
    out.put(CLOSE_RECORD);
  };
  return (rows, before, between) => {
    for (const [i, row] of rows.entries()) {
      out.text(i === 0 ? before : between);
      // The row has each key with its quotes and its colon.
      out.reserve(row.length + 2);
      put(row);
    }
    return out.takeBytes();
  };
};
