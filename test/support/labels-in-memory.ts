/** The whole program on a machine in memory, whose network is the label service itself: no server and no process. */
import { runProgram } from '../../src/cli/run.ts';
import { defaultOptions } from '../../src/mock-server/defaults.ts';
import { makeEnvironment } from '../../src/mock-server/environment.ts';
import type { MockOptions } from '../../src/mock-server/service.ts';
import { Store } from '../../src/mock-server/store.ts';
import { type FakeHostOptions, fakeHost } from './fake-host.ts';
import { directly } from './labels-server.ts';

export const ORIGIN = 'https://labels.example';
/** One request, with the path below /v2beta. */
export type Asked = { readonly method: string; readonly path: string; readonly body: any };
export type Answered = { readonly status: number; readonly json: any };
export type RunOptions = Pick<FakeHostOptions, 'answers' | 'tty' | 'stdin'> & {
  /** Another URL of the service. */
  readonly origin?: string;
  /** Answers in place of the service, or does something before it. */
  readonly meanwhile?: (asked: Asked) => Answered | undefined | void;
};
export type Ran = {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  /** Questions to the person at the terminal. */
  readonly asked: readonly string[];
  readonly requests: readonly Asked[];
  /** Those that change something. */
  readonly writes: readonly Asked[];
  /** Files below /place that were written, relative to it. */
  readonly written: readonly string[];
  json(): any;
  /** The error that -o json ends with. */
  error(): any;
};

export type LabelsInMemory = {
  run(argv: readonly string[], options?: RunOptions): Promise<Ran>;
  /** A request of somebody else; it has to succeed. */
  send(method: string, path: string, body?: unknown): any;
  /** The label with this title, in full view. */
  label(title: string): any;
  id(title: string): string;
  /** Somebody else edits a label. */
  edit(title: string, properties: Readonly<Record<string, string>>): void;
  read(path: string): string | undefined;
  write(path: string, text: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Lets time pass at the service. */
  advance(ms: number): void;
  /** Names of the files in a directory. */
  list(directory: string): Promise<string[]>;
};

/** Relative paths are below /place, where the program runs. */
export const labelsInMemory = (
  files: Readonly<Record<string, string>> = {},
  options: Partial<MockOptions> = {},
): LabelsInMemory => {
  const absolute = (path: string): string => (path.startsWith('/') ? path : `/place/${path}`);
  const disk = fakeHost({
    files: Object.fromEntries(Object.entries(files).map(([path, text]) => [absolute(path), text])),
  }).files;
  const cloud = fakeHost();
  const { env, listensAt } = makeEnvironment(cloud, new Store(), { ...defaultOptions, ...options }, 'seed');
  listensAt(ORIGIN);
  const ask = directly(env);
  const send = (method: string, path: string, body?: unknown): any => {
    const { status, json } = ask(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${JSON.stringify(json)}`);
    return json;
  };
  const id = (title: string): string =>
    send('GET', '/labels?pageSize=200&view=LABEL_VIEW_FULL').labels.find(
      ({ properties }: { properties: { title: string } }) => properties.title === title,
    )?.id;
  return {
    run: async (argv, { meanwhile, origin = ORIGIN, ...more } = {}) => {
      const requests: Asked[] = [];
      const machine = fakeHost({
        ...more,
        env: {
          ...{ HOME: '/home/user', OPSCTL_HOME: '/home/user/opsctl', NO_COLOR: '1' },
          ...{ OPSCTL_LABELS_URL: origin, OPSCTL_LABELS_TOKEN: 'any-token', OPSCTL_KEYCHAIN: 'never' },
        },
        reply: (request) => {
          const { pathname, search } = new URL(request.url);
          const asked = {
            method: request.method,
            path: pathname.replace('/v2beta', '') + search,
            body: typeof request.body === 'string' ? JSON.parse(request.body) : undefined,
          };
          requests.push(asked);
          const { status, json } = meanwhile?.(asked) ?? ask(asked.method, asked.path, asked.body);
          return { status, body: json };
        },
      });
      const written: string[] = [];
      const replace: typeof disk.replace = (path, ...rest) => {
        if (path.startsWith('/place/')) written.push(path.slice('/place/'.length));
        return disk.replace(path, ...rest);
      };
      const host = { ...machine, files: { ...disk, replace } };
      const code = await runProgram(host, ['labels', ...argv]);
      const [out, err] = [host.out(), host.err()];
      return {
        code,
        out,
        err,
        asked: machine.asked,
        requests,
        writes: requests.filter(({ method }) => method !== 'GET'),
        written,
        json: () => JSON.parse(out),
        error: () => JSON.parse(err.trim().split('\n').at(-1) ?? ''),
      };
    },
    send,
    label: (title) => send('GET', `/labels/${id(title)}?view=LABEL_VIEW_FULL`),
    id,
    edit: (title, properties) => {
      const updateLabel = { properties, updateMask: Object.keys(properties).join() };
      send('POST', `/labels/${id(title)}:delta`, { requests: [{ updateLabel }] });
    },
    read: (path) => disk.readNow(absolute(path)),
    write: (path, text) => disk.replace(absolute(path), text),
    remove: (path) => disk.remove(absolute(path)),
    advance: cloud.advance,
    list: (directory) => disk.list(absolute(directory)),
  };
};
