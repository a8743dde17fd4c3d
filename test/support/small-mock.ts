import type { Outgoing } from '../../src/platform/host.ts';
import {
  defaultOptions,
  type MockService,
  type ServiceEntry,
  type Environment,
} from '../../src/mock-server/service-set.ts';
import type { Journal } from '../../src/mock-server/journal.ts';
import { type MockSetup, type RunningMock, startMock } from '../../src/mock-server/server.ts';
import { Store } from '../../src/mock-server/store.ts';
import { type RealHost, realHost } from './real-host.ts';
import { closeAtEnd } from './closing.ts';

type Note = { readonly id: number; readonly text: string; readonly at: number; readonly uuid: string };
const json = (status: number, value: unknown) => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});

/** The smallest service with state: notes that can be created, listed and deleted, and a few paths that misbehave. */
export const notesService = (env: Environment): MockService => {
  const notes = env.store.collection<Note>('notes');
  const add = (text: string): Note => {
    const note = { id: env.store.next('notes'), text, at: env.now(), uuid: env.uuid() };
    notes.put(note.id, note);
    return note;
  };
  return {
    name: 'notes',
    owns: (path) => path.startsWith('/notes'),
    seed: (kind) => env.store.transact(() => (kind === 'demo' ? void add('from the seed') : undefined)),
    handle: (request) => {
      if (request.path === '/notes/fail') throw new Error('on purpose');
      if (request.path === '/notes/later') {
        env.later(async () => {
          await env.host.sleep(30);
          env.store.transact(() => add('later'));
        });
        return json(200, {});
      }
      if (request.method === 'GET') return json(200, [...notes.values()]);
      if (request.method === 'DELETE')
        return {
          status: env.store.transact(() => notes.delete(Number(request.path.slice(7)))) ? 204 : 404,
        };
      return json(
        201,
        env.store.transact(() => add(new TextDecoder().decode(request.body))),
      );
    },
  };
};

export const notesEntry: ServiceEntry = {
  name: 'notes',
  claims: (path) => path.startsWith('/notes'),
  load: async () => notesService,
};

export type Small = {
  readonly mock: RunningMock;
  readonly machine: RealHost;
  readonly failures: unknown[];
  readonly store: Store;
  /** Sends one request. Parses the body if it is JSON. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Record<string, string>; body: any; text: string }>;
  close(): Promise<void>;
};

export const smallMock = async (more: Partial<MockSetup> & { journal?: Journal } = {}): Promise<Small> => {
  const machine = await realHost();
  const failures: unknown[] = [];
  const store = more.store ?? new Store();
  const mock = await startMock({
    host: machine.host,
    options: defaultOptions,
    services: [notesEntry],
    documents: {},
    store,
    seed: 'empty',
    port: 0,
    onFailure: (error) => failures.push(error),
    ...more,
  });
  return closeAtEnd<Small>({
    mock,
    machine,
    failures,
    store,
    ask: async (method, path, body, headers = {}) => {
      const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      const reply = await machine.host.network.request({
        method,
        url: mock.origin + path,
        headers,
        ...(text === undefined ? {} : { body: text }),
      });
      const answer = await reply.text();
      let parsed: unknown;
      try {
        parsed = JSON.parse(answer);
      } catch {
        parsed = undefined;
      }
      return { status: reply.status, headers: { ...reply.headers }, body: parsed, text: answer };
    },
    close: async () => {
      await machine.host.network.close();
      await mock.close();
      await machine.close();
    },
  });
};

/** Returns a document of the server, for tests of the documents' map. */
export const document = async (env: Environment): Promise<Outgoing['body'] & string> =>
  JSON.stringify({ at: env.origin() });
