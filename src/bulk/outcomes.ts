import { AppError, reworded } from '../core/problem.ts';
import { trackerNaming } from '../names/tracker-naming.ts';
import { pooled } from './pool.ts';
import { type Known, counted, progressText } from './progress.ts';
import { type Delimiter, type Format, type Line, delimiters, readRows } from './rows.ts';
import { type Counts, type Outcome, type Run, count, runLine } from './run.ts';

export type Input = {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly format: Format;
  readonly delimiter?: Delimiter | undefined;
  readonly sizeBytes: number | undefined;
  readonly path: string;
};

export type Work = {
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

/** What ended a run, with the line that goes on with it. */
const endOf = ({ run, counts, resumeLine }: Work, error: unknown): unknown => {
  if (run.context.signal.aborted && run.journal !== undefined) return stopped(counts, resumeLine);
  if (!(error instanceof AppError) || run.journal === undefined || error.category === 'unsafe') return error;
  return reworded(error, {
    ...error.detail,
    tryThis: [...(error.detail.tryThis ?? []), `go on with: ${resumeLine}`],
  });
};

/** A delimiter that nobody named is said, so that a wrong guess is seen. */
const linesOf = ({ run, input }: Work): AsyncIterable<readonly Line[]> => {
  const onDelimiter = (found: Delimiter): void => {
    if (input.delimiter === undefined && found !== ',')
      run.context.log.info(`reading CSV separated by ${delimiters[found]}; --delimiter changes that`);
  };
  return readRows(input.bytes, input.format, { delimiter: input.delimiter, onDelimiter });
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
  } catch (error) {
    throw endOf(work, error);
  } finally {
    status.stop();
    run.journal?.close();
    if (run.journal !== undefined) await trackerNaming.forget(run.context);
  }
  if (signal.aborted) throw stopped(counts, resumeLine);
  log.info(
    run.journal === undefined
      ? `nothing was sent: ${counts.done} rows are good, ${counts.failed} are not`
      : `${counts.done} done, ${counts.failed} failed, ${counts.skipped} skipped`,
  );
}
