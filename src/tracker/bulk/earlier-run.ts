import { countText, momentText } from '../../core/format.ts';
import type { PresetName } from './presets.ts';
import { createHash, hash } from 'node:crypto';
import { basename, dirname, join, resolve } from 'node:path';
import type { EngineContext, Runtime } from '../../api/context.ts';
import { childPath, pathPart } from '../../core/file-name.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import { shellWord } from '../../core/shell.ts';
import { joinStart, refuseForeignText, utf8Decoder } from '../../core/text.ts';
import { thisProcess, tryLockUntilHolderIsKnown, unlock } from '../../platform/file-lock.ts';
import type { Host } from '../../platform/host.ts';
import { type Defaults, verbIn } from './change.ts';
import { type Line, makeEmptyError, readRows, refuseConflict } from './csv.ts';
import { RecordKeys } from './external-keys.ts';
import { journalUnwritable, type Past, readHead, readPast, runId } from './journal.ts';
import { lineMark, verbsOf } from './previous.ts';
import { type Input, readOptions } from './outcomes.ts';

/**
 * The suggested command repeats the flags that determine the meaning of a row, and the path of the journal.
 */
const bulkLineOf = (values: BulkOptions): string => {
  const again = (
    ['input-format', 'delimiter', 'resource', 'op', 'from', 'map-file', 'journal'] as const
  ).flatMap((name) => (values[name] === undefined ? [] : [` --${name} ${shellWord(String(values[name]))}`]));
  const maps = (values.map ?? []).map((text) => ` --map ${shellWord(text)}`);
  const made = (['create-labels', 'create-categories', 'ignore-unknown'] as const).flatMap((name) =>
    values[name] ? [` --${name}`] : [],
  );
  return `opsctl tracker bulk -f ${shellWord(String(values.file))}${again.join('')}${maps.join('')}${made.join('')}`;
};
export const resumeLineOf = (values: BulkOptions): string => `${bulkLineOf(values)} --resume`;

/**
 * Only one run per file at a time: two runs would send every row twice. Returns a function that releases the
 * lock.
 */
export const lockJournal = async (host: Host, journal: string): Promise<() => Promise<void>> => {
  const path = `${journal}.lock`;
  const mine = thisProcess(host);
  const seen = await tryLockUntilHolderIsKnown(host, path, mine).catch((error: unknown) => {
    throw journalUnwritable(journal, error);
  });
  if (seen === true) return () => unlock(host, path, mine);
  const by = seen.kind === 'held' && seen.by ? ` (process ${seen.by.pid} on ${seen.by.machine})` : '';
  throw new AppError('unsafe', `another run of this file is in progress${by}; no changes were made`, {
    code: 'RUN_IN_PROGRESS',
    tryThis: ['wait until that run exits, then run the command again with --resume'],
  });
};
type Scan = { readonly digest: string; readonly marks: ReadonlySet<string> };
/** Passes bytes on and adds them to a digest. */
async function* digestBytes(
  bytes: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncIterable<Uint8Array> {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}
/** A pipeline whose filter has no matches writes no rows, so an empty standard input is a run without rows. */
const EMPTY_REMEDY = '-f - accepts an input without rows';
/** Throws for bytes that are not UTF-8, for a conflict of a merge and for a file without any text. */
const assertText = async (bytes: AsyncIterable<Uint8Array>, name: string): Promise<void> => {
  const decoder = utf8Decoder(name);
  let isEmpty = true;
  let [line, rest] = [1, ''];
  for await (const piece of joinStart(bytes)) {
    const text = decoder.push(piece);
    const start = `${rest}${text}`;
    if (start.includes('<<<<<<<'))
      for (const [i, one] of start.split('\n').entries()) refuseConflict(name, line + i, one);
    for (let at = piece.indexOf(10); at !== -1; at = piece.indexOf(10, at + 1)) line += 1;
    // A marker is shorter than this: a long row is not joined at each piece.
    rest = start.slice(start.lastIndexOf('\n') + 1).slice(0, 20);
    if (isEmpty) refuseForeignText(text, name);
    if (isEmpty) isEmpty = text.trim() === '';
  }
  decoder.end();
  if (isEmpty) throw makeEmptyError(name, 'ndjson', EMPTY_REMEDY);
};
const marksIn = async (
  rows: AsyncIterable<readonly Line[]>,
  wanted: ReadonlySet<string>,
): Promise<ReadonlySet<string>> => {
  const found = new Set<string>();
  for await (const lines of rows) {
    if (wanted.size === 0) continue;
    for (const { text } of lines) {
      const mark = lineMark(text);
      if (wanted.has(mark)) found.add(mark);
    }
  }
  return found;
};
/**
 * Reads a file once before the first row is sent. Throws for text that is not UTF-8, for malformed CSV and for an
 * empty file, so that no file is applied in part. `wanted` contains the marks of rows to find.
 */
export const scanInput = async (
  { host }: Runtime,
  input: Input,
  defaults: Defaults,
  target: string,
  wanted: ReadonlySet<string>,
): Promise<Scan> => {
  const digest = createHash('sha256').update(target);
  const bytes = digestBytes(host.files.stream(input.path), digest);
  const isRead = input.format === 'csv' || wanted.size > 0;
  const options = { ...readOptions(input, defaults), emptyRemedy: EMPTY_REMEDY };
  const marks = isRead ? await marksIn(readRows(bytes, input.format, options), wanted) : new Set<string>();
  if (!isRead) await assertText(bytes, input.name ?? input.path);
  return { digest: digest.digest('hex').slice(0, 32), marks };
};
/** Marks of the rows that an earlier run sent. A rejected row made no change. */
const sentMarks = ({ lines }: Past): Set<string> =>
  new Set([...lines.values()].flatMap(({ state, hash }) => (state === 'failed' ? [] : [hash])));
const doneCount = ({ lines }: Past): number =>
  [...lines.values()].filter(({ state }) => state === 'done').length;
const repeatedRun = (past: Past, values: BulkOptions, creates: number): AppError => {
  const completed = doneCount(past);
  const at = momentText(new Date(past.startedAt).toISOString());
  return new AppError(
    'unsafe',
    `run ${runId(past.startedAt)} of ${at} completed the ${countText(completed, 'row')} of this file, and a second run would create ${countText(creates, 'record')} again: use --restart to send every row again; no changes were made`,
    {
      code: 'REPEATED_RUN',
      tryThis: [
        `${bulkLineOf(values)} --restart`,
        'write the operation upsert and an external_id, so that a second run changes the records of the first one',
      ],
      data: { run: runId(past.startedAt), completed, creates },
    },
  );
};
const unfinishedRun = (past: Past, values: BulkOptions): AppError => {
  const done = doneCount(past);
  const line = bulkLineOf(values);
  const rows = countText(done, 'completed row');
  const state = past.end === 'refused-rows' ? 'ended with refused rows' : 'was interrupted';
  if (past.end === 'recovered')
    return new AppError(
      'unsafe',
      `an earlier run of this file lost its connection and then completed all ${done} rows: use --restart to send every row again; no changes were made`,
      { code: 'UNFINISHED_RUN', tryThis: [`${line} --restart`], data: { completed: done } },
    );
  return new AppError(
    'unsafe',
    `an earlier run of this file ${state} after ${rows}: use --resume to continue it or --restart to send every row again; no changes were made`,
    { code: 'UNFINISHED_RUN', tryThis: [`${line} --resume`, `${line} --restart`], data: { completed: done } },
  );
};
/** False if the service has neither the first nor the last record of a run: it was reset, or they were deleted. */
const hasRecords = async (context: EngineContext, { created = [] }: Past): Promise<boolean> => {
  const keys = new RecordKeys(context);
  for (const { before, id } of created) {
    const own = Object.keys(verbsOf(before.resource).get?.params ?? {}).at(-1);
    if (own === undefined) return true;
    const params = { ...before.params, [own]: /^\d+$/.test(id) ? Number(id) : id };
    if ((await keys.current(before.resource, params, [], true)) !== undefined) return true;
  }
  return false;
};
/** The rows of a file that create a record each time they are sent. */
const countCreates = async ({ context, input, defaults }: Begin): Promise<number> => {
  let count = 0;
  const bytes = context.host.files.stream(input.path);
  for await (const lines of readRows(bytes, input.format, readOptions(input, defaults)))
    for (const { row } of lines)
      if (row !== undefined && verbIn(input.columns?.apply(row) ?? row, defaults) === 'create') count += 1;
  return count;
};
/**
 * Throws if a repetition of the same content could send rows again that this run sent. `countRows` reads the input: the
 * journal does not tell an upsert that created a record from a create.
 */
const refuseAfter = async (
  { context }: Begin,
  past: Past,
  values: BulkOptions,
  countRows: () => Promise<number>,
): Promise<void> => {
  if (sentMarks(past).size === 0) return;
  if (past.end !== 'whole') throw unfinishedRun(past, values);
  if (past.created === undefined || past.created.length === 0) return;
  const creates = await countRows();
  if (creates > 0 && (await hasRecords(context, past))) throw repeatedRun(past, values, creates);
};
/** Finds earlier runs of the same content under another path: a CI job checks out into a new directory each time. */
const refuseElsewhere = async (
  begin: Begin,
  digest: string,
  countRows: () => Promise<number>,
): Promise<void> => {
  const { context, journal: own, values } = begin;
  const { host } = context;
  const directory = dirname(own);
  for (const name of await host.files.list(directory)) {
    if (!name.endsWith('.journal') || name === basename(own)) continue;
    const path = childPath(directory, pathPart(name));
    if (readHead(host, path)?.endsWith(` ${digest}\n`) !== true) continue;
    const past = (await readPast(host, path))?.past;
    if (past !== undefined && past.end !== 'refused-rows')
      await refuseAfter(begin, past, { ...values, journal: path }, countRows);
  }
};
/** The first piece of a stream, and the whole stream. */
const peek = async (bytes: AsyncIterable<Uint8Array>) => {
  const at = bytes[Symbol.asyncIterator]();
  const first = await at.next();
  const whole = (async function* () {
    if (first.done !== true) yield first.value;
    for (let next = await at.next(); next.done !== true; next = await at.next()) yield next.value;
  })();
  return { first: first.done === true ? new Uint8Array() : first.value, whole };
};
/** Whether the first rows of a stream are rows that an earlier run sent. */
const startsLike = async (
  first: Uint8Array,
  input: Input,
  defaults: Defaults,
  past: Past,
): Promise<boolean> => {
  const known = sentMarks(past);
  const end = first.lastIndexOf(10) + 1;
  const bytes = (async function* () {
    yield end === 0 ? first : first.slice(0, end);
  })();
  try {
    for await (const lines of readRows(bytes, input.format, readOptions(input, defaults)))
      if (lines.some(({ text }) => known.has(lineMark(text)))) return true;
  } catch (error) {
    // The run itself reports malformed rows.
    if (!(error instanceof AppError)) throw error;
  }
  return false;
};
export type Begin = {
  readonly context: EngineContext;
  readonly values: BulkOptions;
  readonly input: Input;
  readonly defaults: Defaults;
  readonly journal: string;
  readonly target: string;
};
/** The earlier run of a journal that may prevent a new run; undefined if it is resumed or restarted. */
const pastOf = async ({ context, values, journal }: Begin): Promise<Past | undefined> => {
  if (values.resume === true || values.restart === true) return undefined;
  return (await readPast(context.host, journal))?.past;
};
/** Refuses to send rows again that an interrupted run has sent. Returns the input, and the digest of a file. */
export const refuseRepeat = async (begin: Begin): Promise<{ input: Input; digest: string | undefined }> => {
  const { context, values, input, defaults, target } = begin;
  const past = await pastOf(begin);
  // The digest identifies the rows of a finished run.
  const wanted = past === undefined || past.end === 'whole' ? new Set<string>() : sentMarks(past);
  if (input.isFile !== true) {
    // A stream has no name: a loop may pipe the same rows to each of its runs.
    if (past === undefined || wanted.size === 0) return { input, digest: undefined };
    const { first, whole } = await peek(input.bytes);
    if (await startsLike(first, input, defaults, past)) throw unfinishedRun(past, values);
    return { input: { ...input, bytes: whole }, digest: undefined };
  }
  const { digest, marks } = await scanInput(context, input, defaults, target, wanted);
  let counted: Promise<number> | undefined;
  const countRows = (): Promise<number> => (counted ??= countCreates(begin));
  const isSame = past?.digest === digest;
  const isRepeat =
    past?.end === 'whole' ? isSame : marks.size > 0 && (past?.end !== 'refused-rows' || isSame);
  if (past !== undefined && isRepeat) await refuseAfter(begin, past, values, countRows);
  const isFree = values.resume === true || values.restart === true || values.journal !== undefined;
  if (!isFree) await refuseElsewhere(begin, digest, countRows);
  return { input, digest };
};
export const refuseContradiction = ({ resume, restart }: BulkOptions): void => {
  if (resume === true && restart === true)
    throw invalidArguments([problem('--restart', 'exclusive', 'cannot be combined with --resume')]);
};

export const journalPath = async (
  context: EngineContext,
  values: BulkOptions,
  input: Input,
  target = '',
): Promise<string> => {
  const { host, settings } = context;
  if (values.journal !== undefined) return resolve(host.cwd, values.journal);
  if (input.path === '-' && values.resume)
    throw invalidArguments([
      problem('--journal', 'required', 'is required to resume a run from standard input'),
    ]);
  const directory = join(settings.directories.state, 'bulk');
  await host.files.makeDirectory(directory, 0o700).catch((error: Error) => {
    throw new AppError('config', `the directory of journals cannot be made: ${error.message}`, {
      tryThis: ['name a file with --journal'],
    });
  });
  const run = `${settings.profile.name} ${input.path} ${target}`;
  const mark = hash('sha256', run);
  return childPath(directory, pathPart(`${mark.slice(0, 16)}.journal`));
};

/** The options of a run. The command that resumes it repeats the flags with these names. */
export type BulkOptions = {
  readonly file: string;
  readonly 'input-format'?: 'ndjson' | 'csv' | undefined;
  readonly delimiter?: 'comma' | 'semicolon' | 'tab' | undefined;
  readonly resource?: string | undefined;
  readonly isSync?: boolean;
  readonly map?: readonly string[] | undefined;
  readonly 'map-file'?: string | undefined;
  readonly from?: PresetName | undefined;
  readonly 'ignore-unknown'?: boolean | undefined;
  readonly op?: 'create' | 'update' | 'delete' | 'upsert' | undefined;
  readonly concurrency?: number | undefined;
  readonly 'create-labels'?: boolean | undefined;
  readonly 'create-categories'?: boolean | undefined;
  readonly resume?: boolean | undefined;
  readonly restart?: boolean | undefined;
  readonly journal?: string | undefined;
};
