import {
  type Address,
  type Choice,
  type Exit,
  type Finished,
  type Handler,
  type Host,
  type HttpReply,
  type HttpRequest,
  type Listener,
  NetworkError,
  type Probed,
  type RunOptions,
} from '../../src/platform/host.ts';
import { AppError } from '../../src/core/problem.ts';
import { startJq } from '../../src/platform/node/jq-run.ts';
import { loadConf } from '../../src/platform/node/host.ts';
import { makeDirectory } from './directory.ts';
import { type FakeFiles, fakeFiles } from './fake-files.ts';

export type ScriptedReply = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
};
/** A command that the code under test ran or started. */
export type Ran = {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: RunOptions & { detached?: boolean; logFile?: string };
};

export type FakeHostOptions = {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly files?: Readonly<Record<string, string>>;
  /** Milliseconds since 1970 at the start (default: 2026-01-02T03:04:05Z). */
  readonly now?: number;
  readonly platform?: string;
  /** Response of a server to an anonymous connection (default: an empty result). */
  readonly probe?: (url: string) => Probed;
  /** Returns the response of the network, or throws a NetworkError. Objects become JSON. */
  readonly reply?: (request: HttpRequest, count: number) => ScriptedReply | Promise<ScriptedReply>;
  /** Streams that are terminals (default: none). */
  readonly tty?: readonly ('stdin' | 'stdout' | 'stderr')[];
  readonly columns?: number;
  readonly stdin?: string;
  /** Input for prompts, in order. The prompt throws an Error in the list. The end of the list is the end of input. */
  readonly answers?: readonly (string | boolean | Error)[];
  readonly run?: (ran: Ran) => Partial<Finished> | Promise<Partial<Finished>>;
  readonly opensBrowser?: boolean | ((url: string) => boolean | Promise<boolean>);
  /** Number of writes to stdout after which writes fail with EPIPE. */
  readonly stdoutClosesAfter?: number;
};

export type FakeHost = Host & {
  readonly files: FakeFiles;
  /** Returns the text that was written to stdout. */
  out(): string;
  err(): string;
  /** The individual writes to stdout, in order. */
  readonly writes: string[];
  readonly requests: HttpRequest[];
  readonly ran: Ran[];
  readonly asked: string[];
  readonly opened: string[];
  /** Durations of all sleeps in milliseconds. */
  readonly slept: number[];
  setNow(ms: number): void;
  advance(ms: number): void;
  /** Delivers a signal to its listeners. */
  raise(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void;
  /** Handlers passed to `listen`, with their addresses. */
  readonly served: { readonly handler: Handler; readonly at: Address; isOpen: boolean }[];
};

const HOME = '/home/user';
const utf8 = new TextEncoder();

/** Converts plain data into a reply of `request`. */
export const replyFrom = ({ status = 200, headers = {}, body = '' }: ScriptedReply): HttpReply => {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const bytes = body instanceof Uint8Array ? body : utf8.encode(text);
  const type: Record<string, string> =
    typeof body === 'string' || body instanceof Uint8Array ? {} : { 'content-type': 'application/json' };
  return {
    status,
    headers: { ...type, ...headers },
    text: async () => new TextDecoder().decode(bytes),
    bytes: async () => bytes,
    async *stream() {
      yield bytes;
    },
  };
};

const refusing = (request: HttpRequest): never => {
  throw new NetworkError(
    'REFUSED',
    `cannot reach ${new URL(request.url).origin}: nothing was scripted`,
    false,
  );
};

const clock = (start: number) => {
  let now = start;
  const slept: number[] = [];
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted) throw signal.reason;
    slept.push(ms);
    now += ms;
    // Lets other tasks run, as they do while a real clock advances.
    await new Promise((resolve) => setImmediate(resolve));
    if (signal?.aborted) throw signal.reason;
  };
  return {
    slept,
    sleep,
    now: () => now,
    elapsed: () => now - start,
    setNow(ms: number) {
      now = ms;
    },
    advance(ms: number) {
      now += ms;
    },
  };
};

const fakePrompts = (
  given: NonNullable<FakeHostOptions['answers']>,
  asked: string[],
): Host['terminal']['prompts'] => {
  const answers = [...given];
  const answer = async (question: string): Promise<string | boolean> => {
    asked.push(question);
    const next = answers.shift();
    if (next === undefined) throw new AppError('interrupted', 'canceled at the prompt');
    if (next instanceof Error) throw next;
    return next;
  };
  return {
    confirm: async (question) => (await answer(question)) === true,
    text: async (question) => String(await answer(question)),
    select: async (question, choices: readonly Choice[]) => {
      const chosen = String(await answer(question));
      return choices.find(({ value, label }) => value === chosen || label === chosen)?.value ?? chosen;
    },
  };
};

const fakeTerminal = (options: FakeHostOptions) => {
  const writes: string[] = [];
  const errors: string[] = [];
  const asked: string[] = [];
  const isTty = (name: 'stdin' | 'stdout' | 'stderr'): boolean => options.tty?.includes(name) ?? false;
  const output = (name: 'stdout' | 'stderr', into: string[]) => ({
    isTty: isTty(name),
    columns: options.columns ?? 80,
    async write(data: string | Uint8Array) {
      if (name === 'stdout' && into.length >= (options.stdoutClosesAfter ?? Number.POSITIVE_INFINITY)) {
        throw Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      }
      into.push(typeof data === 'string' ? data : new TextDecoder().decode(data));
    },
  });
  const terminal: Host['terminal'] = {
    stdout: output('stdout', writes),
    stderr: output('stderr', errors),
    stdin: {
      isTty: isTty('stdin'),
      async *bytes() {
        yield utf8.encode(options.stdin ?? '');
      },
      async *lines() {
        if (options.stdin) yield* options.stdin.replace(/\n$/, '').split('\n');
      },
    },
    prompts: fakePrompts(options.answers ?? [], asked),
    spinner: async (text) => {
      errors.push(`~${text}`);
      return { update: (next) => void errors.push(`~${next}`), stop: () => void errors.push('~.') };
    },
  };
  return { terminal, writes, errors, asked };
};

const fakeProcesses = (options: FakeHostOptions) => {
  const ran: Ran[] = [];
  const finish = async (one: Ran): Promise<Finished> => {
    ran.push(one);
    return { code: 0, signal: null, stdout: '', stderr: '', timedOut: false, ...(await options.run?.(one)) };
  };
  const processes: Host['processes'] = {
    run: (command, args, given = {}) => finish({ command, args, options: given }),
    async start(command, args, given = {}) {
      const finished = await finish({ command, args, options: given });
      if (finished.startError !== undefined)
        throw Object.assign(new Error(finished.startError), { code: 'ENOENT' });
      const exited: Promise<Exit> = Promise.resolve({ code: finished.code, signal: finished.signal });
      async function* lines() {
        yield* finished.stdout.split('\n').filter((line) => line !== '');
      }
      return { pid: 4000 + ran.length, exited, kill: () => true, lines };
    },
    isAlive: (pid) => pid === 4242,
    signal: (pid) => pid === 4242,
    startMark: (pid) => (pid === 4242 ? 'mark' : undefined),
    scope: () => ({ machineId: 'machine-1', bootId: 'boot-1', pidNamespace: 'pid:[1]' }),
  };
  return { processes, ran };
};

const fakeNetwork = (options: FakeHostOptions) => {
  const requests: HttpRequest[] = [];
  const served: FakeHost['served'] = [];
  let nextPort = 10_240;
  const network: Host['network'] = {
    async request(request) {
      requests.push(request);
      if (request.signal?.aborted) throw new NetworkError('ABORTED', 'the request was canceled', false);
      return replyFrom(await (options.reply ?? refusing)(request, requests.length));
    },
    async listen(handler, at): Promise<Listener> {
      const one = { handler, at, isOpen: true };
      served.push(one);
      const port = at.port === 0 ? 40_000 + served.length : at.port;
      const close = async (): Promise<void> => {
        one.isOpen = false;
      };
      return { host: at.host, port, close };
    },
    canConnect: async (_, port) =>
      served.some(({ at, isOpen }, i) => isOpen && (at.port === port || port === 40_001 + i)),
    probe: async (url) => options.probe?.(url) ?? {},
    freePorts: async (count) => Array.from({ length: count }, () => nextPort++),
    close: async () => {},
  };
  return { network, requests, served };
};

/**
 * The outside world in memory. It does not access the machine and records every effect. Time advances only during sleeps, or
 * when a test advances it.
 */
export const fakeHost = (options: FakeHostOptions = {}): FakeHost => {
  const time = clock(options.now ?? 1_767_323_045_000);
  const { terminal, writes, errors, asked } = fakeTerminal(options);
  const { processes, ran } = fakeProcesses(options);
  const { network, requests, served } = fakeNetwork(options);
  const listeners = new Set<Parameters<Host['onSignal']>[0]>();
  const opened: string[] = [];
  let seed = 1;
  const nextByte = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed & 0xff;
  };
  return {
    ...{
      env: options.env ?? {},
      platform: options.platform ?? 'linux',
      runtime: 'Node v20.19.0',
      pid: 4242,
      uid: 1000,
      hostname: 'testhost',
      cwd: '/place',
    },
    turn: () => new Promise((resolve) => setImmediate(resolve)),
    self: ['/usr/bin/node', '/opt/opsctl/bin/opsctl.js'],
    ...time,
    ...{ network, processes, terminal, writes, asked, requests, ran, served, opened },
    files: fakeFiles(options.files ?? {}, time.now, '/tmp', HOME),
    random: (count) => Uint8Array.from({ length: count }, nextByte),
    memoryBytes: () => 50e6,
    keepMemorySmall: () => undefined,
    buildText: async () => undefined,
    out: () => writes.join(''),
    err: () => errors.join(''),
    redis: async () => {
      throw new Error('no Redis server here');
    },
    jq: async (program, args) => startJq(program, args),
    // conf writes real files: they go to a temporary directory, whatever directory the program names.
    async loadConf() {
      const store = await loadConf();
      return (_, schema, content) => store(makeDirectory(), schema, content);
    },
    bucket: async () => {
      throw new Error('this machine has no object storage');
    },
    async openBrowser(url) {
      opened.push(url);
      return typeof options.opensBrowser === 'function'
        ? options.opensBrowser(url)
        : (options.opensBrowser ?? false);
    },
    onSignal(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    exit(code) {
      throw new Error(`exit ${code}`);
    },
    raise(signal) {
      for (const listener of listeners) listener(signal);
    },
  };
};
