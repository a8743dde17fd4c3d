import { createHash } from 'node:crypto';
import { isAbsolute, join } from 'node:path';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import type { CheckFinding } from '../../core/finding.ts';
import { AppError, type Category, invalidArguments, problem } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { trackerNaming } from '../../names/tracker-naming.ts';
import { type Journal, openJournal } from '../../bulk/journal.ts';
import { makeObserver } from '../../bulk/observe.ts';
import { type Input, outcomes } from '../../bulk/outcomes.ts';
import { makeKnownNames } from '../../bulk/known-labels.ts';
import type { Counts, Outcome, Run } from '../../bulk/run.ts';

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
  delimiter: {
    field: oneOf('comma', 'semicolon', 'tab'),
    summary: 'What separates the cells of CSV (default: found in the header)',
    value: 'comma|semicolon|tab',
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
  'create-labels': { field: bool(), summary: 'Make labels that rows name and that do not exist yet' },
  'create-categories': { field: bool(), summary: 'Make categories that rows name and that do not exist yet' },
  resume: { field: bool(), summary: 'Go on with a run of the same file that was cut off' },
  journal: {
    field: str(),
    summary: 'File that remembers what was done (default: kept in the state directory)',
    value: 'file',
    complete: 'file',
  },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

/** `.tsv` and `.csv` are CSV; everything else is NDJSON unless a flag says more. */
const formatFor = (values: Given): Pick<Input, 'format' | 'delimiter'> => {
  const named = values.delimiter;
  const delimiter = named === undefined ? undefined : delimiterWords[named];
  const isTable = /\.(csv|tsv)$/i.test(values.file) || delimiter !== undefined;
  return { format: values['input-format'] ?? (isTable ? 'csv' : 'ndjson'), delimiter };
};
const delimiterWords = { comma: ',', semicolon: ';', tab: '\t' } as const;

const open = async ({ host }: Context, values: Given): Promise<Input> => {
  const given = values.file;
  const format = formatFor(values);
  if (given === '-')
    return { bytes: host.terminal.stdin.bytes(), ...format, sizeBytes: undefined, path: '-' };
  const path = isAbsolute(given) ? given : join(host.cwd, given);
  const info = await host.files.info(path);
  if (info === undefined)
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which does not exist`)]);
  if (info.kind === 'directory')
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which is a directory`)]);
  return { bytes: host.files.stream(path), ...format, sizeBytes: info.sizeBytes, path };
};

const journalPath = async (context: Context, values: Given, input: Input): Promise<string> => {
  const { host, settings } = context;
  if (values.journal !== undefined)
    return isAbsolute(values.journal) ? values.journal : join(host.cwd, values.journal);
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
  return join(
    directory,
    `${createHash('sha256').update(`${settings.profile.name} ${input.path}`).digest('hex').slice(0, 16)}.journal`,
  );
};

/** One word of a line that is typed into a shell. */
const shellWord = (text: string): string =>
  /^[\w./@%+=:,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What decides what a row means is said again, and so is the place of the journal. */
const resumeLineOf = (values: Given): string => {
  const again = (['input-format', 'delimiter', 'resource', 'op', 'journal'] as const).flatMap((name) =>
    values[name] === undefined ? [] : [` --${name} ${shellWord(String(values[name]))}`],
  );
  const made = (['create-labels', 'create-categories'] as const).flatMap((name) =>
    values[name] ? [` --${name}`] : [],
  );
  return `opsctl tracker bulk -f ${shellWord(String(values.file))}${again.join('')}${made.join('')} --resume`;
};

/** Rows that no request was sent for are wrong usage, not a refusal of the service. */
const exitOf = ({ done, failed, skipped, invalid }: Counts): Category | 'done' => {
  if (failed === 0) return 'done';
  if (done + skipped > 0) return 'partial';
  return invalid === failed ? 'usage' : 'refused';
};

/** A CI service shows no more, and memory does not grow with the file. */
const MOST_FAILURES = 100;

/** The same rows; the first failures are kept for a report, each with the line of the file. */
async function* noted(
  batches: AsyncIterable<Outcome[]>,
  failures: CheckFinding[],
  file: string | undefined,
): AsyncGenerator<Outcome[]> {
  for await (const batch of batches) {
    for (const { line, error } of batch)
      if (error !== undefined && failures.length < MOST_FAILURES)
        failures.push({
          ...{ rule: error.code ?? 'row', level: 'fail', message: error.message, line },
          ...(file === undefined ? {} : { file }),
        });
    yield batch;
  }
}

const bulk = async (context: Context, values: Given): Promise<Result> => {
  const input = await open(context, values);
  const counts: Counts = { done: 0, failed: 0, skipped: 0, invalid: 0 };
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
    names: new Map(),
    known: makeKnownNames(context, [
      ...(values['create-labels'] ? ['labels'] : []),
      ...(values['create-categories'] ? ['categories'] : []),
    ]),
    ...(journal ? { journal, observe: makeObserver(context, journal.past.startedAt, taken) } : {}),
  };
  // Names of rows are read once for the run, and not before it.
  if (journal !== undefined) await trackerNaming.forget(context);
  const resumeLine = resumeLineOf(values);
  const failures: CheckFinding[] = [];
  const done = outcomes({ run, input, counts, concurrency: values.concurrency ?? 4, resumeLine });
  const rows = noted(done, failures, input.path === '-' ? undefined : values.file);
  return {
    kind: 'rows',
    rows,
    inBatches: true,
    view: {
      columns: ['line', 'status', 'op', 'resource', 'id', 'error.message'],
      name: 'line',
      findings: () => failures,
    },
    exit: () => exitOf(counts),
  };
};

export const bulkCommand = defineCommand({
  path: ['tracker', 'bulk'],
  summary: 'Create, update and delete many records from NDJSON or CSV',
  about:
    'Each row says what to do: {"op":"create","resource":"labels","name":"bug"} or {"op":"update","resource":"stories","id":7,"body":{…}}. ' +
    'In CSV the columns op, resource and id do the same, every other column is a field; an empty cell is left out, null unsets what can be unset, lists are separated by ; or |. ' +
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
  isCheck: true,
  run: bulk,
});
