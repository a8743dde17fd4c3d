import type { ShowAdvice } from '../core/next.ts';
import { type OutputFormat, type ReportFormat, countText, someOf } from '../core/format.ts';
import { invalidArguments, type Problem, problem } from '../core/problem.ts';
import type { CheckFinding, Result } from '../core/result.ts';
import { isRecord } from '../core/shape.ts';
import { nearest, oneLine } from '../core/text.ts';
import type { JqRun } from '../platform/host.ts';

/** What the flags and the environment decided, once for a run. */
export type OutputOptions = {
  /** Undefined: table on a terminal, JSON otherwise. */
  readonly format?: OutputFormat;
  readonly columns?: readonly string[];
  /** The names in `columns` are those of the table of the service: one that no row has is only left out. */
  readonly areColumnsKnown?: boolean;
  /** A Mustache template for each row, or for the record. */
  readonly template?: string;
  /** Files of --report. */
  readonly reports?: readonly { readonly format: ReportFormat; readonly path: string }[];
  /**
   * The findings of a check before it failed, and whether its reports are already written. One object per
   * run.
   */
  readonly checked?: { findings: readonly CheckFinding[]; isReported: boolean };
  /** The command whose report it is, and the version that made it. */
  readonly title?: string;
  readonly version?: string;
  readonly jq?: string;
  /** False with --no-pager. */
  readonly pager?: boolean;
  /** --all-fields: a record in a table with every field it has. */
  readonly allFields?: boolean;
  readonly header: boolean;
  /** CSV: converts cells that a spreadsheet would treat as formulas into text. */
  readonly csvSafe?: boolean;
  readonly color?: 'auto' | 'always' | 'never';
  readonly quiet: boolean;
  /** Mask values under the names of secrets before `--jq` reads them. */
  readonly maskSecrets?: boolean;
  readonly verbose: boolean;
  /**
   * With -o json: early messages, held back so that an error can be the only output on stderr. The error then
   * contains them. Without an error they are written after the output. One list per run.
   */
  readonly notes?: string[];
  /** With -o json and no terminal: warnings, held back until the command ends. */
  readonly lastNotes?: string[];
  /**
   * Whether a pager has the terminal, or stdout has the start of a JSON list without its end: messages then wait.
   * `holdsRows`: a table has rows that it has not written yet. `onLeft` stops a list whose reader leaves early.
   * `onWritten` is called when the pager has the whole text: the reader may stay in it for hours. One object per run.
   */
  readonly screen?: {
    isTaken: boolean;
    isInList?: boolean;
    holdsRows?: boolean;
    onLeft?: () => void;
    onWritten?: () => void;
  };
  /** Adds the flags of this line to the commands that messages and hints name. */
  readonly showAdvice?: ShowAdvice;
  /** The jq of this run, once it was started with the program of --jq. */
  readonly filter?: { run?: JqRun };
};
/** Replaces every secret of the run, in any encoding, with `***`. */
export type Redactor = {
  hide(secret: string): void;
  clean(text: string): string;
  /** For text that comes in pieces: a secret that is cut in two is found too. */
  stream(): RedactStream;
};
/**
 * `push` returns the text that can be written. It keeps an end that may be the start of a secret until more
 * text arrives or until `end`.
 */
export type RedactStream = { push(piece: string): string; end(): string };

/** Turns rows into text piece by piece: `rows` may be called any number of times, `close` once at the end. */
export type Formatter = {
  rows(burst: readonly Row[]): string | Promise<string>;
  /**
   * The variant for rows that are still the JSON texts of the service. Only formats that can forward them
   * implement it.
   */
  texts?(burst: readonly Uint8Array[]): string;
  /**
   * The variant for checked JSON texts (`areChecked`) after the first piece. Undefined if the rows must be parsed.
   * The text is the same as that of `rows`.
   */
  copies?(burst: readonly Uint8Array[]): string | undefined;
  close(): string;
  /** The rest of the last line instead of the end, for a list that an error cut off. */
  cut?(): string;
  /** Columns of the view that did not fit on a narrow terminal. */
  droppedColumns?(): number;
};

export type Row = unknown;
/** The value at a dotted path; a key that itself has dots is found first, and `labels.0.name` reaches into lists. */
const valueAt = (row: Row, path: string): unknown => {
  if (isRecord(row) && Object.hasOwn(row, path)) return row[path];
  let at: unknown = row;
  for (const step of path.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<string, unknown>)[step];
  }
  return at;
};
const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null;
/** The fields that name a record to a person, the best one first. */
const NAME_FIELDS = ['name', 'title', 'displayName', 'text', 'description', 'value', 'url', 'id'] as const;
const nameOfRecord = (record: Readonly<Record<string, unknown>>): string | undefined => {
  const field = NAME_FIELDS.find((name) => isScalar(record[name]) && (record[name] ?? '') !== '');
  return field === undefined ? undefined : String(record[field]);
};
/** Nested data deeper than this is only counted. */
const DEEPEST_CELL = 3;
const recordCell = (record: Readonly<Record<string, unknown>>, depth: number): string => {
  const named = nameOfRecord(record);
  if (named !== undefined && depth > 0) return named;
  return Object.entries(record)
    .map(([key, value]) => [key.replaceAll('_', ' '), nestedCell(value, depth + 1)] as const)
    .filter(([, text]) => text !== '')
    .map(([key, text]) => `${key}: ${text}`)
    .join(', ');
};
const nestedCell = (value: unknown, depth: number): string => {
  if (value === undefined || value === null) return '';
  if (isScalar(value)) return String(value);
  const parts = Array.isArray(value) ? value : Object.values(value as object);
  if (depth > DEEPEST_CELL) return countText(parts.length, 'value');
  if (Array.isArray(value))
    return value
      .map((one) => nestedCell(one, depth + 1))
      .filter((text) => text !== '')
      .join(', ');
  return recordCell(value as Readonly<Record<string, unknown>>, depth);
};
/**
 * Formats one value for a person: an empty string for a missing value, lists with commas, records by their
 * name or field by field. Never JSON.
 */
export const cellText = (value: unknown): string => nestedCell(value, 0);
/**
 * All keys of the rows, in the order of their first occurrence. A row that is not a record has the one column
 * `value`.
 */
export const keysOf = (rows: readonly Row[]): string[] => {
  const names = new Set<string>();
  for (const row of rows) for (const key of isRecord(row) ? Object.keys(row) : ['value']) names.add(key);
  return [...names];
};
/** A row that is not a record is its own column. */
export const columnOf = (row: Row, column: string): unknown =>
  isRecord(row) || Array.isArray(row) ? valueAt(row, column) : row;
/** Only these columns, under their dotted names: what `--columns` leaves of a record in JSON and YAML. */
export const project = (row: Row, columns: readonly string[] | undefined): unknown =>
  columns === undefined
    ? row
    : Object.fromEntries(columns.map((column) => [column, columnOf(row, column) ?? null]));

/** Columns that none of these rows has. Pure. */
const unknownColumns = (columns: readonly string[], rows: readonly Row[]): Problem[] => {
  const known = keysOf(rows);
  return columns
    .filter((column) => rows.every((row) => columnOf(row, column) === undefined))
    .map((column) => {
      const close = nearest(column, known);
      return problem(
        '--columns',
        'unknown',
        `names \`${oneLine(column)}\`, which the result does not have`,
        close === undefined ? `it has ${someOf(known)}` : `did you mean ${close}?`,
      );
    });
};
/** A result that reports a change has happened: then a wrong column is only worth a warning. */
const hasChanged = (result: Result): boolean =>
  result.kind === 'rows' ? result.exit !== undefined : 'view' in result && result.view?.message !== undefined;
/**
 * A mistyped column would be empty. Columns of tables in src/api-specs are checked before a request is sent;
 * these columns are checked against the result.
 */
export const columnsAreKnown = async (
  { columns, areColumnsKnown }: OutputOptions,
  rows: readonly Row[],
  result: Result,
  warn: (text: string) => Promise<void>,
): Promise<void> => {
  const problems = rows.length === 0 ? [] : unknownColumns(columns ?? [], rows);
  if (problems.length === 0) return;
  if (!hasChanged(result) && !areColumnsKnown) throw invalidArguments(problems);
  for (const { path, message, hint } of problems) await warn(`warning: ${path} ${message} (${hint})`);
};

/** Drawing characters of this program, each as wide as its replacement, so that columns stay aligned. */
const plain: Readonly<Record<string, string>> = {
  '✓': '+',
  '✔': '+',
  '✗': 'x',
  '✘': 'x',
  '→': '>',
  '←': '<',
  '↑': '^',
  '↓': 'v',
  '─': '-',
  '━': '-',
  '│': '|',
  '┃': '|',
  '├': '+',
  '└': '+',
  '┌': '+',
  '┐': '+',
  '┘': '+',
  '┤': '+',
  '●': '*',
  '○': 'o',
  '◌': 'o',
  '•': '*',
  '·': '.',
  '…': '.',
  '–': '-',
  '—': '-',
  '×': 'x',
  '⚠': '!',
  '▶': '>',
  '█': '#',
  '░': '.',
  '≤': '<',
  '≥': '>',
};
const SIGNS = new RegExp(`[${Object.keys(plain).join('')}]`, 'gu');
type Env = Readonly<Record<string, string | undefined>>;
/**
 * POSIX: LC_ALL beats LC_CTYPE beats LANG. A locale that is set and is not UTF-8 can show ASCII only. If no
 * locale is set, the encoding is unknown.
 */
export const isAsciiOnly = ({ LC_ALL, LC_CTYPE, LANG }: Env): boolean => {
  const locale = LC_ALL || LC_CTYPE || LANG || '';
  return locale !== '' && !/utf-?8/i.test(locale);
};
/** The program's signs as ASCII; data of other scripts stays what it is. */
export const asciiSigns = (text: string): string => text.replace(SIGNS, (sign) => plain[sign] ?? sign);
/** A command for the runner at the start of a line, which the runner trims, and the older form anywhere in it. */
const RUNNER_COMMAND = /^([^\S\n]*):(?=:[^\n]*::)|#(?=#(?:\[|vso\[|teamcity\[))/gm;
/**
 * Separates the signs of a text that the runner of a CI service would obey: GitHub Actions, Azure Pipelines and
 * TeamCity read commands from the output of a program. Pure.
 */
const withoutRunnerCommands = (text: string): string => text.replace(RUNNER_COMMAND, (found) => `${found} `);
const isOnRunner = ({ GITHUB_ACTIONS, TF_BUILD, TEAMCITY_VERSION }: Env): boolean =>
  Boolean(GITHUB_ACTIONS || TF_BUILD || TEAMCITY_VERSION);
/** The filter for text for people: signs that the terminal cannot show, and commands that a runner would obey. */
export const signsFor = (env: Env): ((text: string) => string) => {
  const signs = isAsciiOnly(env) ? asciiSigns : (text: string) => text;
  return isOnRunner(env) ? (text) => withoutRunnerCommands(signs(text)) : signs;
};

type Paint = (text: string) => string;
export type Theme = {
  readonly bold: Paint;
  readonly dim: Paint;
  readonly red: Paint;
  readonly yellow: Paint;
  readonly green: Paint;
};
const asIs: Paint = (text) => text;
const none: Theme = { bold: asIs, dim: asIs, red: asIs, yellow: asIs, green: asIs };
/** chalk is loaded only if color is on. The level is passed, so that chalk does not guess it. */
export const themeFor = async (colored: boolean): Promise<Theme> => {
  if (!colored) return none;
  const { Chalk } = await import('chalk');
  const { bold, dim, red, yellow, green } = new Chalk({ level: 1 });
  return { bold, dim, red, yellow, green };
};

/** Set and not switched off: `FORCE_COLOR=0` means no. */
const isOn = (value: string | undefined): boolean =>
  value !== undefined && value !== '' && value !== '0' && value !== 'false';
/**
 * spec/program#output: determines whether one stream has color: --color > NO_COLOR > FORCE_COLOR,
 * CLICOLOR_FORCE > CLICOLOR=0, TERM=dumb > is a terminal. Decided here because chalk ignores NO_COLOR and
 * checks the wrong stream. Pure.
 */
export const isColored = (
  mode: 'auto' | 'always' | 'never' | undefined,
  env: Env,
  isTty: boolean,
): boolean => {
  if (mode === 'always') return true;
  if (mode === 'never') return false;
  if (env.NO_COLOR) return false;
  if (isOn(env.FORCE_COLOR) || isOn(env.CLICOLOR_FORCE)) return true;
  if (env.FORCE_COLOR === '0' || env.FORCE_COLOR === 'false') return false;
  if (env.CLICOLOR === '0' || env.TERM === 'dumb') return false;
  return isTty;
};
