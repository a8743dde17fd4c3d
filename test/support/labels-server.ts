import {
  type MockOptions,
  type MockRequest,
  type MockReply,
  type ServiceEntry,
  type Environment,
  defaultOptions,
} from '../../src/mock-server/service-set.ts';
import { type RunningMock, startMock } from '../../src/mock-server/server.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeLabels } from '../../src/mock-server/labels/service.ts';
import { type RealHost, realHost } from './real-host.ts';
import { closeAtEnd } from './closing.ts';

export type LabelServer = {
  readonly base: string;
  readonly mock: RunningMock;
  readonly env: Environment;
  /** Sends one raw request below /v2beta. It includes the token unless the headers override it. */
  send(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; json: any; text: string; headers: Headers }>;
  close(): Promise<void>;
};

export const labelsEntry: ServiceEntry = {
  name: 'labels',
  claims: (path) => /^\/(v2beta|batch|__opsctl\/labels)(\/|$)/.test(path),
  load: async () => makeLabels,
};

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const sendBelow =
  (base: string): LabelServer['send'] =>
  async (method, path, body, headers = { authorization: 'Bearer any-token' }) => {
    const sent = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const reply = await fetch(base + path, {
      method,
      body: sent,
      headers: { ...(sent === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    const text = await reply.text();
    return { status: reply.status, json: parsed(text), text, headers: reply.headers };
  };

/** Only the label service, over real HTTP on a free port. */
export const labelServer = async (
  options: Partial<MockOptions> & { readonly seed?: 'demo' | 'empty' } = {},
  entries: readonly ServiceEntry[] = [],
): Promise<LabelServer> => {
  const real: RealHost = await realHost();
  const { seed, ...rest } = options;
  const mock = await startMock({
    host: real.host,
    options: { ...defaultOptions, ...rest },
    services: [...entries, labelsEntry],
    documents: {},
    store: new Store(),
    seed: seed ?? 'empty',
    port: 0,
    onFailure: (error) => {
      throw error;
    },
  });
  const base = `${mock.origin}/v2beta`;
  return closeAtEnd({
    base,
    mock,
    env: mock.env,
    send: sendBelow(base),
    async close() {
      await mock.close();
      await real.close();
    },
  });
};

/** Calls a service without a socket, for long loops over its rules. */
export const directly = (
  env: Environment,
): ((method: string, path: string, body?: unknown) => { status: number; json: any }) => {
  const service = makeLabels(env);
  return (method, path, body) => {
    const [bare = '', query = ''] = path.split('?');
    const request: MockRequest = {
      method,
      path: `/v2beta${bare}`,
      query,
      headers: { authorization: 'Bearer any-token' },
      body: new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body)),
      remoteAddress: '127.0.0.1',
      isTls: false,
    };
    const reply = service.handle(request) as MockReply;
    return { status: reply.status, json: JSON.parse(String(reply.body)) };
  };
};
