import type { Context } from '../../cli/command.ts';
import { AppError, type Category } from '../../core/problem.ts';
import type { Result } from '../../core/result.ts';
import { snapshotOnce } from './snapshot-once.ts';
import type { ScheduleValues } from './snapshot-schedule-flags.ts';

/** One row a run; a run that fails is a row too, and the next one comes all the same. */
export const repeated = (context: Context, values: ScheduleValues, everyMs: number): Result => {
  let category: Category | 'done' = 'done';
  const rows = async function* () {
    for (let next = context.host.elapsed(); !context.signal.aborted; ) {
      const row = await snapshotOnce(context, values).catch((error: unknown) => {
        if (!(error instanceof AppError) || context.signal.aborted) throw error;
        category = 'partial';
        context.log.warn(`no snapshot was stored: ${error.message}`);
        return { name: null, error: error.message, code: error.detail.code ?? null };
      });
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
