import { bool, int, str } from '../../core/field.ts';
import { nothing, type Result } from '../../core/result.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import type { Ask } from './remote.ts';

const columns = ['time', 'method', 'path', 'status', 'ms', 'service'];
const filters = ['method', 'path', 'status', 'service', 'token', 'body'] as const;

const flags = {
  method: { field: str(10, { min: 1 }), summary: 'Only requests with this method', complete: 'method' },
  path: {
    field: str(500, { min: 1 }),
    summary: 'Only paths like this; * stands for text without a slash, ** for any text',
    value: 'pattern',
  },
  status: { field: int({ min: 100, max: 599 }), summary: 'Only requests answered with this status' },
  service: {
    field: str(20, { min: 1 }),
    summary: 'Only requests of this service: tracker, labels or auth',
  },
  token: { field: str(200, { min: 1 }), summary: 'Only requests with this tracker token', value: 'token' },
  body: {
    field: str(16_384, { min: 1 }),
    summary: 'Only bodies that contain this JSON (objects may have more members) or this text',
    value: 'json|text',
  },
  expect: {
    field: str(12, { pattern: '^[0-9]{1,9}([+]|-[0-9]{1,9})?$' }),
    summary: 'Exit with 20 unless this many match: 2, 1+ (at least one), 1-3',
    value: 'count',
  },
  wait: {
    field: str(20, { min: 1 }),
    summary: 'Wait this long for the expected number',
    value: 'duration',
  },
  limit: {
    field: int({ min: 1, max: 10_000 }),
    summary: 'Rows to print, the newest (default 100)',
    value: 'number',
  },
  clear: { field: bool(), summary: 'Forget all requests' },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const find = async (context: Context, values: Given): Promise<Result> => {
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

export const requestsCommand = defineCommand({
  path: ['mock', 'requests'],
  summary: 'List the requests that the running mock server received, newest last',
  about:
    'The server keeps its last 10,000 requests with status and time; tokens, codes and passwords are masked. With --expect the command is an ' +
    'assertion: it exits with 20 when another number of requests matches. Needs a running server: `mock serve`, `mock start` or `mock run`.',
  flags,
  examples: [
    {
      line: `opsctl mock requests --method POST --path '/api/v3/labels' --body '{"name":"bug"}' --expect 1`,
      says: 'Fails unless exactly one label "bug" was created',
    },
  ],
  run: async (context, values) => {
    if (values.clear !== true) return find(context, values);
    const { requireServer, steer } = await import('./remote.ts');
    requireServer(context);
    await steer(context, (ask) => ask('DELETE', 'requests'));
    return nothing('all requests forgotten');
  },
});
