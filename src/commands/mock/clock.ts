import { labelRoles } from '../../api-specs/labels/wire.ts';
import type { Context } from '../../api/context.ts';
import { type Command, defineCommand } from '../../cli/command.ts';
import { bool, int, oneOf, req, str } from '../../core/field.ts';
import type { Flags, ValuesOf } from '../../core/flag.ts';
import { parseDuration } from '../../core/format.ts';
import { nothing, recordResult, type Result, rowsResult } from '../../core/result.ts';
import type { ControlRequest } from './embedded.ts';

type ClockState = { readonly time: string; readonly frozen: boolean };
const ask = async (context: Context, method: string, body?: unknown) => {
  const { withMockServer } = await import('./embedded.ts');
  const state = await withMockServer(context, (send) => send<ClockState>(method, 'clock', body));
  return recordResult(state, {
    message: `the mock clock is at ${state.time}${state.frozen ? ', stopped' : ''}`,
  });
};
/** What the control interface takes: some three centuries. */
const LONGEST_STEP_MS = 1e13;
export const clockShow = defineCommand({
  path: ['mock', 'clock', 'show'],
  summary: 'Show the mock clock',
  run: (context) => ask(context, 'GET'),
});
export const clockSet = defineCommand({
  path: ['mock', 'clock', 'set'],
  noDryRun: 'opsctl mock clock show',
  summary: 'Set the mock clock; it continues from that time',
  args: [
    {
      name: 'time',
      field: { ...str(40), format: 'datetime' },
      summary: 'Time, such as 2026-03-31T12:30:00Z',
    },
  ],
  flags: { freeze: { field: bool(), summary: 'Stop the clock' } },
  run: (context, values) =>
    ask(context, 'PUT', { time: values.time, ...(values.freeze === true ? { frozen: true } : {}) }),
});
export const clockAdvance = defineCommand({
  path: ['mock', 'clock', 'advance'],
  noDryRun: 'opsctl mock clock show',
  summary: 'Advance the mock clock',
  about:
    'Tokens expire, rate limits reset and clients that were deleted more than 30 days ago disappear, without waiting.',
  args: [{ name: 'span', field: str(40, { min: 1 }), summary: 'Duration, such as 90s, 1h30m or 31d' }],
  examples: [{ line: 'opsctl mock clock advance 31d', says: 'Show the effect of 30 days' }],
  run: (context, values) =>
    ask(context, 'PUT', { advance_ms: Math.round(parseDuration(values.span, '<span>', LONGEST_STEP_MS)) }),
});
export const clockReset = defineCommand({
  path: ['mock', 'clock', 'reset'],
  noDryRun: 'opsctl mock clock show',
  summary: 'Reset the mock clock to the system time',
  run: (context) => ask(context, 'DELETE'),
});

const requestFlags = {
  method: {
    effects: [],
    field: str(10, { min: 1 }),
    summary: 'Only requests with this method',
    complete: 'method',
  },
  path: {
    effects: [],
    field: str(500, { min: 1 }),
    summary: 'Only matching paths; * matches text without a slash, ** any text',
    value: 'pattern',
  },
  status: { field: int({ min: 100, max: 599 }), summary: 'Only requests with this response status' },
  service: {
    effects: [],
    field: str(20, { min: 1 }),
    summary: 'Only requests of this service: tracker, labels or auth',
  },
  token: {
    effects: [],
    field: str(200, { min: 1 }),
    summary: 'Only requests with this tracker token',
    value: 'token',
  },
  body: {
    effects: [],
    field: str(16_384, { min: 1 }),
    summary: 'Only bodies that contain this JSON (objects may have more keys) or this text',
    value: 'json|text',
  },
  expect: {
    effects: [],
    field: str(12, { pattern: '^[0-9]{1,9}([+]|-[0-9]{1,9})?$' }),
    summary: 'Exit with code 20 unless the number of matches is N, N+ or N-M: 2, 1+, 1-3',
    value: 'count',
  },
  wait: {
    effects: [],
    field: str(20, { min: 1 }),
    summary: 'Maximum time to wait for the expected number',
    value: 'duration',
  },
  limit: {
    field: int({ min: 1, max: 10_000 }),
    summary: 'Maximum number of rows, newest last (default 100)',
    value: 'number',
  },
  clear: { effects: ['writes'], field: bool(), summary: 'Delete the request log' },
} as const satisfies Flags;
type AskedRequests = ValuesOf<typeof requestFlags>;

export const requestsCommand = defineCommand({
  path: ['mock', 'requests'],
  summary: 'List the requests that the mock server received, newest last',
  about:
    'The server keeps the last 10,000 requests with status and time. Tokens, codes and passwords are redacted. With --expect, exits with code 20 if the number of matching requests differs. Requires a running server: `mock serve`, `mock start` or `mock run`.',
  flags: requestFlags,
  examples: [
    {
      line: `opsctl mock requests --method POST --path '/api/v3/labels' --body '{"name":"bug"}' --expect 1`,
      says: 'Assert that exactly one label "bug" was created',
    },
  ],
  run: async (context, values) => {
    if (values.clear !== true) return findRequests(context, values);
    const { requireServer, withMockServer } = await import('./embedded.ts');
    requireServer(context);
    await withMockServer(context, (ask) => ask('DELETE', 'requests'));
    return nothing('deleted the request log');
  },
});

const columns = ['time', 'method', 'path', 'status', 'ms', 'service'];
const filters = ['method', 'path', 'status', 'service', 'token', 'body'] as const;
/** The requests that match, and whether they are as many as was expected. */
const findRequests = async (context: Context, values: AskedRequests): Promise<Result> => {
  const [
    { withMockServer, requireServer },
    { awaitCount, expectationFrom, evaluateCount },
    { parseDuration },
  ] = await Promise.all([
    import('./embedded.ts'),
    import('../../mock-server/request-log.ts'),
    import('../../core/format.ts'),
  ]);
  requireServer(context);
  const query = new URLSearchParams({ limit: String(values.limit ?? 100) });
  for (const name of filters) if (values[name] !== undefined) query.set(name, String(values[name]));
  const expected = expectationFrom(values.expect);
  const waitMs = values.wait === undefined ? 0 : parseDuration(values.wait, '--wait');
  const found = await withMockServer(context, (ask: ControlRequest) =>
    awaitCount(context.host, () => ask('GET', `requests/match?${query}`), expected, waitMs, context.signal),
  );
  const { isMet, message, doubts } = evaluateCount(found, expected);
  for (const doubt of doubts) context.log.warn(doubt);
  if (!isMet && message !== undefined) context.log.warn(message);
  return {
    kind: 'rows',
    rows: found.rows,
    view: { columns },
    exit: () => (isMet ? 'done' : 'no'),
  };
};

const webhooksColumns = ['number', 'webhook_id', 'event', 'status', 'attempts', 'answer', 'at'];
const deliveries = defineCommand({
  path: ['mock', 'webhooks', 'deliveries'],
  summary: 'List webhook deliveries, newest last',
  about: 'The running server keeps the last 1,000 deliveries with their exact bodies.',
  examples: [
    {
      line: 'opsctl mock webhooks deliveries --jq ".[-1].body | fromjson"',
      says: 'Show the newest delivery',
    },
  ],
  run: async (context) => {
    const { requireServer, withMockServer } = await import('./embedded.ts');
    requireServer(context);
    return rowsResult(await withMockServer(context, (ask) => ask('GET', 'webhooks/deliveries')), {
      columns: webhooksColumns,
    });
  },
});
const resend = defineCommand({
  path: ['mock', 'webhooks', 'resend'],
  noDryRun: 'opsctl mock webhooks deliveries',
  summary: 'Repeat a webhook delivery byte for byte',
  args: [{ name: 'number', field: req(int({ min: 1 })), summary: 'Number of the delivery in the list' }],
  run: async (context, values) => {
    const { requireServer, withMockServer } = await import('./embedded.ts');
    requireServer(context);
    const again = await withMockServer(context, (ask) =>
      ask('POST', 'webhooks/resend', { number: values.number }),
    );
    return rowsResult([again], { columns: webhooksColumns });
  },
});
const trigger = defineCommand({
  path: ['mock', 'webhooks', 'trigger'],
  noDryRun: 'opsctl mock webhooks deliveries',
  summary: 'Send a test event to all webhooks',
  args: [
    {
      name: 'event',
      field: req(
        oneOf('story.create', 'story.update', 'story.delete', 'epic.create', 'epic.update', 'epic.delete'),
      ),
      summary: 'Type of the event',
    },
  ],
  flags: { id: { field: int(), summary: 'Story or epic (default: the newest)', value: 'id' } },
  examples: [
    { line: 'opsctl mock webhooks trigger story.update', says: 'Test a receiver without changing a story' },
  ],
  run: async (context, values) => {
    const { requireServer, withMockServer } = await import('./embedded.ts');
    requireServer(context);
    const body = { event: values.event, ...(values.id === undefined ? {} : { id: values.id }) };
    return rowsResult(await withMockServer(context, (ask) => ask('POST', 'webhooks/trigger', body)), {
      columns: webhooksColumns,
    });
  },
});
/** `opsctl mock webhooks …` */
export const webhookCommands: readonly Command[] = [deliveries, resend, trigger];

type LabelsToken = { readonly access_token: string; readonly checked: boolean };
export const labelsToken = defineCommand({
  path: ['mock', 'labels', 'token'],
  summary: 'Print a label service token with a role',
  about: [
    'Creates a user with this role on all labels, or on one label, and prints an access token of that user.',
    'Only a server that runs with --labels-auth oauth checks roles; otherwise every token has all permissions.',
  ].join('\n'),
  args: [
    {
      name: 'role',
      field: { ...str(), enum: ['none', ...labelRoles.map((role) => role.toLowerCase()), 'admin'] },
      summary: 'Role: none, reader, applier, organizer, editor or admin',
    },
  ],
  flags: {
    label: {
      field: str(),
      summary: 'Only on this label: title, ID or labels/<id> (default: all labels)',
      value: 'label',
    },
  },
  examples: [
    {
      line: 'opsctl mock labels token editor --label Contract',
      says: 'Print a token that may edit one label',
    },
    {
      line: 'eval "$(opsctl mock env)" && OPSCTL_LABELS_TOKEN=$(opsctl mock labels token admin -o name) ./script.sh',
      says: 'Print the URLs of the server and a token of this role for a script',
    },
  ],
  noDryRun: 'opsctl mock status shows the server',
  run: async (context, values) => {
    const { withMockServer } = await import('./embedded.ts');
    const { role, label } = values;
    const given = await withMockServer(context, (ask) =>
      ask<LabelsToken>('POST', 'labels/token', { role, ...(label === undefined ? {} : { label }) }),
    );
    if (given.checked !== true)
      context.log.warn('this server does not check roles: start it with --labels-auth oauth');
    const text = given.access_token;
    return recordResult(given, { text, name: 'access_token' });
  },
});
