import { isAbsolute, join } from 'node:path';
import { int, str, url } from '../../core/field.ts';
import { AppError, invalidArguments, problem } from '../../core/problem.ts';
import type { Incoming, Outgoing } from '../../platform/host.ts';
import { defineCommand, type Context, type Flags, type ValuesOf } from '../../cli/command.ts';
import { MAX_BODY_BYTES, readEvent } from './webhook-event.ts';

const flags = {
  port: {
    field: int({ min: 0, max: 65_535 }),
    summary: 'Port to listen on (default: a free one)',
    value: 'number',
  },
  host: { field: str(), summary: 'Address to listen on (default 127.0.0.1)', value: 'address' },
  'secret-file': {
    field: str(),
    summary: 'File that holds the secret of the webhook',
    value: 'file',
    complete: 'file',
  },
  forward: { field: url(), summary: 'Pass each good delivery on, byte for byte', value: 'url' },
  count: { field: int({ min: 1 }), summary: 'End after so many events', value: 'number' },
} as const satisfies Flags;
type Given = ValuesOf<typeof flags>;

const json = { 'content-type': 'application/json' };

const secretOf = async (context: Context, values: Given): Promise<string | undefined> => {
  const given = values['secret-file'];
  if (given === undefined) return context.host.env.OPSCTL_WEBHOOK_SECRET || undefined;
  const text = await context.host.files.read(isAbsolute(given) ? given : join(context.host.cwd, given));
  const secret = text?.replace(/\r?\n$/, '');
  if (!secret)
    throw invalidArguments([
      problem('--secret-file', 'rule', text === undefined ? `${given} does not exist` : `${given} is empty`),
    ]);
  context.log.hide(secret);
  return secret;
};

/** Passes a delivery on as it came: same bytes, same signature. Its answer becomes ours, so that the sender repeats what failed. */
const forward = async (
  context: Context,
  to: string,
  body: Uint8Array,
  header: string | undefined,
): Promise<number> => {
  const headers = {
    'content-type': 'application/json',
    ...(header === undefined ? {} : { 'payload-signature': header }),
  };
  const reply = await context.host.network.request({
    method: 'POST',
    url: to,
    headers,
    body,
    timeoutMs: 10_000,
  });
  await reply.bytes();
  return reply.status;
};

type Queue = { push(event: unknown): void; end(): void; rows: AsyncIterable<unknown> };
const makeQueue = (): Queue => {
  const waiting: unknown[] = [];
  let isOver = false;
  let wake: () => void = () => undefined;
  async function* rows(): AsyncIterable<unknown> {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift();
      if (isOver) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  return {
    push: (event) => {
      waiting.push(event);
      wake();
    },
    end: () => {
      isOver = true;
      wake();
    },
    rows: rows(),
  };
};

const receiver =
  (context: Context, secret: string | undefined, to: string | undefined, accept: (event: unknown) => void) =>
  async (request: Incoming): Promise<Outgoing> => {
    if (request.method !== 'POST')
      return { status: 405, headers: { ...json, allow: 'POST' }, body: '{"error":"method_not_allowed"}' };
    const header = request.headers['payload-signature'];
    const body = await request.read(MAX_BODY_BYTES + 1).catch(() => new Uint8Array(MAX_BODY_BYTES + 1));
    const read = readEvent(body, header, secret);
    if (!('event' in read)) {
      context.log.warn(`refused a delivery from ${request.remoteAddress}: ${read.message}`);
      return {
        status: read.status,
        headers: json,
        body: JSON.stringify({ error: read.code, message: read.message }),
      };
    }
    try {
      const status = to === undefined ? 200 : await forward(context, to, body, header);
      if (status < 400) accept(read.event);
      else context.log.warn(`${to} answered ${status}; the sender will try again`);
      return { status, headers: json, body: '{}' };
    } catch (error) {
      context.log.warn(`${to} could not be reached: ${error instanceof Error ? error.message : error}`);
      return { status: 502, headers: json, body: '{"error":"forward_failed"}' };
    }
  };

export const listenCommand = defineCommand({
  path: ['tracker', 'webhooks', 'listen'],
  summary: 'Receive events of a webhook, check their signature, print one line each',
  about:
    'The secret comes from a file or from OPSCTL_WEBHOOK_SECRET; without one nothing is checked and a warning says so. Ctrl-C ends it.',
  flags,
  examples: [
    {
      line: 'opsctl tracker webhooks listen --port 8080 --secret-file secret.txt -o ndjson',
      says: 'Watch events',
    },
  ],
  run: async (context, values) => {
    const secret = await secretOf(context, values);
    if (secret === undefined) context.log.warn('no secret is given: anybody can send events here');
    const queue = makeQueue();
    let left = values.count ?? Number.POSITIVE_INFINITY;
    const accept = (event: unknown): void => {
      if (left <= 0) return;
      left -= 1;
      queue.push(event);
      if (left === 0) queue.end();
    };
    const at = {
      host: values.host ?? '127.0.0.1',
      port: values.port ?? 0,
      requestTimeoutMs: 10_000,
      maxConnections: 64,
    };
    const listener = await context.host.network
      .listen(receiver(context, secret, values.forward, accept), at)
      .catch((error: Error & { code?: string }) => {
        throw new AppError(
          'config',
          `cannot listen on ${at.host}:${at.port}: ${error.code ?? error.message}`,
          {
            tryThis: ['--port 0 takes a free port'],
          },
        );
      });
    context.signal.addEventListener('abort', () => queue.end(), { once: true });
    context.log.info(`listening on http://${listener.host}:${listener.port}/`);
    return {
      kind: 'rows',
      rows: closing(queue.rows, () => listener.close()),
      view: {
        columns: ['changed_at', 'primary_id', 'actions.0.action', 'actions.0.entity_type', 'actions.0.name'],
      },
    };
  },
});

async function* closing(rows: AsyncIterable<unknown>, close: () => Promise<void>): AsyncIterable<unknown> {
  try {
    yield* rows;
  } finally {
    await close();
  }
}
