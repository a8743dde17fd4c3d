import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import { durationText } from '../../core/duration.ts';
import { AppError, problem, usageError } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { trackerNaming } from '../../names/tracker-naming.ts';
import { type Journal, openJournal } from '../../bulk/journal.ts';
import { makeObserver } from '../../bulk/observe.ts';
import { pooled } from '../../bulk/pool.ts';
import { type Format, type Line, readRows } from '../../bulk/rows.ts';
import { type Counts, type Outcome, type Run, count, runLine } from '../../bulk/run.ts';

const flags = {
  file: {
    field: req(str()),
    short: 'f',
    summary: 'The rows; - is standard input',
    value: 'file|-',
    complete: 'file',
  },
  'input-format': {
    field: oneOf('ndjson', 'csv'),
    summary: 'Format of the rows (default: by the name of the file)',
    value: 'ndjson|csv',
  },
  resource: { field: str(), summary: 'Resource of rows that name none', value: 'resource' },
  op: {
    field: oneOf('create', 'update', 'delete'),
    summary: 'What to do in rows that do not say',
    value: 'create|update|delete',
  },
  concurrency: {
    field: int({ min: 1, max: 64 }),
    summary: 'Requests at the same time (default 4); 1 keeps the order of the rows',
    value: 'number',
  },
  resume: { field: bool(), summary: 'Go on with a run of the same file that was cut off' },
  journal: {
    field: str(),
    summary: 'File that remembers what was done (default: kept in the state directory)',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

type Input = {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: Format;
  readonly sizeBytes: number | undefined;
  readonly path: string;
};

const open = async ({ host }: Context, values: Given): Promise<Input> => {
  const given = values.file;
  const format: Format = values['input-format'] ?? (given.endsWith('.csv') ? 'csv' : 'ndjson');
  if (given === '-') return { bytes: host.terminal.stdin.bytes(), format, sizeBytes: undefined, path: '-' };
  const path = isAbsolute(given) ? given : join(host.cwd, given);
  const info = await host.files.info(path);
  if (info === undefined)
    throw usageError('invalid arguments', [
      problem('--file', 'rule', `names ${given}, which does not exist`),
    ]);
  if (info.kind === 'directory')
    throw usageError('invalid arguments', [
      problem('--file', 'rule', `names ${given}, which is a directory`),
    ]);
  return { bytes: host.files.stream(path), format, sizeBytes: info.sizeBytes, path };
};

const journalPath = async (context: Context, values: Given, input: Input): Promise<string> => {
  const { host, settings } = context;
  if (values.journal !== undefined)
    return isAbsolute(values.journal) ? values.journal : join(host.cwd, values.journal);
  if (input.path === '-' && values.resume)
    throw usageError('invalid arguments', [
      problem('--journal', 'required', 'is required to resume a run from standard input'),
    ]);
  const directory = join(settings.directories.state, 'bulk');
  await host.files.makeDirectory(directory, 0o700).catch((error: Error) => {
    throw new AppError('config', `the directory of journals cannot be made: ${error.message}`, {
      tryThis: ['name a file with --journal'],
    });
  });
  return join(
    directory,
    `${createHash('sha256').update(`${settings.profile.name} ${input.path}`).digest('hex').slice(0, 16)}.journal`,
  );
};

/** How far, how fast, and how long it will still take; the rate limit is the floor of that time. */
const progressText = (counts: Counts, share: number | undefined, elapsedMs: number): string => {
  const all = counts.done + counts.failed + counts.skipped;
  const left =
    share === undefined || share <= 0
      ? ''
      : `, about ${durationText(((1 - share) / share) * elapsedMs)} left`;
  return `${all} rows, ${counts.failed} failed${share === undefined ? '' : `, ${Math.floor(share * 100)} %`}${left}`;
};

type Work = {
  readonly run: Run;
  readonly input: Input;
  readonly counts: Counts;
  readonly concurrency: number;
  readonly resumeLine: string;
};

/** What was under way when the run was stopped stands in the journal; going on looks whether it arrived. */
const stopped = ({ done, failed, skipped }: Counts, resumeLine: string): AppError =>
  new AppError(
    'stopped',
    `stopped after ${done + failed + skipped} rows; no row is done twice when the run goes on`,
    { tryThis: [resumeLine] },
  );

async function* outcomes({ run, input, counts, concurrency, resumeLine }: Work): AsyncIterable<Outcome[]> {
  const { host, signal, log } = run.context;
  const status = await log.status('reading');
  const start = host.elapsed();
  let read = 0;
  let shownAt = start;
  const work = (line: Line): Outcome | Promise<Outcome> => {
    read = Math.max(read, line.bytes);
    return runLine(run, line);
  };
  try {
    for await (const finished of pooled(readRows(input.bytes, input.format), {
      size: concurrency,
      work,
      turn: host.turn,
      signal,
    })) {
      run.journal?.flush();
      for (const outcome of finished) count(counts, outcome);
      if (host.elapsed() - shownAt > 200) {
        shownAt = host.elapsed();
        status.update(
          progressText(counts, input.sizeBytes ? read / input.sizeBytes : undefined, shownAt - start),
        );
      }
      yield finished;
    }
  } catch (error) {
    if (signal.aborted && run.journal !== undefined) throw stopped(counts, resumeLine);
    if (!(error instanceof AppError) || run.journal === undefined || error.category === 'unsafe') throw error;
    throw new AppError(error.category, error.message, {
      ...error.detail,
      tryThis: [...(error.detail.tryThis ?? []), `go on with: ${resumeLine}`],
    });
  } finally {
    status.stop();
    run.journal?.close();
    if (run.journal !== undefined) await trackerNaming.forget(run.context);
  }
  if (signal.aborted) {
    throw stopped(counts, resumeLine);
  }
  log.info(
    run.journal === undefined
      ? `nothing was sent: ${counts.done} rows are good, ${counts.failed} are not`
      : `${counts.done} done, ${counts.failed} failed, ${counts.skipped} skipped`,
  );
}

/** One word of a line that is typed into a shell. */
const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What decides what a row means is said again, and so is the place of the journal. */
const resumeLineOf = (values: Given): string => {
  const again = (['input-format', 'resource', 'op', 'journal'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [` --${name} ${shellWord(String(values[name]))}`],
  );
  return `opsctl tracker bulk -f ${shellWord(String(values.file))}${again.join('')} --resume`;
};

const bulk = async (context: Context, values: Given): Promise<Result> => {
  const input = await open(context, values);
  const counts: Counts = { done: 0, failed: 0, skipped: 0 };
  const path = context.isDryRun ? '' : await journalPath(context, values, input);
  const journal: Journal | undefined = context.isDryRun
    ? undefined
    : await openJournal(context.host, path, values.resume ?? false);
  const taken = [...(journal?.past.lines.values() ?? [])].flatMap(({ id }) => (id === undefined ? [] : [id]));
  const run: Run = {
    context,
    source: input.format,
    defaults: { resource: values.resource, op: values.op },
    callers: new Map(),
    ...(journal ? { journal, observe: makeObserver(context, journal.past.startedAt, taken) } : {}),
  };
  // Names of rows are read once for the run, and not before it.
  if (journal !== undefined) await trackerNaming.forget(context);
  const resumeLine = resumeLineOf(values);
  const rows = outcomes({ run, input, counts, concurrency: values.concurrency ?? 4, resumeLine });
  return {
    kind: 'rows',
    rows,
    inBatches: true,
    view: { columns: ['line', 'status', 'op', 'resource', 'id', 'error.message'], name: 'line' },
    exit: () => (counts.failed === 0 ? 'done' : counts.done + counts.skipped > 0 ? 'partial' : 'refused'),
  };
};

export const bulkCommand = defineCommand({
  path: ['tracker', 'bulk'],
  summary: 'Create, update and delete many records from NDJSON or CSV',
  about:
    'Each row says what to do: {"op":"create","resource":"labels","name":"bug"} or {"op":"update","resource":"stories","id":7,"body":{…}}. ' +
    'In CSV the columns op, resource and id do the same, every other column is a field; an empty cell is left out, null unsets, lists are separated by ; or |. ' +
    'A result is printed for each row as it is finished. A run that was cut off goes on with --resume: no row is done twice.',
  flags,
  examples: [
    { line: 'opsctl tracker bulk -f changes.ndjson --dry-run', says: 'Check every row, send nothing' },
    {
      line: 'opsctl tracker bulk -f labels.csv --resource labels --op create --concurrency 8',
      says: 'Labels from a table',
    },
    { line: 'opsctl tracker bulk -f changes.ndjson --resume', says: 'Go on after an interruption' },
  ],
  run: bulk,
});
