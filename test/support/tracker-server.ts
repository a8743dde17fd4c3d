import { defaultOptions, type MockOptions } from '../../src/mock-server/service-set.ts';
import { type RunningMock, startMock } from '../../src/mock-server/server.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeTracker } from '../../src/mock-server/tracker/service.ts';
import { tracker } from '../../src/api-specs/tracker/index.ts';
import { conformance } from './conformance.ts';
import type { Host } from '../../src/platform/host.ts';
import { realHost } from './real-host.ts';
import { closeAtEnd } from './closing.ts';

const problemsOf = conformance(tracker);

export const TOKEN = 'contract-token';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Parsed JSON. Undefined for an empty body. */
  readonly body: any;
};
export type TrackerServer = {
  /** `http://127.0.0.1:PORT/api/v3`. */
  readonly base: string;
  readonly mock: RunningMock;
  readonly store: Store;
  /** Sends one raw request. A plain object is sent as JSON; a FormData or text is sent unchanged. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
  close(): Promise<void>;
};

const answerOf = async (response: Response): Promise<Answer> => {
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson && text !== '' ? JSON.parse(text) : undefined,
  };
};

const requestOf = (method: string, body: unknown, headers: Readonly<Record<string, string>>): RequestInit => {
  const isPlain =
    body !== undefined &&
    !(body instanceof FormData) &&
    typeof body !== 'string' &&
    !(body instanceof Uint8Array);
  return {
    method,
    headers: {
      'Tracker-Token': TOKEN,
      ...(body instanceof FormData ? {} : { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isPlain ? JSON.stringify(body) : (body as RequestInit['body']) }),
  };
};

/**
 * Starts the tracker on a free port of this machine, over real HTTP, without persistent data. The rate limit is off unless an
 * option sets it.
 */
export const startTracker = async (
  options: Partial<MockOptions> = {},
  seed: 'demo' | 'empty' = 'demo',
  clockMs?: number,
  change: (host: Host) => Host = (host) => host,
): Promise<TrackerServer> => {
  const { host, close } = await realHost();
  const store = new Store();
  const failures: unknown[] = [];
  const mock = await startMock({
    host: change(host),
    options: { ...defaultOptions, ratePerMinute: undefined, trackerToken: TOKEN, ...options },
    services: [
      {
        name: 'tracker',
        claims: (path) => /^\/(api\/v3|app)(\/|$)/.test(path),
        load: async () => makeTracker,
      },
    ],
    documents: {},
    store,
    seed,
    port: 0,
    onFailure: (error) => failures.push(error),
  });
  if (clockMs !== undefined) {
    // The clock is frozen, so a slow machine does not return a different second.
    const body = JSON.stringify({ time: new Date(clockMs).toISOString(), frozen: true });
    await fetch(`${mock.origin}/__opsctl/clock`, { method: 'PUT', body });
  }
  const base = `${mock.origin}/api/v3`;
  return closeAtEnd<TrackerServer>({
    base,
    mock,
    store,
    ask: async (method, path, body, headers = {}) => {
      const answer = await answerOf(
        await fetch(path.startsWith('http') ? path : `${base}${path}`, requestOf(method, body, headers)),
      );
      if (answer.status === 500)
        throw new Error(
          `the mock failed at ${method} ${path}: ${failures.map((e) => (e instanceof Error ? e.stack : String(e))).join('\n')}`,
        );
      const wrong = problemsOf(
        method,
        path.startsWith('http') ? new URL(path).pathname : `/api/v3${path.split('?')[0]}`,
        answer,
      );
      if (wrong.length > 0)
        throw new Error(
          `the answer of ${method} ${path} is not as its row says: ${wrong.slice(0, 5).join('; ')}`,
        );
      return answer;
    },
    close: async () => {
      await mock.close();
      await close();
    },
  });
};
