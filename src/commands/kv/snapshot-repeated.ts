import type { Context } from '../../cli/command.ts';
import type { AppError, Category } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { appErrorFrom } from '../../output/error.ts';
import { snapshotOnce } from './schedule.ts';
import type { ScheduleValues } from './snapshot-schedule-flags.ts';

/** Wrong flags and files are as wrong the next time; later they may have been right before (a key that is being replaced). */
const neverWorks = (error: AppError, isFirst: boolean): boolean =>
  error.category === 'unknown' || (isFirst && (error.category === 'usage' || error.category === 'config'));

/** One row a run; a run that fails is a row too, and the next one comes all the same. */
export const repeated = (context: Context, values: ScheduleValues, everyMs: number): Result => {
  let category: Category | 'done' = 'done';
  let isFirst = true;
  const rows = async function* () {
    for (let next = context.host.elapsed(); !context.signal.aborted; ) {
      const row = await snapshotOnce(context, values).catch((thrown: unknown) => {
        const error = appErrorFrom(thrown, context.host.env);
        if (neverWorks(error, isFirst) || context.signal.aborted) throw thrown;
        category = 'partial';
        context.log.warn(`no snapshot was stored: ${error.message}`);
        return { name: null, error: error.message, code: error.detail.code ?? null };
      });
      isFirst = false;
      yield row;
      next = Math.max(next + everyMs, context.host.elapsed());
      await context.host.sleep(next - context.host.elapsed(), context.signal).catch(() => undefined);
    }
  };
  return {
    kind: 'rows',
    rows: rows(),
    view: { columns: ['name', 'revision', 'size_bytes', 'hash', 'member'], name: 'place' },
    exit: () => category,
  };
};
