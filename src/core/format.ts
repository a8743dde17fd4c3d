import type { Format } from './field.ts';
import { AppError, problem } from './problem.ts';
import { stripVTControlCharacters } from 'node:util';
import { WORD_GLUE, keepWhole } from './next.ts';

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
/** At most 12 names, with the number of the others. Pure. */
export const someOf = (names: readonly string[]): string => {
  const shown = names.slice(0, 12).join(', ');
  return names.length > 12 ? `${shown} and ${names.length - 12} more` : shown;
};
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
/** The part of an address that names the host, with its port and its user. */
const AUTHORITY = /^\s*(?:[a-z][a-z0-9+.-]*:)?[\\/]{2}([^\\/?#]*)/i;
/**
 * Whether the host of an address has characters that a parser drops: the text shows another host than the one that is called.
 * Joiners are part of names in several scripts, but not of ASCII.
 */
export const hasHiddenHost = (text: string): boolean => {
  const host = AUTHORITY.exec(text)?.[1] ?? '';
  if (/^[!-~]*$/.test(host)) return false;
  const plain = host.replace(/[\u200C\u200D]/g, '');
  return /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}]/u.test(plain) || /^[!-~]*$/.test(plain);
};
const matches = (pattern: RegExp) => (text: string) => pattern.test(text);
export const isUuid = matches(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i);
export const isEmail = matches(/^[^\s@]+@[^\s@]+$/);
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
    holds: isUuid,
  },
  url: {
    says: 'must be a URL that starts with http:// or https://',
    holds: (text) => /^https?:\/\/[^\s]+$/.test(text) && !hasHiddenHost(text),
  },
  email: { says: 'must be an e-mail address', holds: isEmail },
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
/** `31.02.2026` and `02/31/2026`: the first number is the day or the month. */
const DAY_OF_PEOPLE = /^(\d{1,2})[./](\d{1,2})[./](\d{4})\b/;
/** Why a text does not have a format. A day that does not exist is named, because its form is valid. */
export const formatFault = (format: Format, text: string): string => {
  const day = /^date/.test(format) ? DAY_SHAPE.exec(text)?.[1] : undefined;
  if (day === text && !isDate(day)) return 'must be a day that exists';
  if (day !== undefined && !isDate(day)) return `names the day ${day}, which does not exist`;
  const [, a = '', b = '', year] = /^date/.test(format) ? (DAY_OF_PEOPLE.exec(text) ?? []) : [];
  const isDay = [`${b}-${a}`, `${a}-${b}`].some((rest) =>
    isDate(`${year}-${rest.replace(/\b\d\b/g, '0$&')}`),
  );
  if (year !== undefined && !isDay) return 'names a day that does not exist';
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

const wideIn = (text: string): readonly string[] =>
  text.match(
    /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/gu,
  ) ?? [];
/** Columns that a text takes on a terminal. */
export const placesOf = (colored: string): number => {
  const text = colored.includes('\u001b') ? stripVTControlCharacters(colored) : colored;
  if (/^[ -~]*$/.test(text)) return text.length;
  return text.length + wideIn(text).filter((one) => one.length === 1).length;
};
/**
 * Ends of words: spaces, and the places between ideographs, kana and Hangul syllables, which need no space between words. A
 * closing sign stays with the character before it.
 */
const WORD_END =
  /(\s+)|(?<=[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef])(?![\s、。，．：；！？）」』】〉》ー]|$)/;
/** The words of a text, between which a line may end. */
export const wordsIn = (text: string): string[] => text.split(WORD_END).filter((_, i) => i % 2 === 0);
/** Lines of at most `width` places, broken between words. A longer word stays whole. Pure. */
export const wordLines = (text: string, width: number): string[] => {
  if (!/[^\S ]/.test(text) && placesOf(text) <= width) return [text];
  const parts = text.split(WORD_END);
  const lines: string[] = [];
  let [line, places] = ['', 0];
  for (let i = 0; i < parts.length; i += 2) {
    const word = parts[i] ?? '';
    const gap = parts[i - 1] ?? '';
    const space = line === '' || gap === '' ? '' : /^ +$/.test(gap) ? gap : ' ';
    const size = placesOf(word);
    if (line !== '' && places + space.length + size > width) {
      lines.push(line);
      [line, places] = [word, size];
    } else [line, places] = [line + space + word, places + space.length + size];
  }
  return [...lines, line];
};
/** Wraps a text at word boundaries to at most `width` places per line. Additional lines start with `indent`. */
export const wrap = (text: string, width: number, indent: string): string =>
  wordLines(text, width).join(`\n${indent}`);
/** What follows a name that is the subject of a sentence, such as `opsctl shows` or `A=1 is set`. */
const NOT_PROSE = String.raw`(?!(?:can|cannot|could|does|has|is|may|must|was|will|to|for|and|or|if|in|on|of|as|at|with|when|(?!labels\b|commands\b)[a-z]+s)\b)`;
/** The start of a command: another program with a subcommand, or variables in front of a program. */
const COMMAND_START = [
  String.raw`\b(?:docker|podman) (?=(?:exec|kill|logs|ps|pull|restart|rm|run|start|stop)\b)`,
  String.raw`\bkubectl (?=(?:apply|delete|exec|get|logs)\b)`,
  String.raw`\betcdctl (?=(?:alarm|auth|defrag|del|endpoint|get|lease|member|put|role|snapshot|user|version)\b)`,
  String.raw`\b(?:ssh|scp) (?=-|[^\s@]{1,200}[@:])`,
  String.raw`(?<!\S)[A-Z][A-Z\d_]*=[^\s,;]+ (?=[a-z./])${NOT_PROSE}`,
].join('|');
/** A text in quotes. An apostrophe within a word is not a quote. */
const QUOTED = String.raw`(?<![\w"'])(?:"[^"\n]+"|'[^'\n]+'(?!\w))`;
/** Code in backticks, a command up to the words behind it, a text in quotes, and a flag with its value. The limit protects the stack. */
const UNBROKEN = new RegExp(
  [
    '`[^`\\n]+`',
    String.raw`(?:\bopsctl ${NOT_PROSE}|${COMMAND_START})(?:"[^"]*"|'[^']*'|.){1,4000}?(?=$|[,;:)](?:\s|$)|\.(?:\s|$)|\s\(|\s(?:to|for|and|or|if|which|that|then|shows|lists|prints|is)\s)`,
    String.raw`(?<![\w-])--[a-z][a-z-]* (?:"[^"\n]*"|'[^'\n]*'|[A-Z<"'\d][^\s,;)]*)`,
    QUOTED,
  ].join('|'),
  'g',
);
/** A first word that is followed by a flag and is not a program: "add --yes". */
const NOT_A_PROGRAM = String.raw`(?!(?:add|and|give|name|omit|only|or|pass|remove|repeat|set|use|with|without) )`;
/** A line of a shell: a program with flags, or with a pipe or a redirection. The name of a program has no capital letters. */
const SHELL_LINE = new RegExp(
  String.raw`^(?:${NOT_A_PROGRAM}[a-z\d_./-]+ -|(?:chmod|chown|curl|export|git|npm|sudo|systemctl|unset) |[^.;]* [|>] |${COMMAND_START})`,
);
/** A longer line is data that no person copies. It is not wrapped, because UNBROKEN needs stack for each character. */
const LONGEST_WRAPPED_LINE = 20_000;
/**
 * Wraps one line of a message for a person at `width` places between words. Additional lines start with `indent`.
 * A command that a person copies stays on one line, however long it is. Pure.
 */
export const wrapMessage = (text: string, width: number, indent: string): string => {
  const whole = (line: string): string => line.replaceAll(WORD_GLUE, ' ');
  const body = text.trimStart();
  const hint = /^try: /.exec(body)?.[0] ?? '';
  if (text.length > LONGEST_WRAPPED_LINE || placesOf(text) <= width) return whole(text);
  if (SHELL_LINE.test(body.slice(hint.length))) return whole(text);
  const lines: string[] = [];
  let line = text.slice(0, text.length - body.length);
  let isEmpty = true;
  for (const word of body.replace(UNBROKEN, keepWhole).split(' ')) {
    if (!isEmpty && placesOf(line) + placesOf(word) + 1 > width) {
      lines.push(line);
      line = indent + word;
    } else line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines.map((one) => one.trimEnd()), line].map(whole).join('\n');
};
/** Places for messages: a log in CI and a pipe have no edge. */
export const messageColumns = (
  stream: { readonly isTty: boolean; readonly columns: number },
  env: Readonly<Record<string, string | undefined>>,
): number => (stream.isTty && !env.CI ? Math.max(40, stream.columns || 80) : Number.POSITIVE_INFINITY);
/** Wraps each line that is wider than the terminal, indented by two more places. Pure. */
export const wrapMessages = (text: string, width: number): string =>
  text
    .split('\n')
    .map((line) => wrapMessage(line, width, `${/^ */.exec(line)?.[0] ?? ''}  `))
    .join('\n');
/** The mark before a question, and the choices and the cursor after it: `? Delete it? (y/N) `. */
const AROUND_QUESTION = 10;
/** Wraps a question at words, so that its choices fit behind its last line. A prompt calls it; no other code may wrap a question. Pure. */
export const wrapQuestion = (text: string, columns: number): string =>
  wrapMessages(text, Math.max(40, columns || 80) - AROUND_QUESTION);
/** A command line, and a line of a file that a plan adds or removes: a person copies these. */
const COPIED_LINE = /^\s*[$+-] /;
/** Wraps a text that its result marks as prose. Lines that a person copies stay whole. Pure. */
export const wrapDrawing = (text: string, width: number): string =>
  text
    .split('\n')
    .map((line) => (COPIED_LINE.test(line) ? line : wrapMessages(line, width)))
    .join('\n');
/** Places to write on: those of a terminal; a file has no edge. */
export const columnsOf = (stream: {
  readonly isTty: boolean;
  readonly columns: number;
  readonly isWidthGiven?: boolean;
}): number =>
  stream.isTty || stream.isWidthGiven === true
    ? Math.max(40, stream.columns || 80)
    : Number.POSITIVE_INFINITY;

/** ACCESSIBLE requests plain lines, because a screen reader cannot follow redrawn text. */
export const isAccessible = (env: Readonly<Record<string, string | undefined>>): boolean =>
  !!env.ACCESSIBLE && env.ACCESSIBLE !== '0';
