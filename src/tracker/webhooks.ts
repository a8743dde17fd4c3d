import { AppError } from '../core/problem.ts';
import type { Context } from '../cli/command.ts';
import { receiver } from './webhook-receiver.ts';

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

async function* closing(rows: AsyncIterable<unknown>, close: () => Promise<void>): AsyncIterable<unknown> {
  try {
    yield* rows;
  } finally {
    await close();
  }
}

/** Where to listen, what signs the deliveries, and where they go. */
export type Asked = {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly secret: string | undefined;
  readonly forward?: string | undefined;
  readonly count?: number | undefined;
};

const refusedAt =
  ({ host, port }: { readonly host: string; readonly port: number }) =>
  (error: Error & { code?: string }): never => {
    throw new AppError('config', `cannot listen on ${host}:${port}: ${error.code ?? error.message}`, {
      tryThis: ['--port 0 takes a free port'],
    });
  };

/** The events of good deliveries, as they come, until the count is reached or Ctrl-C. */
export const listenForEvents = async (context: Context, asked: Asked): Promise<AsyncIterable<unknown>> => {
  const queue = makeQueue();
  let left = asked.count ?? Number.POSITIVE_INFINITY;
  const accept = (event: unknown): void => {
    if (left <= 0) return;
    left -= 1;
    queue.push(event);
    if (left === 0) queue.end();
  };
  const at = {
    host: asked.host ?? '127.0.0.1',
    port: asked.port ?? 0,
    requestTimeoutMs: 10_000,
    maxConnections: 64,
  };
  const listener = await context.host.network
    .listen(receiver(context, asked.secret, asked.forward, accept), at)
    .catch(refusedAt(at));
  context.signal.addEventListener('abort', () => queue.end(), { once: true });
  context.log.info(`listening on http://${listener.host}:${listener.port}/`);
  return closing(queue.rows, () => listener.close());
};
