import { AppError, type Category } from '../../../core/problem.ts';
import type { Result } from '../../../core/result.ts';
import { errorWithMembers } from './ending.ts';
import type { Report, Sink, UpgradeEvent } from '../../engine/types.ts';
import { eventQueue } from './event-queue.ts';

type Ended = {
  readonly ending: { readonly category?: Category | undefined; readonly error?: AppError | undefined };
  readonly report: Report;
};

/** The run does not end with its reader: a member may be down. It is brought to its end, and then the run stops as by Ctrl-C. */
export const followed = (
  signal: AbortSignal,
  conduct: (sink: Sink, signal: AbortSignal) => Promise<Ended>,
): Result => {
  const [events, gone] = [eventQueue(), new AbortController()];
  let category: Category | 'done' = 'done';
  const running = conduct(events.push, AbortSignal.any([signal, gone.signal])).finally(events.end);
  running.catch(() => {});
  const rows = async function* (): AsyncGenerator<UpgradeEvent> {
    try {
      yield* events.rows();
      const { ending, report } = await running;
      category = ending.category ?? 'done';
      if (ending.error !== undefined) throw errorWithMembers(ending.error, report);
    } finally {
      gone.abort(new AppError('stopped', 'nobody reads the events any more', { code: 'READER_GONE' }));
      const over = await running.catch(() => undefined);
      category = over?.ending.category ?? category;
    }
  };
  return { kind: 'rows', rows: rows(), exit: () => category, unread: () => category };
};
