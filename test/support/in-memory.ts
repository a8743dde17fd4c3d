/** The whole program on a machine in memory. Its network is a mock service in the same process, without a server. */
import { runProgram } from '../../src/cli/run.ts';
import { program } from '../../src/commands/program.ts';
import {
  defaultOptions,
  makeEnvironment,
  type MockReply,
  type MockService,
} from '../../src/mock-server/service-set.ts';
import { makeLabels } from '../../src/mock-server/labels/service.ts';
import { Store } from '../../src/mock-server/store.ts';
import { makeTracker } from '../../src/mock-server/tracker/service.ts';
import type { Host, HttpRequest } from '../../src/platform/host.ts';
import { type FakeHostOptions, fakeHost } from './fake-host.ts';

/** One request. The path is relative to the base path of the service. */
export type Asked = { readonly method: string; readonly path: string; readonly body: any };
export type Answered = { readonly status: number; readonly json: any };
export type RunOptions = Pick<FakeHostOptions, 'answers' | 'tty' | 'stdin'> & {
  /** Overrides the URL of the service. */
  readonly origin?: string;
  /** Responds in place of the service, or performs an action before the service responds. */
  readonly meanwhile?: (asked: Asked) => Answered | undefined | void;
  readonly change?: (host: Host) => Host;
  /** The arguments start with a command that belongs to no service, such as `undo`. */
  readonly isTopLevel?: boolean;
};
/** A terminal at which another user works while the question of the command is open; then the user confirms. */
export const workWhileAsking = (work: () => void): RunOptions => ({
  tty: ['stdin', 'stdout', 'stderr'],
  change: (host) => {
    const confirm = async () => {
      work();
      return true;
    };
    return { ...host, terminal: { ...host.terminal, prompts: { ...host.terminal.prompts, confirm } } };
  },
});
export type Ran = {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Questions to the user at the terminal. */
  readonly asked: readonly string[];
  readonly requests: readonly Asked[];
  /** Requests that change data. */
  readonly writes: readonly Asked[];
  /** Files below /place that the program wrote, relative to /place. */
  readonly written: readonly string[];
  json(): any;
  /** Returns the error that -o json prints last. */
  error(): any;
};
export type InMemory = {
  run(argv: readonly string[], options?: RunOptions): Promise<Ran>;
  /** Sends a request as another user. The request must succeed. */
  send(method: string, path: string, body?: unknown): any;
  /** Relative paths are below /place, the working directory of the program. */
  read(path: string): string | undefined;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Returns the names of the files in a directory. */
  list(directory: string): Promise<string[]>;
  /** Advances the clock of the service. */
  advance(ms: number): void;
};

type Service = {
  /** The first argument of its commands. */
  readonly name: 'labels' | 'tracker';
  readonly base: string;
  readonly token: string;
  readonly header: readonly [string, string];
  readonly make: (env: ReturnType<typeof makeEnvironment>['env']) => MockService;
};
type Files = Readonly<Record<string, string>>;

/** Reads a body that the program streams. */
const bytesOf = async (body: HttpRequest['body']): Promise<Uint8Array> => {
  if (body === undefined || typeof body === 'string') return new TextEncoder().encode(body ?? '');
  if (body instanceof Uint8Array) return body;
  const parts: Uint8Array[] = [];
  for await (const part of body) parts.push(part);
  return Buffer.concat(parts);
};

const inMemory = (
  { name, base, token, header, make }: Service,
  files: Files,
  seed: 'empty' | 'demo' = 'empty',
): InMemory => {
  const origin = `https://${name}.example`;
  const absolute = (path: string): string => (path.startsWith('/') ? path : `/place/${path}`);
  const disk = fakeHost({
    files: Object.fromEntries(Object.entries(files).map(([path, text]) => [absolute(path), text])),
  }).files;
  const cloud = fakeHost();
  const mockOptions = { ...defaultOptions, ratePerMinute: undefined };
  const store = new Store();
  const { env, listensAt } = makeEnvironment(cloud, store, mockOptions, 'seed');
  listensAt(origin);
  const service = make(env);
  store.transact(() => service.seed(seed));
  const serve = (method: string, path: string, body: Uint8Array, type: string) => {
    const [bare = '', query = ''] = path.split('?');
    return service.handle({
      ...{ method, path: base + bare, query, remoteAddress: '127.0.0.1', isTls: true },
      headers: { [header[0]]: header[1], 'content-type': type },
      body,
    });
  };
  const answered = (reply: MockReply): Answered => {
    const text =
      reply.body instanceof Uint8Array ? new TextDecoder().decode(reply.body) : String(reply.body ?? '');
    return { status: reply.status, json: text === '' ? undefined : JSON.parse(text) };
  };
  const ask = (method: string, path: string, body: unknown): Answered => {
    const bytes = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
    return answered(serve(method, path, bytes, 'application/json') as MockReply);
  };
  /** Sends a form with files. The service reads it completely before it responds. */
  const askWithForm = async (
    { method, path }: Asked,
    { headers, body }: Pick<HttpRequest, 'headers' | 'body'>,
  ): Promise<Answered> => {
    const type = headers?.['content-type'] ?? '';
    return answered(await serve(method, path, await bytesOf(body), type));
  };
  return {
    run: async (argv, options = {}) => {
      const { meanwhile, change = (host: Host) => host, origin: at = origin, isTopLevel, ...more } = options;
      const requests: Asked[] = [];
      const written: string[] = [];
      const machine = fakeHost({
        ...more,
        env: {
          ...{
            HOME: '/home/user',
            OPSCTL_HOME: '/home/user/opsctl',
            NO_COLOR: '1',
            OPSCTL_KEYCHAIN: 'never',
          },
          [`OPSCTL_${name.toUpperCase()}_URL`]: at,
          [`OPSCTL_${name.toUpperCase()}_TOKEN`]: token,
        },
        reply: async (request) => {
          const { pathname, search } = new URL(request.url);
          const asked = {
            method: request.method,
            path: pathname.slice(base.length) + search,
            body: typeof request.body === 'string' ? JSON.parse(request.body) : undefined,
          };
          requests.push(asked);
          const isForm = request.body !== undefined && typeof request.body !== 'string';
          const { status, json } =
            meanwhile?.(asked) ??
            (isForm ? await askWithForm(asked, request) : ask(asked.method, asked.path, asked.body));
          return { status, ...(json === undefined ? {} : { body: json }) };
        },
      });
      const replace: typeof disk.replace = (path, ...rest) => {
        if (path.startsWith('/place/')) written.push(path.slice('/place/'.length));
        return disk.replace(path, ...rest);
      };
      const code = await runProgram(
        change({ ...machine, files: { ...disk, replace } }),
        isTopLevel === true ? argv : [name, ...argv],
        program,
      );
      const [out, err] = [machine.out(), machine.err()];
      return {
        ...{ code, out, err, asked: machine.asked, requests, written },
        writes: requests.filter(({ method }) => method !== 'GET'),
        json: () => JSON.parse(out),
        error: () => JSON.parse(err.trim().split('\n').at(-1) ?? ''),
      };
    },
    send: (method, path, body) => {
      const { status, json } = ask(method, path, body);
      if (status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
      return json;
    },
    read: (path) => disk.readNow(absolute(path)),
    write: (path, text) => disk.replace(absolute(path), text),
    remove: (path) => disk.remove(absolute(path)),
    list: (directory) => disk.list(absolute(directory)),
    advance: cloud.advance,
  };
};

export const ORIGIN = 'https://labels.example';
export type LabelsInMemory = InMemory & {
  /** Returns the label with this title, in full view. */
  label(title: string): any;
  id(title: string): string;
  /** Edits a label as another user. */
  edit(title: string, properties: Readonly<Record<string, string>>): void;
};

export const labelsInMemory = (files: Files = {}): LabelsInMemory => {
  const at = inMemory(
    {
      ...{ name: 'labels', base: '/v2beta', token: 'any-token', make: makeLabels },
      header: ['authorization', 'Bearer any-token'],
    },
    files,
  );
  const id = (title: string): string =>
    at
      .send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL')
      .labels.find(({ properties }: { properties: { title: string } }) => properties.title === title)?.id;
  return {
    ...at,
    id,
    label: (title) => at.send('GET', `/labels/${id(title)}?view=LABEL_VIEW_FULL`),
    edit: (title, properties) => {
      const updateLabel = { properties, updateMask: Object.keys(properties).join() };
      at.send('POST', `/labels/${id(title)}:delta`, { requests: [{ updateLabel }] });
    },
  };
};

export const trackerInMemory = (files: Files = {}, seed: 'empty' | 'demo' = 'empty'): InMemory => {
  const token = defaultOptions.trackerToken;
  return inMemory(
    { name: 'tracker', base: '/api/v3', token, header: ['tracker-token', token], make: makeTracker },
    files,
    seed,
  );
};
