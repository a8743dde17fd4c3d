import {
  areChecked,
  jsonOfAnyDepth,
  markChecked,
  parseExactJson,
  parseJsonRows,
  restoreNumbers,
  shownValue,
} from '../core/json.ts';
import { BACKSLASH, CLOSE_LIST, NOWHERE, OPEN_LIST, OPEN_RECORD, QUOTE } from '../core/json-scan.ts';
import { AppError, type Problem, invalidArguments, problem, messageOf } from '../core/problem.ts';
import type { Bytes, Host, JqRun } from '../platform/host.ts';
import { type Rows, batchesOf, formatOf } from './formats.ts';
import { type OutputFormat, isJsonStream, formatRow } from '../core/format.ts';
import { isPlainNumber, Output, PLAIN, scalarEnd, stringEnd, textOf, valueEnd, Values } from './row-bytes.ts';
import { type OutputOptions, cellText } from './types.ts';
import { makeReducedRows, usedKeys } from './used-keys.ts';

/** Text without quotes, any other value as JSON on one line. */
const FLAGS = ['-M', '-c', '-r'];
const MOST_ERRORS = 3;

/** jq's own words, without those that only its command line needs. */
const sentence = (stderr: string): string => {
  const text = stderr
    .replaceAll('/dev/stdin', '<stdin>')
    .replace(/^jq: \d+ compile errors?\n?/gm, '')
    .trim();
  const errors = text.split(/^jq: (?=error|parse error)/m).filter((part) => part.trim() !== '');
  const shown = errors.slice(0, MOST_ERRORS).join('').trim();
  return errors.length > MOST_ERRORS ? `${shown}\n(and ${errors.length - MOST_ERRORS} more)` : shown;
};

const failure = (category: 'usage' | 'partial', stderr: string): AppError =>
  new AppError(category, `--jq: ${sentence(stderr)}`, {
    ...(category === 'partial' ? { code: 'JQ_PARTIAL' } : {}),
    tryThis: ["the filter sees the same JSON as -o json; rows are one array: '.[].id'"],
  });

/** jq ends with the status of the last row: an earlier error shows in its words only. */
const isFailure = (code: number, stderr: string): boolean => code !== 0 || /^jq: error/m.test(stderr);

type End = Awaited<JqRun['finished']>;
/** jq continues with the next part after an error, and would not with the whole array. */
const firstError = ({ code, stderr }: End): End => {
  const second = stderr.indexOf('\njq: error', stderr.search(/^jq: error/m) + 1);
  return { code, stderr: second === -1 ? stderr : stderr.slice(0, second + 1) };
};
/** What ended a filter: the person who pressed Ctrl-C, the service that broke off, or jq itself. */
const makeEndedError = (
  { code, stderr }: End,
  hasOutput: boolean,
  broken: { readonly error: unknown } | undefined,
): unknown => {
  if (code === null) return new AppError('interrupted', 'interrupted');
  if (broken !== undefined) return partial(broken.error, hasOutput);
  return isFailure(code, stderr) ? failure(hasOutput ? 'partial' : 'usage', stderr) : undefined;
};

/** Printed results cannot be undone. The exit code shows that they are incomplete. */
const partial = (error: unknown, hasOutput: boolean): unknown =>
  hasOutput && error instanceof AppError && !['stopped', 'interrupted', 'terminated'].includes(error.category)
    ? new AppError('partial', error.message, error.detail)
    : error;

/** Starts jq; a program that does not compile is refused in jq's words, before anything is sent. */
export const startFilter = async (host: Host, program: string, format?: OutputFormat): Promise<JqRun> => {
  // --unbuffered: each result is printed as soon as it is available.
  const run = await host.jq(
    program,
    format !== undefined && isJsonStream(format) ? [...FLAGS, '--unbuffered'] : FLAGS,
  );
  if ((await run.compiled) === 'yes') return run;
  const { stderr } = await run.finished;
  throw failure('usage', stderr);
};

type Source = { readonly data: unknown } | Rows;

/** How jq reads values: their format, and a function that changes each value first. */
export type Reading = {
  readonly format: OutputFormat;
  readonly read?: ((value: unknown) => unknown) | undefined;
  /** Rows before the first one that jq reads: its messages count lines. */
  readonly skipped?: number;
  /** The keys of a row that the program uses. Undefined: jq reads whole rows. */
  readonly keys?: readonly string[] | undefined;
  /** jq reads the array in parts, and `JoinedArrays` joins the results: jq never has the whole array in its memory. */
  readonly isInParts?: boolean;
};

const jsonTextOf = (value: unknown, read: Reading['read']): string =>
  restoreNumbers(jsonOfAnyDepth(read === undefined ? value : read(value)));
/** One row that the service encoded. Its exact text stays if nothing changes it. */
const encodedRow = (row: Bytes, read: Reading['read']): Bytes => {
  if (read === undefined) return row;
  return Buffer.from(jsonTextOf(parseExactJson(Buffer.from(row).toString('utf8')), read));
};

/** Makes the writer of a piece of JSON from rows. It reduces checked rows to the used keys, if these are known. */
const makeWriter = (
  isEncoded: boolean,
  { read, keys }: Reading,
  onRepeated: (key: string) => void,
): ((burst: readonly unknown[], before: string, between: string) => Bytes) => {
  const reduce = keys && makeReducedRows(keys);
  const rowOf = (one: unknown): Bytes =>
    isEncoded ? encodedRow(one as Bytes, read) : Buffer.from(jsonTextOf(shownValue(one ?? null), read));
  return (burst, before, between) => {
    const isChecked = isEncoded && areChecked(burst as Bytes[]);
    if (isChecked && reduce !== undefined) return reduce(burst as Bytes[], before, between);
    if (isEncoded && !isChecked) parseJsonRows(burst as Bytes[], onRepeated);
    const separator = Buffer.from(between);
    return Buffer.concat(burst.flatMap((one, i) => [i === 0 ? Buffer.from(before) : separator, rowOf(one)]));
  };
};
/** An array for each burst of rows, without line breaks, because the messages of jq count lines. */
async function* partsOf(
  source: Rows,
  reading: Reading,
  onRepeated: (key: string) => void,
): AsyncGenerator<string | Bytes> {
  const write = makeWriter(source.encoded === true, reading, onRepeated);
  let isEmpty = true;
  for await (const burst of batchesOf(source)) {
    if (burst.length === 0) continue;
    isEmpty = false;
    yield write(burst, '[', ',');
    yield ']';
  }
  if (isEmpty) yield '[]';
}
/** Joins arrays, each on a line of its own, into one. */
class JoinedArrays {
  readonly #contents: string[] = [];
  #line: string[] = [];
  add(text: string): void {
    const lines = text.split('\n');
    for (const [i, part] of lines.entries()) {
      this.#line.push(part);
      if (i === lines.length - 1) break;
      const content = this.#line.join('').slice(1, -1);
      if (content !== '') this.#contents.push(content);
      this.#line = [];
    }
  }
  *pieces(): Generator<string> {
    let before = '[';
    for (const content of this.#contents) {
      yield before + content;
      before = ',';
    }
    yield before === '[' ? '[]\n' : ']\n';
  }
}
/** The JSON that jq reads: one document, or under -o ndjson one a row, so that long lists stream. */
async function* jsonOf(
  source: Source,
  reading: Reading,
  onRepeated: (key: string) => void,
): AsyncGenerator<string | Bytes> {
  const { format, read, skipped = 0, isInParts } = reading;
  if ('data' in source) {
    yield jsonTextOf(source.data ?? null, read);
    return;
  }
  if (isInParts) {
    yield* partsOf(source, reading, onRepeated);
    return;
  }
  const [open, between, close] = isJsonStream(format) ? ['\n'.repeat(skipped), '\n', '\n'] : ['[', ',', ']'];
  const write = makeWriter(source.encoded === true, reading, onRepeated);
  let before = open;
  // One piece for each burst: jq would print the result of each row before it reads the next one.
  for await (const burst of batchesOf(source)) {
    if (burst.length === 0) continue;
    yield write(burst, before, between);
    before = between;
  }
  yield before === open ? open + close : close;
}

/** Gives jq its input until there is no more, or jq wants no more; what broke the input off, if anything did. */
const feed = async (
  run: JqRun,
  texts: AsyncGenerator<string | Bytes>,
): Promise<{ readonly error: unknown } | undefined> => {
  try {
    for await (const text of texts) if (!(await run.write(text))) break;
    return undefined;
  } catch (error) {
    return { error };
  } finally {
    run.end();
  }
};

/**
 * Results of a filter over a record or rows, as they come. Messages of `debug` and the like go to `note`. `held` has
 * results of earlier rows that are printed only if all rows arrive.
 */
export async function* jqPieces(
  run: JqRun,
  source: Source,
  reading: Reading,
  note: (text: string) => Promise<void>,
  onRepeated: (key: string) => void = () => undefined,
  { held = '', hasOutput: hadOutput = false } = {},
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const joined = reading.isInParts ? new JoinedArrays() : undefined;
  const fed = feed(run, jsonOf(source, reading, onRepeated));
  let hasOutput = hadOutput;
  try {
    if (held !== '' && (await fed) === undefined) {
      hasOutput = true;
      yield held;
    }
    for await (const bytes of run.output()) {
      const text = decoder.decode(bytes, { stream: true });
      joined?.add(text);
      if (joined !== undefined) continue;
      hasOutput = true;
      yield text;
    }
    const end = await run.finished;
    const error = makeEndedError(joined === undefined ? end : firstError(end), hasOutput, await fed);
    if (error !== undefined) throw error;
    if (joined !== undefined) yield* joined.pieces();
    if (end.stderr !== '') await note(end.stderr.trimEnd());
  } finally {
    await run.kill();
  }
}

/** One step of a path: the value of a key, or each element of a list. */
type Step = Values | 'each';
const STEP = /\.?\[\]|\.[A-Za-z_]\w*/y;
const SPACES = /^[ \t\r\n]+|[ \t\r\n]+$/g;
const segmentsOf = (program: string): readonly string[] =>
  program.split('|').map((segment) => segment.replace(SPACES, ''));
/** The steps between two pipes; undefined if there is anything else. */
const stepsIn = (segment: string): readonly string[] | undefined => {
  if (segment === '.') return [];
  if (!segment.startsWith('.')) return undefined;
  const names: string[] = [];
  for (let at = 0; at < segment.length; at = STEP.lastIndex) {
    STEP.lastIndex = at;
    const [name] = STEP.exec(segment) ?? [];
    if (name === undefined) return undefined;
    names.push(name);
  }
  return names;
};
/** The steps of a program that only follows a path, such as `.name` or `.[] | .labels[].id`; undefined for any other. */
const stepsOf = (program: string): readonly Step[] | undefined => {
  const names: string[] = [];
  for (const segment of segmentsOf(program)) {
    const found = stepsIn(segment);
    if (found === undefined) return undefined;
    names.push(...found);
  }
  if (names.length === 0) return undefined;
  return names.map((name) => (name.endsWith('[]') ? 'each' : new Values([name.slice(1)])));
};
/** A string without a value in it, or any other character that starts no comment and no string. */
const PART = /"(?:[^"\\]|\\[^(])*"|[^"#]/y;
/** The end of the parenthesis that opens at this position; NOWHERE if a comment, or a string with a value, might contain it. */
const closingEnd = (program: string, open: number): number => {
  let depth = 0;
  for (let at = open; at < program.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const [part] = PART.exec(program) ?? [];
    if (part === undefined) return NOWHERE;
    if (part === '(') depth += 1;
    if (part === ')') depth -= 1;
    if (depth === 0) return PART.lastIndex;
  }
  return NOWHERE;
};
/** Words of a program that reads other rows, ends before the last row, or writes messages for each row. */
const OF_ALL_ROWS = /\b(?:inputs?|input_\w+|halt\w*|debug|stderr)\b/;
/** True for `map(…)`, and several of them: the result for an array is that for its parts, one after the other. */
export const mapsEachRow = (program: string): boolean => {
  if (OF_ALL_ROWS.test(program)) return false;
  for (let rest = program.replace(SPACES, ''); rest.startsWith('map('); ) {
    const end = closingEnd(rest, 'map'.length);
    if (end === NOWHERE) return false;
    if (end === rest.length) return true;
    const next = /^[ \t\r\n]*\|[ \t\r\n]*/.exec(rest.slice(end));
    if (next === null) return false;
    rest = rest.slice(end + next[0].length);
  }
  return false;
};
const isTotal = (program: string): boolean => ['length', '.|length'].includes(segmentsOf(program).join('|'));
/** True for a program that opsctl evaluates from the bytes of the rows, in a fraction of the time and memory of jq. */
const isDirect = (program: string, format: OutputFormat): boolean =>
  stepsOf(program) !== undefined || (isTotal(program) && !isJsonStream(format));

const NULL = 'null';
/**
 * Follows a path through JSON without white space between its tokens and without repeated keys. It writes what jq would
 * write, or refuses: a value whose text jq may write in another way, and everything that jq reports as an error.
 */
class PathFilter {
  readonly #steps: readonly Step[];
  readonly #out = new Output();
  constructor(steps: readonly Step[]) {
    this.#steps = steps;
  }
  /** Adds the results of one value; false if jq must read it. */
  add(row: Bytes): boolean {
    const before = this.#out.length;
    this.#out.reserve(6 * row.length + 6);
    if (this.#follow(row, 0, 0)) return true;
    this.#out.length = before;
    return false;
  }
  take(): string {
    return this.#out.take();
  }
  #follow(row: Bytes, at: number, number: number): boolean {
    const step = this.#steps[number];
    if (step === undefined) return this.#put(row, at);
    if (step === 'each') return row[at] === OPEN_LIST && this.#followEach(row, at, number + 1);
    if (step.find(row, at)) {
      const from = step.starts[0] ?? NOWHERE;
      return from === NOWHERE ? this.#putNull(number + 1) : this.#follow(row, from, number + 1);
    }
    return row[at] === NULL_SIGN && this.#putNull(number + 1);
  }
  #followEach(row: Bytes, from: number, number: number): boolean {
    if (row[from + 1] === CLOSE_LIST) return true;
    for (let at = from; row[at] !== CLOSE_LIST; at = valueEnd(row, at + 1))
      if (!this.#follow(row, at + 1, number)) return false;
    return true;
  }
  /** A key of null is null, and null has no elements. */
  #putNull(number: number): boolean {
    if (this.#steps.indexOf('each', number) !== -1) return false;
    this.#out.text(`${NULL}\n`);
    return true;
  }
  #put(row: Bytes, from: number): boolean {
    const out = this.#out;
    const first = row[from];
    if (first === OPEN_LIST || first === OPEN_RECORD) return false;
    if (first === QUOTE) return this.#putText(row, from);
    const end = scalarEnd(row, from);
    // jq keeps the digits of a whole number of this length.
    const isWord = first === NULL_SIGN || first === TRUE_SIGN || first === FALSE_SIGN;
    if (!isWord && (!isPlainNumber(row, from, end) || row.subarray(from, end).includes(POINT))) return false;
    out.copy(row, from, end);
    out.put(LINE_END);
    return true;
  }
  #putText(row: Bytes, from: number): boolean {
    const out = this.#out;
    const before = out.length;
    const at = out.copyWhile(row, from + 1, PLAIN);
    if (row[at] === BACKSLASH) {
      out.length = before;
      const text = textOf(row, from, stringEnd(row, from));
      if (text.includes('\\u')) return false;
      out.text(JSON.parse(text) as string);
    }
    out.put(LINE_END);
    return true;
  }
}
const LINE_END = 0x0a;
const POINT = 0x2e;
const NULL_SIGN = 0x6e;
const TRUE_SIGN = 0x74;
const FALSE_SIGN = 0x66;

/** The bytes of one value without white space between its tokens. */
const compactRow = (row: unknown, isEncoded: boolean | undefined): Bytes =>
  isEncoded === true ? (row as Bytes) : Buffer.from(jsonTextOf(shownValue(row ?? null), undefined));

/** Rows of a source: those that are read already, and the others. */
type Rest = {
  readonly source: Rows;
  readonly skipped: number;
  readonly held: string;
  readonly hasOutput: boolean;
};
/** Evaluates a path over rows. Yields the results as they come, or all at the end if the rows are one document. */
class DirectRows {
  readonly #source: Rows;
  readonly #isStream: boolean;
  readonly #filter: PathFilter;
  #held: string[] = [];
  #hasOutput = false;
  #count = 0;
  /** The rows from the first one that jq must read. */
  rest: Rest | undefined;

  constructor(source: Rows, isStream: boolean, steps: readonly Step[]) {
    this.#source = source;
    this.#isStream = isStream;
    this.#filter = new PathFilter(steps);
  }
  async *pieces(): AsyncGenerator<string> {
    const bursts = batchesOf(this.#source)[Symbol.asyncIterator]();
    let isOver = false;
    try {
      for (let step = await bursts.next(); !step.done; step = await bursts.next()) {
        const done = this.#addRows(step.value);
        yield* this.#show();
        if (done === step.value.length) continue;
        isOver = true;
        this.#leave(step.value, done, bursts);
        return;
      }
      isOver = true;
    } catch (error) {
      isOver = true;
      throw partial(error, this.#hasOutput);
    } finally {
      if (!isOver) await bursts.return?.();
    }
    if (this.#held.length > 0) yield this.#held.join('');
  }
  /** Returns the number of rows that are evaluated. */
  #addRows(burst: readonly unknown[]): number {
    const { encoded } = this.#source;
    if (encoded === true && !areChecked(burst as Bytes[])) return 0;
    const at = burst.findIndex((row) => !this.#filter.add(compactRow(row, encoded)));
    const done = at === -1 ? burst.length : at;
    this.#count += done;
    return done;
  }
  *#show(): Generator<string> {
    const text = this.#filter.take();
    if (text === '') return;
    if (!this.#isStream) this.#held.push(text);
    else {
      this.#hasOutput = true;
      yield text;
    }
  }
  #leave(burst: unknown[], done: number, bursts: AsyncIterator<unknown[]>): void {
    const left = burst.slice(done);
    if (areChecked(burst as Bytes[])) markChecked(left as Bytes[]);
    const { encoded } = this.#source;
    this.rest = {
      source: {
        rows: continueRows(left, bursts),
        inBatches: true,
        ...(encoded === undefined ? {} : { encoded }),
      },
      skipped: this.#count,
      held: this.#held.join(''),
      hasOutput: this.#hasOutput,
    };
  }
}
async function* continueRows(first: unknown[], bursts: AsyncIterator<unknown[]>): AsyncGenerator<unknown[]> {
  try {
    yield first;
    for (let step = await bursts.next(); !step.done; step = await bursts.next()) yield step.value;
  } finally {
    await bursts.return?.();
  }
}
/** The number of rows. Each row is checked, because a damaged list has no number. */
async function* countPieces(source: Rows, onRepeated: (key: string) => void): AsyncGenerator<string> {
  let count = 0;
  for await (const burst of batchesOf(source)) {
    if (source.encoded === true && !areChecked(burst as Bytes[])) parseJsonRows(burst as Bytes[], onRepeated);
    count += burst.length;
  }
  yield `${count}\n`;
}
type Filtering = {
  readonly program: string;
  readonly reading: Reading;
  readonly start: () => Promise<JqRun>;
  readonly note: (text: string) => Promise<void>;
  readonly onRepeated: (key: string) => void;
};
async function* pathPieces(
  source: Source,
  steps: readonly Step[],
  { reading, start, note, onRepeated }: Filtering,
): AsyncGenerator<string> {
  if ('data' in source) {
    const filter = new PathFilter(steps);
    if (filter.add(compactRow(source.data, false))) yield filter.take();
    else yield* jqPieces(await start(), source, reading, note, onRepeated);
    return;
  }
  const isStream = isJsonStream(reading.format);
  // All rows are one document: a path through it must begin with its elements.
  if (!isStream && steps[0] !== 'each') {
    yield* jqPieces(await start(), source, reading, note, onRepeated);
    return;
  }
  const direct = new DirectRows(source, isStream, isStream ? steps : steps.slice(1));
  yield* direct.pieces();
  const { rest } = direct;
  if (rest !== undefined)
    yield* jqPieces(
      await start(),
      rest.source,
      { ...reading, skipped: rest.skipped },
      note,
      onRepeated,
      rest,
    );
}
/** Results of --jq. jq starts only for what opsctl does not evaluate itself. */
export async function* filterPieces(source: Source, filtering: Filtering): AsyncGenerator<string> {
  const { program, reading, start, note, onRepeated } = filtering;
  const steps = reading.read === undefined ? stepsOf(program) : undefined;
  const isStream = isJsonStream(reading.format);
  if (steps !== undefined) yield* pathPieces(source, steps, filtering);
  else if ('rows' in source && isTotal(program) && !isStream) yield* countPieces(source, onRepeated);
  else {
    const keys = reading.read === undefined ? usedKeys(program, isStream ? 'row' : 'rows') : undefined;
    const isInParts = 'rows' in source && !isStream && mapsEachRow(program);
    yield* jqPieces(await start(), source, { ...reading, keys, isInParts }, note, onRepeated);
  }
}

/** Combinations that would silently leave one of the flags without effect. Pure. */
const outputProblems = ({ format, columns, jq, template }: OutputOptions): Problem[] => {
  if (columns?.length === 0)
    return [problem('--columns', 'required', 'names no column', 'write them like id,name')];
  const other = [jq && '--jq', columns && '--columns', format && `-o ${format}`].find(Boolean);
  if (template !== undefined && other)
    return [
      problem(
        '--template',
        'exclusive',
        `cannot be given together with ${other}`,
        'the template is the format',
      ),
    ];
  const { isJson, isOneField } = format === undefined ? { isJson: true } : formatRow(format);
  if (jq !== undefined && !isJson) {
    return [
      problem(
        '--jq',
        'exclusive',
        `works on JSON and cannot be given together with -o ${format}`,
        '-o ndjson runs it on each row',
      ),
    ];
  }
  if (jq !== undefined && columns !== undefined)
    return [
      problem('--columns', 'exclusive', 'cannot be given together with --jq', "--jq 'map({id, name})'"),
    ];
  if (columns !== undefined && isOneField)
    return [problem('--columns', 'exclusive', `cannot be given together with -o ${format}`)];
  return [];
};

/**
 * Runs before a command: problems with its output must be found before a change is made. The jq process that
 * compiled the program then waits for its input.
 */
export const checkOutput = async (options: OutputOptions, host: Host): Promise<void> => {
  const problems = outputProblems(options);
  if (problems.length > 0) throw invalidArguments(problems);
  if (options.template !== undefined) await checkTemplate(options.template);
  const format = formatOf(options, host);
  if (options.jq === undefined || isDirect(options.jq, format)) return;
  const run = await startFilter(host, options.jq, format);
  if (options.filter === undefined) await run.kill();
  else options.filter.run = run;
};

const makeTemplateError = (error: unknown): Error => {
  const text = messageOf(error);
  return invalidArguments([
    problem(
      '--template',
      'format',
      `is not a valid Mustache template: ${text}`,
      "write fields like '{{name}} ({{id}})'",
    ),
  ]);
};

/** Before a command runs: a malformed template must be found before any change. */
const checkTemplate = async (template: string): Promise<void> => {
  const { parse } = (await import('mustache')).default;
  try {
    parse(template);
  } catch (error) {
    throw makeTemplateError(error);
  }
};

/** `\n` and `\t` as people type them in single quotes. */
const readEscapes = (template: string): string => template.replaceAll('\\n', '\n').replaceAll('\\t', '\t');

/** Renders one value with the template, one line per value. The text is not escaped for HTML. */
export const templateText = async (data: unknown, template: string): Promise<string> => {
  const { render } = (await import('mustache')).default;
  const text = render(readEscapes(template), data, undefined, { escape: cellText });
  return text.endsWith('\n') ? text : `${text}\n`;
};
