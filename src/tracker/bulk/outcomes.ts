import { tracker } from '../../api-specs/tracker/index.ts';
import { AppError, reworded } from '../../core/problem.ts';
import { trackerNaming } from '../names/tracker-naming.ts';
import { type Defaults, isListColumn } from './change.ts';
import { pooled } from './pool.ts';
import { type Known, counted, progressText } from './progress.ts';
import { type Delimiter, type Format, type Line, type ReadOptions, delimiters } from './line.ts';
import { readRows } from './rows.ts';
import { type Counts, type Outcome, type Run, count, runLine } from './run.ts';

export type Input = {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: Format;
  readonly delimiter?: Delimiter | undefined;
  readonly sizeBytes: number | undefined;
  readonly path: string;
  /** The file as the user named it. */
  readonly name?: string;
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

/** What was under way when the run was stopped stands in the journal; going on looks whether it arrived. */
const stopped = ({ done, failed, skipped }: Counts, resumeLine: string): AppError =>
  new AppError(
    'stopped',
    `stopped after ${done + failed + skipped} rows; no row is done twice when the run goes on`,
    { tryThis: [resumeLine] },
  );

/** What ended a run, with the line that goes on with it. */
const endOf = ({ run, counts, resumeLine }: Work, error: unknown): unknown => {
  if (run.context.signal.aborted && run.journal !== undefined) return stopped(counts, resumeLine);
  if (!(error instanceof AppError) || run.journal === undefined || error.category === 'unsafe') return error;
  return reworded(error, {
    ...error.detail,
    tryThis:
      error.detail.outcome === 'unknown'
        ? // --resume looks the row up.
          [`go on with: ${resumeLine}`]
        : [...(error.detail.tryThis ?? []), `go on with: ${resumeLine}`],
  });
};

/** How the rows of an input are read: the check before a run and the run itself read the same. */
export const readOptions = ({ name, delimiter }: Input, defaults: Defaults): ReadOptions => ({
  ...(name === undefined ? {} : { name }),
  delimiter,
  isList: (column) => isListColumn(tracker.table, defaults, column),
});

/** A delimiter that nobody named is said, so that a wrong guess is seen. */
const linesOf = ({ run, input }: Work): AsyncIterable<readonly Line[]> => {
  const onDelimiter = (found: Delimiter): void => {
    if (input.delimiter === undefined && found !== ',')
      run.context.log.info(`reading CSV separated by ${delimiters[found]}; --delimiter changes that`);
  };
  return readRows(input.bytes, input.format, {
    ...readOptions(input, run.defaults),
    onDelimiter,
  });
};

/** Carries all rows out and gives what became of them as they are finished. */
export async function* outcomes(work: Work): AsyncIterable<Outcome[]> {
  const { run, input, counts, concurrency, resumeLine } = work;
  const { host, signal, log } = run.context;
  const status = await log.status('reading');
  const start = host.elapsed();
  const known: Known = { rows: 0, bytes: 0, isWhole: false };
  let shownAt = start;
  const pool = {
    size: concurrency,
    work: (line: Line): Outcome | Promise<Outcome> => runLine(run, line),
    turn: host.turn,
    signal,
  };
  try {
    for await (const finished of pooled(counted(linesOf(work), known), pool)) {
      run.journal?.flush();
      for (const outcome of finished) count(counts, outcome);
      if (host.elapsed() - shownAt > 200) {
        shownAt = host.elapsed();
        status.update(progressText(counts, known, input.sizeBytes, shownAt - start));
      }
      yield finished;
    }
    if (signal.aborted) throw stopped(counts, resumeLine);
    // A run that lost a connection is not marked as finished: whoever starts it again has seen the loss, and not its end.
    if (run.lost?.count === 0) run.journal?.finish(counts.failed === 0);
  } catch (error) {
    throw endOf(work, error);
  } finally {
    status.stop();
    run.journal?.close();
    await work.release?.();
    if (run.journal !== undefined) await trackerNaming.forget(run.context);
  }
  log.info(
    run.journal === undefined
      ? `nothing was sent: ${counts.done} rows are good, ${counts.failed} are not`
      : `${counts.done} done, ${counts.failed} failed, ${counts.skipped} skipped`,
  );
}
