import { printable } from '../core/text.ts';
import { parseUrl } from '../core/external-url.ts';
import { childPath, pathPart } from '../core/file-name.ts';
import { dirname, join, resolve } from 'node:path';
import { cutText, invalidArguments, problem, AppError, type InvalidArguments } from '../core/problem.ts';
import { redactedUrl } from '../core/redact-secrets.ts';
import type { Settings } from '../config/settings.ts';
import type { Redactor } from '../output/types.ts';
import { type Host, type Bytes, type HttpReply, type HttpRequest, NetworkError } from '../platform/host.ts';
import type { Reach, ServiceName, Target } from '../api/context.ts';
import { jsonFile } from '../api/input.ts';
import type { Globals } from './options.ts';
import { type Exchange, harOf, traceLines, tracedHost } from './trace.ts';
import { check } from '../core/check.ts';
import { bool, int, list, map, num, obj, req, str, url, type Value } from '../core/field.ts';
import { limits } from '../core/limits.ts';

export type Tracing = {
  readonly host: Host;
  /** Resolves the service URLs: as configured, recorded for a trace, or taken from the replayed trace. */
  readonly reach: (given: Reach) => Reach;
  /** Files of earlier runs are not part of a trace, and a replay leaves no files for later runs. */
  readonly settings: (given: Settings) => Settings;
  readonly end: () => Promise<void>;
};
type Services = Record<string, { baseUrl: string; basePath?: string; planningWord?: string }>;

const noteServices = (given: Reach, services: Services): Reach => ({
  ...given,
  reach: async (service) => {
    const target = await given.reach(service);
    services[service] = { baseUrl: target.baseUrl, ...target.wording };
    return target;
  },
});

/** Uses the responses of a trace instead of the network. */
const replaying = async (host: Host, file: string): Promise<Pick<Tracing, 'host' | 'reach'>> => {
  const trace = await readTrace(host, file);
  return { host: replayingHost(host, trace), reach: () => replayingReach(trace) };
};

/** An empty home for a run that must not see earlier runs. It is removed at the end. */
const emptyDirectory = ({ files, pid, random }: Host): string =>
  childPath(
    files.temporaryDirectory(),
    pathPart(`opsctl-trace-${pid}-${Buffer.from(random(8)).toString('hex')}`),
  );

const withoutCaches =
  (empty: string, isReplay: boolean) =>
  (settings: Settings): Settings => {
    const state = isReplay ? join(empty, 'state') : settings.directories.state;
    return { ...settings, directories: { ...settings.directories, state, cache: join(empty, 'cache') } };
  };

type Kept = {
  readonly all: readonly Exchange[];
  readonly services: Services;
  readonly command: readonly string[];
};
const writeTraces = async (
  { files, cwd }: Host,
  { har, record }: Globals,
  redactor: Redactor,
  { all, services, command }: Kept,
): Promise<void> => {
  const write = (name: string, text: string): Promise<void> =>
    files.replace(resolve(cwd, name), redactor.clean(text), 0o600);
  if (har !== undefined) await write(har, harOf(all, OPSCTL_VERSION));
  if (record === undefined) return;
  await write(
    record,
    traceText({ version: OPSCTL_VERSION, command: [...command], services, exchanges: [...all] }),
  );
};

/** Checked before a request is sent, because at the end it would be too late for an error. */
const refuseMissingDirectories = async ({ files, cwd }: Host, { har, record }: Globals): Promise<void> => {
  for (const [flag, file] of Object.entries({ '--har': har, '--record': record })) {
    if (file === undefined) continue;
    const directory = dirname(resolve(cwd, file));
    if ((await files.realPath(directory)) === undefined)
      throw invalidArguments([
        problem(
          flag,
          'rule',
          `names ${file}, but the directory ${directory} does not exist`,
          'create it first',
        ),
      ]);
  }
};

/**
 * `--debug` prints each exchange when it finishes. `--har` and `--record` write all exchanges at the end. All
 * three mask every secret of the run. `--replay` reads responses from such a recording.
 */
export const traceHost = async (
  given: Host,
  globals: Globals,
  redactor: Redactor,
  command: readonly string[],
): Promise<Tracing> => {
  const { debug, har, record, replay } = globals;
  if (record !== undefined && replay !== undefined)
    throw invalidArguments([problem('--record', 'exclusive', 'cannot be given together with --replay')]);
  await refuseMissingDirectories(given, globals);
  const from = replay === undefined ? undefined : await replaying(given, resolve(given.cwd, replay));
  const all: Exchange[] = [];
  const services: Services = {};
  const empty = emptyDirectory(given);
  const note = (exchange: Exchange): void => {
    const lines = debug ? traceLines(exchange).map((line) => `${printable(redactor.clean(line))}\n`) : [];
    if (debug) void given.terminal.stderr.write(lines.join('')).catch(() => {});
    if (har !== undefined || record !== undefined) all.push(exchange);
  };
  const isTrace = record !== undefined || replay !== undefined;
  return {
    host: tracedHost(from?.host ?? given, note, {
      bodies: record === undefined ? 'part' : 'whole',
      // Users share a log of --debug, and it contains the result between its lines.
      ...(debug ? { hide: redactor.hide } : {}),
    }),
    reach: from?.reach ?? ((reach) => noteServices(reach, services)),
    settings: isTrace ? withoutCaches(empty, replay !== undefined) : (settings) => settings,
    end: async () => {
      await given.files.remove(empty).catch(() => {});
      await writeTraces(given, globals, redactor, { all, services, command });
    },
  };
};

const FORMAT = 'opsctl-trace/1';
const exchange = obj({
  startedMs: req(num()),
  tookMs: req(num()),
  attempt: req(int({ min: 1 })),
  method: req(str(16)),
  url: req(url(65_536)),
  requestHeaders: req(map(str())),
  requestBody: str(),
  status: req(int({ min: 0, max: 599 })),
  responseHeaders: req(map(str())),
  responseBody: req(str()),
  isCut: bool(),
  error: str(),
});
const service = obj({ baseUrl: req(url(4096)), basePath: str(1024), planningWord: str(100) });
const trace = obj({
  format: req(str(50)),
  version: req(str(50)),
  command: req(list(str(200))),
  services: req(map(service)),
  exchanges: req(list(exchange)),
});
/**
 * The file that `--record` writes: the requests of one run in order, with their responses and without
 * secrets.
 */
export type TraceFile = Value<typeof trace>;
export const traceText = (file: Omit<TraceFile, 'format'>): string =>
  `${JSON.stringify({ format: FORMAT, ...file }, null, 1)}\n`;
const makeRefusal = (path: string, message: string): InvalidArguments =>
  invalidArguments(
    [problem('--replay', 'format', `${path} ${message}`)],
    ['opsctl … --record FILE makes a trace'],
  );
/** Checks more than the format of the URL, because a comparison parses it. */
const refuseNoAddress = (path: string, { services, exchanges }: TraceFile): void => {
  const all = [...Object.values(services).map(({ baseUrl }) => baseUrl), ...exchanges.map((one) => one.url)];
  const wrong = all.find((address) => parseUrl(address) === undefined);
  if (wrong !== undefined)
    throw makeRefusal(path, `is damaged: ${cutText(redactedUrl(wrong), 200)} is not a URL`);
};
/** The file may come from any source: its size, its format and every value are checked. */
export const readTrace = async (host: Host, path: string): Promise<TraceFile> => {
  const info = await host.files.info(path);
  if (info === undefined) throw makeRefusal(path, 'does not exist');
  if (info.sizeBytes > limits.traceBytes)
    throw makeRefusal(path, `has ${info.sizeBytes} bytes; at most ${limits.traceBytes} are read`);
  const value = await jsonFile({ host }, path, '--replay', { mayHaveNul: true });
  if ((value as { format?: unknown } | null)?.format !== FORMAT)
    throw makeRefusal(path, `is not a trace: its format must be ${FORMAT}`);
  const [first] = check(trace, value, '');
  if (first !== undefined) throw makeRefusal(path, `is damaged: ${first.path} ${first.message}`);
  refuseNoAddress(path, value as TraceFile);
  return value as TraceFile;
};

type StoredExchange = TraceFile['exchanges'][number];
const notRecorded = (what: string): AppError =>
  new AppError('network', `${what} is not in the trace; no request was sent`, {
    code: 'NOT_RECORDED',
    tryThis: [
      'replay the trace with the command that recorded it; the first lines of the file name that command',
    ],
  });
/** The key of a request, independent of the port of the service. */
const keyOf = ({ method, url }: Pick<HttpRequest, 'method' | 'url'>): string => {
  const { pathname, search } = new URL(url);
  return `${method} ${pathname}${search}`;
};
// The body was decoded and may be redacted, so these headers no longer describe its length and encoding.
const GONE = new Set(['content-length', 'content-encoding', 'transfer-encoding']);
const replyOf = ({ status, responseHeaders, responseBody }: StoredExchange): HttpReply => {
  const bytes: Bytes = new TextEncoder().encode(responseBody);
  return {
    status,
    headers: Object.fromEntries(Object.entries(responseHeaders).filter(([name]) => !GONE.has(name))),
    bytes: async () => bytes,
    text: async () => responseBody,
    async *stream() {
      if (bytes.length > 0) yield bytes;
    },
  };
};
/**
 * Returns the same machine with the trace as its network: each request gets its recorded responses in order.
 */
export const replayingHost = (host: Host, { exchanges }: TraceFile): Host => {
  const waiting = new Map<string, StoredExchange[]>();
  for (const one of exchanges) waiting.set(keyOf(one), [...(waiting.get(keyOf(one)) ?? []), one]);
  const request: Host['network']['request'] = async (given) => {
    const found = waiting.get(keyOf(given))?.shift();
    if (found === undefined) throw notRecorded(keyOf(given));
    if (found.error !== undefined) throw new NetworkError('OTHER', found.error, true);
    if (found.isCut === true) throw notRecorded(`the whole body of ${keyOf(given)}`);
    return replyOf(found);
  };
  const { freePorts, close } = host.network;
  const network: Host['network'] = {
    request,
    freePorts,
    close,
    canConnect: async () => false,
    probe: async () => ({}),
    listen: async () => {
      throw notRecorded('a separate server');
    },
  };
  const refuse = async (command: string): Promise<never> => {
    throw notRecorded(`the program ${command}`);
  };
  // A replay never acts on the machine: recorded responses do not start or stop programs.
  const { isAlive, startMark, scope } = host.processes;
  const processes: Host['processes'] = {
    ...{ run: refuse, start: refuse, signal: () => false },
    ...{ isAlive, startMark, scope },
  };
  // Waits of the recorded run are over.
  return Object.create(host, {
    network: { value: network },
    processes: { value: processes },
    sleep: { value: async () => {} },
  }) as Host;
};
/** The service URLs from the recording. Settings and tokens of this machine are not used. */
export const replayingReach = ({ services }: TraceFile): Reach => ({
  reach: async (service: ServiceName): Promise<Target> => {
    const found = services[service];
    if (found === undefined) throw notRecorded(`a request to the service ${service}`);
    const { baseUrl, basePath, planningWord } = found;
    return {
      baseUrl,
      headers: {},
      isMock: false,
      origin: '--replay',
      wording: {
        ...(basePath === undefined ? {} : { basePath }),
        ...(planningWord === undefined ? {} : { planningWord }),
      },
    };
  },
  close: async () => {},
});
