import type { Display, EngineContext } from '../../api/context.ts';
import { tracker } from '../../api-specs/tracker/index.ts';
import { durationText } from '../../core/format.ts';
import type { Advice } from '../../core/next.ts';
import { AppError, reword } from '../../core/problem.ts';
import { trackerNames } from '../names/name-resolution.ts';
import type { View } from '../../core/result.ts';
import { isRecord } from '../../core/shape.ts';
import { type Defaults, isListColumn, knownFields } from './change.ts';
import type { ColumnMap } from './column-map.ts';
import { type Delimiter, delimiters, type Format, type Line, type ReadOptions, readRows } from './csv.ts';
import { type JournalEnd, runId } from './journal.ts';
import { count, type Counts, type Outcome, type Run, runLine } from './run.ts';

/** How a stream of lists of items is worked off. */
export type Pool<I, O> = {
  /** The maximum of concurrent items. */
  readonly size: number;
  /** An immediate result needs no wait. */
  readonly work: (item: I) => O | Promise<O>;
  /** See `Host.turn`: results that arrive together are delivered together. */
  readonly turn: () => Promise<void>;
  /** After an abort, no new item is started. */
  readonly signal: AbortSignal;
};
/** The number of unread results at which the pool starts no more work. */
const MOST_READY = 500;
/** What is under way: work that gives results, and the one read that brings the next items. */
class Underway<I, O> {
  readonly #source: AsyncIterator<readonly I[]>;
  readonly #pool: Pool<I, O>;
  #items: readonly I[] = [];
  #at = 0;
  #ready: O[] = [];
  #running = 0;
  #isOver = false;
  #isReading = false;
  #wake: () => void = () => undefined;
  failure: { readonly error: unknown } | undefined;

  constructor(source: AsyncIterator<readonly I[]>, pool: Pool<I, O>) {
    this.#source = source;
    this.#pool = pool;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }
  get isDone(): boolean {
    const { aborted } = this.#pool.signal;
    const willStart = !this.#isOver && this.failure === undefined && !aborted;
    return !willStart && this.#running === 0 && (!this.#isReading || aborted);
  }
  /** Starts items until the pool is full. */
  fill(): void {
    const { size, signal } = this.#pool;
    while (
      this.#running < size &&
      this.#ready.length < MOST_READY &&
      !this.#isOver &&
      this.failure === undefined &&
      !signal.aborted
    ) {
      const item = this.#items[this.#at];
      if (item === undefined) {
        this.#read();
        return;
      }
      this.#at += 1;
      this.#begin(item);
    }
  }
  take(): O[] {
    const taken = this.#ready;
    this.#ready = [];
    return taken;
  }
  /** The reader has gone. */
  stop(): void {
    this.#isOver = true;
  }
  /** Waits until an item was read or finished. */
  waitForChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
  readonly wake = (): void => this.#wake();

  readonly #fail = (error: unknown): void => {
    this.failure ??= { error };
    this.#wake();
  };
  readonly #noteResult = (result: O): void => {
    this.#running -= 1;
    this.#ready.push(result);
    this.fill();
    this.#wake();
  };
  readonly #broke = (error: unknown): void => {
    this.#running -= 1;
    this.#fail(error);
  };
  #begin(item: I): void {
    try {
      const result = this.#pool.work(item);
      if (!(result instanceof Promise)) this.#ready.push(result);
      else {
        this.#running += 1;
        result.then(this.#noteResult, this.#broke);
      }
    } catch (error) {
      this.#fail(error);
    }
  }
  readonly #noteItems = (next: IteratorResult<readonly I[]>): void => {
    this.#isReading = false;
    this.#at = 0;
    this.#items = next.done === true ? [] : next.value;
    if (next.done === true) this.#isOver = true;
    this.fill();
    this.#wake();
  };
  #read(): void {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#source.next().then(this.#noteItems, (error: unknown) => {
      this.#isReading = false;
      this.#fail(error);
    });
  }
}
/**
 * Processes a stream with at most `size` concurrent items and yields results as soon as they are ready, even
 * if the stream has no new items. The stream is read at the speed of the work, and the work proceeds at the
 * speed of the reader.
 */
export async function* runPooled<I, O>(
  items: AsyncIterable<readonly I[]>,
  pool: Pool<I, O>,
): AsyncGenerator<O[]> {
  const at = new Underway(items[Symbol.asyncIterator](), pool);
  pool.signal.addEventListener('abort', at.wake);
  try {
    for (at.fill(); !at.isDone || at.hasReady; at.fill()) {
      if (!at.hasReady) await at.waitForChange();
      else {
        await pool.turn();
        yield at.take();
      }
    }
  } finally {
    at.stop();
    pool.signal.removeEventListener('abort', at.wake);
  }
  if (at.failure) throw at.failure.error;
}

/** How much of the input is known: rows that were read, bytes up to them, and whether that is all. */
export type Known = { rows: number; bytes: number; isWhole: boolean };
/** Passes the lines on and counts them. */
async function* countLines(
  lines: AsyncIterable<readonly Line[]>,
  known: Known,
): AsyncIterable<readonly Line[]> {
  for await (const some of lines) {
    known.rows += some.length;
    known.bytes = Math.max(known.bytes, some.at(-1)?.bytes ?? 0);
    yield some;
  }
  known.isWhole = true;
}
/** Rows of the whole file: counted when it was read to its end, else estimated from the part that was read. */
const totalOf = ({ rows, bytes, isWhole }: Known, sizeBytes: number | undefined): number | undefined => {
  if (isWhole) return rows;
  return sizeBytes === undefined || bytes === 0
    ? undefined
    : Math.max(rows, Math.round((rows * sizeBytes) / bytes));
};
/** Rows done of rows known, and how long the rest will take at the speed so far. Pure. */
export const progressText = (
  counts: Counts,
  known: Known,
  sizeBytes: number | undefined,
  elapsedMs: number,
): string => {
  const done = counts.done + counts.failed + counts.skipped;
  const total = totalOf(known, sizeBytes);
  const failed = `${counts.failed} failed`;
  if (total === undefined || total === 0 || done === 0) return `${done} rows, ${failed}`;
  const of = known.isWhole ? `${total}` : `about ${total}`;
  const leftMs = (Math.max(0, total - done) / done) * elapsedMs;
  return `${done} of ${of} rows (${Math.floor((done / total) * 100)} %), ${failed}, about ${durationText(leftMs)} left`;
};

const BAR_CELLS = 8;
/** The progress of a run with a bar, once the number of rows is known. Pure. */
export const progressBar = (
  counts: Counts,
  known: Known,
  sizeBytes: number | undefined,
  elapsedMs: number,
): string => {
  const total = totalOf(known, sizeBytes);
  const text = progressText(counts, known, sizeBytes, elapsedMs);
  if (total === undefined || total === 0) return text;
  const share = Math.min(1, (counts.done + counts.failed + counts.skipped) / total);
  const full = Math.floor(share * BAR_CELLS);
  return `[${'#'.repeat(full)}${'-'.repeat(BAR_CELLS - full)}] ${text}`;
};
/**
 * On a terminal, the rows that failed: the progress line counts the others, and they would scroll the failures
 * away. With -o, a table has every row, and so does the plan of a dry run, because a person reviews it.
 */
export const failedRowsOnly = ({
  isFormatGiven,
  isDryRun,
}: Pick<EngineContext & Display, 'isFormatGiven' | 'isDryRun'>): Pick<View, 'toTableRows'> =>
  isFormatGiven === true || isDryRun
    ? {}
    : {
        toTableRows: async (batch) =>
          batch.filter((row) => isRecord(row) && (row.status === 'failed' || row.status === 'refused')),
      };

export type Input = {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: Format;
  readonly delimiter?: Delimiter | undefined;
  readonly sizeBytes: number | undefined;
  readonly path: string;
  /** The file as the user named it. */
  readonly name?: string;
  /** Which fields the columns are read into. */
  readonly columns?: ColumnMap;
  /** False for standard input and pipes, which can be read once only. */
  readonly isFile?: boolean;
};
export type Work = {
  readonly run: Run;
  readonly input: Input;
  readonly counts: Counts;
  readonly concurrency: number;
  readonly resumeLine: string;
  /** Gives the lock of the journal back. */
  readonly release?: () => Promise<void>;
};
/**
 * The journal contains the items that were in progress when the run stopped. A resumed run checks whether
 * they arrived.
 */
const makeStoppedError = ({ done, failed, skipped }: Counts, resumeLine: string): AppError =>
  new AppError('stopped', `stopped after ${done + failed + skipped} rows; a resumed run repeats no row`, {
    tryThis: [resumeLine],
  });
/** A journal that cannot grow is still the record of the run: another file would start the run again. */
const hintsOfRun = ({ detail: { code, tryThis = [] } }: AppError): readonly Advice[] =>
  code === 'JOURNAL_UNWRITABLE'
    ? ['free space on the disk of the journal, or make the journal writable']
    : tryThis;
/** The cause that stopped a run, with the command to resume it. */
const endOf = ({ run, counts, resumeLine }: Work, error: unknown): unknown => {
  if (run.context.signal.aborted && run.journal !== undefined) return makeStoppedError(counts, resumeLine);
  if (!(error instanceof AppError) || run.journal === undefined || error.category === 'unsafe') return error;
  // A file that the run rejected before its first row has nothing to resume.
  if (error.category === 'usage' && counts.done + counts.failed + counts.skipped === 0) return error;
  return reword(error, {
    ...error.detail,
    tryThis:
      error.detail.outcome === 'unknown'
        ? // --resume looks the row up.
          [`continue with: ${resumeLine}`]
        : [...hintsOfRun(error), `continue with: ${resumeLine}`],
  });
};
/** How the rows of an input are read: the check before a run and the run itself read the same. */
export const readOptions = ({ name, delimiter, columns }: Input, defaults: Defaults): ReadOptions => ({
  ...(name === undefined ? {} : { name }),
  delimiter,
  headerOnlyColumn: columns?.headerOnlyColumn,
  isList: (column) => {
    const field = columns?.fieldOf(column);
    if (field !== undefined && field !== null) return isListColumn(tracker.table, defaults, field);
    return (
      field === null || columns?.ignores(column) === true || isListColumn(tracker.table, defaults, column)
    );
  },
  checkHeader: (names) => {
    const known = knownFields(
      tracker.table,
      defaults,
      names.map((name) => columns?.fieldOf(name) ?? name),
    );
    return columns?.headerProblems(names, (field) => known.has(field), [...known]) ?? [];
  },
});
/** Rows of a table without any value: their number and the first lines. */
export class EmptyRows {
  #count = 0;
  readonly #first: number[] = [];
  note(line: number): void {
    this.#count += 1;
    if (this.#first.length < 5) this.#first.push(line);
  }
  report(): string[] {
    const more = this.#count > this.#first.length ? ', …' : '';
    const [rows, have] = [rowsText(this.#count), this.#count === 1 ? 'has' : 'have'];
    const lines = this.#count === 1 ? 'line' : 'lines';
    return this.#count === 0
      ? []
      : [`${rows} ${have} only empty cells and made no change: ${lines} ${this.#first.join(', ')}${more}`];
  }
}
/** A guessed delimiter is reported, so that the user can see an incorrect guess. */
const linesOf = ({ run, input }: Work, empty: EmptyRows): AsyncIterable<readonly Line[]> => {
  const onDelimiter = (found: Delimiter): void => {
    if (input.delimiter === undefined && found !== ',')
      run.context.log.info(`reading CSV separated by ${delimiters[found]}; --delimiter changes that`);
  };
  return readRows(input.bytes, input.format, {
    ...readOptions(input, run.defaults),
    onDelimiter,
    onEmptyRow: (line) => empty.note(line),
    ...(run.journal === undefined
      ? {}
      : { findDone: (line, text) => run.journal?.past.lines.findDone(line, text) }),
  });
};
const rowsText = (count: number): string => (count === 1 ? '1 row' : `${count} rows`);
/** The last line of a run. Pure. */
const summaryText = (counts: Counts, isDryRun: boolean): string => {
  const { created, updated, deleted, unchanged, done, failed, skipped } = counts;
  const changes = [
    [created, 'created'],
    [updated, 'updated'],
    [deleted, 'deleted'],
    [unchanged, 'unchanged'],
  ] as const;
  const wordOf = (word: string): string =>
    isDryRun && word !== 'unchanged' ? `to ${word.replace(/d$/, '')}` : word;
  const text = changes
    .flatMap(([count, word]) => (count === 0 ? [] : [`${count} ${wordOf(word)}`]))
    .join(', ');
  const detail = text === '' ? '' : ` (${text})`;
  return isDryRun
    ? `dry run: ${rowsText(done)} valid, ${failed} invalid${detail}; no changes were made`
    : `${done} done, ${failed} failed, ${skipped} skipped${detail}`;
};
/**
 * A script may start a run that lost a connection again, because it saw an error. Such a run is not marked as
 * whole, so a repetition sends no row twice.
 */
const endOfRun = (lost: number, failed: number): JournalEnd | undefined => {
  if (lost > 0) return failed === 0 ? 'recovered' : undefined;
  return failed === 0 ? 'whole' : 'refused-rows';
};
/** Closes the journal and gives its lock back, even if the last entries cannot be written. */
const closeJournal = async ({ run, release }: Work): Promise<void> => {
  try {
    run.journal?.close();
  } finally {
    try {
      await release?.();
    } finally {
      // Rows that were sent have changed names, even if the journal was not written.
      if (run.journal !== undefined) await trackerNames.forget(run.context);
    }
  }
};
/** Rows between two collections: in a small heap, V8 keeps the garbage of many thousand rows. */
const COLLECT_ROWS = 1000;
/** Notes finished rows before they are shown. */
const noteFinished = ({ run, counts }: Work, finished: readonly Outcome[]): void => {
  run.journal?.flush();
  const before = counts.done + counts.failed + counts.skipped;
  for (const outcome of finished) count(counts, outcome);
  // Not before the first rows: V8 refuses kept code of parts that are loaded after it.
  const isDue = Math.floor(before / COLLECT_ROWS) < Math.floor((before + finished.length) / COLLECT_ROWS);
  if (before === 0 || isDue) run.context.host.keepMemorySmall();
};
/** Carries all rows out and gives what became of them as they are finished. */
export async function* outcomes(work: Work): AsyncIterable<Outcome[]> {
  const { run, input, counts, concurrency, resumeLine } = work;
  const { host, signal, log } = run.context;
  const status = await log.status('reading');
  const start = host.elapsed();
  const known: Known = { rows: 0, bytes: 0, isWhole: false };
  const empty = new EmptyRows();
  let shownAt = start;
  const pool = {
    size: concurrency,
    work: (line: Line): Outcome | Promise<Outcome> => runLine(run, line),
    turn: host.turn,
    signal,
  };
  try {
    for await (const finished of runPooled(countLines(linesOf(work, empty), known), pool)) {
      noteFinished(work, finished);
      if (host.elapsed() - shownAt > 200) {
        shownAt = host.elapsed();
        status.update(progressBar(counts, known, input.sizeBytes, shownAt - start));
      }
      yield finished;
    }
    if (signal.aborted) throw makeStoppedError(counts, resumeLine);
    const end = endOfRun(run.lost?.count ?? 0, counts.failed);
    if (end !== undefined) run.journal?.finish(end);
  } catch (error) {
    throw endOf(work, error);
  } finally {
    status.stop();
    await closeJournal(work);
  }
  for (const line of [...empty.report(), ...(input.columns?.report() ?? [])]) log.info(line);
  log.info(summaryText(counts, run.journal === undefined));
  if (run.journal !== undefined && counts.created + counts.updated + counts.deleted > 0)
    log.info(`undo this run with: opsctl tracker bulk undo ${runId(run.journal.past.startedAt)}`);
}
