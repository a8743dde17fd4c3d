import type { Format } from './field.ts';
import { AppError, problem } from './problem.ts';

const UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** Timers of the platform hold 32 bits of milliseconds. A longer timer would fire immediately. */
export const longestMs = 2 ** 31 - 1;
/** `90s`, `1h30m`, `500ms`, or a bare number of seconds, as milliseconds; undefined for anything else. */
export const durationMs = (text: string): number | undefined => {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('') !== text) return undefined;
  return parts.reduce((sum, part) => sum + Number(part[1]) * (UNIT[part[2] ?? ''] ?? 0), 0);
};
/**
 * Like `durationMs`, but throws a usage error that names the source of the text. `longest` is for spans
 * without a timer.
 */
export const parseDuration = (text: string, from?: string, longest = longestMs): number => {
  const ms = durationMs(text);
  if (ms !== undefined && ms <= longest) return ms;
  const why =
    ms === undefined ? 'is not a duration' : `is longer than ${Math.floor(longest / 86_400_000)} days`;
  const given = JSON.stringify(text);
  throw new AppError('usage', from === undefined ? `${given} ${why}` : `${from} ${why}; got ${given}`, {
    ...(from === undefined ? {} : { problems: [problem(from, 'format', `${why}; got ${given}`)] }),
    tryThis: ['write it like 30s, 5m, 1h30m or 500ms'],
  });
};
/** A time span as people read it: `320 ms`, `4.2 s`, `3 min 05 s`, `9 h 30 min`. */
export const durationText = (ms: number): string => {
  if (ms < 0) return `-${durationText(-ms)}`;
  if (Math.round(ms) < 1000) return `${Math.round(ms)} ms`;
  if (Math.round(ms / 100) < 600) return `${(ms / 1000).toFixed(1)} s`;
  const two = (count: number): string => String(count).padStart(2, '0');
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
};
/** A count with its noun: `1 row`, `2 rows`, `1 entry`, `0 entries`. */
export const countText = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;
/** A waiting time or lifetime in whole seconds, rounded up: `8 s`. */
export const secondsText = (ms: number): string => `${Math.ceil(ms / 1000)} s`;
const mebibyte = 1024 * 1024;
/** A size as people read it: `900 bytes`, `49 KiB`, `1.2 MiB`, `340 MiB`. */
export const sizeText = (bytes: number): string => {
  if (bytes < 1024) return countText(bytes, 'byte');
  if (bytes < mebibyte) return `${Math.round(bytes / 1024)} KiB`;
  return `${(bytes / mebibyte).toFixed(bytes < 10 * mebibyte ? 1 : 0)} MiB`;
};
/** A moment with a fraction of a second. */
const MOMENT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{1,9}(Z|[+-]\d\d:\d\d)$/;
/** `2026-03-31T12:00:05.714Z` → `2026-03-31T12:00:05Z`: people read seconds. Every other text stays as it is. Pure. */
export const secondOf = (text: string): string => text.replace(MOMENT, '$1$2');
/** `2026-03-31 12:00:05 UTC`. */
export const momentText = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;

/** A whole number in its only form: `007`, `5.0`, `+5` and ` 5 ` show other digits than the value has. Pure. */
export const isWholeNumber = (text: string): boolean => /^(?:0|-?[1-9]\d*)$/.test(text);
/** A number in another form, such as `9.0` of a table program. The form is not converted, because it may be a name. Pure. */
export const isOddNumber = (text: string): boolean =>
  !isWholeNumber(text) && /^\s*[-+]?\d[\d.]*(?:e[-+]?\d+|x[\da-f]+)?\s*$/i.test(text);
export const wholeNumberHint =
  'write it like 10: without spaces, a sign, leading zeros, a point, an exponent or 0x';

type Rule = { readonly says: string; readonly hint?: string; holds(text: string): boolean };
const DATE = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;
const DATETIME =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]([01]\d|2[0-3]):?[0-5]\d)$/;
const isDate = (text: string): boolean =>
  DATE.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text);
const matches = (pattern: RegExp) => (text: string) => pattern.test(text);
/** spec/tracker#values; spec/tracker#values for the patterns. */
export const formats: Readonly<Record<Format, Rule>> = {
  color: {
    says: 'must be a hexadecimal color of six digits such as #1a2b3c',
    hint: 'names like red and short forms like #fff are not accepted',
    // The document states no number of digits; the pattern of the vendor has six (spec/tracker#choices-14).
    holds: matches(/^#[0-9a-fA-F]{6}$/),
  },
  date: { says: 'must be a date such as 2026-03-31', holds: isDate },
  datetime: {
    says: 'must be an ISO 8601 date and time such as 2026-03-31T12:30:00Z',
    holds: (text) => {
      const day = DATETIME.exec(text)?.[1];
      // Its year in UTC must have four digits too: an offset can leave the years 0000 to 9999.
      return day !== undefined && isDate(day) && /^\d/.test(new Date(text).toISOString());
    },
  },
  uuid: {
    says: 'must be a 36-character identifier such as 12345678-9012-3456-7890-123456789012',
    holds: matches(/^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/),
  },
  url: { says: 'must be a URL that starts with http:// or https://', holds: matches(/^https?:\/\/[^\s]+$/) },
  email: { says: 'must be an e-mail address', holds: matches(/^[^\s@]+@[^\s@]+$/) },
  int64: { says: 'must be a whole number written as text', holds: matches(/^-?\d{1,19}$/) },
  byte: {
    says: 'must be base64',
    // The end of a group is counted, because a repeated group would exhaust the stack in a text of some megabytes.
    holds: (text) => {
      const [digits, padding] = /^([A-Za-z0-9+/_-]*)(={0,2})$/.exec(text)?.slice(1) ?? [];
      return digits !== undefined && digits.length % 4 !== 1 && (digits !== '' || padding === '');
    },
  },
  fieldmask: {
    says: 'must be a comma-separated list of fields',
    holds: (text) =>
      text === '' || text === '*' || text.split(',').every((field) => /^[A-Za-z0-9_.]+$/.test(field)),
  },
  duration: {
    says: 'must be a duration of at most 24 days',
    hint: 'write it like 30s, 5m, 1h30m or 500ms',
    holds: (text) => (durationMs(text) ?? Number.POSITIVE_INFINITY) <= longestMs,
  },
};
const WITHOUT_ZONE = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?$/;
/**
 * The moment that a person means: a day is its first moment in UTC (`--deadline 2026-12-31`), a time without a zone is in
 * UTC, and a space may separate the day from the time. One rule for flags, bodies, rows and files; other text is returned
 * unchanged.
 */
export const momentOf = (text: string): string => {
  if (formats.date.holds(text)) return `${text}T00:00:00Z`;
  const joined = text.replace(/^(\d{4}-\d{2}-\d{2}) (?=\d)/, '$1T');
  const iso = WITHOUT_ZONE.test(joined) ? `${joined}Z` : joined;
  return formats.datetime.holds(iso) ? iso : text;
};
const DAY_SHAPE = /^(\d{4}-\d{2}-\d{2})(?:$|T)/;
/** Why a text does not have a format. A day that does not exist is named, because its form is valid. */
export const formatFault = (format: Format, text: string): string => {
  const day = /^date/.test(format) ? DAY_SHAPE.exec(text)?.[1] : undefined;
  if (day !== undefined && !isDate(day)) return `names the day ${day}, which does not exist`;
  return formats[format].says;
};

/** A valid value of each text format, for help and the served documents. */
export const formatExamples: Readonly<Record<string, string>> = {
  uuid: '12345678-9012-4234-8678-901234567890',
  color: '#cc0000',
  date: '2026-01-02',
  datetime: '2026-01-02T03:04:05Z',
  url: 'https://example.com/',
  duration: '60s',
};

type FormatRow = {
  readonly summary: string;
  /** Drawn for people: the columns and the text of the view, colors, signs. */
  readonly isForPeople?: true;
  /** JSON for programs: errors are JSON too, no spinner turns, and --jq works on it. */
  readonly isJson?: true;
  /** A list is written row by row, and long lists stream; without it a result is one document. */
  readonly isByRow?: true;
  /** For spreadsheets: a record with a list of members or parts is printed as one row for each of them. */
  readonly isSheet?: true;
  /** Keeps nested values. */
  readonly isNested?: true;
  /** Prints one field of a row, so that --columns has no effect on it. */
  readonly isOneField?: true;
};
/** Every output format. The flag, its help, completion and all decisions about formats are read from here. */
export const outputFormats = {
  table: { summary: 'aligned columns', isForPeople: true, isByRow: true },
  wide: { summary: 'aligned columns, with more columns', isForPeople: true, isByRow: true },
  json: { summary: 'one JSON document', isJson: true, isNested: true },
  ndjson: { summary: 'one JSON value a line', isJson: true, isByRow: true, isNested: true },
  yaml: { summary: 'one YAML document', isNested: true },
  csv: { summary: 'comma-separated values', isByRow: true, isSheet: true },
  name: {
    summary: 'one identifier per line, as the next command accepts it',
    isByRow: true,
    isOneField: true,
  },
} as const satisfies Readonly<Record<string, FormatRow>>;
export type OutputFormat = keyof typeof outputFormats;
export const formatNames = Object.keys(outputFormats) as OutputFormat[];
export const formatRow = (format: OutputFormat): FormatRow => outputFormats[format];
/** Each row or event is a separate JSON line, written as soon as it is available. */
export const isJsonStream = (format: OutputFormat): boolean => {
  const { isJson, isByRow } = formatRow(format);
  return isJson === true && isByRow === true;
};

/** Files that CI services read; `--report junit=FILE,sarif=FILE`. */
const reportFormats = {
  junit: { summary: 'JUnit XML: test results' },
  sarif: { summary: 'SARIF 2.1.0: code scanning' },
  codequality: { summary: 'Code Quality JSON: findings in a merge request' },
  markdown: { summary: 'a table for a comment' },
} as const satisfies Readonly<Record<string, { readonly summary: string }>>;
export type ReportFormat = keyof typeof reportFormats;
export const reportFormatNames = Object.keys(reportFormats) as ReportFormat[];
