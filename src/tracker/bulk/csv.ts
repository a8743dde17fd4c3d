import { countText, wholeNumberHint } from '../../core/format.ts';
import { AppError, type Problem, problem, usageError } from '../../core/problem.ts';
import { escapedNulAt, lostNumberIn, repeatedKeyIn } from '../../core/json.ts';
import { limits } from '../../core/limits.ts';
import {
  escapedNulRemedy,
  joinStart,
  nulFound,
  nulRemedy,
  refuseForeignText,
  showHidden,
  utf8Decoder,
  withoutByteOrderMark,
} from '../../core/text.ts';
import { shellWord } from '../../core/shell.ts';
import { isJsonText, jsonFaultText, oddIdIn } from '../../core/json-scan.ts';
import type { LineState } from './previous.ts';

/** A line that does not end would fill the memory: such a file holds no rows. */
const refuseLongRow = (bytes: number): void => {
  if (bytes > limits.rowBytes)
    throw usageError(
      `a line of the input has more than ${limits.rowBytes} bytes; the rows before it are done`,
      [problem('--file', 'max', 'must hold one record a line')],
      ['name a file with one record a line (NDJSON) or a table (CSV)'],
    );
};

/**
 * Yields the text lines of a byte stream, grouped by piece. `\r\n` and a missing last newline are allowed.
 */
async function* textLines(
  bytes: AsyncIterable<Uint8Array>,
  name: string,
): AsyncIterable<{ texts: string[]; bytes: number }> {
  const decoder = utf8Decoder(name);
  // In pieces: joined at each piece of the input, one long line would be copied thousands of times.
  let rest: string[] = [];
  let read = 0;
  let begun = 0;
  for await (const chunk of joinStart(bytes)) {
    read += chunk.length;
    const text = decoder.push(chunk);
    if (read === chunk.length) refuseForeignText(text, name);
    const [first = '', ...more] = text.split('\n');
    rest.push(first);
    const last = more.pop();
    if (last === undefined) refuseLongRow(read - begun);
    else {
      yield { texts: [rest.join(''), ...more], bytes: read };
      rest = [last];
      begun = read;
    }
  }
  const end = rest.join('') + decoder.end();
  if (end !== '') yield { texts: [end], bytes: read };
}

const repeatedKey = (key: string): Problem =>
  problem(key, 'rule', 'is given twice in the same object', 'remove one of the two');

const listHint = (row: unknown): string | undefined =>
  Array.isArray(row) ? "write one object in each line: jq -c '.[]' LIST.json > ROWS.ndjson" : undefined;
const nulProblem = (column: number, remedy: string): Problem =>
  problem('', 'format', `column ${column}: ${nulFound}`, remedy);
/** The words of spreadsheets in several languages for a formula without a result, and cells that are too narrow. */
const FORMULA_ERROR = new RegExp(
  `^(?:#(?:[¡¿]?(?:${[
    ...['NULL', 'DIV/0', 'VALUE', 'REF', 'NAME', 'NUM', 'SPILL', 'CALC', 'FIELD', 'BLOCKED', 'UNKNOWN'],
    ...['CONNECT', 'BUSY', 'PYTHON', 'EXTERNAL', 'TIMEOUT', 'ERROR', 'WERT', 'BEZUG', 'ZAHL', 'ÜBERLAUF'],
    ...['KALK', 'FELD', 'NUL', 'VALEUR', 'NOM', 'NOMBRE', 'NULO', 'VALOR', 'NULLO', 'VALORE', 'RIF', 'NOME'],
    ...['NÚM', 'LEEG', 'DEEL/0', 'WAARDE', 'VERW', 'NAAM', 'GETAL', 'ПУСТО', 'ДЕЛ/0', 'ЗНАЧ', 'ССЫЛКА'],
    ...['ИМЯ', 'ЧИСЛО'],
  ].join('|')})[!?]|N/A|NV|N/D|N/B|Н/Д|GETTING_DATA)|Err:5\\d\\d|#{3,})$`,
);
/** What a spreadsheet wrote instead of the value of a cell. A table of cells does not show the value that was meant. */
export const formulaProblem = (column: string, cell: unknown, otherwise = ''): Problem | undefined => {
  // Almost every cell starts with another character, and a run has millions of cells.
  if (typeof cell !== 'string' || !/^\s*[#=E]/.test(cell)) return undefined;
  const text = cell.trim();
  const isText = /^="[\s\S]*"$/.test(text);
  if (!isText && !FORMULA_ERROR.test(text)) return undefined;
  const what = isText
    ? 'is a formula of a spreadsheet instead of its text'
    : text.startsWith('###')
      ? 'is a value that did not fit into its column in a spreadsheet'
      : 'is the error value of a formula in a spreadsheet';
  const fix = `correct the cell and export the table again, or empty the cell${otherwise}`;
  return problem(column, 'format', `${what}; got ${JSON.stringify(cell)}`, fix);
};
/** Why a row is not JSON. */
const brokenRow = (text: string): Problem => {
  const nul = text.indexOf('\0') + 1;
  return nul > 0
    ? nulProblem(nul, nulRemedy)
    : problem('', 'type', `is not JSON: ${jsonFaultText(text)}`, rowHint(text.trim()));
};
/** How to make rows of the text that a line shows: a list, an object of several lines, or a table. */
const rowHint = (text: string): string | undefined => {
  if (/^[[{]$/.test(text) || /\}\s*\{/.test(text)) return 'write one object in each line';
  if (text.startsWith('{') && text.endsWith(',') && isJsonText(text.slice(0, -1)))
    return 'remove the comma behind the object';
  return /^[\w"]{1,200}[,;\t]/.test(text) ? 'use --input-format csv for a table' : undefined;
};
/** Git left both sides of a merge in the file: only a person knows which is meant. */
const CONFLICT = /^<{7}(?: |\r?$)/;
export const refuseConflict = (name: string, line: number, text: string): void => {
  if (!text.startsWith('<<<<<<<') || !CONFLICT.test(text)) return;
  const wrong = problem('', 'rule', 'has the conflict markers of a merge', 'choose a side, then run again');
  throw new AppError('usage', `${name}:${line} has a merge conflict; no changes were made`, {
    code: 'MERGE_CONFLICT',
    problems: [{ ...wrong, file: name, line, column: 1 }],
  });
};
const hasProtoKey = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(hasProtoKey));
/** What the text of a row shows and its value does not have. */
const hiddenFault = (text: string, row: object): Problem | undefined => {
  // JSON.parse keeps this key, and the next copy of the object loses its value. An escape is another way to write it.
  if (/proto__|\\/.test(text) && hasProtoKey(row))
    return problem('__proto__', 'unknown', 'is not a known field');
  const repeated = repeatedKeyIn(text, row);
  if (repeated !== undefined) return repeatedKey(repeated);
  const nul = escapedNulAt(text) + 1;
  if (nul > 0) return nulProblem(nul, escapedNulRemedy);
  const odd = oddIdIn(text);
  if (odd !== undefined)
    return problem(odd.key, 'format', `must be an ID; got ${odd.number}`, wholeNumberHint);
  const lost = lostNumberIn(text);
  return lost && problem('', 'rule', `${lost.number} ${lost.why}`, `write it as text: "${lost.number}"`);
};
/** The first line of a JSON list. A line of a log such as `[2026-01-01 10:00] INFO` starts with a bracket, too. */
const LIST_START = /^\[\s*(?:$|[{["]|-?\d+\s*(?:,|$))/;
/** A list, or an object of several lines, is one JSON document: its lines are not rows, and none of them is read. */
const refuseDocument = (name: string, line: number, text: string): void => {
  const isList = LIST_START.test(text);
  if (!(isList || text === '{') || isJsonText(text)) return;
  const what = `starts a JSON ${isList ? 'list' : 'object of several lines'}, and each row is an object in one line`;
  const file = name === 'standard input' ? 'FILE.json' : shellWord(name);
  throw usageError(
    `${name} is a JSON document, not rows; no changes were made`,
    [{ ...problem('', 'type', what), file: name, line }],
    [`jq -c ${isList ? "'.[]'" : '.'} ${file} > ROWS.ndjson`],
  );
};
/** A file without any text may be one that its program did not finish, so it never means "no rows". */
export const makeEmptyError = (name: string, format: Format, remedy: string): AppError => {
  const needed = format === 'csv' ? 'a table with a header' : 'a file with rows';
  return usageError(
    `${name} is empty; no changes were made`,
    [problem('--file', 'rule', `must name ${needed}`)],
    [remedy],
  );
};
/** Parses one line of NDJSON. */
const parsedRow = (text: string): Pick<Line, 'row' | 'problem'> => {
  try {
    const row: unknown = JSON.parse(text);
    if (typeof row !== 'object' || row === null || Array.isArray(row))
      return { problem: problem('', 'type', 'must be a JSON object', listHint(row)) };
    const wrong = hiddenFault(text, row);
    return wrong === undefined ? { row: row as Record<string, unknown> } : { problem: wrong };
  } catch {
    return { problem: brokenRow(text) };
  }
};
const ndjson = (name: string, { emptyRemedy, findDone }: ReadOptions): Reader => {
  let line = 0;
  let isEmpty = true;
  return {
    take(given, bytes) {
      line += 1;
      refuseConflict(name, line, given);
      const bare = line === 1 && given.charCodeAt(0) === 0xfeff ? given.slice(1) : given;
      const text = bare.endsWith('\r') ? bare.slice(0, -1) : bare;
      if (text.trim() === '') return undefined;
      if (isEmpty) refuseDocument(name, line, text.trim());
      isEmpty = false;
      const done = findDone?.(line, text);
      const read = { line, bytes, text, ...parsedRow(text) };
      return done === undefined ? read : { ...read, done };
    },
    end() {
      if (isEmpty && emptyRemedy !== undefined) throw makeEmptyError(name, 'ndjson', emptyRemedy);
      return undefined;
    },
  };
};

/** Lines that are parsed together: parsed rows that wait for their turn cost memory and garbage collections. */
const LINES_IN_BATCH = 64;
/** The lines of a file, piece by piece: memory does not grow with its size. Throws for text that is not UTF-8 and for malformed CSV. */
export async function* readRows(
  bytes: AsyncIterable<Uint8Array>,
  format: Format,
  options: ReadOptions = {},
): AsyncIterable<readonly Line[]> {
  const { name = 'standard input' } = options;
  const reader = format === 'csv' ? csvReader(name, options) : ndjson(name, options);
  for await (const { texts, bytes: read } of textLines(bytes, name)) {
    for (let at = 0; at < texts.length; at += LINES_IN_BATCH) {
      const lines: Line[] = [];
      for (const text of texts.slice(at, at + LINES_IN_BATCH)) {
        const line = reader.take(text, read);
        if (line !== undefined) lines.push(line);
      }
      yield lines;
    }
  }
  const last = reader.end();
  if (last !== undefined) yield [last];
}

/**
 * One line of the input: either a record of keys or its error. `line` starts at 1; `bytes` is the number of
 * bytes up to its end.
 */
export type Line = {
  readonly line: number;
  readonly bytes: number;
  readonly text: string;
  readonly row?: Readonly<Record<string, unknown>>;
  readonly problem?: Problem;
  /** Instead of a row: an earlier run completed this line. */
  readonly done?: Pick<LineState, 'id'>;
};
export type Format = 'ndjson' | 'csv';
/** The delimiters of spreadsheets, in words. */
export const delimiters = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' } as const;
export type Delimiter = keyof typeof delimiters;
/** Takes one text line after the other; a record may need several. */
export type Reader = { take(text: string, bytes: number): Line | undefined; end(): Line | undefined };
export type ReadOptions = {
  /** The file as the user named it, for errors (default: standard input). */
  readonly name?: string;
  /** Refuses an input without any text, with this next step. */
  readonly emptyRemedy?: string;
  /** Found in the header when it is not given. */
  readonly delimiter?: Delimiter | undefined;
  readonly onDelimiter?: (delimiter: Delimiter) => void;
  /** Columns of CSV that may repeat: their cells become one list. All other columns have one name each. */
  readonly isList?: (column: string) => boolean;
  /** Returns the record of a line that an earlier run completed. Such a line is not parsed again. */
  readonly findDone?: (line: number, text: string) => Line['done'] | undefined;
  /** Called with the line of each row whose cells are all empty. Such a row is left out, as an empty line is. */
  readonly onEmptyRow?: (line: number) => void;
  /** A last column of the header that the rows may leave out: all of them or none, as the first row shows. */
  readonly headerOnlyColumn?: string | undefined;
  /** Returns the problems of the column names. Called once, before the first row. */
  readonly checkHeader?: (columns: readonly string[], line: number) => readonly Problem[];
};

/** What breaks a record, and where: `at` counts UTF-16 units from the start of the record. */
type Fault = { readonly at: number; readonly what: string; readonly hint: string };
type Split =
  | { readonly cells: string[] }
  /** A quoted cell continues in the next line; `at` is its first quote. */
  | { readonly openAt: number }
  | { readonly fault: Fault };
/** Returns the end of the quoted cell that starts here. A doubled quote is one of its characters. */
const closingQuote = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 2))
    if (text[end + 1] !== '"') return end;
  return -1;
};
const afterQuote = (at: number): Fault => ({
  at,
  what: 'text follows the closing quote of a cell',
  hint: 'double each quote that is part of a cell: "a ""quoted"" word"',
});
const withinCell = (cell: string, at: number): Fault => ({
  at,
  what: 'a quote is inside a cell that does not start with a quote',
  hint: cell.startsWith('=')
    ? 'the cell is a formula: write the text without = and format the column as text'
    : 'put the whole cell in quotes and double the quote: "5"" pipe"',
});
const openBetweenTabs = (at: number): Fault => ({
  at,
  what: 'a quote may be a character of its cell, or it may open a cell of several lines that contains a tab',
  hint: 'write a quote at the start of a cell as """word""", or replace the tab inside a cell of several lines by a space',
});
const bareReturn = (at: number): Fault => ({
  at,
  what: 'a carriage return is outside quotes',
  hint: 'end lines with LF or CRLF, and put a cell that contains a line end in quotes',
});
/**
 * A cell without quotes, and what RFC 4180 does not allow in it. Between tabs a quote inside a cell is one of its
 * characters: text/tab-separated-values has no quotes, and the board of a code host exports `Fix "x" in y` like this.
 */
const plainFault = (cell: string, at: number, delimiter: string): Fault | undefined => {
  const quote = delimiter === '\t' ? -1 : cell.indexOf('"');
  if (quote !== -1) return withinCell(cell, at + quote);
  const end = cell.indexOf('\r');
  return end === -1 ? undefined : bareReturn(at + end);
};
type Cell = { readonly cell: string; readonly end: number };
const plainCell = (text: string, at: number, delimiter: string): Cell | { readonly fault: Fault } => {
  const next = text.indexOf(delimiter, at);
  const end = next === -1 ? text.length : next;
  const cell = text.slice(at, end);
  const fault = plainFault(cell, at, delimiter);
  return fault === undefined ? { cell, end } : { fault };
};
const quotedCell = (
  text: string,
  at: number,
  delimiter: string,
): Cell | Exclude<Split, { cells: string[] }> => {
  const end = closingQuote(text, at + 1);
  if (end === -1) return { openAt: at };
  if (end + 1 === text.length || text[end + 1] === delimiter)
    return { cell: text.slice(at + 1, end).replaceAll('""', '"'), end: end + 1 };
  // Between tabs `"Beta" is missing` is a title like `Fix "x" in y`.
  return delimiter === '\t' && !text.slice(at, end).includes('\n')
    ? plainCell(text, at, delimiter)
    : { fault: afterQuote(end + 1) };
};
/** Splits one record of RFC 4180 without its line end. Pure. */
export const splitCsv = (text: string, delimiter = ','): Split => {
  if (!/["\r]/.test(text)) return { cells: text.split(delimiter) };
  const cells: string[] = [];
  for (let at = 0; ; ) {
    const found = text[at] === '"' ? quotedCell(text, at, delimiter) : plainCell(text, at, delimiter);
    if (!('cell' in found)) return found;
    cells.push(found.cell);
    if (found.end === text.length) return { cells };
    at = found.end + 1;
  }
};
/**
 * Where a quote opens a cell between tabs and the same lines, read without quotes, are complete rows: then the table
 * does not say which of the two it means. A quoted cell without a tab makes one of its lines too short.
 */
const ambiguityIn = (record: string, split: Split, columns: number): Fault | undefined => {
  const isOpen = 'openAt' in split;
  if (columns < 2 || 'fault' in split || !(isOpen || record.includes('\n'))) return undefined;
  if (isOpen && !record.slice(split.openAt).includes('\t')) return undefined;
  const isWhole = record.split('\n').every((line) => line.split('\t').length === columns);
  return isWhole ? openBetweenTabs(isOpen ? split.openAt : record.indexOf('"')) : undefined;
};
/** The delimiter that splits the header into the most names. */
const delimiterOf = (header: string): Delimiter => {
  const counted = (Object.keys(delimiters) as Delimiter[]).map((delimiter) => {
    const split = splitCsv(header, delimiter);
    return { delimiter, count: 'cells' in split && split.cells.length > 1 ? split.cells.length : 0 };
  });
  return counted.reduce((best, one) => (one.count > best.count ? one : best)).delimiter;
};
/** RFC 4180: a line ends with CRLF or LF; within quotes both are part of the cell. */
const withoutEnd = (text: string): string => (text.endsWith('\r') ? text.slice(0, -1) : text);
/** A malformed table is rejected completely: after an invalid quote, the start of the next row is unknown. */
const makeMalformedError = (name: string, found: readonly Problem[]): AppError => {
  const [first] = found;
  const where = [name, first?.line, first?.column].filter((one) => one !== undefined).join(':');
  return new AppError('usage', `malformed CSV: ${where}: ${first?.message ?? ''}`, {
    code: 'MALFORMED_CSV',
    problems: found.map(({ hint: _, ...one }) => ({ ...one, file: name })),
    tryThis: [...new Set(found.flatMap(({ hint }) => hint ?? []))],
  });
};
const makeColumnsError = (name: string, line: number, found: readonly Problem[]): AppError => {
  const isMissing = found.every(({ rule }) => rule === 'required');
  return new AppError(
    'usage',
    `${name}: the header ${isMissing ? 'lacks required' : 'has unknown'} columns; no changes were made`,
    {
      code: isMissing ? 'MISSING_COLUMNS' : 'UNKNOWN_COLUMNS',
      // A column of a map file has its own place.
      problems: found.map((one) => (one.file === undefined ? { ...one, file: name, line } : one)),
      tryThis: [
        '--map COLUMN=FIELD reads a column into a field',
        ...(isMissing ? [] : ['--ignore-unknown imports the other columns only']),
      ],
    },
  );
};
/** The place of a fault in the file: a record may have several lines. */
const placeFault = (start: number, record: string, { at, what, hint }: Fault): Problem => {
  const before = record.slice(0, at).split('\n');
  return {
    ...problem('', 'format', what, hint),
    line: start + before.length - 1,
    column: (before.at(-1) ?? '').length + 1,
  };
};
/** The byte order mark is not part of a name, and neither are spaces at the end of the line. */
const headerText = (whole: string): string => withoutByteOrderMark(withoutEnd(whole)).replace(/" +$/, '"');
/**
 * The delimiter that a spreadsheet reads from a line before the header, or what is wrong with this line. A header has
 * several names or another one.
 */
const readDelimiter = (record: string, line: number): Delimiter | Fault | undefined => {
  const text = /^("?)sep=([^"]{0,2})\1$/i.exec(record)?.[2];
  if (text === undefined) return undefined;
  if (line > 1)
    return {
      at: 0,
      what: `line ${line} states a delimiter, and only line 1 can do this`,
      hint: 'remove the line',
    };
  return Object.hasOwn(delimiters, text)
    ? (text as Delimiter)
    : {
        at: 0,
        what: `line 1 states the delimiter ${JSON.stringify(text)}`,
        hint: 'use comma, semicolon or tab, and state it like sep=;',
      };
};
type Header = { readonly names: readonly string[]; readonly repeated: ReadonlySet<string> };
/** A joiner inside a word is part of several scripts, but not of ASCII. Such a name looks like another one, and its column would be left out. */
const hiddenProblem = (name: string, column: number): Problem | undefined => {
  const plain = name.replace(/[\u200C\u200D]/g, '');
  const isHidden = /\p{Cf}/u.test(plain) || (plain !== name && /^\p{ASCII}*$/u.test(plain));
  const what = `column ${column} has an invisible character in its name; got ${showHidden(name)}`;
  return isHidden ? problem('', 'format', what, 'remove the character from the header') : undefined;
};
/** A line of delimiters has no column that could be unknown or missing: the header is in a later line. */
const noNames = (line: number): Problem => ({
  ...problem('', 'format', 'the header has no names', 'remove the lines before the header'),
  line,
  column: 1,
});
/** Names of the columns. A column that may not repeat is an error that names both columns. */
const headerFrom = (cells: readonly string[], line: number, isList: (column: string) => boolean) => {
  const names = cells.map((cell) => cell.trim());
  const first = new Map<string, number>();
  const repeated = new Set<string>();
  const problems: Problem[] = [];
  for (const [i, name] of names.entries()) {
    const hidden = hiddenProblem(name, i + 1);
    if (hidden !== undefined) problems.push({ ...hidden, line });
    const before = first.get(name);
    if (before === undefined) first.set(name, i);
    else if (isList(name)) repeated.add(name);
    else if (name !== '')
      problems.push({
        ...problem(
          '',
          'rule',
          `column ${i + 1} repeats the name of column ${before + 1}, ${JSON.stringify(name)}`,
          'rename or remove one of the columns; only columns of a list field, such as labels, may repeat',
        ),
        line,
      });
  }
  return { header: { names, repeated } satisfies Header, problems };
};
/** The cells by name; empty cells are left out, and the cells of repeated columns become one list. */
const rowFrom = ({ names, repeated }: Header, cells: readonly string[]): Record<string, unknown> => {
  const row: Record<string, unknown> = {};
  for (const [i, cell] of cells.entries()) {
    const name = names[i] ?? '';
    if (cell === '') continue;
    if (!repeated.has(name)) row[name] = cell;
    else row[name] = [...((row[name] ?? []) as string[]), cell];
  }
  return row;
};
/** A value below no name would go nowhere, and a row of another length is a row that was cut or shifted. */
const rowFault = (
  { names }: Header,
  cells: readonly string[],
): { what: string; hint: string } | undefined => {
  if (cells.length !== names.length)
    return {
      what: `the row has ${countText(cells.length, 'cell')}, the header has ${names.length}`,
      hint: 'write a delimiter for each column, including before an empty cell, and put a cell that contains the delimiter in quotes',
    };
  // One column may have its own name as a value; a whole header as values is a second header.
  if (names.length > 1 && names.every((name, i) => name === cells[i]?.trim()))
    return { what: 'the row repeats the header', hint: 'remove this line: a table has one header' };
  const nameless = cells.findIndex((cell, i) => cell !== '' && names[i] === '');
  return nameless === -1
    ? undefined
    : {
        what: `column ${nameless + 1} has a value, but no name in the header`,
        hint: 'name the column, or empty it',
      };
};
/** Whether the number of quotes is even: then the text leaves a quoted cell that was open before it open. */
const hasEvenQuotes = (text: string): boolean => {
  let isEven = true;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) isEven = !isEven;
  return isEven;
};
class CsvReader implements Reader {
  readonly #name: string;
  readonly #options: ReadOptions;
  #header: Header | undefined;
  #delimiter: Delimiter | undefined;
  #line = 0;
  #start = 0;
  #held: string[] = [];
  #hasRows = false;

  constructor(name: string, options: ReadOptions) {
    this.#name = name;
    this.#options = options;
    this.#delimiter = options.delimiter;
  }

  take(next: string, bytes: number): Line | undefined {
    this.#line += 1;
    this.#refuseNul(next);
    if (this.#held.length === 0) {
      this.#start = this.#line;
      refuseConflict(this.#name, this.#line, next);
    }
    this.#held.push(next);
    // A doubled quote does not end a quoted cell: the text before it is not split again at each line.
    if (this.#held.length > 1 && hasEvenQuotes(next)) return undefined;
    const whole = this.#held.join('\n');
    this.#held = [];
    if (whole.trim() === '') return undefined;
    const record = this.#header === undefined ? headerText(whole) : withoutEnd(whole);
    const stated = this.#header === undefined ? readDelimiter(record, this.#start) : undefined;
    if (typeof stated === 'object') throw this.#makeError(record, stated);
    if (stated !== undefined) {
      this.#delimiter ??= stated;
      return undefined;
    }
    this.#delimiter ??= delimiterOf(record);
    const split = splitCsv(record, this.#delimiter);
    const columns = this.#delimiter === '\t' ? (this.#header?.names.length ?? 0) : 0;
    const fault = 'fault' in split ? split.fault : ambiguityIn(record, split, columns);
    if (fault !== undefined) throw this.#makeError(record, fault);
    if (!('cells' in split)) {
      this.#held = [whole];
      return undefined;
    }
    return this.#header === undefined
      ? this.#begin(split.cells)
      : this.#row(this.#headerOfRows(this.#header, split.cells), record, split.cells, bytes);
  }
  /** The first row decides whether the rows have the last column. */
  #headerOfRows(header: Header, { length }: readonly string[]): Header {
    if (this.#hasRows) return header;
    this.#hasRows = true;
    const { names, repeated } = header;
    const isShort = names.length > 1 && length === names.length - 1;
    if (!isShort || names.at(-1) !== this.#options.headerOnlyColumn) return header;
    this.#header = { names: names.slice(0, -1), repeated };
    return this.#header;
  }

  end(): undefined {
    const { emptyRemedy } = this.#options;
    if (this.#header === undefined && this.#held.length === 0 && emptyRemedy !== undefined)
      throw makeEmptyError(this.#name, 'csv', emptyRemedy);
    if (this.#held.length === 0) return;
    const record = this.#held.join('\n');
    const split = splitCsv(record, this.#delimiter);
    const at = 'openAt' in split ? split.openAt : 0;
    const open = { at, what: 'a quote opens a cell and is never closed', hint: 'close the quote' };
    const fault = 'fault' in split ? split.fault : open;
    throw this.#makeError(record, fault);
  }

  #makeError(record: string, fault: Fault): AppError {
    return makeMalformedError(this.#name, [placeFault(this.#start, record, fault)]);
  }

  #refuseNul(text: string): void {
    const at = text.indexOf('\0');
    if (at !== -1)
      throw makeMalformedError(this.#name, [
        placeFault(this.#line, text, { at, what: nulFound, hint: nulRemedy }),
      ]);
  }

  #begin(cells: readonly string[]): undefined {
    const { isList = () => false, onDelimiter, checkHeader } = this.#options;
    const names = cells.map((cell) => cell.trim());
    if (names.every((name) => name === '')) throw makeMalformedError(this.#name, [noNames(this.#start)]);
    const unknown = checkHeader?.(names, this.#start) ?? [];
    if (unknown.length > 0) throw makeColumnsError(this.#name, this.#start, unknown);
    const { header, problems } = headerFrom(cells, this.#start, isList);
    if (problems.length > 0) throw makeMalformedError(this.#name, problems);
    this.#header = header;
    onDelimiter?.(this.#delimiter ?? ',');
  }

  #row(header: Header, record: string, cells: string[], bytes: number): Line | undefined {
    // Spreadsheets write such rows for cells that have a format and no value.
    const isShape = cells.length === header.names.length || !record.includes('"');
    if (isShape && cells.every((cell) => cell.trim() === '')) {
      this.#options.onEmptyRow?.(this.#start);
      return undefined;
    }
    const fault = rowFault(header, cells);
    if (fault !== undefined) throw this.#makeError(record, { at: 0, ...fault });
    // The mark of a line in the journal does not depend on its line ends.
    const text = record.replaceAll('\r\n', '\n');
    const line = this.#start;
    const done = this.#options.findDone?.(line, text);
    const read = { line, bytes, text, row: rowFrom(header, cells) };
    return done === undefined ? read : { ...read, done };
  }
}
/** Reads a table of RFC 4180, line by line. */
const csvReader = (name: string, options: ReadOptions): Reader => new CsvReader(name, options);
