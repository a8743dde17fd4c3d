import {
  areChecked,
  jsonOfAnyDepth,
  parseExactJson,
  parseJsonRows,
  restoreNumbers,
  shownValue,
} from '../core/json.ts';
import { AppError, type Problem, invalidArguments, problem, messageOf } from '../core/problem.ts';
import type { Bytes, Host, JqRun } from '../platform/host.ts';
import { type Rows, batchesOf, formatOf } from './formats.ts';
import { type OutputFormat, isJsonStream, formatRow } from '../core/format.ts';
import { type OutputOptions, cellText } from './types.ts';

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

/** What ended a filter: the person who pressed Ctrl-C, the service that broke off, or jq itself. */
const makeEndedError = (
  { code, stderr }: Awaited<JqRun['finished']>,
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
};

const jsonTextOf = (value: unknown, read: Reading['read']): string =>
  restoreNumbers(jsonOfAnyDepth(read === undefined ? value : read(value)));
/** One row that the service encoded. Its exact text stays if nothing changes it. */
const encodedRow = (row: Bytes, read: Reading['read']): Bytes => {
  if (read === undefined) return row;
  return Buffer.from(jsonTextOf(parseExactJson(Buffer.from(row).toString('utf8')), read));
};

/** The JSON that jq reads: one document, or under -o ndjson one a row, so that long lists stream. */
async function* jsonOf(
  source: Source,
  { format, read }: Reading,
  onRepeated: (key: string) => void,
): AsyncGenerator<string | Bytes> {
  if ('data' in source) {
    yield jsonTextOf(source.data ?? null, read);
    return;
  }
  const [open, between, close] = isJsonStream(format) ? ['', '\n', '\n'] : ['[', ',', ']'];
  const separator = Buffer.from(between);
  let before = open;
  // One piece for each burst: jq would answer each row before it reads the next one.
  for await (const burst of batchesOf(source)) {
    if (burst.length === 0) continue;
    if (source.encoded && !areChecked(burst as Bytes[])) parseJsonRows(burst as Bytes[], onRepeated);
    const rows = source.encoded
      ? (burst as Bytes[]).map((row) => encodedRow(row, read))
      : [Buffer.from(burst.map((one) => jsonTextOf(shownValue(one ?? null), read)).join(between))];
    yield Buffer.concat(rows.flatMap((row, i) => [i === 0 ? Buffer.from(before) : separator, row]));
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

/** Results of a filter over a record or rows, as they come. Messages of `debug` and the like go to `note`. */
export async function* jqPieces(
  run: JqRun,
  source: Source,
  reading: Reading,
  note: (text: string) => Promise<void>,
  onRepeated: (key: string) => void = () => undefined,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const fed = feed(run, jsonOf(source, reading, onRepeated));
  let hasOutput = false;
  try {
    for await (const bytes of run.output()) {
      hasOutput = true;
      yield decoder.decode(bytes, { stream: true });
    }
    const end = await run.finished;
    const error = makeEndedError(end, hasOutput, await fed);
    if (error !== undefined) throw error;
    if (end.stderr !== '') await note(end.stderr.trimEnd());
  } finally {
    await run.kill();
  }
}

/** Combinations that would silently leave one of the flags without effect. Pure. */
export const outputProblems = ({ format, columns, jq, template }: OutputOptions): Problem[] => {
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
  if (options.jq === undefined) return;
  const run = await startFilter(host, options.jq, formatOf(options, host));
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
export const checkTemplate = async (template: string): Promise<void> => {
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
