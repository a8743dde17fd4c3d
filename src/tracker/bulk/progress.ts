import { durationText } from '../../core/duration.ts';
import type { Line } from './line.ts';
import type { Counts } from './run.ts';

/** How much of the input is known: rows that were read, bytes up to them, and whether that is all. */
export type Known = { rows: number; bytes: number; isWhole: boolean };

/** Passes the lines on and counts them. */
export async function* counted(
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
