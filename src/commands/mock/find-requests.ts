import type { Result } from '../../core/result.ts';
import type { Context } from '../../cli/command.ts';
import type { Ask } from './remote.ts';
import type { AskedRequests } from './request-flags.ts';

const columns = ['time', 'method', 'path', 'status', 'ms', 'service'];
const filters = ['method', 'path', 'status', 'service', 'token', 'body'] as const;

/** The requests that match, and whether they are as many as was expected. */
export const findRequests = async (context: Context, values: AskedRequests): Promise<Result> => {
  const [{ steer, requireServer }, { awaitCount, expectationFrom, judge }, { parseDuration }] =
    await Promise.all([
      import('./remote.ts'),
      import('../../mock-server/request-count.ts'),
      import('../../core/duration.ts'),
    ]);
  requireServer(context);
  const query = new URLSearchParams({ limit: String(values.limit ?? 100) });
  for (const name of filters) if (values[name] !== undefined) query.set(name, String(values[name]));
  const expected = expectationFrom(values.expect);
  const waitMs = values.wait === undefined ? 0 : parseDuration(values.wait, '--wait');
  const found = await steer(context, (ask: Ask) =>
    awaitCount(context.host, () => ask('GET', `requests/match?${query}`), expected, waitMs, context.signal),
  );
  const { isMet, message, doubts } = judge(found, expected);
  for (const doubt of doubts) context.log.warn(doubt);
  if (!isMet && message !== undefined) context.log.warn(message);
  return {
    kind: 'rows',
    rows: found.rows,
    view: { columns },
    exit: () => (isMet ? 'done' : 'no'),
  };
};
