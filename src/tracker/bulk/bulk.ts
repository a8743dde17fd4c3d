import { resolve } from 'node:path';
import type { EngineContext, Runtime } from '../../api/context.ts';
import { serviceText, targetMark } from '../../api/audit.ts';
import { type Category, invalidArguments, problem } from '../../core/problem.ts';
import type { CheckFinding, Result } from '../../core/result.ts';
import type { Host } from '../../platform/host.ts';
import { countText } from '../../core/format.ts';
import { trackerNames } from '../names/name-resolution.ts';
import type { Defaults } from './change.ts';
import { makeKnownNames, RecordKeys, RecordTurns } from './external-keys.ts';
import {
  type BulkOptions,
  journalPath,
  lockJournal,
  refuseContradiction,
  refuseRepeat,
  resumeLineOf,
  scanInput,
} from './earlier-run.ts';
import { makeObserver } from './previous.ts';
import { type Journal, openJournal, keepJournal, type Past } from './journal.ts';
import { failedRowsOnly, type Input, outcomes } from './outcomes.ts';
import { readColumnMap } from './column-map.ts';
import { type Counts, Lost, createCounts, type Outcome, type Run } from './run.ts';

/** `.tsv` and `.csv` are CSV. All other files are NDJSON, unless a flag specifies the format. */
const formatFor = (values: BulkOptions): Pick<Input, 'format' | 'delimiter'> => {
  const named = values.delimiter;
  const delimiter = named === undefined ? undefined : delimiterWords[named];
  const isTable = /\.(csv|tsv)$/i.test(values.file) || delimiter !== undefined;
  return { format: values['input-format'] ?? (isTable ? 'csv' : 'ndjson'), delimiter };
};
const delimiterWords = { comma: ',', semicolon: ';', tab: '\t' } as const;
/** Pipes of a shell (`<(…)`) and devices can be read once only. */
const isRereadable = async ({ files }: Host, path: string): Promise<boolean> =>
  !/^\/(dev|proc)\//.test((await files.realPath(path)) ?? path) && !/^\/(dev|proc)\//.test(path);
export const open = async ({ host }: Runtime, values: BulkOptions): Promise<Input> => {
  const given = values.file;
  const format = formatFor(values);
  if (given === '-')
    return {
      bytes: host.terminal.stdin.bytes(),
      ...format,
      sizeBytes: undefined,
      path: '-',
      name: 'standard input',
      isFile: false,
    };
  const path = resolve(host.cwd, given);
  const info = await host.files.info(path);
  if (info === undefined)
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which does not exist`)]);
  if (info.kind === 'directory')
    throw invalidArguments([problem('--file', 'rule', `names ${given}, which is a directory`)]);
  return {
    bytes: host.files.stream(path),
    ...format,
    sizeBytes: info.sizeBytes,
    path,
    name: given,
    isFile: await isRereadable(host, path),
  };
};

/** Rows that no request was sent for are wrong usage, not a refusal of the service. */
const exitOf = ({ done, failed, skipped, invalid }: Counts): Category | 'done' => {
  if (failed === 0) return 'done';
  if (done + skipped > 0) return 'partial';
  return invalid === failed ? 'usage' : 'refused';
};
/** A report names this many failed rows and counts the others, so that memory does not grow with the file. */
const MOST_FAILURES = 10_000;
/** The failed rows of a run for a report, each with the line of the file. */
export class FailedRows {
  readonly #kept: CheckFinding[] = [];
  #more = 0;
  readonly #file: string | undefined;
  constructor(file: string | undefined) {
    this.#file = file;
  }
  findings(): readonly CheckFinding[] {
    if (this.#more === 0) return this.#kept;
    const message = `${countText(this.#more, 'more row')} failed; the output of the command names all of them`;
    return [...this.#kept, { rule: 'more-rows', level: 'fail', message }];
  }
  #note({ line, error }: Outcome): void {
    if (error === undefined) return;
    if (this.#kept.length === MOST_FAILURES) this.#more += 1;
    else
      this.#kept.push({
        ...{ rule: error.code ?? 'row', level: 'fail', message: error.message, line },
        ...(this.#file === undefined ? {} : { file: this.#file }),
      });
  }
  /** Yields the same rows. */
  async *watch(batches: AsyncIterable<Outcome[]>): AsyncGenerator<Outcome[]> {
    for await (const batch of batches) {
      for (const outcome of batch) this.#note(outcome);
      yield batch;
    }
  }
}
type Begun = { readonly input: Input; readonly journal?: Journal; readonly release?: () => Promise<void> };
/** Checks the whole file and an earlier run of it before the first row is sent, and opens the journal. */
const begin = async (
  context: EngineContext,
  values: BulkOptions,
  input: Input,
  defaults: Defaults,
): Promise<Begun> => {
  if (context.isDryRun) {
    if (input.isFile === true) await scanInput(context, input, defaults, '', new Set());
    return { input };
  }
  const service = await context.target('tracker');
  const target = targetMark(service);
  const path = await journalPath(context, values, input, target);
  const release = await lockJournal(context.host, path);
  try {
    const checked = await refuseRepeat({ context, values, input, defaults, journal: path, target });
    if (values.resume !== true && values.journal === undefined) await keepJournal(context.host, path);
    const about = { file: values.file, target, service: serviceText(service) };
    const journal = await openJournal(context.host, path, values.resume ?? false, {
      digest: checked.digest,
      about,
    });
    return { input: checked.input, journal, release };
  } catch (error) {
    await release();
    throw error;
  }
};
/** A ready map makes stories of the rows of another tool. */
const defaultsOf = ({ resource, op, from, isSync }: BulkOptions): Defaults => ({
  resource: resource ?? (from === undefined ? undefined : 'stories'),
  op: op ?? (from === undefined ? undefined : 'upsert'),
  isSync: isSync === true,
});
/** Records that a row may name before they exist. */
const kindsToCreate = (values: BulkOptions): ('labels' | 'categories')[] => [
  ...(values['create-labels'] || values.from !== undefined ? (['labels'] as const) : []),
  ...(values['create-categories'] ? (['categories'] as const) : []),
];
/** IDs of the records that the rows of an earlier run have. */
function* idsIn({ lines }: Past): Generator<string> {
  for (const { id } of lines.values()) if (id !== undefined) yield id;
}
const observerOf = (context: EngineContext, { past }: Journal): ReturnType<typeof makeObserver> =>
  makeObserver(context, past.startedAt, idsIn(past));
export const bulk = async (context: EngineContext, values: BulkOptions): Promise<Result> => {
  refuseContradiction(values);
  const defaults = defaultsOf(values);
  const columns = await readColumnMap(context, values);
  const opened = { ...(await open(context, values)), columns };
  const { input, journal, release } = await begin(context, values, opened, defaults);
  const counts = createCounts();
  const run: Run = {
    context,
    source: input.format,
    defaults,
    lost: new Lost(),
    callers: new Map(),
    names: new Map(),
    keys: new RecordKeys(context),
    columns,
    known: makeKnownNames(context, kindsToCreate(values)),
    turns: new RecordTurns(),
    ...(journal ? { journal, observe: observerOf(context, journal) } : {}),
  };
  // Names of rows are read once for the run, and not before it.
  if (journal !== undefined) await trackerNames.forget(context);
  const resumeLine = resumeLineOf(values);
  const failures = new FailedRows(input.path === '-' ? undefined : values.file);
  const done = outcomes({ run, input, counts, concurrency: values.concurrency ?? 4, resumeLine, release });
  return {
    kind: 'rows',
    rows: failures.watch(done),
    inBatches: true,
    view: {
      columns: ['line', 'status', 'op', 'resource', 'id', 'error.message'],
      name: 'line',
      ...failedRowsOnly(context),
      findings: () => failures.findings(),
    },
    exit: () => exitOf(counts),
  };
};
